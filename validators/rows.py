"""The files beside dataset/, row by row: what is wrong, folded to a finding for each kind of fault.

That they hold the rows that the recipe makes, and no others, is the rule `regenerated`'s; the proof
of a family works out anew what rows say of texts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.data import Dataset, TableFiles
from retgen.errors import DatasetError
from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding, RuleState


class RowFaults:
    """Faults of one file by kind. `name`: the file, relative to the run."""

    def __init__(self, rule: str, name: str) -> None:
        self._rule, self._name = rule, name
        self._kinds: dict[str, list[tuple[int, str, Sequence[str]]]] = {}

    def add(self, kind: str, row: int, message: str, ids: Sequence[str] = ()) -> None:
        """A fault of row `row` (from 1). Of each kind the first message is shown."""
        self._kinds.setdefault(kind, []).append((row, message, ids))

    def findings(self) -> Iterator[Finding]:
        """One finding for each kind, with the ids of all its rows."""
        for rows in self._kinds.values():
            first, message, _ = rows[0]
            more = f" ({len(rows) - 1:,} more such rows)" if len(rows) > 1 else ""
            ids = [one for row, _, some in rows for one in (f"{self._name}:{row}", *some)]
            yield self.of_file(f"row {first:,}: {message}{more}", ids)

    def of_file(self, message: str, ids: Sequence[str] = ()) -> Finding:
        """A finding on the file as a whole."""
        return Finding(self._rule, "error", list(ids or [self._name]), f"{self._name}, {message}")


class RowFault(Exception):
    """What is wrong with a row. `kind`: what such faults are folded by; `ids`: records involved."""

    def __init__(self, kind: str, message: str, ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.kind, self.ids = kind, ids


class TablesProof(CorpusRule):
    """A rule over the files beside dataset/, read once the documents are."""

    state: RuleState

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        super().__init__()

    @abstractmethod
    def tables(self) -> Mapping[str, Callable[[Any], None]]:
        """Files by name, and what raises `RowFault` for a row that is wrong."""

    def check_table(self, name: str, rows: Iterator[Any], faults: RowFaults) -> str:
        """Look at the rows of a file; returns what is wrong with it as a whole, "" for nothing."""
        check = self.tables()[name]
        for number, row in enumerate(rows, start=1):
            try:
                check(row)
            except RowFault as fault:
                faults.add(fault.kind, number, str(fault), fault.ids)
            except (KeyError, TypeError, AttributeError, ValueError, IndexError):
                faults.add("form", number, "its columns or values are none of such a row")
        return ""

    def start(self) -> None:
        self.state = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        """The documents are another rule's."""

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        if dataset.run is not None:
            for name in self.tables():
                self._findings += self._file(dataset.run, name)

    def findings(self) -> Iterator[Finding]:
        yield from self._findings

    def _file(self, run: Path, name: str) -> Iterator[Finding]:
        faults = RowFaults(self.name, name)
        try:
            message = self.check_table(name, read_rows(run / name), faults)
        except (OSError, ValueError) as error:
            message = f"it cannot be read: {error}"
        yield from faults.findings()
        if message:
            yield faults.of_file(message)


def read_rows(path: Path) -> Iterator[Any]:
    """The rows of a Parquet or JSON Lines file, one by one: a dict, or what `Table.rows` gives.

    Raises OSError or ValueError for a file that cannot be read.
    """
    try:
        yield from TableFiles(path.name, (path,))
    except DatasetError as error:
        raise ValueError(error.__cause__ or error) from error
