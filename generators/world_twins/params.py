"""Parameters of the family world_twins: which domain, how many triples of which kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from retgen.facts.asking import Wording
from retgen.facts.domain_file import SlotType
from retgen.generators.params import Distinct, DomainName, Params
from retgen.generators.world_twins.contrasts import Contrast

Length = Annotated[int, Field(ge=2, le=100)]
Conditions = Annotated[int, Field(ge=2, le=4)]


class TwinsParams(Params):
    """Triples for every type of the changed slot and every length, equally many of each."""

    domain: DomainName = Field(
        "films", description="the name of a bundled domain, or a .yaml file of your own"
    )
    triples_per_cell: int = Field(10, ge=1, le=500, description="of each slot type and length")
    slot_types: Annotated[tuple[SlotType, ...], Distinct] | None = Field(
        None, min_length=1, description="of the fact that is changed; default: all of the domain"
    )
    lengths: Annotated[tuple[Length, ...], Distinct] = Field(
        (4, 8, 16), min_length=1, description="facts that a document states"
    )
    wordings: Annotated[tuple[Wording, ...], Distinct] = Field(
        ("literal", "paraphrase", "entailed"),
        min_length=1,
        description="a query of each for every triple; names are never entailed",
    )
    conditions: Annotated[tuple[Conditions, ...], Distinct] = Field(
        (2, 3, 4),
        min_length=1,
        description="of a query, the changed fact's among them: drawn for each triple",
    )
    contrasts: Annotated[tuple[Contrast, ...], Distinct] = Field(
        (),
        description="further queries of every triple, each with one difference, in literal words",
    )
