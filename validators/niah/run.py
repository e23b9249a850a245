"""A run as the proof has read it, for what is said of its documents elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from retgen.validators.niah.spec import Group, Key, Place

HOLDS = ("one_hop", "literal")  # needles that answer a question

Wrong = Iterator[tuple[list[str], str]]  # ids, and what is wrong


class Document(NamedTuple):
    """What the tables refer to: a document's filler and needle, and a digest of its text."""

    key: Key
    at: Place
    depth: float
    digest: int

    def controls(self, other: Document) -> bool:
        """Whether this is a control of the other one."""
        alike = self.at.needle == "none" or (
            self.at.needle == "neutral" and self.at.place == other.at.place
        )
        return alike and self.key == other.key


class Run(NamedTuple):
    """A run as the proof has read it.

    `group_of`: of each query. `near`: what is wrong with a text that holds one near-answer more
    than the haystacks of its filler, and no needle.
    """

    folder: Path
    groups: Mapping[str, Group]
    documents: Mapping[str, Document]
    group_of: Mapping[str, str]
    near: Callable[[Key, str], str]

    def haystacks(self) -> set[str]:
        """The documents with a needle."""
        return {
            doc_id
            for doc_id, one in self.documents.items()
            if one.at.needle in ("one_hop", "literal")
        }
