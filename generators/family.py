"""What a family of data sets is: parameters, a plan, the records, and a proof.

A family never sees the command line. It says what will be made (`plan`), asks its agents for what
only a model can write (`ask`), makes tables whose rows can be asked for in any order (`generate`),
and hands out the rules that prove the structural labels from the written files (`checks`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
)

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

from retgen.agents.agent import Agent, Rejection
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:  # it brings the ledger's library, which most runs do not need
    from retgen.agents.context import Context

__all__ = [
    "Asks",
    "Evidence",
    "Example",
    "Family",
    "InputFile",
    "Job",
    "Params",
    "Plan",
    "Records",
    "Rejection",
    "Rows",
    "rows_of",
]


class Params(BaseModel):
    """Base of a family's parameters: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _resolve(value: Path, info: ValidationInfo) -> Path:
    """A path in a recipe is relative to the recipe's folder."""
    folder = (info.context or {}).get("folder")
    if folder is None:  # no recipe file around: a notebook, the JSON Schema
        return value
    path: Path = folder / value
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


# a file that a recipe names; a run keeps a copy of it under inputs/
InputFile = Annotated[Path, AfterValidator(_resolve)]

P = TypeVar("P")


class Job(NamedTuple, Generic[P]):
    """One recipe as a family sees it.

    `limit`: records; None: as many as the parameters say. `live`: names of the agents that a model
    answers, the others are offline. `sources`: the folder that `ask` has written to.
    """

    name: str
    seed: int
    params: P
    limit: int | None = None
    live: frozenset[str] = frozenset()
    sources: Path | None = None


Evidence = Literal["structural", "judged"]


class Asks(NamedTuple):
    """What a job will ask one agent: of so many records, each with so many calls.

    `calls`: the fewest and the most that are to be expected a record; `prompt`: bytes of a prompt;
    `answer`: tokens of an answer.
    """

    records: int
    calls: tuple[float, float]
    prompt: int
    answer: int


