"""Quepid: ratings as `query,docid,rating`, or a book with a column for each rater.

Quepid names a query by its text and shows the documents of its own index, so what was shown there
is not known here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from retgen.errors import DatasetError
from retgen.review.exchange.rows import ImportedRow
from retgen.review.review import Review
from retgen.write import make_folder, write_file

HEAD = ("query", "docid", "rating")


def write(review: Review, path: Path) -> None:
    """Every pair, with the grade that people settled on; empty where they have not."""
    by = review.by_item()
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(HEAD)
    for item in sorted(review.items, key=lambda one: (one.query_id, one.doc_id)):
        state = review.consensus(item, by.get(item.item_id, ()))
        settled = state.state == "settled" and state.relevance is not None
        # as it is: Quepid finds the query by this text, apostrophe and all
        query = review.shown_pair(item).query
        out.writerow([query, item.doc_id, state.relevance if settled else ""])
    make_folder(path.parent)
    write_file(path, text.getvalue())


def is_head(head: Sequence[str]) -> bool:
    """Whether a table is one of Quepid's."""
    return "docid" in head and "query" in head and "item_id" not in head


def read(
    review: Review, path: Path, head: Sequence[str], rows: Iterator[tuple[int, list[str]]]
) -> list[ImportedRow]:
    """The ratings: of one rater, or of each annotator that has a column."""
    people = {name.lower(): name for name in review.settings.annotators}
    columns = {name: people.get(name, "") for name in head if name == "rating" or name in people}
    if not columns:
        raise DatasetError(
            f"{path} has no column rating, and none that is called like an annotator "
            f"({', '.join(people.values())})"
        )
    items: dict[tuple[str, str], list[str]] = {}
    for item in review.items:
        pair = review.shown_pair(item).query, item.doc_id
        items.setdefault(pair, []).append(item.item_id)
    result = []
    for number, row in rows:
        cells = dict(zip(head, row, strict=False))
        found = items.get((cells.get("query", ""), cells.get("docid", "")), [])
        for column, annotator in columns.items():
            word = cells.get(column, "").strip()
            if not word:
                continue
            if len(found) > 1:
                why = f"{len(found)} queries of this review have this text"
                result.append(ImportedRow(number, problem=why))
                continue
            name = f"{cells.get('query', '')[:60]} / {cells.get('docid', '')}"
            result.append(
                ImportedRow(number, found[0] if found else name, annotator=annotator, word=word)
            )
    return result
