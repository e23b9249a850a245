"""A review without a server: a page to read, and a table to fill in that comes back.

The table has the columns of `exchange.table`, which reads it back: what is filled in is found by
`item_id` and is about what was `shown`. Its texts are there to be read, and a spreadsheet that
changes them does no harm.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from retgen.errors import UsageError
from retgen.review.exchange.table import COLUMNS, escape_formula, table_row
from retgen.review.records import Item
from retgen.review.web import views
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.review.review import Review

_CELL = 32_000  # characters; spreadsheets hold 32,767 in a cell and break what is longer


class StaticReview(NamedTuple):
    """The files of a review to take away."""

    page: Path
    table: Path


def write(review: Review, folder: Path, annotator: str, items: Iterable[Item]) -> StaticReview:
    """Write the page and the table of some items for one annotator.

    Raises `UsageError` where the table is there: somebody may have filled it in.
    """
    items = list(items)
    name = re.sub(r"[^\w-]+", "_", annotator)
    written = StaticReview(folder / f"review_{name}.html", folder / f"review_{name}.csv")
    if written.table.exists():
        raise UsageError(
            f"{written.table} is there already, and may be filled in: import it "
            "(gen review PATH --import FILE), or choose another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_file(
        written.table, table(review, annotator, items).encode("utf-8-sig")
    )  # Excel needs the mark
    write_file(written.page, page(review, annotator, items, written.table.name).encode())
    return written


def table(review: Review, annotator: str, items: Iterable[Item]) -> str:
    """The table to fill in: CSV with a head, line ends as spreadsheets write them."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(COLUMNS)
    for item in items:
        row = table_row(review, item, annotator=annotator)
        rows.writerow(escape_formula(_cell(cell)) for cell in row)
    return text.getvalue()


def page(review: Review, annotator: str, items: Iterable[Item], table_name: str) -> str:
    """The page to read, in one file: every item as the server would show it."""
    revealed = review.settings.mode == "check"
    here = Path(__file__).parent
    style = "".join(
        path.read_text("utf-8") for path in (here.parent.parent / "page.css", here / "review.css")
    )
    settings = review.settings
    values = {
        "name": views.name_of(review),
        "annotator": annotator,
        "table": table_name,
        "style": Markup(style),  # ours
        "guideline": views.guideline(review),
        "question": views.question(settings.mode, settings.grades),
        "choices": views.choices(settings.mode, settings.grades),
        "reasons": views.REASONS,
        "items": (
            views.item_view(review, item, revealed=revealed, one_of_many=True) for item in items
        ),
    }
    return views.render("static.html", values)


def _cell(text: str) -> str:
    """As much of a text as a cell holds."""
    return text if len(text) <= _CELL else f"{text[:_CELL]} … (the page has the whole text)"
