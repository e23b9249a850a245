"""`gen review --export` and `--import`: verdicts in the formats of other tools, there and back.

| module | format |
|---|---|
| `table` | `csv`, for spreadsheets |
| `label_studio` | `label-studio`: tasks and a labelling configuration; its JSON export comes back |
| `qrels` | `qrels`: the qrels of TREC; out go those of the split with the settled labels |
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from retgen.errors import DatasetError, OutputError, UsageError
from retgen.messages import did_you_mean
from retgen.review.exchange import label_studio, qrels, table
from retgen.review.exchange.row import ImportedRow, relevance_of
from retgen.review.records import Item, Verdict, standing
from retgen.review.review import Review

_EXPORTS: dict[str, tuple[str, Callable[[Review, Path], None]]] = {
    "csv": ("review.csv", table.write),
    "label-studio": ("label_studio", label_studio.write),
    "qrels": ("qrels.txt", qrels.write),
}
FORMATS = tuple(_EXPORTS)


class ImportResult(NamedTuple):
    """Verdicts that were kept, rows that were refused as (row, reason), verdicts known before.

    `assumed`: whose verdicts those are that name nobody, "" where all kept ones name somebody.
    """

    kept: int
    refused: list[tuple[int, str]]
    already: int = 0
    assumed: str = ""


def export(review: Review, format: str, to: Path | str | None = None) -> Path:
    """Write a review in a format of `FORMATS` and return the path of the file or folder.

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
    if path.exists():
        raise OutputError(f"{path} is there already; choose another place with --to")
    write(review, path)
    return path


def import_(review: Review, file: Path | str) -> ImportResult:
    """Keep the verdicts of a file, whose format shows by itself.

    A file that does not name its annotator is of NAME if it is called review_NAME.csv (or .txt),
    or of the review's only annotator. Good rows are kept in one transaction, the others are listed
    with their reasons. Raises `DatasetError` for a file that cannot be read, or of another review.
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
    people, named = review.settings.annotators, path.stem.removeprefix("review_")
    annotator = named if named in people else people[0] if len(people) == 1 else ""
    source = f"{path.name} {hashlib.sha256(data).hexdigest()[:12]}"
    return _keep(review, _read(review, path, data), annotator, path, source)


def _read(review: Review, path: Path, data: bytes) -> list[ImportedRow]:
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{"):
        return label_studio.read(review, path, data)
    return qrels.read(review, data) if qrels.is_trec(data) else table.read(path, data)


def _keep(
    review: Review, rows: Sequence[ImportedRow], annotator: str, path: Path, source: str
) -> ImportResult:
    """Check all rows, and keep the good ones in one transaction."""
    stated = review.store.verdicts()
    known = {_key(v) for v in standing(stated).values()}
    known |= {_key(v) for v in stated if v.source == source}
    gone = {_key(v) for v in stated if not v.withdrawn} - known
    items = {item.item_id: item for item in review.items}
    good: dict[tuple[object, ...], tuple[int, Verdict]] = {}
    unnamed = {one.row for one in rows if not one.annotator}
    refused: list[tuple[int, str]] = []
    already = strange = 0
    rows = [one for one in rows if one.verdict or one.problem]
    for one in rows:
        try:
            if one.problem:
                strange += 1
                raise UsageError(one.problem)
            item = items.get(one.item_id) or _shown_as(review.items, one.shown)
            if item is None or (one.shown and one.shown != item.shown):
                strange += 1
                raise UsageError(
                    f"there is no item {one.item_id!r} in this review"
                    if item is None
                    else "it is on another text than this review shows of the item"
                )
            verdict = _verdict(review, item, one, one.annotator or annotator, source)
            key = _key(verdict)
            if key in gone:
                raise UsageError(
                    f"{verdict.annotator} said this of item {item.item_id}, and took it back or "
                    "changed it since; say it on the page if it is meant"
                )
        except UsageError as error:
            refused.append((one.row, str(error)))
            continue
        if key in known or key in good:
            already += 1
        else:
            good[key] = one.row, verdict
    if rows and strange == len(rows):
        raise DatasetError(
            f"{path} is of another review: none of its {len(rows):,} verdicts is on an item and "
            f"text of {review.store.path} ({refused[0][1]}). Nothing was kept"
        )
    refused += _without_conflicts(good)
    if good:
        review.store.add(verdict for _, verdict in good.values())
    assumed = annotator if any(row in unnamed for row, _ in good.values()) else ""
    return ImportResult(len(good), sorted(refused), already, assumed)


def _shown_as(items: Sequence[Item], shown: str) -> Item | None:
    """The only item with some texts, for spreadsheets that take an id for a number."""
    found = [item for item in items if item.shown == shown]
    return found[0] if len(found) == 1 else None


def _without_conflicts(
    good: dict[tuple[object, ...], tuple[int, Verdict]],
) -> list[tuple[int, str]]:
    """Take out two verdicts of one person on one item, and return their rows with the reason."""
    given: dict[tuple[str, str, bool], list[tuple[object, ...]]] = {}
    for key, (_, verdict) in good.items():
        given.setdefault((verdict.item_id, verdict.annotator, verdict.settles), []).append(key)
    result = []
    for (item_id, annotator, _), keys in given.items():
        if len(keys) > 1:
            why = f"{annotator} judges item {item_id} in more than one way in this file"
            result += [(good.pop(key)[0], why) for key in keys]
    return result


def _verdict(review: Review, item: Item, one: ImportedRow, annotator: str, source: str) -> Verdict:
    if not annotator:
        raise UsageError(
            "the file does not say who judged: add a column annotator (one of "
            f"{', '.join(review.settings.annotators)}), or name the file review_NAME"
        )
    return review.verdict(
        annotator,
        item.item_id,
        relevance_of(one.verdict, review.settings.grades),
        shown=item.shown,
        settles=one.settles,
        reason=one.reason,
        comment=one.comment,
        source=source,
    )


def _key(verdict: Verdict) -> tuple[object, ...]:
    """The values that make two verdicts the same one."""
    names = ("item_id", "annotator", "settles", "relevance", "reason", "comment", "shown")
    return tuple(getattr(verdict, name) for name in names)
