"""Items to look at, what people said of them, and how a review was set up."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Population = Literal["positives", "others"]
Mode = Literal["grade", "check"]
Decision = Literal["0", "1", "2", "accept", "reject", "fix", "unsure", "undo"]
Part = Literal["first", "second", "adjudication"]


class ShownPair(NamedTuple):
    """What a reviewer sees of a pair. Metadata is for the family's template only."""

    query: str
    title: str
    text: str
    query_metadata: Mapping[str, Any] = {}
    document_metadata: Mapping[str, Any] = {}

    def digest(self) -> str:
        """SHA-256 of the texts: a verdict stands for as long as these do."""
        parts = "\x00".join((self.query, self.title, self.text))
        return hashlib.sha256(parts.encode()).hexdigest()


@dataclass(frozen=True)
class Item:
    """A pair of a query and a document, at its place in the order in which pairs are looked at.

    `place` counts from 0 within `population`, control items have -1. `label`: the data set's
    relevance, None where the pair is not judged. `strata`: names of what error rates are told
    apart by, and the item's value of each. `suspicion`: how likely it is drawn, against others.
    `planted`: the relevance that is known of a pair which stands here to measure reviewers;
    `label` is then what the page claims, and false.
    """

    item_id: str
    population: Population
    place: int
    split: str
    query_id: str
    doc_id: str
    label: float | None
    shown: str  # digest
    strata: Mapping[str, str] = field(default_factory=dict)
    suspicion: float = 1.0
    planted: int | None = None


class PopulationPair(NamedTuple):
    """A pair of a population at its place in the order of looks; `weight`: its chance in the draws.

    All pairs of a population are kept, so that what a sample says of it can be counted again from
    the file alone. `Item` has the meaning of the other fields.
    """

    population: Population
    place: int
    query_id: str
    doc_id: str
    label: float | None
    weight: float
    strata: Mapping[str, str]


def item_id(query_id: str, doc_id: str) -> str:
    """The same pair has the same name in every review."""
    return hashlib.sha256(f"{query_id}\x00{doc_id}".encode()).hexdigest()[:16]


class Verdict(NamedTuple):
    """What one person said of one item, once.

    `number`: its row, in the order in which verdicts came. `shown`: digest of what was seen.
    `label`: the data set's then. `relevance`: what it says of the pair, None for "can't tell".
    `edits`: new texts by field ("query", "title", "text"), of a fix. `seconds` from the page being
    shown to the answer, None where nobody measured. `source`: "page", or the file it is from.
    """

    number: int
    item_id: str
    annotator: str
    part: Part
    decision: Decision
    relevance: int | None
    shown: str
    label: float | None
    reason: str = ""
    comment: str = ""
    edits: Mapping[str, str] = {}
    seconds: float | None = None
    at: str = ""
    source: str = "page"


@dataclass(frozen=True)
class Settings:
    """How a review was set up; stands in its file, and holds for all who take part.

    `mode`: "grade" asks for the relevance without showing the label; "check" shows the label and
    asks whether it is right. `grades`: the scale, 0..grades-1. `overlap`: share of the items that
    every annotator looks at; the others are dealt out. `plants`: share of control items among
    those shown. `second`: share that an annotator is shown again, blind. `goals`: as the user
    wrote them. `looks`: how many an annotator is asked for, 0: all. `pool`: retrievers and depth
    that the candidates are from. `dataset`: digest of the tables that the items were drawn from;
    `split`: of which qrels.
    """

    mode: Mode = "grade"
    grades: int = 2
    annotators: tuple[str, ...] = ("me",)
    overlap: float = 1.0
    plants: float = 0.1
    second: float = 0.0
    goals: tuple[str, ...] = ()
    looks: int = 200
    pool: tuple[str, ...] = ("bm25",)
    depth: int = 10
    seed: int = 0
    split: str = "test"
    family: str = ""
    dataset: str = ""
    guideline: str = ""
