"""Pages and forms: what is kept, what is said, and what comes back where nothing could be kept."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.review.web.app import create_app
from tests.review.web.conftest import CORPUS, Browser, Made, hidden


def notice(page: str) -> str:
    """What a page says of the form before."""
    found = re.search(r'<p class="notice[^>]*>(.*?)</p>', page, re.DOTALL)
    return re.sub(r"<[^>]+>", "", found[1]).strip() if found else ""


def strip(page: str) -> str:
    """What a page says of the item before."""
    found = re.search(r'<div class="strip.*?</div>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", found[0]).split()) if found else ""


def test_a_verdict_is_on_disk_before_it_is_answered(made: Made) -> None:
    review = made()
    browser = Browser(create_app(review))
    page = browser.get("/judge/anna").text
    assert "0 of 5 judged" in page
    done = browser.submit(page, decision="1", reason="answers in part", comment="Hm.\r\nSo so.")
    (verdict,) = made().store.verdicts()
    assert (verdict.annotator, verdict.relevance) == ("anna", 1)
    assert (verdict.reason, verdict.comment) == ("answers in part", "Hm.\nSo so.")
    assert verdict.shown == hidden(page)["shown"]
    assert verdict.seconds is not None
    assert 0 <= verdict.seconds < 60
    assert [step.status_code for step in done.history] == [303]
    assert "1 of 5 judged" in done.text
    assert strip(done.text) == (
        "The item before. You: relevant (1) Data set: relevant (1) same look again"
    )


def test_a_blind_strip_comes_after_the_verdict_only(browser: Browser) -> None:
    first = browser.get("/judge/anna").text
    assert strip(first) == ""
    assert "Data set" not in first
    assert strip(browser.submit(first, decision="0").text) == (
        "The item before. You: not relevant (0) Data set: relevant (1) differs look again"
    )


def test_a_form_that_is_sent_twice_counts_once(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    browser.submit(page, decision="1")
    again = browser.submit(page, decision="1")
    assert notice(again.text) == (
        "That verdict was kept before: the form was sent twice, and counts once."
    )
    assert len(review.store.verdicts()) == 1
    other = browser.submit(page, decision="0")  # the back button, or a second tab
    assert notice(other.text) == (
        "Your earlier verdict on that item was replaced by the one you sent now."
    )
    assert [v.relevance for v in review.store.verdicts()] == [1, 0]
    assert "1 of 5 judged" in other.text


def test_a_double_click_counts_once(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    clicks = [
        threading.Thread(target=browser.submit, args=[page], kwargs={"decision": "1"})
        for _ in range(6)
    ]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert len(review.store.verdicts()) == 1


def test_undo_brings_the_item_back(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    browser.submit(page, decision="1")
    back = browser.post("/undo/anna", data={"undo": "yes"})
    assert notice(back.text) == "Your last verdict is taken back; here is its item again."
    assert hidden(back.text)["shown"] == hidden(page)["shown"]
    assert [v.withdrawn for v in review.store.verdicts()] == [False, True]
    assert notice(browser.post("/undo/anna", data={"undo": "yes"}).text) == (
        "There is no verdict of yours to take back."
    )


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow: what writing to a full disk looks like."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_the_form_comes_back_as_it_was(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    with full_disk():
        full = browser.submit(page, decision="1", reason="answers in part", comment="my words")
    assert full.status_code == 507
    assert f"Not kept. {review.store.path} cannot be written: " in full.text
    assert "my words</textarea>" in full.text
    assert 'name="reason" value="answers in part"' in full.text
    assert review.store.verdicts() == []
    browser.submit(full.text, comment="my words")  # there is room again
    (kept,) = review.store.verdicts()
    assert (kept.relevance, kept.reason, kept.comment) == (1, "answers in part", "my words")


def test_disagreement_is_settled_with_all_that_was_said(browser: Browser) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    browser.submit(page, decision="1", comment="surely")
    shown = hidden(page)["shown"]
    while hidden(page := browser.get("/judge/ben").text)["shown"] != shown:
        browser.submit(page, decision="1")
    browser.submit(page, decision="0", reason="is about something else", comment="<i>no</i>")
    queue = browser.get("/adjudicate/anna").text
    for said in ("surely", "is about something else", "&lt;i&gt;no&lt;/i&gt;", "not relevant (0)"):
        assert said in queue
    done = browser.submit(queue, decision="0")
    assert notice(done.text) == "The item is settled."
    assert "Nothing waits to be settled" in done.text
    last = review.store.verdicts()[-1]
    assert (last.annotator, last.settles, last.relevance) == ("anna", True, 0)


def test_who_has_not_judged_an_item_does_not_read_what_others_said_of_it(made: Made) -> None:
    review = made(annotators=["anna", "ben", "cleo"])
    browser = Browser(create_app(review))
    item = review.items[0]
    for name, said in (("anna", 1), ("ben", 0)):
        review.record(name, item.item_id, said, shown=item.shown, comment=f"{name}'s")
    assert "anna&#39;s" in browser.get("/adjudicate/ben").text
    of_cleo = browser.get("/adjudicate/cleo").text
    assert "anna" not in of_cleo
    assert "Nothing waits to be settled" in of_cleo
    review.record("cleo", item.item_id, 1, shown=item.shown)
    assert "anna&#39;s" in browser.get("/adjudicate/cleo").text


def test_a_run_that_changed_is_said_and_nothing_is_lost(browser: Browser, tmp_path: Path) -> None:
    review = browser.review
    page = browser.get("/judge/anna").text
    corpus = tmp_path / "made" / "corpus.jsonl"
    as_it_was = corpus.read_text()
    corpus.write_text(as_it_was.replace("Jon", "Jim"))
    changed = browser.submit(page, decision="1")
    assert changed.status_code == 409
    assert "The data set is not the one that is under review" in changed.text
    assert len(review.store.verdicts()) == 1  # on what was shown, so it is kept
    corpus.write_text(as_it_was)
    assert "1 of 5 judged" in browser.get("/judge/anna").text


def test_an_item_is_looked_at_again_after_the_verdict_only(browser: Browser) -> None:
    page = browser.get("/judge/anna").text
    found = re.search(r'action="/judge/anna/(\w+)"', page)
    assert found
    before = browser.get(f"/seen/anna/{found[1]}")
    assert before.status_code == 403
    assert "is shown after your verdict on it" in before.text
    browser.submit(page, decision="1")
    after = browser.get(f"/seen/anna/{found[1]}")
    assert after.status_code == 200
    assert "Label of the data set" in after.text
    assert browser.get(f"/seen/ben/{found[1]}").status_code == 403


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/judge/bob", 404, "&#39;bob&#39; is no annotator of this review. Annotators: anna, ben"),
        ("/judge/ana", 404, "did you mean"),
        ("/seen/anna/nothing", 404, "there is no item &#39;nothing&#39; in this review"),
        ("/docs", 404, "There is no such page."),
        ("/files/..%2fapp.py", 404, "There is no such page."),
        ("/files/app.py", 404, "There is no such page."),
        ("/verdicts.sqlite", 404, "There is no such page."),
    ],
)
def test_what_there_is_not(browser: Browser, path: str, status: int, said: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == status
    assert said in answer.text


@pytest.mark.parametrize("decision", ["", "2", "3", "-1", "<b>"])
def test_a_decision_that_this_review_has_not(browser: Browser, decision: str) -> None:
    review = browser.review
    answer = browser.submit(browser.get("/judge/anna").text, decision=decision)
    assert answer.status_code in (400, 409)
    assert review.store.verdicts() == []


def test_pages_have_headings_labels_and_language(browser: Browser) -> None:
    for path in ("/", "/judge/anna", "/adjudicate/anna"):
        page = browser.get(path).text
        assert page.count("<h1") == 1, path
        assert '<html lang="en">' in page
        named = set(re.findall(r'<label for="([^"]+)"', page))
        fields = re.findall(r"<(?:select|textarea|progress)[^>]*id=\"([^\"]+)\"", page)
        assert set(fields) <= named, path
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert len(ids) == len(set(ids)), path
        assert set(re.findall(r'aria-labelledby="([^"]+)"', page)) <= set(ids)
        assert not re.search(r"<[^>]+ (style|on\w+)=", page)  # the policy would block them


def test_all_of_a_record_is_text(made: Made) -> None:
    browser = Browser(create_app(made()))
    pages = []
    for _ in range(5):
        pages.append(browser.get("/judge/anna").text)
        browser.submit(pages[-1], decision="1")
    (scripted,) = [page for page in pages if "alert(1)" in page]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 * 7 }} likes" in re.sub(
        "</?mark[^>]*>", "", scripted
    )
    assert scripted.count("<script") == 1  # ours
    (turned,) = [page for page in pages if "gnp.exe" in page]
    assert "\u202e" not in turned
    assert '<span class="hidden" title="Right-to-left override">U+202E</span>gnp.exe' in turned
    assert CORPUS["d3"].count("\u202e") == 1


def test_files_are_ours_only(browser: Browser) -> None:
    for name in ("page.css", "review.css", "keys.js"):
        answer = browser.get(f"/files/{name}")
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert os.sep not in answer.headers["content-type"].partition("/")[2]
