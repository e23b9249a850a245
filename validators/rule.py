"""What a rule is. Most look at every document once, keep a small state, and end in findings.

States merge, so that several processes can each scan a part of a corpus of any size; a rule that
needs to name what it only knows as a hash looks a second time at the documents (`confirm`).
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Document, Qrel, Query
from retgen.rows import Problem
from retgen.tokenizer import tokens
from retgen.validators.similar import hash_words

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_AT_A_TIME = 4096  # documents, or queries


class Finding(NamedTuple):
    """What a rule has to say. `ids` names every record involved (for a qrel both ids).

    `folded`: the ids and the message of each finding that this one stands for, if it does.
    """

    rule: str
    severity: Severity
    ids: list[str]
    message: str
    folded: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The shape of `gen validate --json`; `folded` only where there is any."""
        return {key: value for key, value in self._asdict().items() if key != "folded" or value}


@dataclass(slots=True)
class Batch:
    """Some consecutive documents as columns, which rules leave as they are.

    `first` is the index of the first one in its part.

    `extra`: what a row holds beside these columns, None where there is nothing.
    """

    first: int
    ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    metadata: list[Any] = field(default_factory=list)
    extra: list[dict[str, Any] | None] = field(default_factory=list)
    _words: list[list[str]] | None = field(default=None, init=False, repr=False)
    _hashes: tuple[NDArray[np.uint64], NDArray[np.int64]] | None = field(
        default=None, init=False, repr=False
    )

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, document: Document, extra: dict[str, Any] | None = None) -> None:
        """Add a document at the end."""
        self.extra.append(extra)
        self.ids.append(document.doc_id)
        self.titles.append(document.title)
        self.texts.append(document.text)
        self.metadata.append(document.metadata)

    def words(self) -> list[list[str]]:
        """The words of each document, title first: cut once, however many rules ask."""
        if self._words is None:
            both = zip(self.titles, self.texts, strict=True)
            self._words = [tokens(f"{title} {text}" if title else text) for title, text in both]
        return self._words

    def word_hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Their hashes in order, and how many each document has: see `hash_words`."""
        if self._hashes is None:
            self._hashes = hash_words(self.words())
        return self._hashes


def batches(documents: Iterable[Document]) -> Iterator[Batch]:
    """Documents in batches; one at least, which may be empty."""
    batch = Batch(0)
    for document in documents:
        if len(batch) == _AT_A_TIME:
            yield batch
            batch = Batch(batch.first + len(batch))
        batch.append(document)
    yield batch


@dataclass
class Judgements:
    """Queries and qrels of one split, in order; where there are many, they lie on disk.

    `positives` maps a query id to the ids of its relevant documents (relevance > 0), in the order
    of the file. `others` are the qrels of the other splits. `notes`: column -> query id -> what
    it holds beside id and text (see `retgen.validators.notes`), of queries with positives.
    `by_people`: the labels are people's; there may be none yet. `partial`: these are the first of
    many, and a rule of the family's proof reads them all.
    """

    queries: Sequence[Query]
    qrels: Sequence[Qrel]
    query_problems: list[Problem] = field(default_factory=list)
    qrel_problems: list[Problem] = field(default_factory=list)
    split: str = "test"
    foreign: bool = False  # not written by retgen, or its proof cannot be repeated
    others: dict[str, Sequence[Qrel]] = field(default_factory=dict)
    other_problems: dict[str, list[Problem]] = field(default_factory=dict)
    notes: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    by_people: bool = False
    partial: bool = False
    positives: dict[str, list[str]] = field(init=False)
    relevant_documents: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.positives = {}
        for query_id, doc_id, relevance in self.qrels:
            if relevance > 0:
                self.positives.setdefault(query_id, []).append(sys.intern(doc_id))
        self.relevant_documents = {d for docs in self.positives.values() for d in docs}

    def splits(self) -> Iterator[tuple[str, Sequence[Qrel]]]:
        """The qrels of every split, that under test first, and how a message says where."""
        yield "", self.qrels
        for name, qrels in self.others.items():
            yield f" of split {name}", qrels


@dataclass
class RuleState:
    """What a rule knows after its part of the corpus, as data: see `on_disk.pack`.

    Arrays in it may be read-only, and lie on disk: what grows with the corpus is a list of arrays.
    """

    def merge(self, later: Self, offset: int) -> None:
        """Take in the state of the part that follows, whose index 0 is index `offset` here.

        Of a dataclass field by field: lists go on, sets join, numbers and arrays add up; of the
        values of a key, and of two texts, the first stands, unless they are lists.
        """
        for one in fields(self):
            own, other = getattr(self, one.name), getattr(later, one.name)
            if isinstance(own, RuleState):
                own.merge(other, offset)
            elif isinstance(own, set):
                own |= other
            elif isinstance(own, dict) and not isinstance(own, Counter):
                for key, value in other.items():
                    if isinstance(own.setdefault(key, value), list) and own[key] is not value:
                        own[key] += value
            elif isinstance(own, str | None):
                setattr(self, one.name, own or other)
            else:
                setattr(self, one.name, own + other)


@dataclass
class DocumentNotes(RuleState):
    """Document ids with a note, in order: all that many rules need to know."""

    documents: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Measured(RuleState):
    """A number of every text, in order: arrays, of some texts each."""

    parts: list[NDArray[Any]] = field(default_factory=list)

    def every(self, kind: type[np.generic]) -> NDArray[Any]:
        """(n,) the numbers of all texts."""
        return np.concatenate([np.empty(0, kind), *self.parts])


class RuleListing(NamedTuple):
    """A name that findings have, as the table of rules lists it."""

    name: str
    severity: str
    finds: str


class Rule(ABC):
    """What has a name, and ends in findings. Rules over any data set are made from `judgements`.

    Those of `retgen.validators.rules` say besides, for the list of rules: `severity`, that of their
    findings; `unless`, when it is another one, in words; `finds`, what is found. `order`: where
    their findings stand among those of other rules, of one that says nothing behind all that do.
    """

    name: ClassVar[str]
    severity: Severity
    unless: ClassVar[str] = ""
    finds: ClassVar[str]
    order: ClassVar[int] = 1000
    judgements: Judgements

    def __init__(self, judgements: Judgements | None = None) -> None:
        if judgements is not None:
            self.judgements = judgements

    @classmethod
    def table(cls) -> tuple[RuleListing, ...]:
        """All names of its findings."""
        severity = f"{cls.severity}, {cls.unless}" if cls.unless else cls.severity
        return (RuleListing(cls.name, severity, cls.finds),)

    def read_qrels(self, dataset: Dataset, split: str) -> None:  # noqa: B027 - most rules need no more
        """After the documents: read all queries and qrels, row by row.

        For families whose queries have candidate sets (`Family.candidate_sets`); of those the other
        rules see the first queries only, so that memory does not grow with their number.
        """

    @abstractmethod
    def findings(self) -> Iterable[Finding]:
        """What was found, in the order of the records."""

    def finding(
        self, ids: Iterable[str], message: str, *, severity: Severity | None = None
    ) -> Finding:
        """A finding of this rule, as severe as these are by default."""
        return Finding(self.name, severity or self.severity, list(ids), message)


class QueryRule(Rule):
    """A rule over queries and qrels."""


class CorpusRule(Rule):
    """A rule over the documents of a corpus.

    `scan` is called with every batch of its part in order, and `findings` once at the end, when the
    states of all parts are merged. `scratch`: folder for what is too large for memory.
    """

    state: RuleState
    scratch: str | None = None

    def __init__(self, judgements: Judgements | None = None) -> None:
        super().__init__(judgements)
        self.start()

    @abstractmethod
    def start(self) -> None:
        """Begin a part: set a fresh `state`."""

    @abstractmethod
    def scan(self, batch: Batch) -> None:
        """Look at some documents."""

    def about(self, dataset: Dataset) -> None:
        """Before the documents: what the data set says of itself. Only where findings are told."""

    def suspicious(self) -> bool:
        """Whether `confirm` must see the corpus before `findings` can name its records."""
        return False

    def confirm(self, batch: Batch) -> None:
        """Second look, in one process, in order. `batch.first` counts from the corpus's start."""

    def statistics(self) -> dict[str, Any]:
        """What `read_qrels` counted, in the keys of `gen validate`."""
        return {}

    def baselines(self) -> dict[str, Any] | None:
        """What rankings that never read a query reach, in measures of the family's own.

        {"random": {measure: x}, "rankings": {name: {measure: x}}, "best": {"ranking": name, ...}}
        """
        return None


