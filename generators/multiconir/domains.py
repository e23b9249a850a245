"""Domains: what a ladder's texts are about, as data (paper, §3.1, Appendix B).

The five of the paper are in domains.yaml; a recipe may hold a block of the same keys.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from retgen.generators.params import Params
from retgen.yaml_text import read_yaml

Strategy = Literal["modify", "reassign"]
Strategies = Literal["modify", "reassign", "mixed"]

Line = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x09\x0b-\x1f]*$")]


# one line without blanks at its ends
_PHRASE = r"^[^\s\x00-\x1f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f])?$"
Phrase = Annotated[str, Field(min_length=1, max_length=300, pattern=_PHRASE)]


class Examples(Params):
    """Two or more example queries of each style, for a model to follow."""

    instruction: tuple[Line, ...] = Field(min_length=1)
    descriptive: tuple[Line, ...] = Field(min_length=1)


class Rewrite(Params):
    """An example of a sentence that was rewritten so that it no longer meets a condition."""

    condition: Line
    sentence: Line
    rewrite: Line


class Domain(Params):
    """A domain. `where`: what a clause about one of its documents begins with."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)
    noun: Phrase = Field(description="one document's subject, for example: movie")
    features: tuple[Phrase, ...] = Field(min_length=1, description="what conditions are about")
    instruction: Phrase = Field(description="the opening of an instruction-style query")
    descriptive: Phrase = Field(description="the opening of a descriptive-style query")
    where: Phrase = Field(
        "where", description="before a condition with a subject of its own: in which"
    )
    strategy: Strategy = Field("modify", description="how a sentence is rewritten")
    examples: Examples
    rewrites: tuple[Rewrite, ...] = Field(min_length=1)


@cache
def bundled_domains() -> dict[str, Domain]:
    """The domains of the paper, by name."""
    tree = read_yaml(Path(__file__).parent / "domains.yaml")
    result = [Domain.model_validate(one) for one in tree]
    return {one.name: one for one in result}
