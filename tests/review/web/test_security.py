"""Who may ask, from where, and how much; and what every answer says."""

from __future__ import annotations

import re

import pytest

from retgen.review.web.security import LARGEST, is_own
from tests.review.web.conftest import HERE, Browser, hidden


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("127.0.0.1:8642", True),
        ("localhost:9999", True),  # through a tunnel
        ("[::1]:8642", True),
        ("127.0.0.1.evil.example", False),
        ("192.168.0.7:8642", False),
        ("", False),
        ("[", False),
    ],
)
def test_hosts(name: str, own: bool) -> None:
    assert is_own(name) is own


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
