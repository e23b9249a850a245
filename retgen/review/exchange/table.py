"""CSV for spreadsheets, and back: whatever they do to a file on the way.

A file that comes back may begin with a byte order mark, be UTF-16 or Windows-1252, have semicolons
or tabs for commas and any line ends. A cell that a spreadsheet would take for a formula goes out
behind an apostrophe, which is taken off on the way in.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from retgen.errors import DatasetError
from retgen.review.exchange.row import ImportedRow, verdict_word
from retgen.review.records import MODEL
from retgen.review.review import Review
from retgen.write import make_folder, write_file

COLUMNS = (
    "item_id",
    "shown",
    "annotator",
    "settles",
    "query",
    "title",
    "text",
    "verdict",
    "reason",
    "comment",
)
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NEEDED = ("item_id", "shown", "verdict")
_CELL = 32_000  # characters; spreadsheets hold 32,767 in a cell and break what is longer


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; `unescape_formula` gives the text back."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """The text of a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write(review: Review, path: Path) -> None:
    """A row for each verdict of a person, and one to fill in for each that an annotator owes."""
    by = review.by_item()
    text = io.StringIO(newline="")
    out = csv.writer(text)
    out.writerow(COLUMNS)
    for item in review.items:
        texts = [one if len(one) <= _CELL else f"{one[:_CELL]} …" for one in item.pair[:3]]
        given = [one for one in by.get(item.item_id, ()) if one.source != MODEL]
        first = {verdict.annotator for verdict in given if not verdict.settles}
        rows = [
            (v.annotator, "yes" * v.settles, *texts, verdict_word(v), v.reason, v.comment)
            for v in given
        ]
        rows += [
            (name, "", *texts, "", "", "")
            for name in review.settings.annotators
            if name not in first
        ]
        out.writerows([item.item_id, item.shown, *map(escape_formula, row)] for row in rows)
    make_folder(path.parent)
    write_file(path, text.getvalue().encode("utf-8-sig"))  # without the mark Excel guesses wrong


def read(path: Path, data: bytes) -> list[ImportedRow]:
    """The rows of a table of verdicts, numbered as spreadsheets count them."""
    text = _text(path, data)
    if text.lstrip("\r\n")[:4] == "sep=":  # which Excel reads and never shows
        text = text.lstrip("\r\n").partition("\n")[2]
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    csv.field_size_limit(1 << 30)
    try:
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    except csv.Error as error:
        raise DatasetError(f"{path} is no CSV that can be read: {error}") from error
    head = [name.strip().lower() for name in rows[0]] if rows else []
    if missing := [name for name in _NEEDED if name not in head]:
        raise DatasetError(
            f"{path} has no column {', '.join(missing)} (it has: {', '.join(head)[:200]}). Give a "
            "file that `gen review --export` wrote, with its columns, or TREC qrels"
        )
    result = []
    for number, row in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in row[len(head) :]):
            why = f"has {len(row)} cells, the head {len(head)}: a quotation mark or comma is amiss"
            result.append(ImportedRow(number, problem=why))
            continue
        cells = {name: unescape_formula(c) for name, c in zip(head, row, strict=False)}
        item_id, shown, annotator, settles, *_, verdict, reason, comment = (
            cells.get(name, "").replace("\r\n", "\n").strip() for name in COLUMNS
        )
        given = (item_id, shown, annotator, settles.lower() in ("yes", "true", "1"))
        result.append(ImportedRow(number, *given, verdict, reason, comment))
    return result


def _text(path: Path, data: bytes) -> str:
    if not data.strip():
        raise DatasetError(f"{path} is empty: it holds no verdicts")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")  # what Excel calls plain CSV
    return text.replace("\0", "")
