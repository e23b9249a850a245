"""The MultiConIR family: ladders of hard negatives, each rung violating one condition more.

    query 2   "Find a person who meets the following conditions:
               1. Born on the island of Saaremaa as the son of a lighthouse keeper
               2. Awarded third prize for a cantata for male choir"
    positive  "... His graduation piece, a cantata for male choir, was awarded third prize. ..."
    HN1       breaks condition 1, HN2 conditions 1 and 2, ..., HN10 all ten

Paper: MultiConIR, §3 and Appendices A-E. Where we deviate: the judge sees two documents of a
ladder, each half of sentences and half of rewrites, not all eleven, since rungs are made of whole
sentences that are read one by one; four sentences more than a ladder needs are falsified and
judged; the order of the sentences in the document is drawn apart from
the order of the conditions; sentences of the source that state none of the ten conditions are left
out, as in the paper's examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from retgen.agents.judge import CALIBRATION, Calibration
from retgen.errors import RecipeError, SourceRefused
from retgen.generators.family import CallEstimate, Evidence, Family, Plan
from retgen.generators.multiconir.agents import AGENTS, CALIBRATE, VERIFY
from retgen.generators.multiconir.checks import CONDITIONS, word_count
from retgen.generators.multiconir.facts import DRAWN, is_drawn, openings, world_of
from retgen.generators.multiconir.ladders import (
    DOCUMENTS,
    LADDER_DOCUMENTS,
    LADDERS,
    stored_ladders,
)
from retgen.generators.multiconir.params import (
    MultiConIRParams,
    on_the_hub,
    read_documents,
    source_of,
)
from retgen.generators.multiconir.tables import QUERIES, STYLES, LadderTables
from retgen.generators.multiconir.with_agents import call_estimates, generate_ladders
from retgen.generators.params import Job, domain_digest
from retgen.generators.records import MODEL_TERMS, OWN_LICENCE, Example, Records
from retgen.sources import refusals
from retgen.validators import multiconir as proof
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context
    from retgen.generators.source import SourceDescription

__all__ = ["MultiConIR"]

# bytes, for plans
_DOCUMENT, _QUERY, _QREL = 800, 620, 58
# of a drawn ladder's queries, beside the others
_DRAWN = {"wordings": ["string"], "strategies": ["string"], "expression": "string"}


class MultiConIR(Family[MultiConIRParams]):
    name = "multiconir"
    summary = "ladders of hard negatives that violate one condition after another"
    paper = "MultiConIR: Towards Multi-Condition Information Retrieval (arXiv 2503.08046)"
    params = MultiConIRParams
    covers = proof.COVERS
    proofs = proof.RULES
    fixed_records = False
    agents = AGENTS
    takes_source = True
    label_source = (
        "that a sentence meets its condition, and that its rewrite does not, rests on a judge who "
        "saw the texts of two documents, half of them rewrites; tables/verdicts.jsonl has every "
        "verdict with its quote"
    )
    candidate_sets = True
    tests = (
        "Whether a retriever orders the documents of a ladder by the number of the query's "
        "conditions that they meet."
    )
    structure = (
        "which sentences of a document are replaced, that all others are the same byte for byte, "
        "and that each rung breaks one condition more"
    )

    def plan(self, job: Job[MultiConIRParams]) -> Plan:
        params, notes, unknown = job.params, list[str](), False
        calls: Mapping[str, CallEstimate] = {}
        if is_drawn(job):
            wanted = _smallest(params.ladders or DRAWN, job.limit)
        else:
            if missing := sorted({agent.name for agent in AGENTS} - job.live):
                raise RecipeError(
                    f"params: ladders of documents are a model's work ({', '.join(missing)}): "
                    "name one, as in --model openai:gpt-5-mini; without a model and without "
                    "params.source they are drawn"
                )
            params.rewriting()
            wanted = _smallest(params.ladders, job.limit, _available(params))
            calls = call_estimates(job, wanted)
            if on_the_hub(params):
                path, unknown = source_of(params).path, not wanted
                what = "how many ladders it gives"
                what = what if unknown else f"whether it gives {wanted:,} ladders"
                notes.append(f"{path} is not looked up for a plan: {what} is not known")
            if params.ladders is None:
                notes.append("documents that give no ladder are rejected, so there may be fewer")
            notes.append(
                f"{CALIBRATE.name} is asked once for each model and prompt: the ledger answers "
                "later runs"
            )
        each = len(LADDER_DOCUMENTS)
        documents, queries = wanted * each, wanted * QUERIES
        return Plan(
            documents=documents,
            queries=queries,
            qrels=queries * each,
            bytes=documents * _DOCUMENT + queries * _QUERY + 2 * queries * each * _QREL,
            call_estimates=dict(calls),
            notes=tuple(notes),
            unknown=unknown,
        )

    def required_agents(self, job: Job[MultiConIRParams]) -> frozenset[str]:
        return frozenset() if is_drawn(job) else frozenset(agent.name for agent in AGENTS)

    def prepares(self, job: Job[MultiConIRParams]) -> bool:
        return True  # ladders are drawn, or agents asked

    async def generate_with_agents(self, job: Job[MultiConIRParams], context: Context) -> None:
        await generate_ladders(job, context)

    def evidence(self, job: Job[MultiConIRParams]) -> Evidence:
        return "structural" if is_drawn(job) else "judged"

    def word_lists(self, job: Job[MultiConIRParams]) -> Mapping[str, str]:
        return domain_digest(world_of(job.params)) if is_drawn(job) else {}

    def judges(self, job: Job[MultiConIRParams]) -> Mapping[str, Mapping[str, Any]]:
        return {} if is_drawn(job) else {VERIFY.name: _calibration(job).report()}

    def generate(self, job: Job[MultiConIRParams]) -> Records:
        exported = LadderTables(
            stored_ladders(job.source_folder() / LADDERS),
            job.seed,
            _opening(job),
            job.params.the_domain().name,
            {} if is_drawn(job) else {"agent": VERIFY.name, "model": _calibration(job).model},
        )
        return Records(
            corpus=exported.corpus(),
            queries=exported.queries(),
            qrels={"test": exported.qrels()},
            graded={"test": exported.grades()},
            features={
                "corpus": {"ladder": "string", "broken": ["int32"], "orders": ["int32"]},
                "queries": {
                    "ladder": "string",
                    "domain": "string",
                    "style": "string",
                    "conditions": "int32",
                    **(_DRAWN if is_drawn(job) else {}),
                },
                "training/ladders": {"docs": ["string"], "labels": ["int32"]},
            },
            card=[_CARD, *([_HOW_DRAWN] if is_drawn(job) else [])],
            word_lists=self.word_lists(job),
            facts=_facts(job, exported),
            example=_example(exported),
            tables=exported.tables(),
            training=exported.training(),
            licences={"documents and queries": OWN_LICENCE}
            if is_drawn(job)
            else {
                "documents": source_of(job.params).licence,
                "queries and rewrites": MODEL_TERMS,
            },
        )

    def checks(self, job: Job[MultiConIRParams], judgements: Judgements) -> Sequence[CorpusRule]:
        sources = job.source_folder()
        domain, run = job.params.the_domain(), sources.parent
        asked = _smallest(job.params.ladders or (DRAWN if is_drawn(job) else None), job.limit)
        spec = proof.LadderSpec(
            sources / DOCUMENTS,
            sources / LADDERS,
            _opening(job),
            domain.name,
            run / "rejected.jsonl",
            asked or None,
            world_of(job.params).path if is_drawn(job) else None,
        )
        return proof.proof_rules(spec, judgements)

    def scaffold(self, source: SourceDescription | None = None) -> str:
        folder = Path(__file__).parent
        text = super().scaffold()
        if source is None:
            return text
        # ladders of documents are a model's work
        text = text.replace("offline            # or openai:gpt-5-mini,", "openai:gpt-5-mini  # or")
        head, _, rest = text.partition("  domain:")
        rest = rest[rest.index("  # ladders:") :]
        return head + source.block() + (folder / "own_domain.yaml").read_text("utf-8") + rest


def _smallest(*counts: int | None) -> int:
    """The smallest of the counts that are known; 0 for none."""
    return min((count for count in counts if count is not None), default=0)


def _opening(job: Job[MultiConIRParams]) -> str:
    return openings(job.params)[0] if is_drawn(job) else job.params.the_domain().instruction


def _calibration(job: Job[MultiConIRParams]) -> Calibration:
    return Calibration(**orjson.loads((job.source_folder() / CALIBRATION).read_bytes()))


def _available(params: MultiConIRParams) -> int | None:
    """Documents of the source that can be used; of a data set of the Hub, which is not looked up
    for a plan, as many as are read at most, None where that is not known.

    Raises `SourceRefused` where there are fewer than are asked for.
    """
    source = source_of(params)
    if on_the_hub(params):
        return source.limit
    refused, available = read_documents(params, lambda one: None)
    if available >= max(1, params.ladders or 0):
        return available
    message = f"params.source: {source.path} holds no document that can be used."
    if params.ladders:
        message = (
            f"params.ladders: {params.ladders:,} ladders need as many documents; "
            f"{source.path} holds {available:,} that can be used."
        )
    message = f"{message} {refusals(refused)}".rstrip()
    raise SourceRefused(message, [one._asdict() for one in refused])


_CARD = (
    "Every record is a ladder: a document that meets ten conditions, and hard negatives of which "
    "each violates one condition more than the one before (MultiConIR). Queries ask for the first "
    "one to ten conditions, as a numbered list and as prose. A document is relevant that meets all "
    "conditions of the query; the others of its ladder are hard negatives, with 0. How many of the "
    "conditions each of them meets stands in `qrels_graded` (config `graded`). Documents of other "
    "ladders are not judged."
)

_HOW_DRAWN = (
    "Ladders are drawn: facts first, then sentences that state them. A hard negative has another "
    "value in the same words (`strategies`: modify), or the value of somebody else who is named "
    "beside (reassign). A condition asks in the words of its sentence (`wordings`: literal), in "
    "others (paraphrase), or for what the value entails (entailed); `expression` says what a query "
    "asks for."
)


def _facts(job: Job[MultiConIRParams], exported: LadderTables) -> dict[str, str]:
    """The columns of the paper's Table 1."""
    ladders, count = exported.ladders, len(exported.ladders)
    queries = (text for one in ladders for style in STYLES for text in exported.texts(one, style))
    sentences = (text for one in ladders for text in one.sentences)
    if is_drawn(job):
        source = f"drawn, world of {world_of(job.params).entity.plural}"
    else:
        source = "bundled" if job.params.source is None else "the recipe's"
    return {
        "Domain": exported.domain,
        "Number": f"{count:,}",
        "Queries of a style": f"{count * CONDITIONS:,}",
        "Hard negatives": f"{count * (len(LADDER_DOCUMENTS) - 1):,}",
        "Words a query": f"{sum(map(word_count, queries)) / max(1, count * QUERIES):.1f}",
        "Words a positive": f"{sum(map(word_count, sentences)) / max(1, count):.1f}",
        "Source": source,
        "Licence": OWN_LICENCE if is_drawn(job) else source_of(job.params).licence,
        "Example": ladders[0].title or ladders[0].id if count else "",
    }


def _example(exported: LadderTables) -> Example | None:
    """The ladder of the first queries, rung by rung."""
    if not len(exported.ladders):
        return None
    one = exported.ladders[exported.turn(0)]
    rows = [
        (f"{n}. {one.conditions[n - 1]}", one.sentences[n - 1], one.rewrites[n - 1])
        for n in range(1, CONDITIONS + 1)
    ]
    head = ("condition", "its sentence in the positive", "from HN of this number on")
    return Example(f"The ladder of {one.title or one.id}", head, rows)
