"""Pairs of haystack and control, prompts and training triplets say what the haystacks do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from retgen.validators.niah.judgements import group_name
from retgen.validators.niah.proof import HaystackProof
from retgen.validators.niah.spec import HOLDS, Haystack, NeedleGroup, NIAHSpec
from retgen.validators.niah.texts import digest
from retgen.validators.rows import RowFault, TablesProof
from retgen.validators.rule import Judgements

Row = Mapping[str, Any]


class HaystackTables(TablesProof):
    """What rows say of a haystack: its question and answer, its control, a near-answer."""

    name = "haystacks/tables"

    def __init__(self, spec: NIAHSpec, judgements: Judgements, proof: HaystackProof) -> None:
        self._spec, self._proof = spec, proof
        self._group_of = {one.query_id: group_name(one) for one in judgements.queries}
        super().__init__()

    def tables(self) -> dict[str, Callable[[Row], None]]:
        training = {"training/needles.parquet": self._triplet}
        beside = {"tables/pairs.jsonl": self._pair, "tables/chat.jsonl": self._prompt}
        return {**beside, **(training if self._spec.settings.get("training") else {})}

    def _haystack(self, doc_id: Any) -> tuple[Haystack, NeedleGroup]:
        document = self._proof.documents.get(doc_id)
        if document is None or document.at.needle not in HOLDS:
            raise RowFault("haystack", f"{doc_id} is no haystack with a needle", [str(doc_id)])
        return document, self._proof.groups[document.key.group]

    def _pair(self, row: Row) -> None:
        document, group = self._haystack(row["haystack"])
        control = self._proof.documents.get(row["control"])
        wanted = {
            "group": document.key.group,
            "question": group.question,
            "length": document.key.length,
            "needle": group.needles[document.at.needle, document.at.order],
            "order": document.at.order,
            "place": document.at.place,
            "depth": document.depth,
        }
        wrong = [f"{row[name]!r} is not the {name}" for name in wanted if row[name] != wanted[name]]
        if control is None or not control.controls(document):
            wrong = [f"{row['control']} is no control"]
        _refuse(wrong, row["haystack"])

    def _prompt(self, row: Row) -> None:
        _, group = self._haystack(row["haystack"])
        wrong = []
        if not row["messages"] or group.question not in row["messages"][-1]["content"]:
            wrong.append("the prompt does not ask the question")
        if row["expected"] != group.name:
            wrong.append(f"{row['expected']!r} is not the answer")
        _refuse(wrong, row["haystack"])

    def _triplet(self, row: Row) -> None:
        document, group = self._haystack(row["positive-id"])
        wrong = []
        if row["anchor"] != group.question:
            wrong.append("the anchor is not the question")
        if self._group_of.get(row["query-id"]) != document.key.group:
            wrong.append(f"{row['query-id']} is not the query")
        if digest(row["positive"]) != document.digest:
            wrong.append("the positive is not the text")
        if why := self._proof.negative_fault(document.key, row["negative_1"]):
            wrong.append(f"{why}, in the first negative")
        held = self._proof.controls.get(digest(row["negative_2"]), [])
        if not any(one.controls(document) for one in held):
            wrong.append("the second negative is no control")
        _refuse(wrong, row["positive-id"])


def _refuse(wrong: list[str], doc_id: str) -> None:
    if wrong:
        raise RowFault(wrong[0], f"{wrong[0]} of {doc_id}", [doc_id])
