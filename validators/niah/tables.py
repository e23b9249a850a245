"""Queries, qrels, pairs, prompts and training triplets say of haystacks what these are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from retgen.data import Query
from retgen.validators.niah.proof import HaystackProof
from retgen.validators.niah.spec import HOLDS, Haystack, NeedleGroup
from retgen.validators.niah.texts import digest
from retgen.validators.rows import RowFault, TablesProof
from retgen.validators.rule import Finding, Judgements

Row = Mapping[str, Any]
Faults = Iterator[tuple[list[str], str]]  # ids, and what is wrong


class HaystackTables(TablesProof):
    """What rows say of a haystack: its question and answer, its control, a near-answer."""

    name = "haystacks/tables"

    def __init__(self, judgements: Judgements, proof: HaystackProof) -> None:
        self._judgements, self._proof = judgements, proof
        self._group_of = {one.query_id: _group_name(one) for one in judgements.queries}
        super().__init__()

    def findings(self) -> Iterator[Finding]:
        yield from super().findings()
        proof, judgements = self._proof, self._judgements
        for ids, message in _check_queries(proof.groups, judgements.queries):
            yield proof.finding(ids, message)
        for ids, message in self._check_qrels(proof.settings["lengths"]):
            yield proof.finding(ids, message)

    # --- qrels ------------------------------------------------------------------------------

    def _check_qrels(self, lengths: Sequence[int]) -> Faults:
        """A query's positives are the haystacks of its group: all of them, or those of a length."""
        holders: dict[tuple[str, int | None], set[str]] = defaultdict(set)
        for doc_id, one in self._proof.documents.items():
            if one.at.needle in HOLDS:
                holders[one.key.group, None].add(doc_id)
                holders[one.key.group, one.key.length].add(doc_id)
        main, others = self._judgements.split, self._judgements.others
        splits = {main: self._judgements.qrels, **others}
        wanted: dict[str, int | None] = {main: None, **{f"{main}_{one}": one for one in lengths}}
        for split, length in wanted.items():
            if split not in splits:
                yield [split], f"there are no qrels of split {split}"
                continue
            judged: dict[str, set[str]] = defaultdict(set)
            for query_id, doc_id, relevance in splits[split]:
                judged[query_id].add(doc_id)
                if why := self._why_not(query_id, doc_id, relevance, length):
                    message = f"{query_id}: {doc_id} is a qrel of split {split}, and {why}"
                    yield [query_id, doc_id], message
            for query_id, group in self._group_of.items():
                positives = holders[group, length]
                if missing := sorted(positives - judged[query_id]):
                    message = (
                        f"{query_id}: {len(missing):,} of its {len(positives):,} haystacks are no "
                        f"qrels of split {split}, {missing[0]} among them"
                    )
                    yield [query_id, *missing], message
        for split in splits:
            if split not in wanted:
                yield [split], f"split {split} is that of no length"

    def _why_not(self, query_id: str, doc_id: str, relevance: float, length: int | None) -> str:
        """Why a document is no positive of a query; "" where it is."""
        one = self._proof.documents.get(doc_id)
        if one is None:  # another rule names what is not there
            return ""
        if relevance <= 0:
            return f"has relevance {relevance:g}"
        if one.key.group != self._group_of.get(query_id):
            return f"is of group {one.key.group!r}"
        if one.at.needle not in HOLDS:
            return "is a control"
        return "" if length in (None, one.key.length) else f"has {one.key.length:,} tokens"

    # --- rows of tables/ and training/ ------------------------------------------------------

    def tables(self) -> dict[str, Callable[[Row], None]]:
        result: dict[str, Callable[[Row], None]] = {
            "tables/pairs.jsonl": self._pair,
            "tables/chat.jsonl": self._prompt,
        }
        if self._proof.settings["training"]:
            result["training/needles.parquet"] = self._triplet
        return result

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


def _group_name(query: Query) -> str:
    """The group of a query, as its metadata says."""
    return str(query.facts.get("group"))


def _check_queries(groups: Mapping[str, NeedleGroup], queries: Iterable[Query]) -> Faults:
    """Each group has one query, which is its question, and says its needles."""
    asked: dict[str, str] = {}
    for query in queries:
        query_id, name = query.query_id, _group_name(query)
        if name not in groups:
            yield [query_id], f"{query_id}: its metadata names no group of the run"
            continue
        group = groups[name]
        if query.text != group.question:
            yield [query_id], f"{query_id}: is not the question of its group {name!r}"
        wanted = {"category": group.category, "name": group.name}
        for (kind, order), needle in group.needles.items():
            suffix = "_inverted" if order == "inverted" else ""
            wanted[("needle" if kind == "one_hop" else kind) + suffix] = needle
        for column in wanted:
            if (held := query.facts.get(column)) != wanted[column]:
                message = f"{query_id}: its {column} is {held!r}, not {wanted[column]!r}"
                yield [query_id], message
        other = asked.setdefault(name, query_id)
        if other != query_id:
            yield [other, query_id], f"{other} and {query_id}: ask for one group"
    for name in groups:
        if name not in asked:
            yield [name], f"{name}: has no query"
