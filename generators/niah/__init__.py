"""NIAH: needles in haystacks of exact lengths, for embedders.

    question  "Which character has been to Krakow?"
    needle    "Actually, Tsehay lives next to Wawel Cathedral."   (which is in Krakow)
    haystack  512 tokens of prose, to the token, with the needle at one of ten places
    control   the same prose without the needle

Source: the post on long-context embeddings that follows NoLiMa (arXiv 2502.05167): 22 groups, 7
lengths, 10 places, 2 orders, and a control each, 3,234 haystacks. Where we deviate, it is on
purpose: the places of a needle share one filler, so that a place is all that differs; lengths are
exact, the special tokens of the tokenizer included; sentences are whole; filler holds no word
related to a question; all sentences are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from retgen.agents.report import Rejection
from retgen.generators.family import Family, Plan
from retgen.generators.niah.books import (
    GROUPS,
    Material,
    gather_material,
    held_names,
    read_material,
    write_sources,
)
from retgen.generators.niah.counting import load_counter
from retgen.generators.niah.groups import expansions
from retgen.generators.niah.haystacks import HaystackBuilder
from retgen.generators.niah.params import NiahParams
from retgen.generators.niah.tables import HaystackTables
from retgen.generators.params import Job
from retgen.generators.records import OWN_LICENCE, Example, Records
from retgen.sources import refusals
from retgen.validators import niah as proof
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["Niah"]

_ROW, _QUERY, _QREL = 330, 650, 60  # bytes, for plans
_EXPANDED = 6500  # bytes of a query's expansions
_AROUND = 160  # characters around a needle that an example shows


class Niah(Family[NiahParams]):
    name = "niah"
    summary = "needles that share no word with their question, in haystacks of exact lengths"
    paper = "NoLiMa: Long-Context Evaluation Beyond Literal Matching (arXiv 2502.05167)"
    params = NiahParams
    covers = proof.COVERS
    proofs = proof.RULES
    why_no_limit = (
        "groups, lengths and places fix the haystacks of a niah recipe; set these instead, for "
        "example --set params.lengths=[128,512]"
    )
    proof = "the needle of the query's group stands whole in it, and in no other"
    tests = (
        "How far texts that answer a question score above texts of the same length that do not "
        "(the controls), by length and by the place of the needle: what gen eval measures. "
        "Rankings of the whole corpus mix the lengths and say little."
    )

    def about(self, job: Job[NiahParams]) -> str:
        if "literal" not in job.params.needles:
            return self.summary
        literal = "needles that repeat words of their question"
        if "one_hop" in job.params.needles:
            literal = "needles that share no word with their question, and literal ones that do"
        return f"{literal}, in haystacks of exact lengths"

    def from_user(self, job: Job[NiahParams]) -> Literal["nothing", "sentences"]:
        return "nothing" if job.params.books is None else "sentences"

    def plan(self, job: Job[NiahParams]) -> Plan:
        params = job.params
        material = gather_material(params, job.seed)
        haystacks = _haystacks(job, material)
        haystacks.check()
        queries, qrels = len(material.groups), 2 * haystacks.needles  # of all lengths, and of each
        characters = sum(len(one.text) + 1 for one in material.sentences)
        tokens = sum(params.lengths) * haystacks.count / len(params.lengths)
        expanded = _EXPANDED * (params.table is None and params.groups != "train")
        faults = sum(bool(one.fault) for one in material.sentences)
        notes = (
            f"{faults:,} of {len(material.sentences):,} sentences of the books are left out of "
            "filtered filler: they hold words of the questions or of the needles",
            held_names(material),
            refusals(material.refused),
        )
        return Plan(
            documents=haystacks.count,
            queries=queries,
            qrels=qrels,
            bytes=round(tokens * characters / max(1, haystacks.tokens))
            + haystacks.count * _ROW
            + queries * (_QUERY + expanded)
            + qrels * _QREL,
            notes=tuple(filter(None, notes)),
        )

    def prepares(self, job: Job[NiahParams]) -> bool:
        return True  # the books are read

    async def generate_with_agents(self, job: Job[NiahParams], context: Context) -> None:
        material = gather_material(job.params, job.seed)
        context.report.rejected.extend(
            Rejection(one.rule, f"{one.where}: {one.reason}", {"id": one.id})
            for one in material.refused
        )
        write_sources(material, context.folder)

    def repeatable(self, job: Job[NiahParams]) -> bool:
        books = job.params.books
        return books is None or isinstance(books.path, Path)  # no folder, which may change

    def generate(self, job: Job[NiahParams]) -> Records:
        material = read_material(job.source_folder(), job.seed)
        haystacks = _haystacks(job, material)
        terms = expansions() if job.params.table is None else {}
        tables = HaystackTables(haystacks, job.seed, terms)
        return Records(
            corpus=tables.corpus(),
            queries=tables.queries(),
            qrels=tables.qrels(),
            features=_features(tables),
            complete=True,
            card=[_CARD],
            training=tables.training(),
            tables=tables.tables(),
            facts=_facts(haystacks),
            notes={"names": names} if (names := held_names(material)) else {},
            example=_example(haystacks),
            licences=_licences(job.params),
        )

    def checks(self, job: Job[NiahParams], judgements: Judgements) -> Sequence[CorpusRule]:
        settings = job.params.model_dump(mode="json")
        return proof.proof_rules(job.source_folder() / GROUPS, settings, judgements)


def _haystacks(job: Job[NiahParams], material: Material) -> HaystackBuilder:
    return HaystackBuilder(job.params, job.seed, material, load_counter(job.params.tokenizer))


_CARD = (
    "Every query asks which character something is true of; the needle that answers it shares no "
    "content word with it (needles `one_hop`), but is linked to it by one fact that is common "
    "knowledge (`sources/groups.jsonl` has the facts, and where to look them up). Haystacks have "
    "exactly as many tokens as their metadata say, special tokens included; those of one group, "
    "length and filler differ in the place of the needle alone, and in the last sentences, which "
    "make up for its length. Controls hold no needle (`none`), or a sentence about somebody else "
    "that answers nothing (`neutral`). The splits `test_128` and so on hold the qrels by length."
)


def _features(tables: HaystackTables) -> Mapping[str, Mapping[str, Any]]:
    return {
        "corpus": {
            "group": "string",
            "category": "string",
            "length": "int32",
            "needle": "string",
            "order": "string",
            "place": "int32",
            "depth": "float64",
            "span": ["int32"],
            "name": "string",
            "filler": "string",
            "filtered": "bool",
            "distractors": "int32",
            "number": "int32",
        },
        "queries": dict.fromkeys(tables.query_columns(), "string"),
    }


def _facts(haystacks: HaystackBuilder) -> dict[str, str]:
    params = haystacks.params
    return {
        "Groups": f"{len(haystacks.groups):,}",
        "Categories": f"{len({one.category for one in haystacks.groups}):,}",
        "Tokens of a haystack": ", ".join(f"{length:,}" for length in params.lengths),
        "Places": f"{params.places:,}",
        "Haystacks with a needle": f"{haystacks.needles:,}",
        "Controls": f"{haystacks.count - haystacks.needles:,}",
        "Tokenizer": params.tokenizer if isinstance(params.tokenizer, str) else "own",
    }


def _example(haystacks: HaystackBuilder) -> Example:
    """The first group's needle in the middle of its shortest haystack, and its control."""
    group = haystacks.groups[0]
    needle, control = haystacks.at([haystacks.params.places // 2, haystacks.with_needle])
    rows = []
    begin = max(0, needle.span[0] - _AROUND)  # of what is shown of both: they begin alike
    for one in (needle, control):
        shown = f"... {one.text[begin : max(one.span[1], begin + _AROUND) + _AROUND]} ..."
        rows.append((one.variant.needle, one.text[slice(*one.span)] or "none", shown))
    head = ("kind", "needle", "around it")
    return Example(f"{group.question} ({group.fact})", head, rows, changed=False)


def _licences(params: NiahParams) -> dict[str, str]:
    return {
        "needles": OWN_LICENCE if params.table is None else "your own",
        "filler": OWN_LICENCE if params.books is None else params.books.licence,
    }
