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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from retgen.errors import RecipeError
from retgen.generators.capretrieval import asked, card
from retgen.generators.capretrieval.agents import WRITE_QUERIES
from retgen.generators.capretrieval.language import has_baseline, language_name, language_of
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import FOUND, TWO, documents_of, spans
from retgen.generators.capretrieval.reading import no_document
from retgen.generators.capretrieval.tables import CORPUS_COLUMNS, QUERY_COLUMNS, QueryTables
from retgen.generators.capretrieval.two_documents import (
    JUDGE_TWO_DOCUMENTS,
    TWO_DOCUMENT_AGENTS,
    TWO_DOCUMENTS,
    WRITE_TWO_DOCUMENTS,
    estimated_calls,
    judge_of_questions,
)
from retgen.generators.capretrieval.with_agents import MINED, write_queries
from retgen.generators.family import CallEstimate, Evidence, Family, Plan
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.generators.source import SourceDescription
from retgen.sources import HUB, RefusedRow
from retgen.validators import capretrieval as proof
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["CapRetrieval"]

_ASKED = """\
# Questions that people asked over your own documents: a test set. See docs/your_documents.md.
# After the run people judge candidates: gen review outputs/<name>
# Their labels make the test set: gen run <path> --apply-review
"""
# for plans
_QUERY, _QREL, _ROW = 250, 60, 120  # bytes; of a query, a qrel, a passage without its text
_LOOKED_AT = 500  # documents, for their languages
_OF_A_MODEL = 12  # queries of a passage: not all that are asked for pass
# of rules: share of those asked for, most of a passage; and what `quality` leaves of them
_BY_RULES, _MOST_BY_RULES, _GOOD = 0.78, 8, 0.08
_WRITING, _WRITTEN = 1800, 30  # bytes of a prompt besides the passage; tokens of a query


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
    sheet = asked.SHEET
    agents = (WRITE_QUERIES, *TWO_DOCUMENT_AGENTS)
    label_source = "grades that came with the captions, or that a model gave in a review"
    proof = "each document is one that the query was written for, or it holds the keyword"
    traces_labels = True

    def plan(self, job: Job[CapRetrievalParams]) -> Plan:
        from retgen.search.mining import check_by

        params = job.params
        if params.mine.negatives:
            check_by(params.mine.by)
        needed = {WRITE_TWO_DOCUMENTS.name, JUDGE_TWO_DOCUMENTS.name} - job.live
        if params.queries.two_documents and needed:
            raise RecipeError(
                f"params.queries.two_documents: {' and '.join(sorted(needed))} are a model's work, "
                "which no rule can do: name one, as in --model openai:gpt-5-mini, or leave "
                "two_documents out"
            )
        source = params.source
        if source is not None and str(source.path).startswith(HUB):
            limits = [n for n in (job.limit, source.limit) if n is not None]
            note = (
                f"{source.path} is not looked up for a plan: how many documents it has is not known"
            )
            count = min(limits, default=0)
            queries = _estimated_queries(job, count)
            return Plan(count, queries, queries, 0, notes=(note,), unknown=not limits)
        refused, first = list[RefusedRow](), list[str]()
        lengths, passages_of = array("q"), Counter[str]()
        for one in documents_of(params, job.limit):
            if isinstance(one, RefusedRow):
                refused.append(one)
                continue
            if len(first) < _LOOKED_AT:
                first.append(one.text)
            for start, stop in spans(one.text, params.passages):
                lengths.append(len(one.text[start:stop].encode()))
                passages_of[one.id] += 1
        if not first:
            raise no_document(params, refused)
        passages, size = len(lengths), sum(lengths) + _ROW * len(lengths)
        if params.asked is not None:
            given, labels, notes = asked.planned(params.asked, passages_of, first)
            size += _QUERY * given + _QREL * labels
            return Plan(passages, given, labels, size, notes=tuple(notes))
        queries = _estimated_queries(job, passages)
        return Plan(
            documents=passages,
            queries=queries,
            qrels=queries,
            bytes=size + queries * (_QUERY + _QREL),
            call_estimates=_call_estimates(job, passages, sum(lengths)),
            notes=(*self._notes(job, first), *card.large_document(passages_of)),
            about=True,
            source_documents=card.cut_from(passages_of),
        )

    def _notes(self, job: Job[CapRetrievalParams], texts: Sequence[str]) -> Iterator[str]:
        """What only a model writes, and languages without rules. `texts`: of some documents."""
        if self.required_agents(job) <= job.live:
            return
        yield "hypernyms and questions are a model's work (--model); rules write the other queries"
        for code in sorted(set(language_of(texts, job.params.language))):
            if not has_baseline(code):
                yield (
                    f"{language_name(code)} has no rules: without a model its documents get no "
                    "query but their titles"
                )

    def required_agents(self, job: Job[CapRetrievalParams]) -> frozenset[str]:
        if job.params.asked is not None:
            return frozenset()
        two = TWO_DOCUMENT_AGENTS if job.params.queries.two_documents else ()
        return frozenset(one.name for one in (WRITE_QUERIES, *two))

    def prepares(self, job: Job[CapRetrievalParams]) -> bool:
        return True

    async def generate_with_agents(self, job: Job[CapRetrievalParams], context: Context) -> None:
        work = write_queries if job.params.asked is None else asked.keep_queries
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
        questions = None if params.asked is None else params.asked.queries
        # no folder, which may change
        return all(one is None or isinstance(one.path, Path) for one in (params.source, questions))

    def generate(self, job: Job[CapRetrievalParams]) -> Records:
        sources = job.source_folder()
        tables = QueryTables(sources, job.seed)
        if job.params.asked is not None:
            return asked.given_records(job, tables)
        mined = {"alike": ALIKE} | orjson.loads((sources / MINED).read_bytes())
        judged = _judged_questions(job)
        lines = card.notes(job, tables, mined, judged)
        more = {"other_source": "string", "other_span": ["int32"]} if judged else {}
        sets = (FOUND, "kw", "sm", *((TWO,) if judged else ()))
        return Records(
            corpus=tables.corpus(),
            queries=tables.query_rows(),
            qrels=tables.qrels(),
            features={
                "corpus": CORPUS_COLUMNS,
                "queries": QUERY_COLUMNS | more,
                **{f"training/{one}": {"negatives-id": ["string"]} for one in sets},
            },
            card=card.paragraphs(lines, mined, judged),
            notes=lines,
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


def _call_estimates(
    job: Job[CapRetrievalParams], passages: int, size: int
) -> dict[str, CallEstimate]:
    """Calls of each live agent. `size`: bytes of all passages."""
    counts = job.params.queries
    length = size // max(1, passages)
    result = {}
    if WRITE_QUERIES.name in job.live:
        wanted = _WRITTEN * (counts.keywords + counts.summaries)
        result[WRITE_QUERIES.name] = CallEstimate(passages, (1.0, 1.2), _WRITING + length, wanted)
    if counts.two_documents:
        result |= estimated_calls(min(counts.two_documents, passages), _WRITING, length)
    return result


def _estimated_queries(job: Job[CapRetrievalParams], passages: int) -> int:
    """About how many queries will pass at most."""
    counts = job.params.queries
    wanted = counts.keywords + counts.summaries
    if WRITE_QUERIES.name in job.live:
        return passages * min(_OF_A_MODEL, wanted) + min(counts.two_documents, passages)
    out = job.params.splits.test + job.params.splits.dev
    good = out * (_GOOD if counts.quality else 1) + 1 - out
    return round(passages * min(_BY_RULES * wanted, _MOST_BY_RULES) * good)
