"""Given queries as a test set: those that people asked, or the bundled ones with their labels.

Leaves in the run's sources/ `documents.jsonl` and `passages.jsonl` as `with_agents` does, an empty
`queries.jsonl` (none is written), `given.jsonl` (the queries) and `judgements.jsonl` (the pairs
whose grade is known).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.errors import SourceRefused
from retgen.generators.capretrieval.asked import GivenQuery, given_queries, known_answers
from retgen.generators.capretrieval.language import language_of
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Passage, bundled_labels, cut_passages
from retgen.generators.capretrieval.reading import (
    PASSAGES,
    QUERIES,
    passage_row,
    read_documents,
    reject_rows,
    text_of,
    wholes_of,
)
from retgen.generators.params import Job
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import read_rows
from retgen.on_disk import MappedList
from retgen.search.collection import PAGES
from retgen.sources import refusals
from retgen.streams import Stream
from retgen.write import write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

GIVEN, JUDGEMENTS = "given.jsonl", "judgements.jsonl"
# of bundled queries without a relevant passage: a ranking measure cannot say anything of them
# (paper, Appendix B.2), a classifier can
NONE = "no_positives"
_RELEVANT = 2  # the grade of a document that people named as the answer


async def keep_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read documents and queries, and keep them with the labels that are known."""
    params = job.params
    assert params.asked is not None
    documents, refused, _ = read_documents(
        job, context.folder, (), context.engine, context.progress
    )
    languages = language_of(MappedList(text_of, documents), params.language)
    passages = list(cut_passages(wholes_of(documents, languages), params.passages))
    if not passages:
        message = f"params.source: there is no document that can be used. {refusals(refused)}"
        raise SourceRefused(message.rstrip(), [one._asdict() for one in refused])
    queries, none = given_queries(params.asked)
    if params.asked.queries is None:
        rows = _bundled(queries, passages)
    else:
        named = known_answers(queries, [one.source for one in passages])
        rows = [_row(queries[query], passages[passage], _RELEVANT) for query, passage in named]
    reject_rows([*refused, *none], context)
    write_rows(context.folder / PASSAGES, (passage_row(one, "test") for one in passages))
    write_rows(context.folder / QUERIES, ())
    told = language_of([one.text for one in queries], params.language)
    write_rows(
        context.folder / GIVEN,
        (one.row(language) for one, language in zip(queries, told, strict=True)),
    )
    write_rows(context.folder / JUDGEMENTS, rows)


def _bundled(queries: Sequence[GivenQuery], passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """The grades that came with the bundled captions, known within a language."""
    labels = bundled_labels()
    return [
        _row(query, passage, labels[query.text][passage.text])
        for query in queries
        for passage in passages
        if passage.language == query.language
    ]


def _row(query: GivenQuery, passage: Passage, relevance: int) -> dict[str, Any]:
    return {"query": query.id, "passage": passage.id, "relevance": relevance}


class GivenTables:
    """The queries and qrels of a run, from its sources/. `by_people`: the queries are a user's."""

    def __init__(self, folder: Path, seed: int, by_people: bool) -> None:
        given = read_rows(folder / GIVEN)
        # another order than the documents': a place in one tells nothing of the other
        self.given = [given[i] for i in Stream(seed, "capretrieval/given").permutation(len(given))]
        self.judgements = read_rows(folder / JUDGEMENTS)
        self.answered = {row["query"] for row in self.judgements if row["relevance"]}
        self.by_people = by_people

    def queries(self) -> Rows:
        """The queries, as they were given."""

        def make(i: int) -> dict[str, Any]:
            one = self.given[i]
            kind = {"labels": PAGES} if self.by_people else {"type": one["type"]}
            split = "test" if self.by_people or one["id"] in self.answered else NONE
            note = {**kind, "language": one["language"], "split": split}
            return {"_id": one["id"], "text": one["text"], "metadata": note}

        return rows_of(make, len(self.given))

    def qrels(self) -> dict[str, Rows]:
        """The judged pairs: of queries that have a relevant passage, and of those that have not."""
        test = [row for row in self.judgements if row["query"] in self.answered]
        rest = [row for row in self.judgements if row["query"] not in self.answered]
        return {"test": _qrels(test)} | ({NONE: _qrels(rest)} if rest else {})

    def sentences(self) -> list[str]:
        """For the card: how the labels came about, and what is known of them."""
        unjudged = (
            "A pair without a row was not judged, which does not mean that it is not relevant."
        )
        if self.by_people:
            return [
                "People asked the queries. Their documents are judged in a review (`gen review`): "
                f"0 (not relevant), 1 (in part) or 2. {unjudged} Labels are of "
                "whole documents: a document is scored by its best passage."
            ]
        relevant = sum(row["relevance"] > 0 for row in self.judgements)
        return [
            "The queries were given, not written for these documents. "
            f"{len(self.judgements):,} pairs of a query and a passage were judged 0 (not "
            f"relevant), 1 (in part) or 2, of which {relevant:,} are relevant; each has a row in "
            f"the qrels. {unjudged} Queries without a relevant passage are in the configuration "
            f"`{NONE}`.",
            "The labels came with the captions; a language model wrote both.",
        ]

    def notes(self) -> Mapping[str, str]:
        """What `gen run` prints."""
        if not self.by_people:
            return {}
        named = f"; the documents of {len(self.answered):,} are named" * bool(self.answered)
        return {"questions": f"{len(self.given):,}{named}; `gen review` judges them"}


def _qrels(rows: list[dict[str, Any]]) -> Rows:
    def make(i: int) -> dict[str, Any]:
        row = rows[i]
        return {
            "query-id": row["query"],
            "corpus-id": row["passage"],
            "score": row["relevance"],
        }

    return rows_of(make, len(rows))
