"""Critical n and the closed form of all pairs, as the folder of `gen capacity` keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import OutputError
from retgen.evaluation.capacity import construct, free
from retgen.evaluation.capacity.free import Critical, Fit
from retgen.write import write_file

_FIT = 8  # dimensions; a cubic through fewer says nothing


@dataclass(frozen=True)
class Capacity:
    """Everything that the folder holds: critical n by protocol and dimension, the closed form."""

    folder: Path
    critical: dict[str, dict[int, Critical]]
    carried: list[construct.Carried]
    command: str

    def fit(self, protocol: str) -> Fit | None:
        """The cubic through the complete dimensions, where there are enough."""
        points = {d: c.documents for d, c in self.critical[protocol].items() if c.complete}
        return free.cubic_fit(points) if len(points) >= _FIT else None

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity --json` prints."""
        fits = {"table_6": free.cubic_fit(free.TABLE_6)}
        fits |= {name: fit for name in self.critical if (fit := self.fit(name)) is not None}
        return {
            "protocols": {
                name: [row_of(one) for one in result.values()]
                for name, result in self.critical.items()
            },
            "construct": [row_of(one) for one in self.carried],
            "table_6": {str(d): n for d, n in free.TABLE_6.items()},
            "cubic_fit": {name: fit._asdict() for name, fit in fits.items()},
        }


def kept(folder: Path, name: str) -> dict[int, Critical]:
    rows = _read(folder / f"{name}.jsonl", Critical._fields)
    return {row["dimension"]: Critical(**row) for row in rows}


def carried_before(folder: Path) -> list[construct.Carried]:
    rows = _read(folder / "construct.jsonl", construct.Carried._fields)
    return [construct.Carried(**row) for row in rows]


def keep(path: Path, rows: Iterable[Critical | construct.Carried]) -> None:
    """Write what a later call reads with `kept` or `carried_before`."""
    write_file(path, b"".join(orjson.dumps(row_of(one)) + b"\n" for one in rows))


def _read(path: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a file that we wrote."""
    if not path.is_file():
        return []
    try:
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        result = [{name: row[name] for name in fields} for row in rows]
        for row in result:
            if "by_seed" in row:
                row["by_seed"] = tuple(map(int, row["by_seed"]))
            row["dimension"], row["documents"] = int(row["dimension"]), int(row["documents"])
            # JSON has no infinity
            row["margin"] = float("inf") if row["margin"] is None else float(row["margin"])
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path}: not written by gen capacity. Give another --out, or move the file away."
        ) from error
    return result


def row_of(one: Critical | construct.Carried) -> dict[str, Any]:
    row = one._asdict()
    if row["margin"] == float("inf"):
        row["margin"] = None
    return row
