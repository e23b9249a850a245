"""Where a recipe's documents come from, and which of them can give a ladder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.sentences import CONDITIONS, split, usable
from retgen.sources import HUB, Columns, Refused, SourceDocument, read_sources


class _Source(NamedTuple):
    path: Path | str
    columns: Columns
    split: str
    limit: int | None
    licence: str


def source_of(params: MultiConIRParams) -> _Source:
    """Where a recipe's documents come from: its own source, or the bundled ones."""
    named = params.source
    if named is None:
        path = Path(__file__).parent / "documents" / f"{params.domain}.jsonl"
        return _Source(path, Columns(), "train", None, "CC0-1.0")
    columns = Columns(**named.columns.model_dump())
    return _Source(named.path, columns, named.split, named.limit, named.licence)


def on_the_hub(params: MultiConIRParams) -> bool:
    """Whether they are a data set of the Hub, which is not looked up for a plan."""
    path = source_of(params).path
    return isinstance(path, str) and path.startswith(HUB)


def documents_of(params: MultiConIRParams) -> Iterator[SourceDocument | Refused]:
    """The documents with enough usable sentences; all else is refused with its reason."""
    source = source_of(params)
    for one in read_sources(
        source.path,
        source.columns,
        split=source.split,
        follow_links=source.follow_links,
        limit=source.limit,
    ):
        if isinstance(one, SourceDocument):
            one = one._replace(text=" ".join(one.text.split()))  # sentences go over lines
            there = len({text for text in split(one.text) if usable(text)})
            if there < CONDITIONS:
                message = f"it has {there} usable sentences; {CONDITIONS} are needed"
                yield Refused(one.id, "source/sentences", message, one.id)
                continue
        yield one
