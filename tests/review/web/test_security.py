"""Who may ask, from where, and how much; and what every answer says."""

from __future__ import annotations

import re

import pytest

from retgen.review.web.app import create_app
from retgen.review.web.security import LARGEST, host_allowed
from tests.review.web.conftest import HERE, Browser, Made, hidden


@pytest.mark.parametrize(
    ("name", "host", "allowed"),
    [
        ("127.0.0.1:8642", "127.0.0.1", True),
        ("localhost:9999", "127.0.0.1", True),  # through a tunnel
        ("[::1]:8642", "127.0.0.1", True),
        ("evil.example:8642", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("192.168.0.7:8642", "127.0.0.1", False),
        ("192.168.0.7:8642", "0.0.0.0", True),
        ("evil.example:8642", "0.0.0.0", False),
        ("review.example:8642", "review.example", True),
        ("", "127.0.0.1", False),
        ("[", "127.0.0.1", False),
    ],
)
def test_hosts(name: str, host: str, allowed: bool) -> None:
    assert host_allowed(name, host) is allowed


def test_a_name_that_points_here_is_not_answered(browser: Browser) -> None:
    answer = browser.get("/", headers={"host": "evil.example:8642"})
    assert answer.status_code == 421
    assert "anna" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8643"},  # another server of this machine
        {"origin": "", "referer": "http://evil.example/judge"},
        {"origin": ""},
        {"origin": "http://["},
    ],
)
def test_a_form_from_elsewhere_is_refused(browser: Browser, headers: dict[str, str]) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    action = re.search(r'action="(/judge[^"]*)"', page)
    assert action
    form = hidden(page) | {"decision": "1"}
    answer = browser.post(action[1], data=form, headers=headers)
    assert answer.status_code == 403
    assert answer.text.startswith("Nothing was kept: the form was not sent from this page.")
    assert review.store.verdicts() == []
    without_origin = {"origin": "", "referer": f"{HERE}/judge/anna"}
    assert browser.post(action[1], data=form, headers=without_origin).status_code == 200


def test_a_form_of_another_session_is_refused(made: Made) -> None:
    review = made()
    app = create_app(review, port=8642)
    stranger = Browser(app).get("/judge/anna").text
    browser = Browser(app)
    browser.get("/judge/anna")
    answer = browser.submit(stranger, decision="1")
    assert answer.status_code == 403
    assert "the form is not of this browser&#39;s session" in answer.text
    assert review.store.verdicts() == []


def test_forms_stand_a_server_that_starts_anew(made: Made) -> None:
    browser = Browser(create_app(made(), port=8642))
    page = browser.get("/judge/anna").text
    again = Browser(create_app(made(), port=8642))
    again.cookies = browser.cookies
    assert again.submit(page, decision="1").status_code == 200
    assert len(made().store.verdicts()) == 1


def test_too_much_is_refused(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    answer = browser.submit(page, decision="1", comment="x" * LARGEST)
    assert answer.status_code == 413
    assert "the form holds more than 4 MB" in answer.text
    many = {f"field{i}": "" for i in range(100)}
    assert browser.submit(page, decision="1", **many).status_code == 400
    assert (
        browser.post(
            "/undo/anna", content=b"{}", headers={"content-type": "application/json"}
        ).status_code
        == 415
    )
    assert review.store.verdicts() == []


def test_elsewhere_a_token_is_needed(made: Made) -> None:
    app = create_app(made(), host="0.0.0.0", port=8642, token="right")
    base = "http://192.168.0.7:8642"
    stranger = Browser(app, base)
    for path in ("/", "/judge/anna", "/files/keys.js", "/?token=wrong", "/?token="):
        refused = stranger.get(path)
        assert refused.status_code == 403, path
        assert "anna" not in refused.text
        assert "set-cookie" not in refused.headers
    guest = Browser(app, base)
    answer = guest.get("/?token=right", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == (
        "retgen_review_8642=right; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
    )
    for path in ("//evil.example/", "/%0d%0aset-cookie:%20a=b", "/\\evil.example"):
        answer = guest.get(base + path + "?token=right", follow_redirects=False)
        location = answer.headers["location"]
        assert location[0] == "/" != location[1], location
        assert location.isascii()
        assert "\n" not in location
    page = guest.get("/judge/anna").text
    assert "right" not in hidden(page)["form"]
    assert guest.submit(page, decision="1").status_code == 200


def test_what_every_answer_says(browser: Browser) -> None:
    for path in ("/", "/judge/anna", "/files/keys.js", "/nothing", "/judge/nobody"):
        headers = browser.get(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
