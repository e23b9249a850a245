"""A source of one document: its chapters are the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.sources import Columns, RefusedRow, SourceDocument, read_sources
from retgen.sources.chapters import ENOUGH

MANUAL = """---
description: All about the kettle.
---
# The kettle

It boils water.

## 1. Use

### 1.1. Filling

Lift the lid.

### 1.2. Boiling

Press the switch.

## 2. Care

### 2.1. Filling

Of the descaler: [as above](#use).
"""


def chapters(path: Path, *, structure: bool = False) -> list[SourceDocument | RefusedRow]:
    return list(read_sources(path, Columns(), structure=structure, by_chapter=True))


def named(path: Path) -> list[tuple[str, str, str]]:
    found = (one for one in chapters(path) if isinstance(one, SourceDocument))
    return [(one.id, one.title, one.text) for one in found]


@pytest.mark.parametrize("name", ["kettle.md", "folder/kettle.md"])
def test_one_file_is_cut_where_chapters_begin(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(MANUAL)
    source = path.parent if name.startswith("folder") else path
    assert named(source) == [
        ("kettle#the-kettle", "The kettle", "# The kettle\n\nIt boils water.\n\n"),
        ("kettle#filling", "1.1. Filling", "## 1. Use\n\n### 1.1. Filling\n\nLift the lid.\n\n"),
        ("kettle#boiling", "1.2. Boiling", "### 1.2. Boiling\n\nPress the switch.\n\n"),
        (
            "kettle#filling-2",
            "2.1. Filling",
            "## 2. Care\n\n### 2.1. Filling\n\nOf the descaler: [as above](#use).\n",
        ),
    ]
    assert "".join(text for _, _, text in named(source)) == MANUAL[MANUAL.index("# The") :]
    (whole,) = read_sources(source, Columns())
    assert isinstance(whole, SourceDocument)
    assert whole.id == "kettle"


def test_lower_headings_are_taken_until_there_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    parts = [f"## Part {n}\n\nText.\n\n### Section {n}\n\nMore.\n\n" for n in range(ENOUGH)]
    path.write_text("".join(parts))
    assert [text for _, _, text in named(path)] == parts
    path.write_text("".join(parts[1:]))
    assert len(named(path)) == 2 * (ENOUGH - 1)


def test_what_stays_whole(tmp_path: Path) -> None:
    one = tmp_path / "one.md"
    one.write_text("# A title\n\nAnd its text.\n")
    assert [text for _, _, text in named(one)] == [one.read_text()]
    (tmp_path / "two.md").write_text(MANUAL)
    assert [name for name, _, _ in named(tmp_path)] == ["one", "two"]
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "# A\\n\\nFirst.\\n\\n# B\\n\\nSecond."}\n')
    assert [name for name, _, _ in named(rows)] == ["row-1"]
