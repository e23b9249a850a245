"""A family's parameters, and the job that they are part of."""

from __future__ import annotations

from pathlib import Path
from typing import (
    Annotated,
    Generic,
    NamedTuple,
    TypeVar,
)

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo


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
    answers, the others are offline. `sources`: the folder that `generate_with_agents`
    has written to.
    """

    name: str
    seed: int
    params: P
    limit: int | None = None
    live: frozenset[str] = frozenset()
    sources: Path | None = None
