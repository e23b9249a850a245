"""Parameters of the family world: which domain, how many documents, which queries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from retgen.facts.asking import Wording
from retgen.generators.params import Distinct, DomainName, Params
from retgen.generators.world.queries import OPERATORS, Operator

Size = Annotated[int, Field(ge=1, le=1_000_000)]


class WorldParams(Params):
    """A query for every operator, number of answers and wording, equally many of each."""

    domain: DomainName = Field(
        "films", description="the name of a bundled domain, or a .yaml file of your own"
    )
    documents: int = Field(10_000, ge=10, le=100_000_000)
    operators: Annotated[tuple[Operator, ...], Distinct] = Field(OPERATORS, min_length=1)
    answer_sizes: Annotated[tuple[Size, ...], Distinct] = Field(
        (1, 10, 100),
        min_length=1,
        description="relevant documents of a query: exactly so many up to 10, within 10% above",
    )
    wordings: Annotated[tuple[Wording, ...], Distinct] = Field(
        ("literal", "paraphrase", "entailed"),
        min_length=1,
        description="how a condition is asked: in words of documents, in others, one step up",
    )
    queries_per_cell: int = Field(
        3, ge=1, le=10_000, description="of each operator, number of answers and wording"
    )
    hard_negatives: int = Field(
        100, ge=0, le=1000, description="a query, at most: documents that miss one condition"
    )
