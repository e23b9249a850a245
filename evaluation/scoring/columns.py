"""A column of the queries, by whose values scores are broken down.

It is a key of the queries' `metadata`, or of their rows. CapRetrieval's published folder keeps the
types of its queries beside them, as types.json ({type: [texts of queries]}): its column `type`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Dataset, Query, query_of
from retgen.errors import DatasetError, UsageError
from retgen.messages import did_you_mean

NONE = "(none)"  # the value of a query that has none
_TYPES = "types.json"
_OWN = frozenset({"_id", "id", "text", "query", "title", "metadata", "positives"})


def values_of(dataset: Dataset, column: str, path: Path) -> dict[str, str]:
    """Query id -> value. Raises `UsageError`, naming `path`, where no query has the column."""
    result: dict[str, str] = {}
    known: set[str] = set()
    texts: dict[str, str] = {}
    for query, row in _rows(dataset):
        cells = _cells(row)
        known.update(cells)
        texts[query.query_id] = query.text
        if (value := cells.get(column)) is not None:
            result[query.query_id] = _text(value, column, query, path)
    types = _types(dataset.root)
    if types:
        known.add("type")
    if column == "type" and types and not result:
        result = {q: types[key] for q, text in texts.items() if (key := _key(text)) in types}
    if not result:
        here = f" Columns: {', '.join(sorted(known))}" if known else " They have none at all."
        raise UsageError(
            f"--by {column}: no query of {path} has such a column"
            f"{did_you_mean(column, sorted(known)) or '.'}{here}"
        )
    return {query_id: result.get(query_id, NONE) for query_id in texts}


def _rows(dataset: Dataset) -> Iterator[tuple[Query, dict[str, Any]]]:
    for row in dataset.queries:
        if isinstance(query := query_of(row), Query):
            yield query, row


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    metadata = row.get("metadata")
    own = {key: value for key, value in row.items() if key not in _OWN}
    return own | (metadata if isinstance(metadata, dict) else {})


def _text(value: Any, column: str, query: Query, path: Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return " ".join(str(value).split()) or NONE
    raise UsageError(
        f"--by {column}: query {query.query_id} of {path} has a {type(value).__name__} there; a "
        "breakdown is by texts or numbers"
    )


def _types(root: Path) -> dict[str, str]:
    """Types by the folded text of their queries; nothing where the file is not there."""
    path = root / _TYPES
    try:
        types = orjson.loads(path.read_bytes())
    except OSError:
        return {}
    except ValueError as error:
        raise DatasetError(f"{path}: is not JSON: {error}") from error
    if not isinstance(types, dict) or not all(isinstance(t, list) for t in types.values()):
        raise DatasetError(f"{path}: is not of the form {{type: [texts of queries]}}")
    return {_key(str(text)): str(name) for name, texts in types.items() for text in texts}


def _key(text: str) -> str:
    """As the published types have it: what is "A B" among the queries is "A+B" there."""
    return " ".join(text.replace("+", " ").split())
