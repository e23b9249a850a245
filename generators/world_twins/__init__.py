"""World twins: a document, the same with one fact changed, the same with all facts in other words.

    base      "The Amber Harbor is set in Leipzig and came to cinemas in 1987. ..."
    twin      "The Amber Harbor is set in Munich and came to cinemas in 1987. ..."
    control   "In 1987 the Amber Harbor reached the public. Its story unfolds in Leipzig. ..."
    query     "I am looking for a film whose story takes place in Leipzig and that ..."
    qrels     base 1, control 1, twin 0: executed on what all documents state

A retriever that reads facts moves with the twin and not with the control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from retgen.errors import RecipeError
from retgen.facts.domain import Domain, load_domain
from retgen.generators.family import Family, Plan
from retgen.generators.params import Job, check_readable, domain_digest
from retgen.generators.records import OWN_LICENCE, BatchedRows, Example, Records, rows_of
from retgen.generators.world_twins.contrasts import Contrast
from retgen.generators.world_twins.params import TwinsParams
from retgen.generators.world_twins.tables import ROLES, TwinTables, changeable, twin_tables
from retgen.validators.facts import twins as proof
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["WorldTwins"]

_CONTRASTS: Mapping[Contrast, str] = {
    "include": "the twin's value in place of the base's, so the twin is the answer",
    "exclude": "what else is asked, but not the twin's value",
    "compare": "a range that holds the base's value and not the twin's",
    "superlative": "of what else is asked, the two with the highest or lowest value",
}
_QREL = 2 * 58  # bytes of a row of the qrels, and of one of the grades
_SAMPLE = 50  # documents whose size stands for that of all, in plans


class WorldTwins(Family[TwinsParams]):
    name = "world_twins"
    summary = "documents, each with a twin that differs in one fact and a control in other words"
    paper = "ours"
    params = TwinsParams
    covers = proof.COVERS
    proofs = proof.RULES
    why_no_limit = (
        "slot types, lengths and triples of each fix the documents; set these instead, for example "
        "--set params.triples_per_cell=2"
    )
    proof = "its facts, read back from its words, meet the query, read back from its words"
    tests = (
        "How far a document's score falls when one fact is changed, against when all its facts are "
        "said in other words: what gen eval measures. Rankings of the whole corpus have twin and "
        "control of each answer side by side."
    )

    def about(self, job: Job[TwinsParams]) -> str:
        return f"{load_domain(job.params.domain).entity.plural}: {self.summary}"

    def plan(self, job: Job[TwinsParams]) -> Plan:
        records = _tables_of(job)
        sample = rows_of(records.document, min(_SAMPLE, records.documents))
        document = len(sample.jsonl(0, sample.count)) / sample.count
        asked, count = records.questions, len(records.questions.queries)
        queries = len(rows_of(asked.query, count).jsonl(0, count))
        return Plan(
            documents=records.documents,
            queries=count,
            qrels=asked.qrels,
            bytes=int(records.documents * document) + queries + asked.qrels * _QREL,
        )

    def generate(self, job: Job[TwinsParams]) -> Records:
        records, domain = _tables_of(job), load_domain(job.params.domain)
        asked = records.questions
        return Records(
            corpus=rows_of(records.document, records.documents),
            queries=rows_of(asked.query, len(asked.queries)),
            qrels={"test": BatchedRows(asked.qrels, partial(asked.labels, "relevant"))},
            graded={"test": BatchedRows(asked.qrels, partial(asked.labels, "met"))},
            features={
                "corpus": {
                    "facts": ["string"],
                    "triple": "string",
                    "role": "string",
                    "changed": "string",
                },
                "queries": {
                    "triple": "string",
                    "changed": "string",
                    "slot_type": "string",
                    "length": "int32",
                    "wording": "string",
                    "conditions": "int32",
                    "expression": "string",
                    **({"contrast": "string"} if job.params.contrasts else {}),
                },
            },
            complete=True,
            breakdown=(
                "slot_type",
                "length",
                "wording",
                *(["contrast"] if job.params.contrasts else []),
            ),
            word_lists=self.word_lists(job),
            card=_card(domain, job.params.contrasts),
            facts=_figures(job.params, records, domain),
            licences={"documents and queries": OWN_LICENCE},
            example=_example(records),
        )

    def word_lists(self, job: Job[TwinsParams]) -> Mapping[str, str]:
        return domain_digest(load_domain(job.params.domain))

    def checks(self, job: Job[TwinsParams], judgements: Judgements) -> Sequence[CorpusRule]:
        domain = load_domain(job.params.domain)
        return proof.twins_rules(domain.path, judgements)


def _tables_of(job: Job[TwinsParams]) -> TwinTables:
    domain = load_domain(job.params.domain)
    _check(job.params, domain)
    return twin_tables(job.params, job.seed, domain)


def _check(params: TwinsParams, domain: Domain) -> None:
    """Raise `RecipeError` for what this domain cannot give."""
    check_readable(params.domain, domain.path)
    for slot_type in params.slot_types or ():
        if not changeable(params, domain, slot_type):
            there = ", ".join(dict.fromkeys(slot.type for slot in domain.slots.values()))
            raise RecipeError(
                f"params.slot_types: domain {domain.name} has no slot of type {slot_type}. "
                f"It has: {there}"
            )
    if single := [slot.name for slot in domain.slots.values() if len(slot.document) == 1]:
        raise RecipeError(
            f"params.domain: slot {single[0]} of domain {domain.name} has one document wording, "
            "and a control needs another one; add one to its 'document'"
        )
    longest = max(params.lengths)
    if longest > len(domain.slots):
        raise RecipeError(
            f"params.lengths: a document of {longest} facts is too long for domain {domain.name}, "
            f"which has {len(domain.slots)} slots"
        )


def _figures(params: TwinsParams, records: TwinTables, domain: Domain) -> dict[str, str]:
    types = dict.fromkeys(triple.cell.slot_type for triple in records.triples)
    return {
        "Domain": domain.name,
        "Triples": f"{len(records.triples):,}",
        "Types of the changed fact": ", ".join(types),
        "Facts a document": ", ".join(map(str, params.lengths)),
        "Wordings": ", ".join(params.wordings),
        "Triples of each type and length": f"{params.triples_per_cell:,}",
    }


def _card(domain: Domain, contrasts: Sequence[Contrast]) -> list[str]:
    result = [
        f"{domain.about} A triple (`metadata.triple`) is three documents about one of them: the "
        "`base`; its `twin`, which has another value of the slot `changed`, in the same words and "
        "the same order otherwise; and its `control`, which states the facts of the base in other "
        "wordings and another order. The other value is drawn as the first one was and goes with "
        "all other facts; which of the two is the base's is tossed.",
        "A query asks for two to four facts of the base (`conditions`), the changed one among "
        "them: `literal` in words that documents use; as `paraphrase` in other words, with "
        "synonyms of values; `entailed` for what holds the value, a country for a city, a decade "
        "for a year, and never what the twin's value is in, too. Names of persons and of other "
        f"{domain.entity.plural} are never entailed.",
        "Qrels are the query, executed on what every document states, so they are complete: base "
        "and control are relevant, the twin is not and has score 0. `qrels_graded` has the number "
        "of conditions that each meets.",
    ]
    if contrasts:
        result.append(
            "Further queries (`metadata.contrast`) ask of the same documents with one difference: "
            f"{', '.join(f'{one}: {_CONTRASTS[one]}' for one in contrasts)}."
        )
    return result


def _example(records: TwinTables) -> Example:
    query = next(
        one for one in records.questions.queries if one.metadata.get("contrast") != "include"
    )
    number = records.triple_ids.index(query.metadata["triple"])
    texts = [records.composed_document(number, role).text for role in ROLES]
    rows = [("twin", texts[0], texts[1]), ("control", texts[0], texts[2])]
    return Example(query.text, ("", "base", "changed"), rows)
