"""The CapRetrieval family: training and test queries over the user's own documents.

    passage   "A tricycle loaded with watermelons is parked in front of the store."
    found     what people wrote: its title, the heading over it, the words of links that point to it
    KW        watermelons; tricycle; store; with a model also: fruit, vehicle
    SM        tricycle loaded watermelons parked front store; with a model also: What is parked
              in front of the store?

Paper: CapRetrieval (Dense Retrievers Can Fail on Simple Queries), section 4 and Appendices B to D.
Where we deviate: passages are anybody's, not captions alone; a query is split with its document, so
that no document is on two sides; what people wrote comes first; keywords that too many passages
hold are dropped; each training pair has hard negatives of the same corpus; without a model,
summaries are the content words of a sentence, and hypernyms and questions are left out.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from retgen.errors import SourceRefused
from retgen.generators.capretrieval import card
from retgen.generators.capretrieval.agents import WRITE_QUERIES
from retgen.generators.capretrieval.asked import SHEET
from retgen.generators.capretrieval.given import (
    GIVEN,
    JUDGEMENTS,
    NONE,
    GivenTables,
    keep_queries,
)
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import FOUND, TWO, documents_of, spans
from retgen.generators.capretrieval.plan import (
    LOOKED_AT,
    call_estimates,
    check_two_documents,
    estimated_queries,
    plan_asked,
    plan_notes,
)
from retgen.generators.capretrieval.reading import (
    DOCUMENTS,
    PASSAGES,
    QUERIES,
)
from retgen.generators.capretrieval.tables import QueryTables
from retgen.generators.capretrieval.two_documents import (
    JUDGE_TWO_DOCUMENTS,
    TWO_DOCUMENT_AGENTS,
    TWO_DOCUMENTS,
    judge_of_questions,
)
from retgen.generators.capretrieval.with_agents import MINED, agents_of, write_queries
from retgen.generators.family import Evidence, Family, Plan
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.generators.source import SourceDescription
from retgen.sources import HUB, RefusedRow, refusals
from retgen.validators import capretrieval as proof
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["CapRetrieval"]

_QUERY, _QREL, _ROW = 250, 60, 120  # bytes, for plans
_ASKED = """\
# Questions that people asked over your own documents: a test set. See docs/your_documents.md.
# After the run people judge candidates: gen review outputs/<name>
# Their labels make the test set: gen run <path> --apply-review
"""
_CORPUS = {"source": "string", "span": ["int32"], "language": "string", "split": "string"}


class CapRetrieval(Family[CapRetrievalParams]):
    name = "capretrieval"
    summary = "training and test queries over your own documents: keywords and summaries"
    paper = (
        "Dense Retrievers Can Fail on Simple Queries: Revealing The Granularity Dilemma of "
        "Embeddings (arXiv 2506.08592)"
    )
    params = CapRetrievalParams
    covers = proof.COVERS
    proofs = proof.RULES
    fixed_records = False
    takes_source = True
    sheet = SHEET
    agents = (WRITE_QUERIES, *TWO_DOCUMENT_AGENTS)
    label_source = "grades that came with the captions, or that a model gave in a review"
    proof = "each document is one that the query was written for, or it holds the keyword"
    traces_labels = True

    def plan(self, job: Job[CapRetrievalParams]) -> Plan:
        from retgen.search.mining import check_by

        params = job.params
        if params.mine.negatives:
            check_by(params.mine.by)
        if params.queries.two_documents:
            check_two_documents(job)
        source = params.source
        if source is not None and str(source.path).startswith(HUB):
            limits = [n for n in (job.limit, source.limit) if n is not None]
            note = (
                f"{source.path} is not looked up for a plan: how many documents it has is not known"
            )
            count = min(limits, default=0)
            queries = estimated_queries(job, count)
            return Plan(count, queries, queries, 0, notes=(note,), unknown=not limits)
        refused, first = list[RefusedRow](), list[str]()
        lengths, passages_of = array("q"), Counter[str]()
        for one in documents_of(params, job.limit):
            if isinstance(one, RefusedRow):
                refused.append(one)
                continue
            if len(first) < LOOKED_AT:
                first.append(one.text)
            for start, stop in spans(one.text, params.passages):
                lengths.append(len(one.text[start:stop].encode()))
                passages_of[one.id] += 1
        if not first:
            where = "the bundled captions" if source is None else str(source.path)
            message = f"params.source: {where} holds no document that can be used."
            rows = [one._asdict() for one in refused]
            raise SourceRefused(f"{message} {refusals(refused)}".rstrip(), rows)
        if params.asked is not None:
            return plan_asked(job, lengths, list(passages_of), first)
        passages, size = len(lengths), sum(lengths)
        queries = estimated_queries(job, len(lengths))
        return Plan(
            documents=passages,
            queries=queries,
            qrels=queries,
            bytes=size + passages * _ROW + queries * (_QUERY + _QREL),
            call_estimates=call_estimates(job, passages, size),
            notes=(*plan_notes(job, first), *card.large_document(passages_of)),
            about=True,
            source_documents=card.cut_from(passages_of),
        )

    def required_agents(self, job: Job[CapRetrievalParams]) -> frozenset[str]:
        return agents_of(job.params)

    def prepares(self, job: Job[CapRetrievalParams]) -> bool:
        return True

    async def generate_with_agents(self, job: Job[CapRetrievalParams], context: Context) -> None:
        work = write_queries if job.params.asked is None else keep_queries
        await work(job, context)

    def evidence(self, job: Job[CapRetrievalParams]) -> Evidence:
        if job.params.asked is None:
            return "structural"
        return "judged" if job.params.asked.queries is None else "human"

    def about(self, job: Job[CapRetrievalParams]) -> str:
        if job.params.asked is None:
            return self.summary
        return "which documents answer which queries, graded 0, 1 or 2"

    def from_user(self, job: Job[CapRetrievalParams]) -> Literal["documents", "queries"]:
        return "documents" if job.params.asked is None else "queries"

    def judges(self, job: Job[CapRetrievalParams]) -> Mapping[str, Mapping[str, Any]]:
        if job.params.asked is None:
            judged = _judged_questions(job)
            return {JUDGE_TWO_DOCUMENTS.name: judge_of_questions(judged)} if judged else {}
        if job.params.asked.queries is not None:
            return {}
        by = "labels that came with the captions"
        return {"relevance": {"by": by, "measured": "written by a language model"}}

    def repeatable(self, job: Job[CapRetrievalParams]) -> bool:
        params = job.params
        asked = None if params.asked is None else params.asked.queries
        # no folder, which may change
        return all(one is None or isinstance(one.path, Path) for one in (params.source, asked))

    def generate(self, job: Job[CapRetrievalParams]) -> Records:
        sources = job.source_folder()
        tables = QueryTables(sources, job.seed)
        if job.params.asked is not None:
            by_people = job.params.asked.queries is not None
            return _given(job, tables, GivenTables(sources, job.seed, by_people))
        mined = {"alike": ALIKE} | orjson.loads((sources / MINED).read_bytes())
        judged = _judged_questions(job)
        more = {"other_source": "string", "other_span": ["int32"]} if judged else {}
        sets = (FOUND, "kw", "sm", *((TWO,) if judged else ()))
        return Records(
            corpus=tables.corpus(),
            queries=tables.query_rows(),
            qrels=tables.qrels(),
            features={
                "corpus": _CORPUS,
                "queries": {
                    "kind": "string",
                    "set": "string",
                    "evidence": "string",
                    "score": "float64",
                    "side": "string",
                    "source": "string",
                    "span": ["int32"],
                    "found_in": "string",
                    **more,
                    "language": "string",
                    "split": "string",
                },
                **{f"training/{one}": {"negatives-id": ["string"]} for one in sets},
            },
            card=card.paragraphs(job, tables, mined, judged),
            notes=card.notes(job, tables, mined, judged),
            facts=card.facts(tables),
            example=card.example(tables),
            training=tables.training(),
            languages=card.languages(tables),
            licences=card.licences(job),
            source_documents=card.cut_from(card.passages_of(tables)),
        )

    def checks(self, job: Job[CapRetrievalParams], judgements: Judgements) -> Sequence[CorpusRule]:
        are_given = job.params.asked is not None
        return proof.proof_rules(job.source_folder(), judgements, are_given)

    def scaffold(self, source: SourceDescription | None = None) -> str:
        text = super().scaffold()
        if source is None:
            return text
        head, _, rest = text.partition("  # source:")
        text = head + source.block() + rest.partition("\n")[2]
        if not (passages := source.passages_line()):
            return text
        head, _, rest = text.partition("  # passages:")
        return head + passages + rest.partition("\n")[2]

    def with_queries(self, scaffold: str, path: str) -> str:
        command, _, rest = scaffold.partition("\n")
        rest = rest[rest.index("name:") : rest.index("  queries:")]
        return f"{command}\n{_ASKED}{rest}  asked: {{queries: {{path: {json.dumps(path)}}}}}\n"


def _judged_questions(job: Job[CapRetrievalParams]) -> dict[str, Any]:
    """What is known of the questions that need two documents; empty where none was wanted."""
    if not job.params.queries.two_documents:
        return {}
    result: dict[str, Any] = orjson.loads((job.source_folder() / TWO_DOCUMENTS).read_bytes())
    return result


def _given(job: Job[CapRetrievalParams], tables: QueryTables, pairs: GivenTables) -> Records:
    """The records of given queries."""
    return Records(
        corpus=tables.corpus(),
        queries=pairs.queries(),
        qrels=pairs.qrels(),
        apart=frozenset({NONE}),
        features={
            "corpus": _CORPUS,
            "queries": {
                "labels" if pairs.by_people else "type": "string",
                "language": "string",
                "split": "string",
            },
        },
        card=[card.CORPUS_CARD, *pairs.sentences()],
        notes=pairs.notes(),
        languages=card.languages(tables),
        licences=card.licences(job),
        source_documents=card.cut_from(card.passages_of(tables)),
    )
