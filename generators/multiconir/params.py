"""Parameters of the MultiConIR family: a domain, a source of documents, negatives.

A domain says what a ladder's texts are about, as data (paper, §3.1, Appendix B). The five of the
paper are in domains.yaml; a recipe may hold a block of the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from retgen.errors import RecipeError
from retgen.generators.multiconir.checks import CONDITIONS, split, usable
from retgen.generators.params import Params
from retgen.generators.source import DocumentSource
from retgen.messages import did_you_mean
from retgen.sources import HUB, RefusedRow, SourceDocument
from retgen.yaml_text import read_yaml

Strategy = Literal["modify", "reassign"]
Strategies = Literal["modify", "reassign", "mixed"]
Wording = Literal["literal", "paraphrase", "entailed"]


# --- domains --------------------------------------------------------------------------------------


Line = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x09\x0b-\x1f]*$")]

# one line without blanks at its ends
_PHRASE = r"^[^\s\x00-\x1f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f])?$"
Phrase = Annotated[str, Field(min_length=1, max_length=300, pattern=_PHRASE)]


class ExampleQueries(Params):
    """Two or more example queries of each style, for a model to follow."""

    instruction: tuple[Line, ...] = Field(min_length=1)
    descriptive: tuple[Line, ...] = Field(min_length=1)


class RewriteExample(Params):
    """An example of a sentence that was rewritten so that it no longer meets a condition."""

    condition: Line
    sentence: Line
    rewrite: Line


class LadderDomain(Params):
    """A domain."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)
    noun: Phrase = Field(description="one document's subject, for example: movie")
    features: tuple[Phrase, ...] = Field(min_length=1, description="what conditions are about")
    instruction: Phrase = Field(description="the opening of an instruction-style query")
    strategy: Strategy = Field("modify", description="how a sentence is rewritten")
    examples: ExampleQueries
    rewrites: tuple[RewriteExample, ...] = Field(min_length=1)


@cache
def bundled_domains() -> dict[str, LadderDomain]:
    """The domains of the paper, by name."""
    tree = read_yaml(Path(__file__).parent / "domains.yaml")
    result = [LadderDomain.model_validate(one) for one in tree]
    return {one.name: one for one in result}


def _domain(value: str | LadderDomain) -> str | LadderDomain:
    if isinstance(value, str) and value not in bundled_domains():
        known = bundled_domains()
        raise ValueError(
            f"there is no bundled domain {value!r}{did_you_mean(value, known) or '.'} "
            f"Bundled: {', '.join(known)}; or write a block with name, noun, features, ..."
        )
    return value


# --- parameters -----------------------------------------------------------------------------------


class Negatives(Params):
    """How sentences become hard negatives."""

    strategy: Strategies | None = Field(
        None, description="default: mixed where ladders are drawn, else the domain's"
    )
    reword: bool = Field(
        False, description="of drawn ladders: rewrites state their value in other words"
    )


class MultiConIRParams(Params):
    """A ladder set."""

    domain: Annotated[
        Annotated[str, Tag("name")] | Annotated[LadderDomain, Tag("block")],
        Discriminator(lambda value: "name" if isinstance(value, str) else "block"),
        AfterValidator(_domain),
    ]
    source: DocumentSource | None = Field(
        None, description="default: the bundled documents of the domain"
    )
    ladders: int | None = Field(
        None,
        ge=1,
        description="exactly so many; default: 200 drawn ones, or as many as the documents give",
    )
    wordings: tuple[Wording, ...] = Field(
        ("literal", "paraphrase", "entailed"),
        min_length=1,
        description="of drawn ladders: how conditions ask, each as often",
    )
    context: int = Field(
        0, ge=0, description="of drawn ladders: sentences without a fact behind each condition's"
    )
    negatives: Negatives = Negatives()

    @model_validator(mode="after")
    def _own_source(self) -> MultiConIRParams:
        if isinstance(self.domain, LadderDomain) and self.source is None:
            raise ValueError("a domain of your own needs a source of documents (params.source)")
        return self

    def the_domain(self) -> LadderDomain:
        """The domain, bundled or the recipe's."""
        return (
            self.domain if isinstance(self.domain, LadderDomain) else bundled_domains()[self.domain]
        )

    def rewriting(self) -> Strategy:
        """How a model rewrites sentences of documents. Raises `RecipeError` for what none can."""
        named = self.negatives.strategy
        if named == "mixed":
            raise RecipeError(
                "params.negatives.strategy: mixed is for ladders that are drawn, without a model "
                "and without params.source; documents are rewritten by modify or by reassign"
            )
        return named or self.the_domain().strategy


# --- documents ------------------------------------------------------------------------------------


def source_of(params: MultiConIRParams) -> DocumentSource:
    """Where a recipe's documents come from: its own source, or the bundled ones."""
    bundled = Path(__file__).parent / "documents" / f"{params.domain}.jsonl"
    return params.source or DocumentSource(path=bundled, licence="CC0-1.0")


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


def read_documents(
    params: MultiConIRParams, take: Callable[[SourceDocument], object]
) -> tuple[list[RefusedRow], int]:
    """Give each document to `take`; what is refused, and how many documents there are."""
    refused, count = [], 0
    for one in documents_of(params):
        if isinstance(one, RefusedRow):
            refused.append(one)
        else:
            take(one)
            count += 1
    return refused, count
