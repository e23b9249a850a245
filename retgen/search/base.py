"""What a retriever is: a name in, rankings of a corpus or scores of candidate sets out."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from retgen.agents.models import ModelSettings
from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.collection import Collection
from retgen.search.embedders.options import Options
from retgen.search.rankings import Rankings

Array = NDArray[np.float64]


class CandidateSet(NamedTuple):
    """A query and its candidates. `corpus`: which collection these are part of, for scorers that
    count words over all documents of one: "" the data set's own.
    """

    query: str
    texts: tuple[str, ...]
    corpus: str = ""


def share_won(first: Array, second: Array, noise: float) -> Array:
    """1 where `first` is higher, 0.5 where they tie within the relative tolerance, else 0."""
    apart = first - second
    tied = np.abs(apart) <= noise * np.maximum(np.abs(first), np.abs(second))
    return np.asarray(np.where(tied, 0.5, (apart > 0).astype(np.float64)))


@dataclass(frozen=True)
class SystemRanks:
    """Rankings of one system at one dimension (None where it has none).

    `details` says how they came about: device, dtype, max_length, truncated {"documents",
    "queries"}, trained_for_truncation, notes, ...
    """

    model: str
    dim: int | None
    rankings: Rankings
    details: dict[str, Any] = field(default_factory=dict)


class Retriever(Protocol):
    """Ranks the documents of a collection for each of its queries. `rank_corpus` asks it."""

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        """The best `depth` documents of every query; one result per dimension."""
        ...


def rank_corpus(
    retriever: Retriever, collection: Collection, depth: int, progress: Progress
) -> Iterator[SystemRanks]:
    """What a retriever ranks, pages where labels are of these, without the query itself."""
    reach = collection.reach(depth)
    deep = reach + bool((collection.own >= 0).any())
    for one in retriever.rank(collection, min(deep, collection.documents), progress):
        rankings = one.rankings.without(collection.own, reach)
        yield replace(one, rankings=rankings.by_page(collection, depth))


class Scorer(Protocol):
    """Scores candidate sets. `noise`: the relative tolerance within which two of its scores tie."""

    @property
    def noise(self) -> float: ...

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        """For each set (candidates,); higher is better. All sets are of one corpus."""
        ...


def noise_of(dtype: object) -> float:
    """What the digits of a number format leave open, and some more."""
    return 1e-6 if dtype == "float32" else 1e-2


class System(NamedTuple):
    """A scorer at one dimension (None where it has none); `details` after it has scored.

    `reads`: how many characters it reads of each document; None where it has no limit, or does not
    tell.
    """

    dim: int | None
    scorer: Scorer
    details: Callable[[], dict[str, Any]] = dict
    reads: Callable[[Sequence[str]], list[int]] | None = None


class RetrieverType(ABC):
    """What `--model` may name, in a module of its own under `retgen.evaluation.retrievers`.

    `names`: what it is called, each with what it is, for help and docs; or `prefix` where a name is
    PREFIX:REST, with `form` and `about` to show it by. `needs`: packages of the extra `eval`.
    `ranks`: whole corpora; False: it orders candidate sets alone. `trainable`: by `gen train`.
    """

    names: ClassVar[Mapping[str, str]] = {}
    prefix: ClassVar[str] = ""
    form: ClassVar[str] = ""
    about: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    ranks: ClassVar[bool] = True
    trainable: ClassVar[bool] = False

    def prefixes(self) -> tuple[str, ...]:
        """What stands before the colon of its names: `prefix`, where it has one."""
        return (self.prefix,) if self.prefix else ()

    def accepts(self, name: str) -> bool:
        """Whether a name is one of its own. Looks at no model."""
        prefix, colon, _ = name.partition(":")
        return name in self.names or (bool(colon) and prefix in self.prefixes())

    def asked(self, name: str) -> list[ModelSettings]:
        """The models behind an API that a name of its own stands for: they may cost money."""
        return []

    def runs_a_model(self, name: str) -> bool:
        """Whether dimensions, prompts and number formats mean something to it."""
        return bool(self.needs)

    def check(self, name: str) -> None:
        """Raise `UsageError` for a name of its own that can mean nothing."""
        prefix, _, rest = name.partition(":")
        if prefix in self.prefixes() and not rest:
            raise UsageError(f"--model {name}: name a model after {prefix}:")

    @abstractmethod
    def load(self, name: str, options: Options) -> Any:
        """A `Retriever`, or where it does not `ranks` what scores candidate sets alone.

        What scores candidate sets has a method `systems`, a list of `System`: one a dimension.
        Raises `UsageError` with the reason where nothing can be loaded.
        """


EMBEDDERS = {
    "minilm": "all-MiniLM-L6-v2 from a PyPI package, no network",
    "static:minilm": "its word embeddings alone, averaged",
}


def label(model: str, dim: int | None, details: Mapping[str, Any]) -> str:
    """A system's name in tables: the dimension only where it was cut."""
    cut = dim is not None and not details.get("full_dimension", True)
    return f"{model}, first {dim}" if cut else model


def slug(model: str, dim: int | None = None) -> str:
    """A file name for a system."""
    name = re.sub(r"[^0-9A-Za-z._-]+", "--", model).strip("-.") or "model"
    return f"{name}-{dim}" if dim is not None else name


def names_embedder(name: str) -> bool:
    """Whether a name may be an embedder's: one of `EMBEDDERS`, a folder, a Hub id."""
    id_of_the_hub = "/" in name and ":" not in name
    return name in EMBEDDERS or id_of_the_hub or Path(name).exists()
