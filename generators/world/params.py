"""Parameters of the family world: which domain, how many documents, which queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo

from retgen.generators.params import Params, located
from retgen.generators.world.queries import OPERATORS, Operator
from retgen.messages import did_you_mean
from retgen.world.asking import Wording
from retgen.world.domain import bundled

_FILES = (".yaml", ".yml")
T = TypeVar("T")


def _domain(value: Path | str, info: ValidationInfo) -> Path | str:
    """A name, or the path of a file; a run keeps a copy of the file."""
    if Path(value).suffix not in _FILES:
        if str(value) not in bundled():
            hint = did_you_mean(str(value), bundled()) or "."
            raise ValueError(
                f"there is no domain {str(value)!r}{hint} Bundled: {', '.join(bundled())}. One of "
                "your own is named by its .yaml file"
            )
        return str(value)
    path = located(Path(value), info)
    if path is not None and not path.is_file():
        raise ValueError(f"there is no domain file {path}")
    return path or Path(value)


def _distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    if len(set(values)) < len(values):
        raise ValueError("a value stands there twice")
    return values


Distinct = AfterValidator(_distinct)
Size = Annotated[int, Field(ge=1, le=1_000_000)]


class WorldParams(Params):
    """A query for every operator, number of answers and wording, equally many of each."""

    domain: Annotated[Path | str, AfterValidator(_domain)] = Field(
        "films", description="the name of a bundled domain, or a .yaml file of your own"
    )
    documents: int = Field(10_000, ge=10, le=100_000_000)
    operators: Annotated[tuple[Operator, ...], Distinct] = Field(OPERATORS, min_length=1)
    answer_sizes: Annotated[tuple[Size, ...], Distinct] = Field(
        (1, 10, 100), min_length=1,
        description="relevant documents of a query: exactly so many up to 10, within 10% above",
    )  # fmt: skip
    wordings: Annotated[tuple[Wording, ...], Distinct] = Field(
        ("literal", "paraphrase", "entailed"), min_length=1,
        description="how a condition is asked: in words of documents, in others, one step up",
    )  # fmt: skip
    queries_per_cell: int = Field(
        3, ge=1, le=10_000, description="of each operator, number of answers and wording"
    )
    hard_negatives: int = Field(
        100, ge=0, le=1000, description="a query, at most: documents that miss one condition"
    )
    slots: Annotated[tuple[str, ...], Distinct] | None = Field(
        None, min_length=1, description="what queries may ask about; default: everything"
    )
