"""What an evaluation task is: candidate sets, what their scores mean, and how that is shown.

Where a family wrote the documents that matter for a query together with it, a ranking of the whole
corpus says little. A task reads the candidate sets of such a data set, takes the scores that a
system gives to each, and turns them into measures of its own, tables and a part of the page. It
knows files only: no family, no model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Query, query_of
from retgen.results.page import Section
from retgen.search.base import CandidateSet, System, label
from retgen.search.collection import Collection
from retgen.statistics.clustered import Estimate

Scores = Sequence[NDArray[np.float64]]  # of each candidate set: (candidates,), higher is better


# measures by domain, and rows item by item for the user's own use
Measured = tuple[dict[str, Any], Iterable[Mapping[str, Any]]]


class TaskData(ABC):
    """The candidate sets of one data set, or of its first items.

    `domains`: names, in their order. `sets`: each candidate set once. `described`: which part of
    the data set they cover, in words.
    """

    notes: list[str]
    domains: Sequence[str]
    sets: Sequence[CandidateSet]
    described: str = ""

    @abstractmethod
    def first(self, limit: int | None, *, paid: bool = False) -> TaskData:
        """The same of so many items of each domain; where each candidate set costs money (`paid`)
        only what the main measures need.
        """

    @abstractmethod
    def measure(self, scores: Scores, system: System) -> Measured:
        """The measures of a system that gave these scores."""


@dataclass
class SystemResult:
    """One system: its measures in each domain."""

    model: str
    dim: int | None
    domains: dict[str, Any]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The system's name in tables."""
        return label(self.model, self.dim, self.details)


def noted_queries(
    collection: Collection, keys: Set[str]
) -> Iterator[tuple[Query, Mapping[str, Any]]]:
    """The queries whose metadata have some keys, and these metadata."""
    for query in collection.queries:
        if isinstance(query.metadata, dict) and keys <= query.metadata.keys():
            yield query, query.metadata


def noted_documents(
    collection: Collection, key: str
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(id, title and text, metadata) of each document whose metadata have a key."""
    for document in collection.dataset.documents(strict=collection.path):
        if isinstance(document.metadata, dict) and document.metadata.get(key) is not None:
            text = f"{document.title} {document.text}".strip()
            yield document.doc_id, text, document.metadata


def by_label(results: Sequence[SystemResult]) -> dict[str, Any]:
    """The measures of each system by its label; where there are several data sets, on each."""
    several = any(len(one.domains) > 1 for one in results)
    return {
        f"{one.label}: {domain}" if several else one.label: measures
        for one in results
        for domain, measures in one.domains.items()
    }


def by_domain(result: SystemResult, measures: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The measures of a system as JSON; of several data sets by `domains`."""
    each = {name: measures(one) for name, one in result.domains.items()}
    return next(iter(each.values())) if len(each) == 1 else {"domains": each}


def estimate_json(estimate: Estimate | None) -> dict[str, float | None] | None:
    """{value, low, high}; null where there is no number."""
    return estimate._asdict() if estimate else None


_NAMED = 4  # systems that get sentences of their own


def about_each(
    systems: Mapping[str, Any], sentences: Callable[[str, Any], Iterable[str]]
) -> list[str]:
    """Sentences about the first systems, and how many there are beside these."""
    result = [
        text for label, one in list(systems.items())[:_NAMED] for text in sentences(label, one)
    ]
    if len(systems) > _NAMED:
        result.append(f"{len(systems) - _NAMED} more systems stand in the tables.")
    return result


class Task(ABC):
    """An evaluation task, in a module or package of its own under `retgen.evaluation.tasks`.

    `name`: the key of its measures in eval.json. `keys`: what the metadata of the first query tells
    such a data set by. `item`: what --limit counts, and the name of the files per_ITEM/;
    `limits_all`: for all systems, not for chat models alone. `models`: scored where none is named.
    `instruction`: what its `paper` puts before every query, for --paper-prompt. `aside`: why
    rankings of the whole corpus say little, a sentence: they then stand last, folded.
    """

    name: ClassVar[str]
    item: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    keys: ClassVar[Set[str]] = frozenset()
    paper: ClassVar[str] = ""
    instruction: ClassVar[str] = ""
    aside: ClassVar[str] = ""
    limits_all: ClassVar[bool] = False

    def holds(self, dataset: Dataset) -> bool:
        """Whether a data set has such candidate sets. Looks at no more than the first query."""
        for chunk in dataset.queries.chunks(1 << 16):
            for row in dataset.queries.rows(chunk):
                query = query_of(row)
                note = query.metadata if isinstance(query, Query) else None
                return bool(self.keys) and isinstance(note, dict) and self.keys <= note.keys()
        return False

    @abstractmethod
    def read(self, collection: Collection) -> TaskData:
        """Its candidate sets. Raises `DatasetError` for what is not as it should be."""

    @abstractmethod
    def summary(self, result: SystemResult) -> dict[str, Any]:
        """The measures of a system as JSON."""

    @abstractmethod
    def sections(self, results: Sequence[SystemResult]) -> Iterable[Section]:
        """What the page, eval.md and the terminal show of all systems."""

    def sentences(self, results: Sequence[SystemResult]) -> Sequence[str]:
        """What came out, for the summary of the page; nothing unless a task says so."""
        return ()
