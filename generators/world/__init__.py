"""World: facts first, then documents that state them, and queries that are executed on them.

    facts     {"setting": "Leipzig", "release": 1987, "lead": "Ada Borg", ...}
    document  "... The picture is set in Leipzig and came to cinemas in 1987. ..."
    query     "I am looking for a film whose story unfolds in Germany, but not one ..."
              ["and not", ["within", "setting", "Germany"], ["between", "release", 1980, 1989]]
    qrels     every document whose facts meet that expression, and no other

Queries are a full factorial: every operator with every number of answers in every wording. LIMIT+
(arXiv 2605.03824) has operators too, but there the number of answers follows from the operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from retgen.agents.judge import CALIBRATION, calibrate
from retgen.errors import RecipeError
from retgen.facts.domain import Domain, load_domain
from retgen.facts.labels import QueryTables
from retgen.generators.family import Evidence, Family, Plan
from retgen.generators.params import Job, check_readable, domain_digest
from retgen.generators.records import MODEL_TERMS, OWN_LICENCE, Example, Records, rows_of
from retgen.generators.world import with_agents
from retgen.generators.world.agents import AGENTS, CALIBRATE
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import (
    cells,
    composed_corpus,
    job_queries,
    query_tables,
    world_of,
)
from retgen.generators.world.with_agents import (
    DOCUMENTS,
    calibration_sheets,
    call_estimates,
    write_documents,
)
from retgen.validators import facts as world_proof
from retgen.validators.rule import CorpusRule, Judgements
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["World"]

_QREL = 2 * 58  # bytes of a row of the qrels, and of one of the grades
_QUERY = 480
_SAMPLE = 50  # documents whose size stands for that of all, in plans
_EXACT = 200_000  # documents up to which a plan finds the queries: a few seconds
_MANY = 5000  # documents that a model is to write, above which a plan says how to ask for fewer


class World(Family[WorldParams]):
    name = "world"
    summary = "queries with operators, executed on the facts that the documents state"
    paper = "ours; after LIMIT (arXiv 2508.21038), LIMIT+ (2605.03824) and MultiConIR (2503.08046)"
    params = WorldParams
    agents = AGENTS
    label_source = with_agents.LABEL_SOURCE
    structure = with_agents.STRUCTURE
    why_no_limit = (
        "queries are drawn for a world of so many documents; set these instead, for example "
        "--set params.documents=20000 --set params.answer_sizes=[1,10,100]"
    )
    covers = world_proof.COVERS
    proofs = world_proof.RULES
    proof = "its text, read back to facts, meets the query, read back to conditions"

    def about(self, job: Job[WorldParams]) -> str:
        domain = load_domain(job.params.domain)
        return f"{domain.entity.plural}: {self.summary}"

    def plan(self, job: Job[WorldParams]) -> Plan:
        params = job.params
        domain = load_domain(params.domain)
        _check(params, domain)
        corpus = composed_corpus(params, job.seed)
        document = len(corpus.jsonl(0, min(_SAMPLE, corpus.count))) / min(_SAMPLE, corpus.count)
        estimates, planned = {}, list[str]()
        if with_agents.is_written(job):
            estimates = call_estimates(world_of(params, job.seed), job.live)
            if params.documents > _MANY:
                planned.append(
                    f"a model writes each of {params.documents:,} documents, and another reads it: "
                    "fewer with --set params.documents=1000 --set params.answer_sizes=[1,10]"
                )
            planned.append(
                f"{CALIBRATE.name} is asked once for each model and prompt: the ledger answers "
                "later runs"
            )
        about = params.documents > _EXACT
        if about:
            all_cells = cells(params)
            count = len(all_cells) * params.queries_per_cell
            sizes = sum(cell.size for cell in all_cells) * params.queries_per_cell
            qrels, size = sizes + count * params.hard_negatives, count * _QUERY
        else:
            asked = job_queries(params, job.seed)
            count, qrels = len(asked.queries), asked.qrels
            size = len(rows_of(asked.query, count).jsonl(0, count))
        return Plan(
            documents=params.documents,
            queries=count,
            qrels=qrels,
            bytes=int(params.documents * document) + size + qrels * _QREL,
            call_estimates=estimates,
            notes=tuple(planned),
            about=about or bool(estimates),
        )

    def required_agents(self, job: Job[WorldParams]) -> frozenset[str]:
        return frozenset(one.name for one in AGENTS) if with_agents.is_written(job) else frozenset()

    async def generate_with_agents(self, job: Job[WorldParams], context: Context) -> None:
        if not with_agents.is_written(job):
            return
        params = job.params
        result = await calibrate(context, CALIBRATE, calibration_sheets())
        write_file(context.folder / CALIBRATION, dump_json(result._asdict()))
        await write_documents(world_of(params, job.seed), context)

    def evidence(self, job: Job[WorldParams]) -> Evidence:
        return "judged" if with_agents.is_written(job) else "structural"

    def judges(self, job: Job[WorldParams]) -> Mapping[str, Mapping[str, object]]:
        return with_agents.reader_report(job)

    def generate(self, job: Job[WorldParams]) -> Records:
        params, seed = job.params, job.seed
        domain = load_domain(params.domain)
        _check(params, domain)
        documents = with_agents.documents_of(job)
        kept = None if documents is None else tuple(row["entity"] for row in documents)
        drawn = partial(job_queries, params, seed, kept)
        queries, qrels, grades = query_tables(drawn)
        texts, notes, corpus = list[str](), dict[str, str](), None
        licences = {"documents and queries": OWN_LICENCE}
        if documents is not None:
            notes = with_agents.written_notes(params, drawn())
            texts = with_agents.written_card(params, documents, notes)
            corpus = with_agents.written_corpus(documents, seed)
            licences = {"documents": MODEL_TERMS, "queries": OWN_LICENCE}
        return Records(
            corpus=corpus or composed_corpus(params, seed),
            queries=queries,
            qrels={"test": qrels},
            graded={"test": grades},
            features={
                "corpus": {"facts": ["string"]},
                "queries": {
                    "operator": "string",
                    "answers": "int32",
                    "wording": "string",
                    "n_answers": "int32",
                    "hard_negatives": "int32",
                    "slots": ["string"],
                    "expression": "string",
                },
            },
            complete=True,
            breakdown=("operator", "answers", "wording"),
            word_lists=self.word_lists(job),
            card=[*_card(params, domain), *texts],
            facts=_figures(params, domain),
            notes=notes,
            example=_example(drawn()) if params.documents <= _EXACT else None,
            licences=licences,
        )

    def word_lists(self, job: Job[WorldParams]) -> Mapping[str, str]:
        return domain_digest(load_domain(job.params.domain))

    def checks(self, job: Job[WorldParams], judgements: Judgements) -> Sequence[CorpusRule]:
        domain = load_domain(job.params.domain)
        spec = world_proof.WorldSpec(domain.path, job.params.documents)
        if with_agents.is_written(job):
            run = job.source_folder()
            spec = spec._replace(read=run / DOCUMENTS, rejected=run.parent / "rejected.jsonl")
        return world_proof.proof_rules(spec, judgements)


def _check(params: WorldParams, domain: Domain) -> None:
    """Raise `RecipeError` for what this domain, or so many documents, cannot give."""
    check_readable(params.domain, domain.path)
    slots = domain.slots.values()
    relations = any(slot.type == "relation" for slot in slots)
    extremes = any(slot.most or slot.least for slot in slots)
    for operator, there, needed in (
        ("two-hop", relations, "a slot of type relation"),
        ("superlative", extremes, "a slot with 'most' or 'least'"),
        ("range", any(slot.is_ordered for slot in slots), "years, dates or numbers"),
    ):
        if operator in params.operators and not there:
            raise RecipeError(
                f"params.operators: {operator} needs {needed}, and domain {domain.name} has none; "
                "leave the operator out, or add one"
            )
    largest = max(params.answer_sizes)
    if 3 * largest > params.documents:
        raise RecipeError(
            f"params.answer_sizes: {largest:,} answers are too many for {params.documents:,} "
            f"documents. Ask for at least {3 * largest:,} (params.documents), or leave {largest} "
            "out"
        )


def _example(asked: QueryTables) -> Example:
    """A query of every operator, and its expression."""
    first = {one.metadata["operator"]: one for one in reversed(asked.queries)}
    rows = [
        (f"{operator}, {one.metadata['wording']}", one.text, one.metadata["expression"])
        for operator, one in sorted(first.items())
    ]
    return Example("A query of every operator", ("", "query", "expression"), rows, changed=False)


def _listed(values: Sequence[object]) -> str:
    return ", ".join(f"{value:,}" if isinstance(value, int) else str(value) for value in values)


def _figures(params: WorldParams, domain: Domain) -> dict[str, str]:
    return {
        "Domain": domain.name,
        "Slots": f"{len(domain.slots):,}",
        "Operators": f"{len(params.operators):,}",
        "Answers a query": _listed(params.answer_sizes),
        "Wordings": _listed(params.wordings),
        "Queries of each": f"{params.queries_per_cell:,}",
    }


def _card(params: WorldParams, domain: Domain) -> list[str]:
    text = [
        f"{domain.about} Facts of each were drawn first (`metadata.facts`) and put into words. A "
        "query is an expression over facts (`metadata.expression`), put into words too; its qrels "
        "are that expression, executed on all facts, so they are complete.",
        f"Queries are a full factorial of `operator` ({_listed(params.operators)}), `answers` "
        f"({_listed(params.answer_sizes)}) and `wording` ({_listed(params.wordings)}): "
        f"{params.queries_per_cell:,} of each. Up to ten, the number of relevant documents is "
        "exactly `answers`, above within 10% of it (`n_answers`). A literal query asks in words "
        "that documents use; a paraphrase in other words, with synonyms of values; an entailed "
        "one asks for what holds the value: a country for a city, a decade for a year.",
    ]
    if params.hard_negatives:
        text.append(
            f"Pairs with score 0 are up to {params.hard_negatives:,} hard negatives a query, drawn "
            "from all that there are (`hard_negatives`): documents that miss one condition; for "
            "`and-not`, documents that meet both, the violators; for `two-hop`, documents that "
            "meet the conditions themselves, in place of the one that they refer to; for a single "
            "condition, documents with a value near to it. `qrels_graded` has the number of "
            "conditions that each document meets."
        )
    return text