@dataclass(frozen=True)
class Plan:
    """What a job will make and cost. `bytes` is an estimate of dataset/ on disk (as JSON Lines).

    A family says what it will ask its live agents (`asks`); the calls, the tokens (in and out), the
    dollars (None: a model has no known price) and the seconds follow from the recipe's models.
    `unknown`: how many records there will be is not known, and all counts are 0.
    """

    documents: int
    queries: int
    qrels: int
    bytes: int
    asks: dict[str, Asks] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    calls: dict[str, int] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    usd: tuple[float, float] | None = (0.0, 0.0)
    seconds: tuple[float, float] = (0.0, 0.0)
    unknown: bool = False

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen plan --json` prints; null is what is not known."""
        if self.unknown:
            between = dict.fromkeys(("low", "high"))
            return {
                **dict.fromkeys(("documents", "queries", "qrels")),
                "calls": dict.fromkeys(self.calls),
                "models": self.models,
                "tokens": dict.fromkeys(self.tokens),
                "usd": between,
                "seconds": between,
                "bytes": None,
                "notes": list(self.notes),
            }
        low, high = self.usd or (None, None)
        return {
            "documents": self.documents,
            "queries": self.queries,
            "qrels": self.qrels,
            "calls": self.calls,
            "models": self.models,
            "tokens": self.tokens,
            "usd": {"low": low, "high": high},
            "seconds": {"low": self.seconds[0], "high": self.seconds[1]},
            "bytes": self.bytes,
            "notes": list(self.notes),
        }


class Rows(Protocol):
    """A table of rows that can be made in any order: row i depends on nothing but i."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        ...

    def jsonl(self, start: int, stop: int) -> bytes:
        """Rows start..stop-1 as JSON Lines, each with its final newline."""
        ...


@dataclass(frozen=True)
class _Rows:
    count: int
    make: Callable[[int], Mapping[str, Any]]

    def jsonl(self, start: int, stop: int) -> bytes:
        option = orjson.OPT_APPEND_NEWLINE
        return b"".join(orjson.dumps(self.make(i), option=option) for i in range(start, stop))


def rows_of(make: Callable[[int], Mapping[str, Any]], count: int) -> Rows:
    """A table of `count` rows from a function of the row's index."""
    return _Rows(count, make)


class Example(NamedTuple):
    """A record laid out for a reader. Each row: what it is about, a text, and the text changed."""

    title: str
    head: tuple[str, str, str]
    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Records:
    """What a job makes.

    `features` gives the types of the metadata columns for the data set card, table by table, in
    the notation of `datasets` ({"corpus": {"attributes": ["int32"], "column": "int32"}}).
    `qrels` are what a scorer counts, by split. `graded`: where these are binary, because a document
    that is right in part is a hard negative, the grades of the same pairs, by split.
    `complete`: a pair without a qrel is known to be not relevant. `word_lists`: name -> SHA-256 of
    every list of words used. `card`: paragraphs for the data set card, plain text in which only
    `code` is marked. `training`: rows of texts (anchor, positive, negative_1, ..., query-id) by the
    name of their file in training/, of which `features` names the columns that are no text under
    "training/NAME"; columns whose names end with -id are left out where a trainer reads them.
    `tables`: views in a layout of the family's own, by the name of their file in
    tables/. `languages`: ISO 639-3 and the script (ISO 15924) of the texts. `facts`: a row of
    figures for the card, by their headings. `example`: a record laid out for a reader.
    """

    corpus: Rows
    queries: Rows
    qrels: Mapping[str, Rows]
    graded: Mapping[str, Rows] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    complete: bool = False
    rejected: Sequence[Rejection] = ()
    word_lists: Mapping[str, str] = field(default_factory=dict)
    card: Sequence[str] = ()
    licences: Mapping[str, str] = field(default_factory=dict)
    languages: Sequence[str] = ("eng-Latn",)
    training: Mapping[str, Rows] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    example: Example | None = None


class Family(ABC, Generic[P]):
    """A family of data sets, in a package of its own whose name is the family's.

    `params` is a type that pydantic can validate (a `Params` model, or a union of them with a
    discriminator). `covers` names generic rules that the family's own proof makes superfluous,
    `proofs` the rules of that proof, which cannot be switched off.
    `fixed_records`: the number of records follows from the parameters, so `--limit` is refused.
    `agents`: the typed tasks that a recipe's models do for it. `judged`: of judged labels, what
    they rest on; `structure`: what is proven all the same. Both end a sentence.
    `tests`: what a score tests, a sentence, where a query has a candidate set of its own and
    rankings of the whole corpus say nothing; the floors are then those of a rule of its proof.
    `independent_judge`: the judge is by default of another model family than the writer, where
    there are keys of two.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    params: ClassVar[Any]
    covers: ClassVar[frozenset[str]] = frozenset()
    proofs: ClassVar[frozenset[str]] = frozenset()
    fixed_records: ClassVar[bool] = True
    agents: ClassVar[tuple[Agent[Any, Any], ...]] = ()
    independent_judge: ClassVar[bool] = False
    judged: ClassVar[str] = "the word of a judge"
    structure: ClassVar[str] = ""
    tests: ClassVar[str] = ""

    @abstractmethod
    def plan(self, job: Job[P]) -> Plan:
        """What will be made, at what cost. Pure; raises `RecipeError` for the impossible."""

    def uses(self, job: Job[P]) -> frozenset[str]:
        """Names of the agents that this job asks, offline or not."""
        return frozenset()

    async def ask(self, job: Job[P], context: Context) -> None:
        """Ask the agents, and leave what they said in `context.folder` for the other methods.

        What is asked depends on the job and on earlier answers only, never on which came first.
        """

    def repeatable(self, job: Job[P]) -> bool:
        """Whether offline agents read nothing but the recipe's files, so that all can be repeated.

        Only asked where no agent is live.
        """
        return True

    def evidence(self, job: Job[P]) -> Evidence:
        """What the labels rest on: a model-free proof, or the word of a judge."""
        return "structural"

    def judges(self, job: Job[P]) -> Mapping[str, Mapping[str, Any]]:
        """How good the judges were found to be, by agent, where labels are judged.

        "measured" says it in words; any other key is a number for scripts.
        """
        return {}

    @abstractmethod
    def generate(self, job: Job[P]) -> Records:
        """The records. Same job, same records, whoever asks and in whatever order."""

    def word_lists(self, job: Job[P]) -> Mapping[str, str]:
        """Lists that the proof reads again, name -> SHA-256, as `Records.word_lists` names them.

        Where a finished run's manifest states another hash, the proof cannot be repeated.
        """
        return {}

    @abstractmethod
    def checks(self, job: Job[P], judgements: Judgements) -> Sequence[CorpusRule]:
        """Rules that prove the structural labels from the written files, without the generator."""

    @abstractmethod
    def scaffold(self) -> str:
        """A commented recipe to start from, as `gen new` writes it."""
