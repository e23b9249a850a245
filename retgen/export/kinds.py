"""Arrow's type of a column, found in a first reading of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

_BLOCK = 10_000  # values


class Kind:
    """The type of one column; Arrow needs it before the first row is written.

    What has no one type (a text here, a number there), or none that Parquet holds (an object
    without keys), becomes JSON. `objects`: anything but an object with keys does.
    """

    def __init__(self, *, objects: bool = False) -> None:
        self._objects = objects
        self._type: Any = None
        self._json = False
        self._held: list[Any] = []

    def see(self, value: Any) -> None:
        """Learn from a value."""
        if value is not None and not self._json:
            self._held.append(value)
            if len(self._held) == _BLOCK:
                self._learn()

    def _learn(self) -> None:
        import pyarrow as pa

        held, self._held = self._held, []
        if not held:
            return
        try:
            schemas = [pa.schema([("m", pa.array(held).type)])]
            if self._type is not None:
                schemas.append(pa.schema([("m", self._type)]))
            kind = pa.unify_schemas(schemas, promote_options="permissive").field("m").type
            self._json = _hollow(kind) or (self._objects and not pa.types.is_struct(kind))
            self._type = kind
        except (pa.ArrowException, OverflowError):
            self._json = True

    @property
    def type(self) -> Any:
        """Arrow's; None where every value was None."""
        import pyarrow as pa

        self._learn()
        return pa.string() if self._json else self._type

    def given(self, value: Any) -> Any:
        """A value as the column holds it."""
        return orjson.dumps(value).decode() if self._json and value is not None else value


def kinds(rows: Iterable[Mapping[str, Any]]) -> dict[str, Kind]:
    """The types of all columns of a table, in the order in which they first stand."""
    result: dict[str, Kind] = {}
    for row in rows:
        for name, value in row.items():
            result.setdefault(name, Kind()).see(value)
    return result


def _hollow(kind: Any) -> bool:
    """Whether a type holds a struct without fields, which Parquet has not."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields == 0 or any(
            _hollow(kind.field(i).type) for i in range(kind.num_fields)
        )
    return bool(pa.types.is_list(kind) and _hollow(kind.value_type))
