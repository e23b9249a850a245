"""Parameters of the MultiConIR family: a domain, a source of documents, how ladders are made."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from retgen.errors import RecipeError
from retgen.generators.multiconir.domains import Domain, Strategies, Strategy, bundled_domains
from retgen.generators.multiconir.halves import Half
from retgen.generators.params import Params
from retgen.generators.source import Source
from retgen.messages import did_you_mean

Wording = Literal["literal", "paraphrase", "entailed"]

DRAWN = 200  # ladders, unless a recipe says how many


def _domain(value: str | Domain) -> str | Domain:
    if isinstance(value, str) and value not in bundled_domains():
        known = bundled_domains()
        raise ValueError(
            f"there is no bundled domain {value!r}{did_you_mean(value, known) or '.'} "
            f"Bundled: {', '.join(known)}; or write a block with name, noun, features, ..."
        )
    return value


class Negatives(Params):
    """What a rewritten sentence has to keep (paper, Appendix G.1: no rewriting into generic text).

    `length`: how far its number of words may be from the original's, as a share; a reassigned
    sentence, to which a clause is added, may be longer by `clause` as well. `kept`: the share of
    the original's words that stand in it in their order. `key_terms`: the share of the condition's
    content words that stay, for the strategy `reassign`, and half of it for `modify`. `negations`:
    at most this share of a ladder's rewrites may only negate. `attempts`: rewrites of one sentence.
    """

    strategy: Strategies | None = Field(
        None, description="default: mixed where ladders are drawn, else the domain's"
    )
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
        None,
        ge=1,
        description="exactly so many; default: 200 drawn ones, or as many as the documents give",
    )
    wordings: tuple[Wording, ...] = Field(
        ("literal", "paraphrase", "entailed"),
        min_length=1,
        description="of drawn ladders: how conditions ask, each as often",
    )
    half: Half | None = Field(
        None, description="of drawn ladders: only this half of all values and wordings"
    )
    singles: bool = Field(
        True, description="whether there is a document for each condition that breaks it alone"
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

    def count(self) -> int:
        """How many ladders are drawn."""
        return self.ladders or DRAWN

    def strategy(self) -> Strategies:
        """How sentences of drawn ladders are rewritten."""
        return self.negatives.strategy or "mixed"

    def rewriting(self, written: bool) -> Strategy:
        """How sentences of documents are rewritten; `written`: by a model.

        Raises `RecipeError` for what nobody can.
        """
        named = self.negatives.strategy
        if named == "mixed":
            raise RecipeError(
                "params.negatives.strategy: mixed is for ladders that are drawn, without a model "
                "and without params.source; documents are rewritten by modify or by reassign"
            )
        if written:
            return named or self.the_domain().strategy
        if named == "reassign":
            raise RecipeError(
                "params.negatives.strategy: reassign takes a model, as in --model "
                "openai:gpt-5-mini; without one, figures are modified"
            )
        return "modify"
