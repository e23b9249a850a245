"""What is wrong with the rows of an exported table, folded: a finding for each kind of fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.data import TableFiles
from retgen.errors import DatasetError
from retgen.validators.rule import Finding


@dataclass
class _Kind:
    first: str
    rows: int = 0
    ids: list[str] = field(default_factory=list)


class RowFaults:
    """Faults of one file by kind. `name`: the file, relative to the run."""

    def __init__(self, rule: str, name: str) -> None:
        self._rule, self._name = rule, name
        self._kinds: dict[str, _Kind] = {}

    def add(self, kind: str, row: int, message: str, ids: Sequence[str] = ()) -> None:
        """A fault of row `row` (from 1). Of each kind the first message is shown."""
        result = self._kinds.setdefault(kind, _Kind(f"row {row:,}: {message}"))
        result.rows += 1
        result.ids += [f"{self._name}:{row}", *ids]

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def findings(self) -> Iterator[Finding]:
        """One finding for each kind, with the ids of all its rows."""
        for kind in self._kinds.values():
            more = f" ({kind.rows - 1:,} more such rows)" if kind.rows > 1 else ""
            yield self.of_file(f"{kind.first}{more}", kind.ids)

    def of_file(self, message: str, ids: Sequence[str] = ()) -> Finding:
        """A finding on the file as a whole."""
        return Finding(self._rule, "error", list(ids or [self._name]), f"{self._name}, {message}")


def read_rows(path: Path) -> Iterator[Any]:
    """The rows of a Parquet or JSON Lines file, one by one: a dict, or what `Table.rows` gives.

    Raises OSError or ValueError for a file that cannot be read.
    """
    table = TableFiles(path.name, (path,))
    try:
        for chunk in table.chunks():
            yield from table.rows(chunk)
    except DatasetError as error:
        raise ValueError(error.__cause__ or error) from error


def columns_of(path: Path) -> dict[str, str]:
    """Columns of a Parquet file and their types. Raises OSError or ValueError."""
    import pyarrow.parquet as pq

    return {field.name: str(field.type) for field in pq.read_schema(path)}
