"""CSV for spreadsheets, and back: whatever they do to a file on the way.

What comes back may begin with a byte order mark, be UTF-16 or Windows-1252, have semicolons or tabs
for commas and any line ends. A cell that a spreadsheet would take for a formula goes out behind an
apostrophe, which is taken off on the way in.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from retgen.errors import DatasetError
from retgen.review.exchange.rows import (
    TEXTS,
    ImportedRow,
    answers,
    claim,
    export_items,
    imported_row,
)
from retgen.review.records import Item, Verdict
from retgen.review.review import Review
from retgen.write import make_folder, write_file

COLUMNS = (
    "item_id",
    "shown",
    "annotator",
    "part",
    "query",
    "title",
    "text",
    "label",
    "verdict",
    *TEXTS,
)
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NEEDED = ("item_id", "shown", "verdict")
_DELIMITERS = ",;\t|"


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; `restored` gives the text back."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """The text of a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write(review: Review, path: Path) -> None:
    """A row for each verdict, and one to fill in for each item without any."""
    text = io.StringIO(newline="")
    out = csv.writer(text)
    out.writerow(COLUMNS)
    for item, _, verdicts in export_items(review):
        for verdict in verdicts or (None,):
            out.writerow(map(escape_formula, table_row(review, item, verdict)))
    make_folder(path.parent)
    write_file(path, text.getvalue().encode("utf-8-sig"))  # without the mark Excel guesses wrong


def table_row(
    review: Review, item: Item, verdict: Verdict | None = None, annotator: str = ""
) -> list[str]:
    """The cells of an item: with a verdict, or to be filled in by an annotator, if one is named."""
    shown = review.shown_pair(item)
    row = [item.item_id, item.shown]
    if verdict is not None:
        row += [verdict.annotator, verdict.part]
    else:
        row += [annotator, "first" if annotator else ""]
    row += [shown.query, shown.title, shown.text, claim(review, item)]
    said = answers(verdict) if verdict else {}
    return [*row, *(said.get(name, "") for name in ("verdict", *TEXTS))]


def rows_of(path: Path, data: bytes) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """(names of the columns in lower case, rows with their number as spreadsheets count them)."""
    if not data.strip():
        raise DatasetError(f"{path} is empty: it holds no verdicts")
    text = _text(path, data)
    first = text.lstrip("\r\n").partition("\n")[0]
    if first[:4] == "sep=":  # which Excel reads and never shows
        text = text.lstrip("\r\n").partition("\n")[2]
        first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    csv.field_size_limit(1 << 30)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        head = [name.strip().lower() for name in next(rows, [])]
    except csv.Error as error:
        raise DatasetError(f"{path} is no CSV that can be read: {error}") from error

    def numbered_rows() -> Iterator[tuple[int, list[str]]]:
        try:
            for number, row in enumerate(rows, start=2):
                if any(cell.strip() for cell in row):
                    yield number, row
        except csv.Error as error:
            raise DatasetError(f"{path} is no CSV that can be read: {error}") from error

    return head, numbered_rows()


def _text(path: Path, data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings: tuple[str, ...] = ("utf-16",)
    else:
        encodings = ("utf-8-sig", "cp1252")  # the latter is what Excel calls plain CSV
    for encoding in encodings:
        try:
            return data.decode(encoding).replace("\0", "")
        except UnicodeDecodeError:
            continue
    raise DatasetError(f"{path} is neither UTF-8 nor UTF-16: save it as CSV UTF-8")


def read(
    path: Path, head: Sequence[str], rows: Iterator[tuple[int, list[str]]]
) -> list[ImportedRow]:
    """The rows of a table of verdicts."""
    missing = [name for name in _NEEDED if name not in head]
    if missing:
        raise DatasetError(
            f"{path} has no column {', '.join(missing)} (it has: {', '.join(head)[:200]}). Give a "
            "file that `gen review --export` or --static wrote, with its columns"
        )
    result = []
    for number, row in rows:
        cells = dict(zip(head, map(unescape_formula, row), strict=False))
        if len(row) != len(head) and any(cell.strip() for cell in row[len(head) :]):
            why = f"has {len(row)} cells, the head {len(head)}: a quotation mark or comma is amiss"
            result.append(ImportedRow(number, problem=why))
            continue
        item_id, shown, annotator, part = (cells.get(name, "").strip() for name in COLUMNS[:4])
        said = {name: cells.get(name, "").strip() for name in ("verdict", "reason")}
        said["comment"] = cells.get("comment", "").replace("\r\n", "\n").strip()
        said |= {
            name: cells.get(name, "").replace("\r\n", "\n") for name in TEXTS if name not in said
        }
        result.append(imported_row(number, item_id, shown, annotator, part or "first", said))
    return result
