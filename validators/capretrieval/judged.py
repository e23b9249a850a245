"""The proof of given queries that were judged: labels are what the readings say, and nothing else.

A grade stands where two readings agree, or where their conflict was settled; a pair with less has
no row in the qrels. What cannot be proven is whether a reading is right: the card states how often
it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.validators.rule import Finding, Judgements

_NONE = "no_positives"  # the split of queries without a relevant passage
_Row = Mapping[str, Any]


class JudgingFiles(NamedTuple):
    """Files of the run: the queries as they were given, every judged pair, what is said of them."""

    given: Path
    judgements: Path
    judged: Path


def judged_findings(
    rule: str, files: JudgingFiles, judgements: Judgements, passages: Mapping[str, Any]
) -> Iterator[Finding]:
    """What is wrong with the queries, the readings and the qrels."""

    def finding(ids: list[str], message: str) -> Finding:
        return Finding(rule, "error", ids, message)

    given = {row["id"]: row["text"] for row in _lines(files.given)}
    written = {query.query_id: query.text for query in judgements.queries}
    for name in sorted(given.keys() ^ written.keys()):
        what = "was given, and is not in the data set" if name in given else "was not given"
        yield finding([name], f"{name}: {what}")
    for name in sorted(given.keys() & written.keys()):
        if given[name] != written[name]:
            yield finding([name], f"{name}: is not the text that was given")
    grades: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str]] = set()
    twice: list[tuple[int, int]] = []
    for row in _lines(files.judgements):
        pair = row["query"], row["passage"]
        if pair in seen:
            yield finding([*pair], f"{pair[0]}: {pair[1]} is judged twice over")
        seen.add(pair)
        if pair[0] not in given or pair[1] not in passages:
            yield finding([*pair], f"{pair[0]}: {pair[1]} is no pair of query and passage")
        if row["relevance"] is not None:
            grades[pair] = row["relevance"]
        if row["second"] is not None:
            twice.append((row["first"], row["second"]))
        if row["relevance"] != _grade(row):
            message = f"{pair[0]}: {pair[1]} has grade {row['relevance']}, its readings do not"
            yield finding([*pair], message)
    yield from (finding(ids, text) for ids, text in _qrels(grades, judgements))
    stated = orjson.loads(files.judged.read_bytes())
    if stated["judged"] != len(grades):
        text = f"{stated['judged']:,} pairs are said to be judged, {len(grades):,} are"
        yield finding([], text)
    if stated["agreement"] is not None and stated["agreement"]["pairs"] != len(twice):
        yield finding([], "the agreement stated is of other pairs than these")
    elif twice and abs(_raw(twice) - stated["agreement"]["raw"]) > 1e-4:
        yield finding([], f"the passes agree on {_raw(twice):.4f}, not as stated")


def _grade(row: _Row) -> int | None:
    """What the readings of a pair say."""
    if row["second"] is None or row["first"] == row["second"]:
        return int(row["first"])
    settled = row["adjudicated"]
    return None if settled is None else int(settled)


def _raw(pairs: list[tuple[int, int]]) -> float:
    return sum(first == second for first, second in pairs) / len(pairs)


def _qrels(
    grades: Mapping[tuple[str, str], int], judgements: Judgements
) -> Iterator[tuple[list[str], str]]:
    """Every judged pair is a row with its grade; queries are in the split of their labels."""
    answered = {query for (query, _), grade in grades.items() if grade > 0}
    rows = 0
    for split, qrels in ((judgements.split, judgements.qrels), *judgements.others.items()):
        for query_id, doc_id, relevance in qrels:
            rows += 1
            grade = grades.get((query_id, doc_id))
            if grade is None:
                yield [query_id, doc_id], f"{query_id}: {doc_id} has a qrel and was not judged"
            elif grade != relevance:
                message = f"{query_id}: {doc_id} is judged {grade}, and {relevance} in the qrels"
                yield [query_id, doc_id], message
            wanted = "test" if query_id in answered else _NONE
            if split != wanted:
                yield [query_id], f"{query_id}: belongs to split {wanted}, not to {split}"
    if rows != len(grades):
        yield [], f"{len(grades):,} pairs are judged, and the qrels have {rows:,} rows"


def _lines(path: Path) -> Iterator[Any]:
    with open(path, "rb") as file:
        for line in file:
            yield orjson.loads(line)
