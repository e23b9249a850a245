"""Items to judge, verdicts of people, settings of a review, and what several verdicts amount to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from retgen.reviewed.decisions import digest

Part = Literal["labels", "missing"]
State = Literal["new", "waiting", "open", "settled"]
MODEL = "model"  # the source of the verdicts of a model
REST = "rest of a question"  # that of verdicts which one key gave to all that was left


class ShownPair(NamedTuple):
    """The texts that a reviewer sees. Metadata is for the family's template only."""

    query: str
    title: str
    text: str
    query_metadata: Mapping[str, Any] = {}
    document_metadata: Mapping[str, Any] = {}

    def digest(self) -> str:
        """SHA-256 of the texts; a verdict is about these texts only."""
        return digest(self.query, self.title, self.text)


def item_id(query: str, doc_id: str) -> str:
    """Name of a pair, the same in every review. `query`: its id, or the text of a question that
    people asked, whose id is its number and changes when a question is added.
    """
    return hashlib.sha256(f"{query}\x00{doc_id}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Item:
    """A pair to judge. `label`: the data set's relevance, None where it has no row for the pair."""

    item_id: str
    part: Part
    query_id: str
    doc_id: str
    label: float | None
    pair: ShownPair

    @cached_property
    def shown(self) -> str:
        """Digest of the texts."""
        return self.pair.digest()

    @property
    def positive(self) -> bool:
        """Whether the data set calls the pair relevant."""
        return (self.label or 0) > 0


class Verdict(NamedTuple):
    """One person's verdict on one item.

    `number`: row in the file, in order of arrival. `relevance`: None for "can't tell". `shown`:
    digest of the texts that were judged. `label`: the data set's label at that time. `settles`:
    given on a disagreement, with everybody's verdicts in view. `withdrawn`: takes the person's
    verdict on the item back. `seconds`: from the page to the answer, None if not measured.
    `source`: "page", `MODEL`, `REST`, or the imported file.
    """

    number: int
    item_id: str
    annotator: str
    relevance: int | None
    shown: str
    label: float | None
    settles: bool = False
    withdrawn: bool = False
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: str = ""
    source: str = "page"


@dataclass(frozen=True)
class Settings:
    """How a review was set up. Kept in its file, and the same for everybody who takes part.

    `annotators`: everybody who is asked to judge all items. `size`: labels that are judged at
    most. `pool`: retrievers that look for missing labels. The other values follow from the data
    set: `by_question`: people asked its queries, so all candidates of each are judged together;
    `grades`, the scale 0..grades-1; `dataset`, a digest of its tables; `labels`, how many
    labels the split has by relevance; `candidates`, how many pairs without a positive label the
    pool found; `left_out`, judged documents that the corpus lacks.
    """

    annotators: tuple[str, ...] = ("me",)
    size: int = 200
    pool: tuple[str, ...] = ()
    split: str = "test"
    by_question: bool = False
    grades: int = 2
    family: str = ""
    dataset: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)
    candidates: int = 0
    left_out: int = 0


# --- several verdicts on one item -----------------------------------------------------------------


class Consensus(NamedTuple):
    """State of an item, and the relevance once it is settled: None there for "can't tell".

    "new": no verdicts. "waiting": the verdicts agree, and others are asked too. "open": they
    disagree. `verdicts`: those that the state rests on.
    """

    state: State
    relevance: int | None = None
    verdicts: tuple[Verdict, ...] = ()


def on_texts(verdicts: Iterable[Verdict], items: Mapping[str, Item]) -> list[Verdict]:
    """The verdicts on items as they read now: an item that is drawn again may have a new text."""
    return [v for v in verdicts if v.item_id in items and v.shown == items[v.item_id].shown]


def standing(verdicts: Iterable[Verdict]) -> dict[tuple[str, str, bool], Verdict]:
    """The last verdict by (item, annotator, settles), unless it was withdrawn.

    `verdicts`: in order of arrival.
    """
    result: dict[tuple[str, str, bool], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.item_id, verdict.annotator, verdict.settles)
        if verdict.withdrawn:
            result.pop(key, None)
        else:
            result[key] = verdict
    return result


def by_item(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The standing verdicts, by item."""
    result: dict[str, list[Verdict]] = {}
    for verdict in standing(verdicts).values():
        result.setdefault(verdict.item_id, []).append(verdict)
    return result


def consensus(verdicts: Iterable[Verdict], asked: Iterable[str]) -> Consensus:
    """State of one item. `verdicts`: standing ones; `asked`: the annotators of the review.

    Verdicts of models count where no person has judged the item.
    """
    verdicts = [*verdicts]
    people = [verdict for verdict in verdicts if verdict.source != MODEL]
    if verdicts and not people:
        asked = ()
    first: dict[str, Verdict] = {}
    final: list[Verdict] = []
    for verdict in people or verdicts:
        if verdict.settles:
            final.append(verdict)
        else:
            first[verdict.annotator] = verdict
    if final:
        last = max(final, key=lambda verdict: verdict.number)
        return Consensus("settled", last.relevance, (last,))
    if not first:
        return Consensus("new")
    given = tuple(first[name] for name in sorted(first))
    relevances = {verdict.relevance for verdict in given}
    if len(relevances) > 1:
        return Consensus("open", None, given)
    state: State = "settled" if first.keys() >= set(asked) else "waiting"
    return Consensus(state, relevances.pop(), given)
