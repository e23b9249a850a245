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


def located(value: Path, info: ValidationInfo) -> Path | None:
    """Where a path of a recipe leads; None where no recipe file is around (a notebook, the schema).

    It is relative to the recipe's folder. One that `--set` gives was typed in the current folder:
    it is looked for there, where the recipe's folder has nothing of the name.
    """
    context = info.context or {}
    folder: Path | None = context.get("folder")
    if folder is None:
        return None
    try:
        path = folder / value.expanduser()
        there = path.exists()
    except (OSError, RuntimeError) as error:  # too long a name; the home of nobody here
        raise ValueError(f"no path can be {str(value)[:60]}: {error.args[-1]}") from error
    if str(value) in context.get("typed", ()) and not there:
        return Path.cwd() / value.expanduser()
    return path


def _resolve(value: Path, info: ValidationInfo) -> Path:
    path = located(value, info)
    if path is None:
        return value
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
