"""The tables beside dataset/: pairs of haystack and control, prompts, and training triplets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from retgen.validators.niah.fillers import digest
from retgen.validators.niah.run import Document, Run, Wrong

_ROWS = 100  # long texts that are read at once
_COLUMNS = ("anchor", "positive", "negative_1", "negative_2", "query-id", "positive-id")


def check_tables(run: Run, training: bool) -> Wrong:
    """All tables; each names every haystack with a needle once."""
    yield from _each(run, "pairs.jsonl", "haystack", _pair)
    yield from _each(run, "chat.jsonl", "haystack", _prompt)
    if training:
        yield from _triplets(run)


def _each(
    run: Run,
    name: str,
    column: str,
    wrong: Callable[[Run, Mapping[str, Any], Document], Iterator[str]],
) -> Wrong:
    path = run.folder / "tables" / name
    if not path.is_file():
        yield [name], f"{name} is not there"
        return
    with open(path, "rb") as file:
        rows = ((row.get(column), row) for row in map(orjson.loads, file))
        yield from _once(run, name, rows, wrong)


def _once(
    run: Run,
    name: str,
    rows: Iterator[tuple[Any, Mapping[str, Any]]],
    wrong: Callable[[Run, Mapping[str, Any], Document], Iterator[str]],
) -> Wrong:
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


def _pair(run: Run, row: Mapping[str, Any], document: Document) -> Iterator[str]:
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


def _prompt(run: Run, row: Mapping[str, Any], document: Document) -> Iterator[str]:
    group = run.groups[document.key.group]
    messages = row.get("messages") or [{}]
    if group.question not in str(messages[-1].get("content")):
        yield "the prompt does not ask the question"
    if row.get("expected") != group.name:
        yield f"{row.get('expected')!r} is not the answer"


def _triplets(run: Run) -> Wrong:
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
        controls: dict[int, list[Document]] = {}
        for one in run.documents.values():
            if one.at.needle in ("none", "neutral"):
                controls.setdefault(one.digest, []).append(one)

        def wrong(run: Run, row: Mapping[str, Any], document: Document) -> Iterator[str]:
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
