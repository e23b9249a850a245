"""The judge's verdicts behind the labels: their table is compared with the data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from retgen.validators.multiconir.ladders import TEN, Ladder, LadderFile

_EXPECTED = {"sentence": "satisfied", "rewrite": "violated"}

Documents = Callable[[Ladder], Sequence[tuple[str, int]]]
Row = dict[str, Any]


def verdict_faults(
    path: Path, ladders: LadderFile, documents: Documents
) -> Iterator[tuple[str, str]]:
    """(ladder, what is wrong) where a condition lacks its two verdicts, or one does not hold.

    Each ladder needs a row "satisfied" for the sentence of every condition and a row "violated" for
    its rewrite, with the texts of the data set, a quote that stands in the text, and the documents
    that hold it. `documents`: (id, broken conditions as bits) of a ladder's documents. Raises
    OSError or ValueError for a table that cannot be read.
    """
    left = set(ladders.ids())
    with open(path, "rb") as file:
        rows = (orjson.loads(line) for line in file)
        for name, group in groupby(rows, key=_ladder_of):
            ladder = ladders.get(name)
            if ladder is None or name not in left:
                yield str(name), "its verdicts stand twice, or it is no ladder of the run"
                continue
            left.discard(name)
            for fault in _faults(ladder, list(group), documents(ladder)):
                yield ladder.id, fault
    for name in sorted(left):
        yield name, "no verdict stands behind its labels"


def _ladder_of(row: Any) -> Any:
    return row.get("ladder") if isinstance(row, dict) else None


def _faults(ladder: Ladder, rows: list[Row], documents: Sequence[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with the rows of a ladder, condition by condition."""
    known: dict[tuple[Any, Any], list[Row]] = {}
    for row in rows:
        known.setdefault((row.get("condition"), row.get("of")), []).append(row)
    for number in range(1, TEN + 1):
        for of, expected in _EXPECTED.items():
            result = known.pop((number, of), [])
            where = f"condition {number}, {of}"
            if len(result) != 1:
                yield f"{where}: there are {len(result)} verdicts, not one"
                continue
            if (fault := _fault(ladder, number, of, expected, result[0])) is not None:
                yield f"{where}: {fault}"
            broken = of == "rewrite"
            right = {name for name, bits in documents if bool(bits >> number - 1 & 1) == broken}
            if right != set(map(str, result[0].get("corpus-ids") or ())):
                yield f"{where}: the documents of its verdict are not those that hold the text"
    if known:
        yield f"there are verdicts on what is none of its conditions: {sorted(map(str, known))}"


def _fault(ladder: Ladder, number: int, of: str, expected: str, row: Row) -> str | None:
    text = (ladder.sentences if of == "sentence" else ladder.rewrites)[number - 1]
    if row.get("text") != text or row.get("asked") != ladder.conditions[number - 1]:
        return "the text or the condition that was judged is not that of the data set"
    if row.get("verdict") != expected:
        return f"the verdict is {row.get('verdict')!r}, the labels need {expected!r}"
    quote = row.get("quote")
    if not isinstance(quote, str) or not _plain(quote) or _plain(quote) not in _plain(text):
        return f"the quote {str(quote)[:80]!r} is not a part of the text"
    return None


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”").casefold()
