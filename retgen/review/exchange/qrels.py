"""TREC qrels: `query 0 document relevance`, a pair a line.

Out go the qrels of the split with the settled labels, for data sets that retgen did not write:
nothing is written into them. A rejected positive becomes a judged 0. In comes one person's
judgements of pairs of the review.
"""

from __future__ import annotations

import re
from pathlib import Path

from retgen.errors import DatasetError, UsageError
from retgen.review.exchange.row import ImportedRow
from retgen.review.review import Review
from retgen.write import make_folder, write_file

_LINE = re.compile(r"(\S+)\s+\S+\s+(\S+)\s+(-?[\d.]+)")


def write(review: Review, path: Path) -> None:
    """Write the corrected qrels. Raises where the data set changed, or nothing is settled."""
    if (why := review.change_message()) is not None:
        raise DatasetError(why)
    tables = review.dataset.qrels
    rows = tables[review.settings.split].read()[0] if review.settings.split in tables else []
    labels = {(q, d): int(relevance) for q, d, relevance in rows}
    # labels of 0 and 1 stay so, whatever grades people could give
    graded = not labels or max(labels.values()) > 1
    by, settled = review.by_item(), 0
    for item in review.items:
        state = review.consensus(by.get(item.item_id, ()))
        if state.state != "settled" or state.relevance is None:
            continue
        settled += 1
        pair = item.query_id, item.doc_id
        if graded or pair not in labels or item.positive != (state.relevance > 0):
            labels[pair] = state.relevance if graded else min(state.relevance, 1)
    if not settled:
        raise UsageError(f"{review.store.path}: nothing is settled yet, so there is no change")
    for name in (name for pair in labels for name in pair):
        if re.search(r"\s", name):
            raise DatasetError(
                f"{review.path}: the id {name!r} cannot stand in TREC qrels, where white space "
                "ends an id: give it another id"
            )
    make_folder(path.parent)
    write_file(path, "".join(f"{q} 0 {d} {score}\n" for (q, d), score in labels.items()))


def is_trec(data: bytes) -> bool:
    """Whether the first line of a file is one of TREC qrels."""
    first = data.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0]
    return _LINE.fullmatch(first.decode("utf-8", "replace").strip()) is not None


def read(review: Review, data: bytes) -> list[ImportedRow]:
    """The judgements of a file, on pairs of the review."""
    known = {(item.query_id, item.doc_id): item.item_id for item in review.items}
    result = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            result.append(ImportedRow(number, problem="is no line of TREC qrels"))
        elif name := known.get((found[1], found[2])):
            result.append(ImportedRow(number, name, verdict=found[3]))
        else:
            why = f"({found[1]}, {found[2]}) is no pair of this review"
            result.append(ImportedRow(number, problem=why))
    return result
