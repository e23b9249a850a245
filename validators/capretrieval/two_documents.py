"""The proof of questions that need two documents: they rest on both, and both are relevant.

That a question cannot be answered from either alone is a judge's word, which nothing here proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.validators.rule import Judgements


def two_documents_findings(
    judgements: Judgements,
    documents: Mapping[str, Any],
    passages: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[list[str], str]]:
    """What is wrong, with the ids. `rows`: of sources/queries.jsonl."""
    evidence = {row["text"]: row["rests_on"] for row in rows if row["kind"] == "two_documents"}
    notes = {
        query.query_id: query.metadata if isinstance(query.metadata, dict) else {}
        for query in judgements.queries
    }
    if not any(note.get("kind") == "two_documents" for note in notes.values()):
        return
    relevant: dict[str, set[str]] = {}
    for _, qrels in judgements.splits():
        for query_id, doc_id, relevance in qrels:
            if relevance > 0 and doc_id in passages:
                relevant.setdefault(query_id, set()).add(passages[doc_id]["source"])
    for query in judgements.queries:
        note = notes[query.query_id]
        if note.get("kind") != "two_documents":
            continue
        stated = [[note.get("source"), *(note.get("span") or (0, 0))],
                  [note.get("other_source"), *(note.get("other_span") or (0, 0))]]  # fmt: skip
        if None in (stated[0][0], stated[1][0]):
            message = f"{query.query_id}: names no two documents that it rests on"
            yield [query.query_id], message
            continue
        for source, start, stop in stated:
            if source not in documents or not 0 <= start < stop <= len(documents[source]["text"]):
                yield [query.query_id], f"{query.query_id}: rests on no characters of {source}"
            elif source not in relevant.get(query.query_id, ()):
                yield (
                    [query.query_id],
                    f"{query.query_id}: rests on {source}, which is not relevant",
                )
        if stated[0][0] == stated[1][0]:
            yield [query.query_id], f"{query.query_id}: rests on one document, not on two"
        if evidence.get(query.text, [])[:2] != stated:
            message = f"{query.query_id}: rests on other characters than the run's sources say"
            yield [query.query_id], message
