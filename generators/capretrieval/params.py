"""Parameters of the CapRetrieval family: whose documents, how they are cut, asked and split."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from retgen.generators.params import Params
from retgen.generators.source import DocumentSource, PassageSize


class QueryCounts(Params):
    """How many queries a passage gets at most (paper, Table 6: 12 to 14 KW, 7 SM).

    `found`: of what people wrote (titles, headings, links, descriptions). `relevant`: what more
    passages answer is no query, as it would find a list. `quality`: the lowest score of a query by
    rules that is scored on (test, dev), 0 to 1; above 0 its words also have to tell its document
    from all others. Training takes every query: more pairs teach more than better ones.
    `two_documents`: of a run, questions that need two documents; a model writes them, and another
    says whether they do.
    """

    found: int = Field(8, ge=0, le=50)
    keywords: int = Field(6, ge=0, le=50)
    summaries: int = Field(3, ge=0, le=50)
    relevant: int = Field(10, ge=1)
    quality: float = Field(0.5, ge=0, lt=1)
    two_documents: int = Field(0, ge=0, le=100_000)

    @model_validator(mode="after")
    def _some(self) -> QueryCounts:
        if not self.keywords + self.summaries:
            raise ValueError("keywords and summaries are both 0, so there would be no query")
        return self


class MiningParams(Params):
    """Hard negatives of the training queries, from the same corpus.

    `by`: bm25, or a retriever that `gen eval --model` knows. `negatives`: of every query.
    `depth`: how far down the ranking they are looked for. `margin`: a document whose score is above
    this share of the positive's may be a positive that nobody has labelled, and is left out.
    """

    by: str = Field("bm25", min_length=1)
    negatives: int = Field(4, ge=0, le=100)
    depth: int = Field(50, ge=1, le=10_000)
    margin: float = Field(0.95, gt=0, le=1)

    @model_validator(mode="after")
    def _deep_enough(self) -> MiningParams:
        if self.negatives > self.depth:
            raise ValueError(f"negatives {self.negatives} is more than depth {self.depth}")
        return self


class SplitShares(Params):
    """Shares of the documents whose queries are held out. Near-duplicates stay on one side."""

    test: float = Field(0.15, gt=0, lt=1)
    dev: float = Field(0.05, ge=0, lt=1)

    @model_validator(mode="after")
    def _some_left(self) -> SplitShares:
        if self.test + self.dev >= 1:
            raise ValueError("test and dev leave no document to train on")
        return self


MTEB = "mteb:"


def _test_set(value: str, info: ValidationInfo) -> str:
    """A data set: a folder, or mteb:NAME. That of a finished run may have moved."""
    context = info.context or {}
    folder = context.get("folder")
    if value.startswith(MTEB) or folder is None or context.get("finished"):
        return value
    path: Path = folder / Path(value).expanduser()
    if not path.is_dir():
        raise ValueError(f"there is no data set {path}: give a folder, or {MTEB}NAME")
    return str(path)


class Decontaminate(Params):
    """Test sets whose texts must not be met: documents and queries that repeat one are left out.

    `rouge_l`: a ROUGE-L F1 above it is a repetition; so is a text that stands whole in another.
    """

    test_sets: tuple[Annotated[str, AfterValidator(_test_set)], ...] = ()
    rouge_l: float = Field(0.6, gt=0, lt=1)


class Asked(Params):
    """Questions that people asked: they are the test set, and nothing is written.

    People judge which documents answer them (`gen review`); unjudged is never 0.
    """

    queries: DocumentSource | None = Field(
        None,
        description="a question a line, or a table; default: bundled ones, to the bundled captions",
    )


# what is said of queries that are written, and not asked
_WRITTEN = ("queries", "mine", "splits", "decontaminate")


def _language(value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[a-z]{2}", value):
        raise ValueError(
            f"{value!r} is no code of a language: two small letters (ISO 639-1), such as en, de or "
            "zh; without the key the language of each document is recognized"
        )
    return value


class CapRetrievalParams(Params):
    """Queries over the documents of a source: written for them, or asked by people."""

    source: DocumentSource | None = Field(
        None, description="default: bundled captions of a phone album, English and Chinese"
    )
    language: Annotated[str | None, AfterValidator(_language)] = Field(
        None, description="ISO 639-1, of all documents; default: told for each document"
    )
    passages: PassageSize | None = None
    queries: QueryCounts = QueryCounts()
    mine: MiningParams = MiningParams()
    splits: SplitShares = SplitShares()
    decontaminate: Decontaminate = Decontaminate()
    asked: Asked | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> CapRetrievalParams:
        if self.asked is None:
            return self
        # a run's own recipe has the defaults spelled out
        fields = type(self).model_fields
        if both := [name for name in _WRITTEN if getattr(self, name) != fields[name].default]:
            raise ValueError(
                f"asked is for given queries, {both[0]} for written ones: make two recipes"
            )
        if self.asked.queries is None and self.source is not None:
            raise ValueError("asked.queries is missing: the bundled queries are to the captions")
        return self
