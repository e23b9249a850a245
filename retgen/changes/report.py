"""The result of `gen diff`: as JSON, as tables and texts on a terminal, as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.changes.records import NONE, Example, LabelChanges, TextChanges
from retgen.changes.runs import KeyDifferences, ScoreChange
from retgen.evaluation.scoring.panels import p_value, signed_interval
from retgen.highlights import Segment, both_sides, changed_segments
from retgen.results.page import MarkedRecord, Page, Section
from retgen.results.tables import TableView
from retgen.tokenizer import laid_out

_AROUND = 12  # words shown before the first and after the last that differ
_WORDS = 80  # at most, from the first that differs
_OPENING = 30  # words of a text that stands alone
_WIDTH = 60  # characters of a value in a table
_KEYS = 40  # keys a terminal lists
_COUNTS = ("same", "changed", "added", "removed", "renamed")


@dataclass(frozen=True)
class Diff:
    """What changed from A to B. `qrels`, `graded`: by split. `stated`: what recipes and manifests
    say otherwise, None where one of both is no run.
    """

    a: Path
    b: Path
    documents: TextChanges
    queries: TextChanges
    qrels: dict[str, LabelChanges]
    graded: dict[str, LabelChanges]
    examples: list[Example]
    stated: KeyDifferences | None
    scores: list[ScoreChange]
    notes: list[str] = field(default_factory=list)
    command: str = ""

    @property
    def same_records(self) -> bool:
        """Whether all records are the same, in the same order."""
        labels = [*self.qrels.values(), *self.graded.values()]
        changes: list[TextChanges | LabelChanges] = [self.documents, self.queries, *labels]
        return not any(one.differ for one in changes)

    @property
    def differ(self) -> bool:
        """Whether records, or what a run says of them, differ; versions and scores do not count."""
        return not self.same_records or bool((self.stated or {}).keys() - {"versions"})

    def to_json(self) -> dict[str, Any]:
        """As `gen diff --json` prints it."""
        return {
            "a": str(self.a),
            "b": str(self.b),
            "differ": self.differ,
            "documents": self.documents.to_json(),
            "queries": self.queries.to_json(),
            "qrels": {split: one.to_json() for split, one in self.qrels.items()},
            "labels": all_labels(self.qrels),
            "graded": {split: one.to_json() for split, one in self.graded.items()},
            "grades": all_labels(self.graded),
            "examples": self.examples,
            "manifest": self.stated,
            "scores": [one.to_json() for one in self.scores],
            "notes": self.notes,
        }


def all_labels(splits: dict[str, LabelChanges]) -> dict[str, int]:
    """How many labels went from what to what, of all splits: {"0->1": 3, "none->1": 2}."""
    total: Counter[str] = Counter()
    for one in splits.values():
        total += one.labels
    return {change: total[change] for change in sorted(total)}


def _sections(diff: Diff) -> list[Section]:
    """What a terminal and a page show, but for examples and notes."""
    texts = {"documents": diff.documents, "queries": diff.queries}
    labels = {"qrels": diff.qrels, "graded": diff.graded}
    counted: dict[str, dict[str, Any]] = {name: one.to_json() for name, one in texts.items()}
    for stem, splits in labels.items():
        counted |= {f"{stem} {split}": one.to_json() for split, one in splits.items()}
    rows = [
        [name, *(f"{counts[key]:,}" if key in counts else "" for key in _COUNTS)]
        for name, counts in counted.items()
    ]
    remarks = [remark for name, one in texts.items() for remark in _text_remarks(name, one)]
    for name, splits in (("qrels", diff.qrels), ("grades", diff.graded)):
        if found := all_labels(splits):
            changed = (f"{change.replace('->', ' -> ')}: {n:,}" for change, n in found.items())
            remarks.append(f"{name}: {', '.join(changed)}")
    result = [Section("Records", tables=[TableView(["", *_COUNTS], rows)], notes=remarks)]
    keys = [
        [key if what != "recipe" else f"recipe: {key}", *map(_value, values)]
        for what, differing in (diff.stated or {}).items()
        for key, values in differing.items()
    ]
    if keys:
        table = TableView(["", "A", "B"], keys, 3)
        result.append(Section("Recipe and manifest", tables=[table]))
    if diff.scores:
        result.append(Section("Scores", tables=[_score_table(diff.scores)]))
    return result


def _text_remarks(name: str, changes: TextChanges) -> list[str]:
    """What the counts do not say: which parts changed, and the order."""
    result = []
    if len(changes.pairs[0]):
        parts = [f"{count:,} in {part}" for part, count in changes.parts.items() if count]
        alone = changes.metadata_only
        only = f" ({alone:,} in nothing else)" if alone else ""
        result.append(f"{name} changed: {', '.join(parts)}{only}")
    if changes.reordered:
        result.append(f"{name} stand in another order")
    return result


def _value(value: Any) -> str:
    text = _text(value) if value is not None else "-"
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _score_table(scores: Sequence[ScoreChange]) -> TableView:
    """A row a system and measure; intervals and p-values where the queries are the same."""
    head = ["system", "measure", "A", "B", "B - A", "95% interval", "p"]
    rows = []
    for one in scores:
        row = [
            one.label,
            one.measure,
            f"{one.before:.4f}",
            f"{one.after:.4f}",
            f"{one.after - one.before:+.4f}",
        ]
        if (c := one.compared) is not None:
            row += [signed_interval(c.low, c.high), p_value(c.adjusted)]
        rows.append(row)
    paired = any(len(row) == len(head) for row in rows)
    return TableView(head if paired else head[:5], rows, 2)


def verdict(diff: Diff) -> str:
    """The answer in a sentence."""
    if not diff.same_records:
        return "The records differ."
    if diff.differ:
        return "The same records in the same order; what is said of them differs."
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
    was = f", was {example['was']}" if "was" in example else ""
    return f"{what} {example['what']}: {example['id']}{was}"


def example_sides(example: Example) -> list[tuple[str, list[Segment] | None, list[Segment] | None]]:
    """(part, before, after) of an example, cut where they differ, long texts shortened."""
    if "split" in example:
        return [
            (part, None, _plain(example[part])) for part in ("query", "document") if part in example
        ]
    before, after = example.get("before") or {}, example.get("after") or {}
    result: list[tuple[str, list[Segment] | None, list[Segment] | None]] = []
    for part in {**before, **after}:
        if example["what"] == "changed":
            pieces = excerpts(*(_text(side.get(part)) for side in (before, after)))
            marks = any(piece.text.strip() for side in pieces for piece in side if piece.kind)
            result.append((part if marks else f"{part}, white space alone", *pieces))
        else:
            old, new = (
                _plain(_text(side[part])) if part in side else None for side in (before, after)
            )
            result.append((part, old, new))
    return result


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _plain(text: str) -> list[Segment]:
    words = laid_out(text)
    return [Segment("".join(words[:_OPENING]) + (" …" if len(words) > _OPENING else ""))]


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
    marked = both_sides(changed_segments(*texts))
    for pieces, words, stop in zip(marked, (before, after), stops, strict=True):
        pieces[:0] = [Segment("…")] if start else []
        pieces += [Segment(" …")] if stop < len(words) else []
    return marked


def _common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(a), len(b)))


def terminal_text(diff: Diff) -> str:
    """All of it for a terminal. Control characters of records are spelt out."""
    records, *others = _sections(diff)
    parts = [f"A  {diff.a}\nB  {diff.b}", records.tables[0].table().text()]
    parts += ["\n".join(records.notes)] if records.notes else []
    scores = []
    for section in others:
        table = section.tables[0].table()
        if section.title == "Scores":
            scores.append(table.text())
            continue
        rows = [[printable(cell) for cell in row] for row in table.rows[:_KEYS]]
        parts.append(TableView(table.head, rows, table.names).text())
        if len(table.rows) > _KEYS:
            parts.append(f"... and {len(table.rows) - _KEYS:,} more keys; --json has all")
    parts += ["\n".join(_lines(example)) for example in diff.examples]
    parts += scores
    if diff.notes:
        parts.append("\n".join(f"note: {note}" for note in diff.notes))
    return "\n\n".join([*parts, verdict(diff)])


def _lines(example: Example) -> list[str]:
    result = [printable(_title(example))]
    for part, before, after in example_sides(example):
        if "split" in example:
            result.append(f"    {part}: {_with_signs(after or [], '')}")
            continue
        name = f"{part}: " if part != "text" else ""
        result += [f"  - {name}{_with_signs(before, '-')}"] if before is not None else []
        result += [f"  + {name}{_with_signs(after, '+')}"] if after is not None else []
    return result


def _with_signs(pieces: Iterable[Segment], sign: str) -> str:
    return "".join(
        f"[{sign}{printable(text)}{sign}]" if kind else printable(text)
        for text, kind, _ in pieces
        if text
    )


def printable(text: str) -> str:
    """A text in which a terminal obeys nothing: control and bidi characters are spelt out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def diff_page(diff: Diff) -> Page:
    """Counts, what is said otherwise, scores, examples with words marked."""
    sections = _sections(diff)
    if diff.examples:
        changes = [MarkedRecord(_title(one), _texts(one)) for one in diff.examples]
        sections.append(Section("Examples", changes=changes))
    if diff.notes:
        sections.append(Section("Notes", notes=diff.notes))
    a, b = (path.resolve().name for path in (diff.a, diff.b))
    return Page(
        f"{a} → {b}",
        "gen diff",
        f"What changed from A ({diff.a}) to B ({diff.b}).",
        [verdict(diff)],
        sections,
        diff.command,
    )


def _texts(example: Example) -> list[tuple[str, bool, list[Segment]]]:
    result = []
    for part, before, after in example_sides(example):
        # the texts of a qrel are not what changed
        names = (part, part) if "split" in example else (f"A, {part}", f"B, {part}")
        result += [(names[0], True, before)] if before is not None else []
        result += [(names[1], False, after)] if after is not None else []
    return result
