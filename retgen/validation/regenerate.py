"""The recipe of a finished run is run again, and each file it makes compared with the one there.

What agents said is taken from `sources/`; where all of them are offline, they are asked again.
`differences` says in what two JSON values differ, key by key; `unreadable_sources`, whether the
files of `sources/` can be read: a family says what their rows hold.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from retgen.agents.report import Rejections
from retgen.generate import BLOCK, generate_with_agents, lines_by_table, lines_of, table_files
from retgen.generators.family import RowType
from retgen.generators.records import Records
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validators.rule import Finding
from retgen.work import Engine
from retgen.write import make_folder

REGENERATED = "regenerated"
_LONG = 100  # characters of a value in a message
_SHOWN = 3  # rows that a finding names
_IDS = ("_id", "query-id", "corpus-id", "id", "ladder")


def differences(stated: Any, right: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Where `stated` is not `right`. Floats may differ in their last bits, as machines do.

    Each: (key, dotted and with places in lists: "example.rows[3][1]", the rest of a sentence).
    """
    if isinstance(stated, dict) and isinstance(right, dict):
        for name in dict.fromkeys([*right, *stated]):
            inner = f"{key}.{name}" if key else str(name)
            if name not in stated:
                yield inner, f"is missing; must be {quote(right[name])}"
            elif name not in right:
                yield inner, f"is {quote(stated[name])}; must not be there"
            else:
                yield from differences(stated[name], right[name], inner)
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        for place, both in enumerate(zip(stated, right, strict=True)):
            yield from differences(*both, f"{key}[{place}]")
    elif not _same(stated, right):
        yield key or "value", f"is {quote(stated, right)}, must be {quote(right, stated)}"


def _same(stated: Any, right: Any) -> bool:
    if isinstance(right, float) and type(stated) in (int, float):
        return math.isclose(stated, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(stated) is type(right) and bool(stated == right)


def quote(value: Any, other: Any = None) -> str:
    """A value as JSON; of a long one the part in which it differs from `other`."""
    text, second = (orjson.dumps(one, default=str).decode() for one in (value, other))
    pairs = enumerate(zip(text, second, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), 0) if len(text) > _LONG else 0
    start = max(0, at - _LONG // 3)
    text = ("..." if start else "") + text[start:]
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def compare_tables(
    run: Path, recipe: Recipe, records: Records, engine: Engine, progress: Progress
) -> Iterator[Finding]:
    """One finding a file whose rows are not those of the records."""
    corpus, others = table_files(recipe, records)
    made = lines_by_table(recipe, run, corpus, engine)
    tables = chain(made, ((one, lines_of(one)) for one in others))
    for number, (table, blocks) in enumerate(tables, start=1):
        if (run / table.name).is_file():  # else that is a finding of its own
            lines = chain.from_iterable(io.BytesIO(one.data) for one in blocks)
            yield from compare_lines(run, table.name, lines)
        for _ in blocks:  # those of the next file come after them
            pass
        progress("again", number, len(corpus) + len(others))


def compare_lines(run: Path, name: str, right: Iterable[bytes]) -> Iterator[Finding]:
    """A finding of the first rows of a file that are not these lines of JSON, if any is not."""
    ids = [name]
    parts: list[str] = []
    number = missing = extra = 0
    wanted = map(_columns, map(orjson.loads, right)) if name.endswith(".parquet") else right
    try:
        for number, (stated, made) in enumerate(zip_longest(_rows(run / name), wanted), start=1):
            if stated == made:
                continue
            missing += stated is None
            extra += made is None
            if len(parts) < _SHOWN:
                parts.append(f"row {number:,} {_difference(stated, made)}")
                rows = (_parsed(one) for one in (stated, made) if one is not None)
                objects = [row for row in rows if isinstance(row, dict)]
                ids += [row[key] for row in objects for key in _IDS if type(row.get(key)) is str]
    except (OSError, ValueError) as error:  # Arrow's errors are both
        yield Finding(REGENERATED, "error", [name], f"{name} cannot be read: {error}")
        return
    if parts:
        counts = f" ({number - missing:,} rows, must be {number - extra:,})"
        what = f"{name} is not what the recipe makes{counts if missing != extra else ''}"
        ids = list(dict.fromkeys(ids))
        yield Finding(REGENERATED, "error", ids, f"{what}: {'; '.join(parts)}")


def _rows(path: Path) -> Iterator[bytes]:
    """The lines of a file, or the rows of Parquet as `_columns` writes them."""
    if path.suffix != ".parquet":
        with open(path, "rb") as lines:
            yield from lines
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BLOCK):
            yield from map(_columns, batch.to_pylist())


def _columns(row: dict[str, Any]) -> bytes:
    """A row as JSON without the order of its keys, which Parquet has once for all rows."""
    return orjson.dumps(row, default=str, option=orjson.OPT_SORT_KEYS)


def _difference(stated: bytes | None, right: bytes | None) -> str:
    if right is None:
        return "must not be there"
    if stated is None:
        return "is missing"
    result = [f"{key} {what}" for key, what in differences(_parsed(stated), _parsed(right))]
    return ", ".join(result[:2]) or "has the right values, but is written in another way"


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return line.decode(errors="replace").rstrip("\n")


# --- agents -------------------------------------------------------------------------------------


def repeat_agents(
    run: Path, recipe: Recipe, folder: Path, engine: Engine, progress: Progress
) -> tuple[list[Finding], Rejections, list[str]]:
    """Have the offline agents work in an empty folder.

    Returns what differs from what they left in the run, their rejected records, and the names of
    their files.
    """
    from retgen.agents.session import ModelOptions

    make_folder(folder)
    report = generate_with_agents(recipe, folder, ModelOptions(), engine=engine, progress=progress)
    findings: list[Finding] = []
    names = [f"{SOURCES}/{path.name}" for path in sorted((folder / SOURCES).glob("*"))]
    for name in names:
        if (run / name).is_file():
            with open(folder / name, "rb") as right:
                findings += compare_lines(run, name, right)
    return findings, report.rejected, names


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
