"""The page of a diff."""

from __future__ import annotations

from retgen.changes.examples import Example, LabelExample
from retgen.changes.result import Diff
from retgen.changes.shown import (
    counts,
    remarks,
    score_table,
    sides_of,
    stated_keys,
    title_of,
    verdict,
)
from retgen.results.page import ChangedRecord, Page, Section, Segments


def page_of(diff: Diff) -> Page:
    """Counts, what is said otherwise, scores, examples with words marked."""
    sections = [Section("Records", tables=[counts(diff)], notes=remarks(diff))]
    if (keys := stated_keys(diff)) is not None:
        sections.append(Section("Recipe and manifest", tables=[keys]))
    if (table := score_table(diff)) is not None:
        sections.append(Section("Scores", tables=[table]))
    if diff.examples:
        changes = [ChangedRecord(title_of(one), _texts(one)) for one in diff.examples]
        sections.append(Section("Examples", changes=changes))
    if diff.notes:
        sections.append(Section("Notes", notes=diff.notes))
    a, b = (path.resolve().name for path in (diff.a, diff.b))
    return Page(
        f"{a} → {b}", "gen diff", f"What changed from A ({diff.a}) to B ({diff.b}).",
        [verdict(diff)], sections, diff.command,
    )  # fmt: skip


def _texts(example: Example) -> list[tuple[str, bool, Segments]]:
    result = []
    for part, before, after in sides_of(example):
        # the texts of a qrel are not what changed
        names = (part, part) if isinstance(example, LabelExample) else (f"A, {part}", f"B, {part}")
        result += [(names[0], True, before)] if before is not None else []
        result += [(names[1], False, after)] if after is not None else []
    return result
