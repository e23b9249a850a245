"""The same recipe makes the same tables: they are made again and compared with the files.

`differences` says in what two JSON values differ, key by key; `unreadable_sources`, whether the
files of `sources/` can be read: a family says what their rows hold.

What agents said is taken from `sources/`; where all of them are offline, they are asked again.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from retgen.agents.models import ModelOptions
from retgen.agents.report import Rejections
from retgen.generate import (
    BLOCK,
    Lines,
    TableFile,
    arrow_rows,
    arrow_schema,
    lines_by_table,
    lines_of,
    table_files,
)
from retgen.generators.family import RowType
from retgen.generators.records import Records
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validators.rule import Finding
from retgen.work import Engine
from retgen.write import make_folder

_LONG = 100  # characters of a value in a message


class FieldDifference(NamedTuple):
    """`key`: dotted, with places in lists: "example.rows[3][1]"; `what`: the rest of a sentence."""

    key: str
    what: str


def differences(stated: Any, right: Any, key: str = "") -> Iterator[FieldDifference]:
    """Where `stated` is not `right`. Floats may differ in their last bits, as machines do."""
    if isinstance(stated, dict) and isinstance(right, dict):
        for name, value in right.items():
            inner = f"{key}.{name}" if key else str(name)
            if name in stated:
                yield from differences(stated[name], value, inner)
            else:
                yield FieldDifference(inner, f"is missing; must be {quote(value)}")
        for name in stated.keys() - right.keys():
            inner = f"{key}.{name}" if key else str(name)
            yield FieldDifference(inner, f"is {quote(stated[name])}; must not be there")
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        for place, both in enumerate(zip(stated, right, strict=True)):
            yield from differences(*both, f"{key}[{place}]")
    elif not _same(stated, right):
        yield FieldDifference(key, f"is {quote(stated, right)}, must be {quote(right, stated)}")


def _same(stated: Any, right: Any) -> bool:
    if isinstance(right, float) and type(stated) in (int, float):
        return math.isclose(stated, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(stated) is type(right) and bool(stated == right)


def quote(value: Any, other: Any = None) -> str:
    """A value for a message; of a long text the part in which it differs from `other`."""
    if isinstance(value, list | dict) and isinstance(other, list | dict):
        return f"{len(value):,} entries" if len(value) != len(other) else _short(value)
    if isinstance(value, str) and isinstance(other, str) and len(value) > _LONG:
        at = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), 0)
        first = max(0, at - _LONG // 3)
        return _short(("..." if first else "") + value[first:])
    return _short(value)


def _short(value: Any) -> str:
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


REGENERATED = "regenerated"
_SHOWN = 3  # rows that a finding names


class _Row(NamedTuple):
    """A row that is not the one that the recipe makes; None: there is none."""

    number: int
    stated: bytes | None
    right: bytes | None


class _Unequal(NamedTuple):
    """Rows of which the values differ, and the numbers of rows that are only written otherwise."""

    rows: list[_Row]
    rewritten: list[int]


def compare_tables(
    run: Path, recipe: Recipe, records: Records, engine: Engine, progress: Progress
) -> list[Finding]:
    """One finding a file whose rows are not those of the records."""
    corpus, others = table_files(recipe, records)
    result: list[Finding | None] = []
    made = lines_by_table(recipe, run, corpus, engine)
    for table, lines in chain(made, ((one, lines_of(one)) for one in others)):
        result.append(_compare(run, table, lines))
        for _ in lines:  # those of the next file come after them
            pass
        progress("again", len(result), len(corpus) + len(others))
    return [one for one in result if one is not None]


def _compare(run: Path, table: TableFile, lines: Iterator[Lines]) -> Finding | None:
    path = run / table.name
    if not path.is_file():
        return None  # which is a finding of its own
    try:
        if path.suffix == ".parquet":
            return _compare_parquet(path, table, lines)
        with open(path, "rb") as file:
            rows = _first(_unequal_lines(file, table, lines))
            return _finding(table.name, rows, lambda: _lines(path), table.stop - table.start)
    except (OSError, ValueError) as error:  # Arrow's errors are both
        return Finding(REGENERATED, "error", [table.name], f"{table.name} cannot be read: {error}")


def _unequal_lines(file: Any, table: TableFile, lines: Iterable[Lines]) -> Iterator[_Row]:
    """The rows of a JSON Lines file that are not those of the table."""
    number = 0
    for stop, right in lines:
        start = file.tell()
        if file.read(len(right)) == right:
            number = stop - table.start
            continue
        file.seek(start)
        for line in bytes(right).splitlines(keepends=True):
            number += 1
            if (stated := file.readline()) != line:
                yield _Row(number, stated or None, line)
    for line in file:
        number += 1
        yield _Row(number, line, None)


def _compare_parquet(path: Path, table: TableFile, lines: Iterable[Lines]) -> Finding | None:
    import pyarrow.parquet as pq

    with io.BytesIO() as written:  # Parquet has its own name for the items of a list
        pq.write_table(arrow_schema(table).empty_table(), written)
        schema = pq.read_schema(written)
    with pq.ParquetFile(path) as file:
        stated = file.schema_arrow
        if not stated.equals(schema, check_metadata=True):
            message = f"its columns are {_columns(stated)}, must be {_columns(schema)}"
            return Finding(REGENERATED, "error", [table.name], f"{table.name}: {message}")
        rows = _first(_unequal_rows(file, table, lines, schema))
        count = file.metadata.num_rows
        return _finding(table.name, rows, lambda: count, table.stop - table.start)


def _unequal_rows(
    file: Any, table: TableFile, lines: Iterable[Lines], schema: Any
) -> Iterator[_Row]:
    """The same of Parquet; blocks are compared row by row only where they are not the same."""
    group, first, left = 0, table.start, iter(lines)
    for stop, data in left:
        groups = range(group, min(group + -(-(stop - first) // BLOCK), file.num_row_groups))
        stated = file.read_row_groups(groups)
        if not stated.equals(arrow_rows(Lines(stop, data), schema)):
            break
        group, first = groups.stop, stop
    batches = file.iter_batches(BLOCK, row_groups=range(group, file.num_row_groups))
    rows = (row for batch in batches for row in batch.to_pylist())
    right = (orjson.loads(table.rows.jsonl(i, i + 1)) for i in range(first, table.stop))
    for number, both in enumerate(zip_longest(rows, right), start=first - table.start + 1):
        if both[0] != both[1]:
            yield _Row(number, *(None if one is None else orjson.dumps(one) for one in both))


def compare_file(path: Path, name: str, right: bytes) -> Finding | None:
    """The same of a file of lines."""
    with open(path, "rb") as file:
        both = zip_longest(file, right.splitlines(keepends=True))
        rows = _first(
            _Row(number, stated, line)
            for number, (stated, line) in enumerate(both, start=1)
            if stated != line
        )
    return _finding(name, rows, lambda: _lines(path), right.count(b"\n"))


def _first(rows: Iterator[_Row]) -> _Unequal:
    """The first rows of which the values differ; rows that are only written in another way."""
    result = _Unequal([], [])
    for row in rows:
        stated, right = _parse_line(row.stated), _parse_line(row.right)
        # as text: 1, 1.0 and True are equal
        if row.stated and row.right and orjson.dumps(stated) == orjson.dumps(right):
            result.rewritten.append(row.number)
        else:
            result.rows.append(row)
            if len(result.rows) == _SHOWN:
                break
    return result


def _finding(name: str, result: _Unequal, count: Callable[[], int], right: int) -> Finding | None:
    if not result.rows and not result.rewritten:
        return None
    ids = [name]
    parts = []
    for row in result.rows:
        stated, made = _parse_line(row.stated), _parse_line(row.right)
        for one in (stated, made):
            ids += [one[k] for k in _IDS if isinstance(one, dict) and isinstance(one.get(k), str)]
        parts.append(f"row {row.number:,} {_difference(row, stated, made)}")
    if result.rewritten:
        many = f" and {len(result.rewritten) - 1:,} more" if len(result.rewritten) > 1 else ""
        parts.append(
            f"row {result.rewritten[0]:,}{many}: the values are right, but written in another way"
        )
    there = count()
    rows_there = f" ({there:,} rows, must be {right:,})" if there != right else ""
    return Finding(
        REGENERATED,
        "error",
        list(dict.fromkeys(ids)),
        f"{name} is not what the recipe makes{rows_there}: {'; '.join(parts)}",
    )


_IDS = ("_id", "query-id", "corpus-id", "id", "ladder")


def _difference(row: _Row, stated: Any, right: Any) -> str:
    if row.right is None:
        return "must not be there"
    if row.stated is None:
        return "is missing"
    result = [f"{one.key or 'value'} {one.what}" for one in differences(stated, right)]
    return ", ".join(result[:2]) or "has its keys in another order"


def _parse_line(line: bytes | None) -> Any:
    try:
        return None if line is None else orjson.loads(line)
    except ValueError:
        return (line or b"").decode(errors="replace").rstrip("\n")


def _lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _columns(schema: Any) -> str:
    message = ", ".join(f"{field.name} ({field.type})" for field in schema)
    return message + (" and metadata" if schema.metadata else "")


# --- agents -------------------------------------------------------------------------------------


def repeat_agents(
    run: Path, recipe: Recipe, folder: Path, engine: Engine, progress: Progress
) -> tuple[list[Finding], Rejections, frozenset[str]]:
    """Have the offline agents work in an empty folder.

    Returns what differs from what they left in the run, their rejected records, and the names of
    their files.
    """
    from retgen.generate import generate_with_agents

    make_folder(folder)
    call_report = generate_with_agents(
        recipe, folder, ModelOptions(), engine=engine, progress=progress
    )
    result = []
    names = set()
    for path in sorted((folder / SOURCES).glob("*")):
        name = f"{SOURCES}/{path.name}"
        names.add(name)
        if (run / name).is_file():
            result.append(compare_file(run / name, name, path.read_bytes()))
    return [one for one in result if one is not None], call_report.rejected, frozenset(names)


_WORDS = {"missing": " is missing", "extra_forbidden": " must not be there"}


def unreadable_sources(run: Path, recipe: Recipe, same: bool) -> Iterator[Finding]:
    """The first fault of each file that a job of this recipe leaves in `sources/`.

    `same`: this version of retgen wrote it; the rows of another may have other keys.
    """
    for name, row in recipe.family.sources(recipe.job).items():
        path, stated = run / SOURCES / name, f"{SOURCES}/{name}"
        try:
            fault = _fault(path, row, same)
        except (OSError, UnicodeDecodeError) as error:
            fault = (0, f"cannot be read: {getattr(error, 'strerror', None) or error}")
        if fault is not None:
            number, what = fault
            where = f"{stated}, row {number:,}:" if number else stated
            message = f"{where} {what}; without it the labels cannot be proven: put the file back"
            yield Finding("sources", "error", [stated], message)


def _fault(path: Path, kind: RowType, same: bool) -> tuple[int, str] | None:
    """(row from 1, what is wrong with it), None where every row is right."""
    if kind is None:
        return None if path.read_text("utf-8").strip() else (0, "is empty")
    row = _row(kind if same else {}, "forbid" if same else "ignore")
    number = 0
    with open(path, "rb") as file:
        for line in [file.read()] if path.suffix == ".json" else file:
            number += 1
            try:
                row.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                key = ".".join(map(str, first["loc"])) or "it"
                message = first["msg"][:1].lower() + first["msg"][1:]
                return number, key + _WORDS.get(first["type"], f": {message}")
            if not line.endswith(b"\n"):
                return number, "is cut off: a line break must end it"
    return None if number else (0, "is empty")


def _row(kind: type[Any] | Mapping[str, Any], extra: Any) -> type[BaseModel]:
    keys = get_type_hints(kind) if isinstance(kind, type) else kind
    fields: dict[str, Any] = {
        key.rstrip("?"): (one, None if key.endswith("?") else ...) for key, one in keys.items()
    }
    return create_model("Row", __config__=ConfigDict(extra=extra, strict=True), **fields)
