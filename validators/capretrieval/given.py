"""The proof of given queries: their texts are those that were given, their labels those known.

What cannot be proven is whether a grade is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.validators.rule import Finding, Judgements

_NONE = "no_positives"  # the split of queries without a relevant passage


class GivenFiles(NamedTuple):
    """Files of the run: the queries as they were given, and every pair whose grade is known."""

    given: Path
    judgements: Path


def given_findings(
    rule: str, files: GivenFiles, judgements: Judgements, passages: Mapping[str, Any]
) -> Iterator[Finding]:
    """What is wrong with the queries and the qrels."""

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
    for row in _lines(files.judgements):
        pair = row["query"], row["passage"]
        if pair in grades:
            yield finding([*pair], f"{pair[0]}: {pair[1]} is judged twice over")
        grades[pair] = row["relevance"]
        if pair[0] not in given or pair[1] not in passages:
            yield finding([*pair], f"{pair[0]}: {pair[1]} is no pair of query and passage")
    yield from (finding(ids, text) for ids, text in _qrels(grades, judgements))


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