class TextRule(CorpusRule):
    """A rule over texts: of the documents, and of the queries as if they were documents.

    `query_name`, `query_finds`: of its findings in queries, where they have a name of their own.
    """

    query_name: ClassVar[str] = ""
    query_finds: ClassVar[str] = ""
    one, many = "document", "documents"  # what the texts are

    @classmethod
    def table(cls) -> tuple[RuleListing, ...]:
        rows = super().table()
        if cls.query_name:
            rows += (RuleListing(cls.query_name, cls.severity, cls.query_finds),)
        return rows

    def which(self, ids: Sequence[str], verb: str, plural: str) -> str:
        """The subject of a message with its verb: one text by its id, or how many."""
        if len(ids) == 1:
            return f"{self.one} {ids[0]} {verb}"
        return f"{len(ids):,} {self.many} {plural}"


class QueryTexts(QueryRule):
    """A rule over texts, shown the queries."""

    def __init__(self, rule: TextRule, judgements: Judgements) -> None:
        super().__init__(judgements)
        self.rule = rule
        self.name = rule.query_name or rule.name  # type: ignore[misc]  # a rule in another's place
        rule.name, rule.one, rule.many = self.name, "query", "queries"  # type: ignore[misc]

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        self.rule.about(dataset)

    def findings(self) -> Iterable[Finding]:
        for batch in self._batches():
            self.rule.scan(batch)
        if self.rule.suspicious():
            for batch in self._batches():
                self.rule.confirm(batch)
        return self.rule.findings()

    def _batches(self) -> Iterator[Batch]:
        return batches(Document(one.query_id, "", one.text) for one in self.judgements.queries)


class LeakRule(CorpusRule):
    """Whether relevant documents are given away, against chance: an error in what retgen wrote.

    `p`: the level of its tests, which the recipe may set (`order_leak_p`).
    """

    severity: Severity = "warning"
    unless = "in a run error"
    p = 1e-6
