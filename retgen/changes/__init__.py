"""`gen diff`: two data sets compared, record by record; corpora are read as streams."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from retgen.changes.records import (
    NONE,
    Changes,
    Example,
    HashedTable,
    label_examples,
    match,
    text_examples,
)
from retgen.changes.scores import AGAIN, score_changes
from retgen.data import Dataset, TableFiles, open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.highlights import Segment, both_sides
from retgen.progress import Progress, no_progress
from retgen.results.numbers import score
from retgen.results.tables import TableView
from retgen.tokenizer import laid_out
from retgen.yaml_text import read_yaml

_AROUND = 12  # words shown before the first and after the last that differ
_WORDS = 80  # at most, from the first that differs
_OPENING = 30  # words of a text that stands alone
_WIDTH = 60  # characters of a value in a table
_LISTED = 40  # keys that a terminal lists
_COUNTS = ("same", "changed", "added", "removed")


@dataclass(frozen=True)
class Diff:
    """What changed from A to B. `tables`: documents, queries, and of each split "qrels SPLIT" and
    "graded SPLIT". `recipe`: by key, what it is in A and in B; None where one of both is no run.
    """

    a: Path
    b: Path
    tables: dict[str, Changes]
    examples: list[Example]
    recipe: dict[str, list[Any]] | None
    scores: list[dict[str, Any]]
    notes: list[str]

    @property
    def same_records(self) -> bool:
        """Whether all records are the same, in the same order."""
        return not any(one.differ for one in self.tables.values())

    @property
    def differ(self) -> bool:
        """Whether records, or recipes, differ; scores do not count."""
        return not self.same_records or bool(self.recipe)

    def splits(self, stem: str) -> dict[str, Changes]:
        """The changes of qrels, or of grades, by split."""
        names = {name: name.partition(" ") for name in self.tables}
        return {
            split: self.tables[name] for name, (table, _, split) in names.items() if table == stem
        }

    def labels(self, stem: str) -> dict[str, int]:
        """How many labels went from what to what, of all splits: {"0->1": 3, "none->1": 2}."""
        total = sum((one.labels for one in self.splits(stem).values()), Counter[str]())
        return {change: total[change] for change in sorted(total)}

    def to_json(self) -> dict[str, Any]:
        """As `gen diff --json` prints it."""
        return {
            "a": str(self.a),
            "b": str(self.b),
            "differ": self.differ,
            "documents": self.tables["documents"].to_json(),
            "queries": self.tables["queries"].to_json(),
            "qrels": {split: one.to_json() for split, one in self.splits("qrels").items()},
            "labels": self.labels("qrels"),
            "graded": {split: one.to_json() for split, one in self.splits("graded").items()},
            "grades": self.labels("graded"),
            "examples": self.examples,
            "recipe": self.recipe,
            "scores": self.scores,
            "notes": self.notes,
        }


def diff(
    a: str | Path,
    b: str | Path,
    *,
    metrics: Sequence[str] = (),
    examples: int = 10,
    progress: Progress = no_progress,
) -> Diff:
    """What changed from A to B, two runs or data sets in any layout that `open_dataset` reads.

    Records are matched by their ids. Counts are exact. `examples`: how many of a table are shown.
    `metrics`: the measures of `gen eval` to compare; default all that both have. Memory: 16 bytes a
    document, and as much a qrel. Raises `DatasetError` for invalid rows, or no data set, and
    `UsageError`.
    """
    if examples < 0:
        raise UsageError("--examples: a number from 0")
    paths = Path(a), Path(b)
    sets = open_dataset(paths[0]), open_dataset(paths[1])
    files: dict[str, tuple[TableFiles | None, ...]] = {
        "documents": tuple(one.corpus for one in sets),
        "queries": tuple(one.queries for one in sets),
    }
    for stem in ("qrels", "graded"):
        old, new = (getattr(one, stem) for one in sets)
        for split in {**old, **new}:
            files[f"{stem} {split}"] = old.get(split), new.get(split)
    tables, shown = dict[str, Changes](), list[Example]()
    for name, pair in files.items():
        hashed = (HashedTable(of, path, progress) for of, path in zip(pair, paths, strict=True))
        tables[name] = one = match(*hashed)
        table, _, split = name.partition(" ")
        found = (
            label_examples(table, split, one, tables["queries"], tables["documents"])
            if split
            else text_examples(table, one)
        )
        shown += islice(found, examples)
    outside = [f"{one.root} is no run: recipes are not compared" for one in sets if not one.run]
    recipe = None if outside else _differing(*map(_recipe, sets))
    notes = outside if len(outside) == 1 else []
    changed, of_scores = score_changes((sets[0], paths[0]), (sets[1], paths[1]), metrics)
    return Diff(*paths, tables, shown, recipe, changed, [*notes, *of_scores])


# --- recipes --------------------------------------------------------------------------------------


def _recipe(dataset: Dataset) -> dict[str, Any]:
    path = (dataset.run or dataset.root) / "recipe.yaml"
    try:
        result = read_yaml(path, error=DatasetError)
    except DatasetError as error:
        raise DatasetError(f"{str(error).rstrip('.')}. {AGAIN}") from error
    if not isinstance(result, dict):
        raise DatasetError(f"{path} holds no recipe. {AGAIN}")
    return result


def _differing(a: Any, b: Any) -> dict[str, list[Any]]:
    """Dotted key -> both values, None where a side has no such key."""
    before, after = dict(_flat(a)), dict(_flat(b))
    return {
        key: [before.get(key), after.get(key)]
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    }


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, value


# --- for a terminal -------------------------------------------------------------------------------


def terminal_text(diff: Diff) -> str:
    """All of it. Control characters of records are spelt out."""
    rows = [
        [name, *(f"{counts[key]:,}" for key in _COUNTS)]
        for name, counts in ((name, one.to_json()) for name, one in diff.tables.items())
    ]
    remarks = [f"{n} stand in another order" for n, one in diff.tables.items() if one.reordered]
    for name, stem in (("qrels", "qrels"), ("grades", "graded")):
        if labels := diff.labels(stem):
            changed = (f"{change.replace('->', ' -> ')}: {n:,}" for change, n in labels.items())
            remarks.append(f"{name}: {', '.join(changed)}")
    parts = [f"A  {diff.a}\nB  {diff.b}", TableView(["", *_COUNTS], rows).text()]
    parts += ["\n".join(remarks)] if remarks else []
    keys = [
        [printable(f"recipe: {key}"), *map(_value, values)]
        for key, values in (diff.recipe or {}).items()
    ]
    if keys:
        parts.append(TableView(["", "A", "B"], keys[:_LISTED], 3).text())
    if len(keys) > _LISTED:
        parts.append(f"... and {len(keys) - _LISTED:,} more keys; --json has all")
    parts += ["\n".join(_lines(example)) for example in diff.examples]
    scores = [
        [one["label"], one["metric"], score(one["a"]), score(one["b"]), f"{one['difference']:+.4f}"]
        for one in diff.scores
    ]
    if scores:
        parts.append(TableView(["system", "measure", "A", "B", "B - A"], scores, 2).text())
    parts += ["\n".join(f"note: {note}" for note in diff.notes)] if diff.notes else []
    return "\n\n".join([*parts, _verdict(diff)])


def _value(value: Any) -> str:
    text = printable(_text(value) if value is not None else "-")
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _verdict(diff: Diff) -> str:
    """The answer in a sentence."""
    if not diff.same_records:
        return "The records differ."
    if diff.differ:
        return "The same records in the same order; the recipes differ."
    return "No difference: the same records in the same order."


def _title(example: Example) -> str:
    """What an example is of."""
    if "split" in example:
        labels = (example.get("before"), example.get("after"))
        values = " -> ".join(NONE if one is None else f"{one:g}" for one in labels)
        table = "grade" if example["table"] == "graded" else "qrel"
        pair = f"query {example['query-id']}, document {example['corpus-id']}"
        return f"{table} {example['what']} ({example['split']}): {pair}: {values}"
    what = "document" if example["table"] == "documents" else "query"
    return f"{what} {example['what']}: {example['id']}"


def _lines(example: Example) -> list[str]:
    """Of a changed record the parts that differ, cut where they do; of others their openings."""
    result = [printable(_title(example))]
    if "split" in example:
        return result + [
            f"    {part}: {printable(_opening(example[part]))}"
            for part in ("query", "document")
            if part in example
        ]
    before, after = example.get("before") or {}, example.get("after") or {}
    for part in {**before, **after}:
        name = f"{part}: " if part != "text" else ""
        if example["what"] == "changed":
            old, new = excerpts(_text(before.get(part)), _text(after.get(part)))
            if not any(piece.text.strip() for piece in (*old, *new) if piece.kind):
                name = f"{part}, white space alone: "
            result += [f"  - {name}{_signed(old, '-')}", f"  + {name}{_signed(new, '+')}"]
        else:
            sign, side = ("-", before) if part in before else ("+", after)
            result.append(f"  {sign} {name}{printable(_opening(_text(side[part])))}")
    return result


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _opening(text: str) -> str:
    words = laid_out(text)
    return "".join(words[:_OPENING]) + (" …" if len(words) > _OPENING else "")


def excerpts(a: str, b: str) -> tuple[list[Segment], list[Segment]]:
    """Both texts around what differs, marked there. White space at the end is not shown.

    Of the words from the first that differs to the last, no more than 80 are shown.
    """
    before, after = laid_out(a), laid_out(b)
    same = _common_prefix(before, after)
    tail = _common_prefix(before[same:][::-1], after[same:][::-1])
    start = max(0, same - _AROUND)
    stops = [
        min(len(words) - tail + _AROUND, len(words), same + _WORDS) for words in (before, after)
    ]
    texts = ("".join(words[start:stop]) for words, stop in zip((before, after), stops, strict=True))
    marked = both_sides(*texts)
    for pieces, words, stop in zip(marked, (before, after), stops, strict=True):
        pieces[:0] = [Segment("…")] if start else []
        pieces += [Segment(" …")] if stop < len(words) else []
    return marked


def _common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(a), len(b)))


def _signed(pieces: Iterable[Segment], sign: str) -> str:
    """A text with signs around what differs."""
    return "".join(
        f"[{sign}{printable(text)}{sign}]" if kind else printable(text) for text, kind, _ in pieces
    )


def printable(text: str) -> str:
    """A text in which a terminal obeys nothing: control and bidi characters are spelt out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
