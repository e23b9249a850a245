"""`gen review --export` and `--import`: verdicts in the formats of other tools, there and back.

| module | format |
|---|---|
| `table` | `csv`, for spreadsheets |
| `label_studio` | `label-studio`: tasks and a labelling configuration; its JSON export comes back |
| `qrels` | `qrels`: what to change in the data set's qrels; does not come back |
| `rows` | what all of them read and write: a verdict a row, checked |
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from retgen.errors import DatasetError, OutputError, UsageError
from retgen.messages import did_you_mean
from retgen.review.exchange import label_studio, qrels, table
from retgen.review.exchange.rows import ImportedRow, ImportResult, keep
from retgen.review.review import Review

_EXPORTS: dict[str, tuple[str, Callable[[Review, Path], None]]] = {
    "csv": ("review.csv", table.write),
    "label-studio": ("label_studio", label_studio.write),
    "qrels": ("qrels_patch", qrels.write),
}
FORMATS = tuple(_EXPORTS)

__all__ = ["FORMATS", "ImportResult", "export", "import_"]


def export(review: Review, format: str, to: Path | str | None = None) -> Path:
    """Write a review in a format of `FORMATS`; the path of the file or folder.

    `to`: default exports/NAME in the review's folder. Raises `UsageError` for an unknown format,
    `OutputError` where something is in the way.
    """
    if format not in _EXPORTS:
        raise UsageError(
            f"--export {format}: there is no such format{did_you_mean(format, FORMATS) or '.'} "
            f"Formats: {', '.join(FORMATS)}"
        )
    name, write = _EXPORTS[format]
    path = Path(to) if to is not None else review.folder / "exports" / name
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(f"{path} is not empty; choose another place with --to")
    if path.is_file() or (path.is_dir() and Path(name).suffix):
        raise OutputError(f"{path} is there already; choose another place with --to")
    write(review, path)
    return path


def import_(review: Review, file: Path | str, annotator: str | None = None) -> ImportResult:
    """Keep the verdicts of a file that came back; which format it is shows by itself.

    `annotator`: whose verdicts they are, where the file does not say; else that of a file called
    review_NAME.csv, else the only one of the review. Good rows are kept in one transaction, the
    others listed with their reasons. Raises `DatasetError` for a file that cannot be read, or that
    is of another review.
    """
    path = Path(file)
    try:
        data = path.read_bytes()
    except IsADirectoryError as error:
        raise DatasetError(
            f"{path} is a folder; name the file that came back: Label Studio's JSON export, or a "
            "table"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
    if annotator is not None:
        review.check_annotator(annotator)
    given = _read(review, path, data)
    return keep(review, given, annotator or _whose(review, path), path, data)


def _read(review: Review, path: Path, data: bytes) -> list[ImportedRow]:
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{"):
        return label_studio.read(review, path, label_studio.rows_of(path, data))
    return table.read(path, *table.rows_of(path, data))


def _whose(review: Review, path: Path) -> str | None:
    """Whose verdicts a file holds that does not say it."""
    people = review.settings.annotators
    named = path.stem.removeprefix("review_")
    return named if named in people else people[0] if len(people) == 1 else None
