"""Small data sets in MTEB layout, and what one rule says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.validation.validate import validate
from retgen.validators.validation import Validation

Rows = list[tuple[list[str], str]]
_THINGS = "bridge tower garden market station harbour library mill theatre square".split()
_DEEDS = "was built was restored was painted was sold was rented was measured".split(" was ")


def plain(number: int) -> str:
    """An English text like no other, of some thirty words."""
    thing, deed = _THINGS[number % 10], _DEEDS[number % 6].removeprefix("was ")
    return (
        f"The old {thing} of street {number} was {deed} by the people who lived near it, and "
        f"they still tell their children how it looked before house {number * 7 + 1} burned down."
    )


def write_set(
    folder: Path,
    texts: Mapping[str, str],
    queries: Mapping[str, str] | None = None,
    qrels: Sequence[tuple[str, str, int]] = (),
    **metadata: Any,
) -> Path:
    """`metadata`: of queries, by their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    queries = {"q0": "who restored the old mill"} if queries is None else queries
    qrels = qrels or [(next(iter(queries)), next(iter(texts)), 1)]
    tables = {
        "corpus": [{"_id": i, "title": "", "text": text} for i, text in texts.items()],
        "queries": [
            {"_id": i, "text": text, "metadata": metadata.get(i)} for i, text in queries.items()
        ],
        "qrels": [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in qrels],
    }
    for name, rows in tables.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    return folder


def findings_of(validation: Validation, rule: str) -> Rows:
    """(ids, message) of each finding of a rule, all of which warn."""
    message = [finding for finding in validation.findings if finding.rule == rule]
    assert {finding.severity for finding in message} <= {"warning"}
    return [(finding.ids, finding.message) for finding in message]


def findings_in(folder: Path, rule: str, *args: Any, **metadata: Any) -> Rows:
    """What a rule says of the set of these texts, queries and qrels."""
    return findings_of(validate(write_set(folder, *args, **metadata), workers=1), rule)
