"""The result of `gen diff`: as JSON, as tables and texts on a terminal, as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.changes.examples import Example, LabelExample
from retgen.changes.records import LabelChanges, TextChanges
from retgen.changes.runs import KeyDifferences, ScoreChange
from retgen.evaluation.scoring.panels import p_value, signed_interval
from retgen.highlights import Marked, mark_differences
from retgen.results.page import ChangedRecord, Page, Section
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
        texts = (self.documents, self.queries)
        labels = [*self.qrels.values(), *self.graded.values()]
        return not any(one.differ for one in texts) and not any(one.differ for one in labels)

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
            "examples": [one.to_json() for one in self.examples],
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


def counts_table(diff: Diff) -> TableView:
    """A row a table, a column a kind of change."""
    rows = []
    for name, texts in (("documents", diff.documents), ("queries", diff.queries)):
        rows.append([name, *_numbers(texts.to_json())])
    for stem, splits in (("qrels", diff.qrels), ("graded", diff.graded)):
        rows += [[f"{stem} {split}", *_numbers(one.to_json())] for split, one in splits.items()]
    return TableView(["", *_COUNTS], rows)


def _numbers(counted: dict[str, Any]) -> list[str]:
    return [f"{counted[key]:,}" if key in counted else "" for key in _COUNTS]


def remarks(diff: Diff) -> list[str]:
    """What the counts do not say: which parts changed, order, labels."""
    result = []
    for name, texts in (("documents", diff.documents), ("queries", diff.queries)):
        result += _text_remarks(name, texts)
    for stem, splits in (("qrels", diff.qrels), ("grades", diff.graded)):
        if any(one.labels for one in splits.values()):
            result.append(f"{stem}: {_label_text(splits)}")
    return result


def _text_remarks(name: str, changes: TextChanges) -> list[str]:
    result = []
    if len(changes.pairs[0]):
        parts = [f"{count:,} in {part}" for part, count in changes.parts.items() if count]
        alone = changes.metadata_only
        only = f" ({alone:,} in nothing else)" if alone else ""
        result.append(f"{name} changed: {', '.join(parts)}{only}")
    if changes.reordered:
        result.append(f"{name} stand in another order")
    return result


def _label_text(splits: dict[str, LabelChanges]) -> str:
    return ", ".join(
        f"{change.replace('->', ' -> ')}: {number:,}"
        for change, number in all_labels(splits).items()
    )


def manifest_table(diff: Diff) -> TableView | None:
    """A row a key of recipe or manifest that differs; None where none does."""
    rows = [
        [key if what != "recipe" else f"recipe: {key}", *map(_value, values)]
        for what, keys in (diff.stated or {}).items()
        for key, values in keys.items()
    ]
    return TableView(["", "A", "B"], rows, 3) if rows else None


def _value(value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def score_table(diff: Diff) -> TableView | None:
    """A row a system and measure; intervals and p-values where the queries are the same."""
    if not diff.scores:
        return None
    head = ["system", "measure", "A", "B", "B - A", "95% interval", "p"]
    rows = []
    for one in diff.scores:
        row = [one.label, one.measure, f"{one.before:.4f}", f"{one.after:.4f}",
               f"{one.after - one.before:+.4f}"]  # fmt: skip
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


def example_title(example: Example) -> str:
    """What an example is of."""
    if isinstance(example, LabelExample):
        labels = " -> ".join(
            "none" if label is None else f"{label:g}" for label in (example.before, example.after)
        )
        table = "grade" if example.table == "graded" else "qrel"
        pair = f"query {example.query_id}, document {example.doc_id}"
        return f"{table} {example.what} ({example.split}): {pair}: {labels}"
    what = "document" if example.table == "documents" else "query"
    was = f", was {example.was}" if example.was is not None else ""
    return f"{what} {example.what}: {example.id}{was}"


def example_sides(example: Example) -> list[tuple[str, Marked | None, Marked | None]]:
    """(part, before, after) of an example, cut where they differ, long texts shortened."""
    if isinstance(example, LabelExample):
        held = {"query": example.query, "document": example.document}
        return [(part, None, _plain(text)) for part, text in held.items() if text is not None]
    before, after = example.before or {}, example.after or {}
    result: list[tuple[str, Marked | None, Marked | None]] = []
    for part in {**before, **after}:
        if example.what == "changed":
            old, new = (_text(side.get(part)) for side in (before, after))
            pieces = excerpts(old, new)
            marks = any(piece.strip() for side in pieces for piece, special in side if special)
            result.append((part if marks else f"{part}, white space alone", *pieces))
        elif part in before:
            result.append((part, _plain(_text(before[part])), None))
        else:
            result.append((part, None, _plain(_text(after[part]))))
    return result


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _plain(text: str) -> Marked:
    words = laid_out(text)
    return [("".join(words[:_OPENING]) + (" …" if len(words) > _OPENING else ""), False)]


def excerpts(a: str, b: str) -> tuple[Marked, Marked]:
    """Both texts around what differs, marked there. White space at the end is not shown.

    Of the words from the first that differs to the last, no more than 80 are shown.
    """
    before, after = laid_out(a), laid_out(b)
    same = _common_prefix(before, after)
    tail = _common_prefix(before[same:][::-1], after[same:][::-1])
    start = max(0, same - _AROUND)
    result = []
    shown = []
    for words in (before, after):
        stop = min(len(words) - tail + _AROUND, len(words), same + _WORDS)
        shown.append((words[start:stop], stop < len(words)))
    for pieces, (_, cut) in zip(mark_differences(shown[0][0], shown[1][0]), shown, strict=True):
        result.append([*([("…", False)] if start else []), *pieces,
                       *([(" …", False)] if cut else [])])  # fmt: skip
    return result[0], result[1]


def _common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(a), len(b)))


def terminal_text(diff: Diff) -> str:
    """All of it for a terminal. Control characters of records are spelt out."""
    parts = [f"A  {diff.a}\nB  {diff.b}", counts_table(diff).text()]
    if remarked := remarks(diff):
        parts.append("\n".join(remarked))
    if (keys := manifest_table(diff)) is not None:
        rows = [[printable(cell) for cell in row] for row in keys.rows[:_KEYS]]
        parts.append(TableView(keys.head, rows, keys.names).text())
        if len(keys.rows) > _KEYS:
            parts.append(f"... and {len(keys.rows) - _KEYS:,} more keys; --json has all")
    parts += ["\n".join(_lines(example)) for example in diff.examples]
    if (table := score_table(diff)) is not None:
        parts.append(table.text())
    if diff.notes:
        parts.append("\n".join(f"note: {note}" for note in diff.notes))
    return "\n\n".join([*parts, verdict(diff)])


def _lines(example: Example) -> list[str]:
    result = [printable(example_title(example))]
    for part, before, after in example_sides(example):
        name = f"{part}: " if isinstance(example, LabelExample) or part != "text" else ""
        if isinstance(example, LabelExample):
            result.append(f"    {name}{_with_signs(after or [], '')}")
            continue
        result += [f"  - {name}{_with_signs(before, '-')}"] if before is not None else []
        result += [f"  + {name}{_with_signs(after, '+')}"] if after is not None else []
    return result


def _with_signs(pieces: Marked, sign: str) -> str:
    return "".join(
        f"[{sign}{printable(piece)}{sign}]" if special else printable(piece)
        for piece, special in pieces
        if piece
    )


def printable(text: str) -> str:
    """A text in which a terminal obeys nothing: control and bidi characters are spelt out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def diff_page(diff: Diff) -> Page:
    """Counts, what is said otherwise, scores, examples with words marked."""
    sections = [Section("Records", tables=[counts_table(diff)], notes=remarks(diff))]
    if (keys := manifest_table(diff)) is not None:
        sections.append(Section("Recipe and manifest", tables=[keys]))
    if (table := score_table(diff)) is not None:
        sections.append(Section("Scores", tables=[table]))
    if diff.examples:
        changes = [ChangedRecord(example_title(one), _texts(one)) for one in diff.examples]
        sections.append(Section("Examples", changes=changes))
    if diff.notes:
        sections.append(Section("Notes", notes=diff.notes))
    a, b = (path.resolve().name for path in (diff.a, diff.b))
    return Page(
        f"{a} → {b}", "gen diff", f"What changed from A ({diff.a}) to B ({diff.b}).",
        [verdict(diff)], sections, diff.command,
    )  # fmt: skip


def _texts(example: Example) -> list[tuple[str, bool, Marked]]:
    result = []
    for part, before, after in example_sides(example):
        # the texts of a qrel are not what changed
        names = (part, part) if isinstance(example, LabelExample) else (f"A, {part}", f"B, {part}")
        result += [(names[0], True, before)] if before is not None else []
        result += [(names[1], False, after)] if after is not None else []
    return result
