"""Where a recipe's documents come from, and which of them can give a ladder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.sentences import CONDITIONS, split, usable
from retgen.generators.source import Source
from retgen.sources import HUB, RefusedRow, SourceDocument


def source_of(params: MultiConIRParams) -> Source:
    """Where a recipe's documents come from: its own source, or the bundled ones."""
    bundled = Path(__file__).parent / "documents" / f"{params.domain}.jsonl"
    return params.source or Source(path=bundled, licence="CC0-1.0")


def on_the_hub(params: MultiConIRParams) -> bool:
    """Whether they are a data set of the Hub, which is not looked up for a plan."""
    path = source_of(params).path
    return isinstance(path, str) and path.startswith(HUB)


def documents_of(params: MultiConIRParams) -> Iterator[SourceDocument | RefusedRow]:
    """The documents with enough usable sentences; all else is refused with its reason."""
    for one in source_of(params).rows():
        if isinstance(one, SourceDocument):
            one = one._replace(text=" ".join(one.text.split()))  # sentences go over lines
            there = len({text for text in split(one.text) if usable(text)})
            if there < CONDITIONS:
                message = f"it has {there} usable sentences; {CONDITIONS} are needed"
                yield RefusedRow(one.id, "source/sentences", message, one.id)
                continue
        yield one
