"""A review to take away: a page that needs no server, a table that spreadsheets do not run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from retgen.errors import UsageError
from retgen.review import open_review
from retgen.review.exchange import import_
from retgen.review.exchange.table import COLUMNS
from retgen.review.web import static_page
from tests.pages import Read
from tests.review.web.conftest import Made


def test_a_page_and_its_table(made: Made, tmp_path: Path) -> None:
    review = made()
    items = [look.item for look in review.queue("anna")]
    written = static_page.write(review, tmp_path / "away", "anna", items)
    assert written.page == tmp_path / "away" / "review_anna.html"
    assert written.table.read_bytes()[:3] == b"\xef\xbb\xbf"
    rows = list(csv.DictReader(io.StringIO(written.table.read_text("utf-8-sig"), newline="")))
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["item_id"], row["shown"]) for row in rows] == [(i.item_id, i.shown) for i in items]
    assert {row["verdict"] for row in rows} == {""}
    page = written.page.read_text("utf-8")
    read = Read(page)
    assert "script" not in read.tags
    assert "link" not in read.tags
    assert page.count("Item 3 ") == 1
    ids = [value for name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert "<script>alert(1)</script>" in read.text
    assert "relevant (1)" not in page  # blind, as the server's
    with pytest.raises(UsageError, match="is there already, and may be filled in"):
        static_page.write(review, tmp_path / "away", "anna", items)


def test_a_table_that_was_filled_in_comes_back(made: Made, tmp_path: Path) -> None:
    review = made()
    items = [look.item for look in review.queue("ben")]
    path = static_page.write(review, tmp_path / "away", "ben", items).table
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    rows[0] |= {"verdict": "1", "comment": "yes"}
    rows[1] |= {"verdict": "unsure"}
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    result = import_(review, path)
    assert (result.kept, result.refused) == (2, [])
    assert [(v.item_id, v.annotator, v.decision, v.comment) for v in review.store.verdicts()] == [
        (items[0].item_id, "ben", "1", "yes"),
        (items[1].item_id, "ben", "unsure", ""),
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1"])
def test_formulas_are_text(dataset, tmp_path: Path, text: str) -> None:  # type: ignore[no-untyped-def]
    folder = dataset(
        {"d": f"{text} quokkas", "e": "more quokkas"},
        {"q": "=HYPERLINK(1)"},
        [("q", "d", 1)],
        "evil",
    )
    review = open_review(folder, out=tmp_path / "r", plants=0.0, goals=["wrong <= 2% at 95%"])
    (row,) = csv.DictReader(io.StringIO(static_page.table(review, "me", review.items), newline=""))
    assert (row["query"], row["text"]) == ("'=HYPERLINK(1)", f"'{text} quokkas")


def test_a_cell_holds_what_spreadsheets_hold(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = dataset({"d": "long " * 10_000, "e": "x"}, {"q": "long"}, [("q", "d", 1)], "long")
    review = open_review(folder, out=tmp_path / "r", plants=0.0, goals=["wrong <= 2% at 95%"])
    (row,) = csv.DictReader(io.StringIO(static_page.table(review, "me", review.items), newline=""))
    assert row["text"].endswith(" … (the page has the whole text)")
    assert len(row["text"]) < 32_767
