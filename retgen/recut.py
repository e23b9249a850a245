"""`gen export --passages`: a run's documents cut in another way, as its family does it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
from pydantic import ValidationError

from retgen.data import Dataset, open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.generators import Family, Records, Rows, families, family
from retgen.generators.source import PassageSize
from retgen.messages import Origin, explain
from retgen.recipe import SOURCES
from retgen.write import AtomicFile

_OPTION = "--passages"
_BLOCK = 10_000  # rows


def passage_size(text: str) -> PassageSize | None:
    """A size as `--passages` gives it: "tokens=256,overlap=32", or "none" (whole documents)."""
    if text.strip() == "none":
        return None
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or key.strip() in given:
            raise UsageError(
                f"{_OPTION} {text}: must be tokens=256,overlap=32, or none for whole documents"
            )
        given[key.strip()] = value.strip()
    try:
        return PassageSize.model_validate(given)
    except ValidationError as error:
        origin = Origin(Path(_OPTION), None, ())
        words = explain(error, PassageSize.model_json_schema(), given, origin, ())
        raise UsageError("\n".join(words)) from error


def recut(dataset: Dataset, path: Path, size: PassageSize | None) -> Records:
    """The records of a finished run with its documents cut in another way.

    Raises `DatasetError` for what is no finished run, or one whose sources/ cannot be read, and
    `UsageError` for a family that cuts no documents.
    """
    if dataset.run is None:
        raise DatasetError(
            f"{path} is no run directory, so its source documents are not known: {_OPTION} cuts "
            f"the documents of a run. Give a run of the {_able()}"
        )
    try:
        manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        owner, seed = family(manifest["family"]), int(manifest["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{dataset.run}: its manifest.json cannot be read, so the run is not finished or was "
            "changed: finish it with `gen run`, or make it again with --fresh"
        ) from error
    try:
        result = owner.rechunk(dataset.run / SOURCES, seed, size)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DatasetError(
            f"{dataset.run / SOURCES} cannot be read ({error}). It holds the documents and what "
            "the queries rest on: make the run again with --fresh"
        ) from error
    if result is None:
        raise UsageError(
            f"{_OPTION}: documents of the family {owner.name} are not cut, they are written as "
            f"they are. Give a run of the {_able()}"
        )
    return result


def _able() -> str:
    """The families whose documents can be cut in another way."""
    names = [name for name in families() if type(family(name)).rechunk is not Family.rechunk]
    return f"{'family' if len(names) == 1 else 'families'} {', '.join(names)}"


@contextmanager
def written(records: Records, dataset: Dataset, folder: Path) -> Iterator[Dataset]:
    """The records as a data set on disk, for a while; `dataset`: the one of the run they are of."""
    with tempfile.TemporaryDirectory(prefix=".recut-", dir=folder) as name:
        root = Path(name)
        tables = {"corpus": records.corpus, "queries": records.queries} | {
            "qrels" if split == "test" else f"qrels.{split}": rows
            for split, rows in records.qrels.items()
        }
        for stem, rows in tables.items():
            _write(root / f"{stem}.jsonl", rows)
        yield replace(open_dataset(root), run=dataset.run)


def _write(path: Path, rows: Rows) -> None:
    with AtomicFile(path) as file:
        for start in range(0, rows.count, _BLOCK):
            file.write(rows.jsonl(start, min(start + _BLOCK, rows.count)))
