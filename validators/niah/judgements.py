"""Queries are the questions of groups; their qrels the haystacks with the needle of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from retgen.data import Qrel, Query
from retgen.validators.niah.spec import HOLDS, Haystack, NeedleGroup
from retgen.validators.rule import Judgements

Faults = Iterator[tuple[list[str], str]]  # ids, and what is wrong
Documents = Mapping[str, Haystack]


def group_name(query: Query) -> str:
    """The group of a query, as its metadata says."""
    return str(query.facts.get("group"))


def check_queries(groups: Mapping[str, NeedleGroup], queries: Iterable[Query]) -> Faults:
    """Each group has one query, which is its question, and says its needles."""
    asked: dict[str, str] = {}
    for query in queries:
        name = group_name(query)
        group = groups.get(name)
        if group is None:
            yield [query.query_id], f"{query.query_id}: its metadata names no group of the run"
            continue
        if query.text != group.question:
            yield [query.query_id], f"{query.query_id}: is not the question of its group {name!r}"
        for column, wanted in _expected_metadata(group):
            if (held := query.facts.get(column)) != wanted:
                yield (
                    [query.query_id],
                    f"{query.query_id}: its {column} is {held!r}, not {wanted!r}",
                )
        other = asked.setdefault(name, query.query_id)
        if other != query.query_id:
            yield [other, query.query_id], f"{other} and {query.query_id}: ask for one group"
    for name in groups:
        if name not in asked:
            yield [name], f"{name}: has no query"


def check_qrels(documents: Documents, judgements: Judgements, lengths: Sequence[int]) -> Faults:
    """A query's positives are the haystacks of its group: all of them, or those of a length."""
    holders: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for doc_id, one in documents.items():
        if one.at.needle in HOLDS:
            holders[one.key.group][one.key.length].add(doc_id)
    main = judgements.split
    wanted: dict[str, int | None] = {main: None, **{f"{main}_{one}": one for one in lengths}}
    splits = {main: judgements.qrels, **judgements.others}
    for split, only in wanted.items():
        if split in splits:
            yield from _split(documents, judgements.queries, split, splits[split], only, holders)
        else:
            yield [split], f"there are no qrels of split {split}"
    for split in splits.keys() - wanted.keys():
        yield [split], f"split {split} is that of no length"


def _split(
    documents: Documents,
    queries: Sequence[Query],
    split: str,
    qrels: Sequence[Qrel],
    only: int | None,
    holders: Mapping[str, Mapping[int, set[str]]],
) -> Faults:
    group_of = {query.query_id: group_name(query) for query in queries}
    judged: dict[str, set[str]] = defaultdict(set)
    for query_id, doc_id, relevance in qrels:
        judged[query_id].add(doc_id)
        one = documents.get(doc_id)  # another rule names what is not there
        if one and (why := _why(one, group_of.get(query_id), relevance, only)):
            message = f"{query_id}: {doc_id} is a qrel of split {split}, and {why}"
            yield [query_id, doc_id], message
    for query_id, group in group_of.items():
        held = holders.get(group, {})
        wanted = {i for length, ids in held.items() if only in (None, length) for i in ids}
        if missing := sorted(wanted - judged[query_id]):
            message = (
                f"{query_id}: {len(missing):,} of its {len(wanted):,} haystacks are no qrels of "
                f"split {split}, {missing[0]} among them"
            )
            yield [query_id, *missing], message


def _why(one: Haystack, group: str | None, relevance: float, only: int | None) -> str:
    """Why a document is no positive of a query of a group; "" where it is."""
    if relevance <= 0:
        return f"has relevance {relevance:g}"
    if one.key.group != group:
        return f"is of group {one.key.group!r}"
    if one.at.needle not in HOLDS:
        return "is a control"
    return "" if only in (None, one.key.length) else f"has {one.key.length:,} tokens"


def _expected_metadata(group: NeedleGroup) -> Iterator[tuple[str, str]]:
    """What the metadata of a query says of its group."""
    yield "category", group.category
    yield "name", group.name
    yield "needle", group.needles["one_hop", "default"]
    yield "needle_inverted", group.needles["one_hop", "inverted"]
    yield "literal", group.needles["literal", "default"]
    yield "literal_inverted", group.needles["literal", "inverted"]
