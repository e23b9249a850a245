"""What refers to haystacks: queries, qrels, and the tables beside dataset/.

A query's qrels are the haystacks that hold its group's needle; the tables have pairs of haystack
and control, prompts, and training triplets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from retgen.data import Qrel, Query
from retgen.validators.niah.spec import HOLDS, Faults, HaystackRecord, NeedleGroup, ReadRun
from retgen.validators.niah.texts import digest
from retgen.validators.rule import Judgements

_ROWS = 100  # long texts that are read at once
_COLUMNS = ("anchor", "positive", "negative_1", "negative_2", "query-id", "positive-id")


def check_tables(run: ReadRun, training: bool) -> Faults:
    """All tables; each names every haystack with a needle once."""
    yield from _each(run, "pairs.jsonl", "haystack", _pair)
    yield from _each(run, "chat.jsonl", "haystack", _prompt)
    if training:
        yield from _triplets(run)


def _each(
    run: ReadRun,
    name: str,
    column: str,
    wrong: Callable[[ReadRun, Mapping[str, Any], HaystackRecord], Iterator[str]],
) -> Faults:
    path = run.folder / "tables" / name
    if not path.is_file():
        yield [name], f"{name} is not there"
        return
    with open(path, "rb") as file:
        rows = ((row.get(column), row) for row in map(orjson.loads, file))
        yield from _once(run, name, rows, wrong)


def _once(
    run: ReadRun,
    name: str,
    rows: Iterator[tuple[Any, Mapping[str, Any]]],
    wrong: Callable[[ReadRun, Mapping[str, Any], HaystackRecord], Iterator[str]],
) -> Faults:
    left = run.haystacks()
    for doc_id, row in rows:
        if doc_id not in left:
            yield (
                [str(doc_id)],
                f"{name}: {doc_id} is no haystack with a needle, or stands there twice",
            )
            continue
        left.discard(doc_id)
        for message in wrong(run, row, run.documents[doc_id]):
            yield [doc_id], f"{name}: {message} of {doc_id}"
    if left:
        yield sorted(left), f"{name}: lacks {len(left):,} haystacks, {min(left)} among them"


def _pair(run: ReadRun, row: Mapping[str, Any], document: HaystackRecord) -> Iterator[str]:
    group = run.groups[document.key.group]
    control = run.documents.get(row.get("control", ""))
    if control is None or not control.controls(document):
        yield f"{row.get('control')} is no control"
    wanted = {
        "group": document.key.group, "question": group.question, "length": document.key.length,
        "needle": group.needles[document.at.needle, document.at.order],
        "order": document.at.order, "place": document.at.place, "depth": document.depth,
    }  # fmt: skip
    for column, value in wanted.items():
        if row.get(column) != value:
            yield f"{row.get(column)!r} is not the {column}"


def _prompt(run: ReadRun, row: Mapping[str, Any], document: HaystackRecord) -> Iterator[str]:
    group = run.groups[document.key.group]
    messages = row.get("messages") or [{}]
    if group.question not in str(messages[-1].get("content")):
        yield "the prompt does not ask the question"
    if row.get("expected") != group.name:
        yield f"{row.get('expected')!r} is not the answer"


def _triplets(run: ReadRun) -> Faults:
    import pyarrow.parquet as pq

    path = run.folder / "training" / "needles.parquet"
    if not path.is_file():
        yield [path.name], f"{path.name} is not there"
        return
    with pq.ParquetFile(path) as table:
        missing = [one for one in _COLUMNS if one not in table.schema_arrow.names]
        if missing:
            yield [path.name], f"{path.name}: lacks the columns {', '.join(missing)}"
            return
        rows = (
            (row["positive-id"], row)
            for batch in table.iter_batches(_ROWS)
            for row in batch.to_pylist()
        )
        controls: dict[int, list[HaystackRecord]] = {}
        for one in run.documents.values():
            if one.at.needle in ("none", "neutral"):
                controls.setdefault(one.digest, []).append(one)

        def wrong(run: ReadRun, row: Mapping[str, Any], document: HaystackRecord) -> Iterator[str]:
            if row["anchor"] != run.groups[document.key.group].question:
                yield "the anchor is not the question"
            if run.group_of.get(row["query-id"]) != document.key.group:
                yield f"{row['query-id']} is not the query"
            if digest(row["positive"]) != document.digest:
                yield "the positive is not the text"
            if why := run.near(document.key, row["negative_1"]):
                yield f"{why}, in the first negative"
            held = controls.get(digest(row["negative_2"]), [])
            if not any(one.controls(document) for one in held):
                yield "the second negative is no control"

        yield from _once(run, path.name, rows, wrong)


def groups_of(queries: Iterable[Query]) -> dict[str, str]:
    """The group of each query, as its metadata says."""
    return {query.query_id: str(query.facts.get("group")) for query in queries}


def check_queries(run: ReadRun, queries: Iterable[Query]) -> Faults:
    """Each group has one query, which is its question, and says its needles."""
    asked: dict[str, str] = {}
    for query in queries:
        name = run.group_of[query.query_id]
        group = run.groups.get(name)
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
    for name in run.groups:
        if name not in asked:
            yield [name], f"{name}: has no query"


def check_qrels(run: ReadRun, judgements: Judgements, lengths: Sequence[int]) -> Faults:
    """A query's positives are the haystacks of its group: all of them, or those of a length."""
    holders: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for doc_id, one in run.documents.items():
        if one.at.needle in HOLDS:
            holders[one.key.group][one.key.length].add(doc_id)
    main = judgements.split
    wanted: dict[str, int | None] = {main: None, **{f"{main}_{one}": one for one in lengths}}
    splits = {main: judgements.qrels, **judgements.others}
    for split, only in wanted.items():
        if split in splits:
            yield from _split(run, split, splits[split], only, holders)
        else:
            yield [split], f"there are no qrels of split {split}"
    for split in splits.keys() - wanted.keys():
        yield [split], f"split {split} is that of no length"


def _split(
    run: ReadRun,
    split: str,
    qrels: Sequence[Qrel],
    only: int | None,
    holders: Mapping[str, Mapping[int, set[str]]],
) -> Faults:
    judged: dict[str, set[str]] = defaultdict(set)
    for query_id, doc_id, relevance in qrels:
        judged[query_id].add(doc_id)
        one = run.documents.get(doc_id)  # another rule names what is not there
        if one and (why := _why(one, run.group_of.get(query_id), relevance, only)):
            message = f"{query_id}: {doc_id} is a qrel of split {split}, and {why}"
            yield [query_id, doc_id], message
    for query_id, group in run.group_of.items():
        held = holders.get(group, {})
        wanted = {i for length, ids in held.items() if only in (None, length) for i in ids}
        if missing := sorted(wanted - judged[query_id]):
            message = (
                f"{query_id}: {len(missing):,} of its {len(wanted):,} haystacks are no qrels of "
                f"split {split}, {missing[0]} among them"
            )
            yield [query_id, *missing], message


def _why(one: HaystackRecord, group: str | None, relevance: float, only: int | None) -> str:
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
