"""Parameters of the MultiConIR family: a domain, a source of documents, how ladders are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationInfo, model_validator

from retgen.generators.multiconir.domains import Domain, Strategy, bundled_domains
from retgen.generators.params import Params
from retgen.messages import did_you_mean
from retgen.sources import FORMATS, HUB


def _domain(value: str | Domain) -> str | Domain:
    if isinstance(value, str) and value not in bundled_domains():
        known = bundled_domains()
        raise ValueError(
            f"there is no bundled domain {value!r}{did_you_mean(value, known) or '.'} "
            f"Bundled: {', '.join(known)}; or write a block with name, noun, features, ..."
        )
    return value


def _located(value: Path | str, info: ValidationInfo) -> Path | str:
    """A file (of which a run keeps a copy), a folder, or a data set of the Hub."""
    if str(value).startswith(HUB):
        return str(value)
    folder = (info.context or {}).get("folder")
    if folder is None:  # no recipe file around: a notebook, the JSON Schema
        return value
    path: Path = folder / value
    if path.is_dir():
        return str(path)
    if not path.is_file():
        raise ValueError(f"there is no source {path}: give {FORMATS}")
    return path


class SourceColumns(Params):
    """Which columns hold what. Left out, `_id` or `id` and `title` are taken where they exist."""

    text: str = "text"
    id: str | None = None
    title: str | None = None


class Source(Params):
    """Where documents come from."""

    path: Annotated[Path | str, AfterValidator(_located)] = Field(description=FORMATS)
    columns: SourceColumns = SourceColumns()
    split: str = Field("train", description="of a data set of the Hub")
    licence: str = Field("not stated", max_length=200)
    limit: int | None = Field(None, ge=1, description="read at most so many rows")


class Negatives(Params):
    """What a rewritten sentence has to keep (paper, Appendix G.1: no rewriting into generic text).

    `length`: how far its number of words may be from the original's, as a share; a reassigned
    sentence, to which a clause is added, may be longer by `clause` as well. `kept`: the share of
    the original's words that stand in it in their order. `key_terms`: the share of the condition's
    content words that stay, for the strategy `reassign`, and half of it for `modify`. `negations`:
    at most this share of a ladder's rewrites may only negate. `attempts`: rewrites of one sentence.
    """

    strategy: Strategy | None = Field(None, description="default: the domain's")
    length: float = Field(0.35, ge=0, le=5)
    clause: float = Field(1.5, ge=0, le=5)
    kept: float = Field(0.6, ge=0, le=1)
    key_terms: float = Field(0.8, ge=0, le=1)
    negations: float = Field(0.2, ge=0, le=1)
    attempts: int = Field(2, ge=1, le=20)


class MultiConIRParams(Params):
    """A ladder set."""

    domain: Annotated[
        Annotated[str, Tag("name")] | Annotated[Domain, Tag("block")],
        Discriminator(lambda value: "name" if isinstance(value, str) else "block"),
        AfterValidator(_domain),
    ]
    source: Source | None = Field(None, description="default: the bundled documents of the domain")
    ladders: int | None = Field(
        None, ge=1, description="exactly so many; default: as many as the documents give"
    )
    replacements: int = Field(
        6, ge=0, le=20, description="sentences of a document that may be replaced by others"
    )
    orders: int = Field(1, ge=1, le=10, description="breaking orders of the same rewrites")
    negatives: Negatives = Negatives()

    @model_validator(mode="after")
    def _own_source(self) -> MultiConIRParams:
        if isinstance(self.domain, Domain) and self.source is None:
            raise ValueError("a domain of your own needs a source of documents (params.source)")
        return self

    def the_domain(self) -> Domain:
        """The domain, bundled or the recipe's."""
        return self.domain if isinstance(self.domain, Domain) else bundled_domains()[self.domain]

    def strategy(self) -> Strategy:
        """How sentences are rewritten."""
        return self.negatives.strategy or self.the_domain().strategy
