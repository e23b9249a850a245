"""A family's parameters, and the job that they are part of."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

if TYPE_CHECKING:
    from retgen.facts.domain import Domain


T = TypeVar("T")


class Params(BaseModel):
    """Base of a family's parameters: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def resolved_path(value: Path, info: ValidationInfo) -> Path | None:
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
    path = resolved_path(value, info)
    if path is None:
        return value
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    if len(set(values)) < len(values):
        raise ValueError("a value stands there twice")
    return values


Distinct = AfterValidator(_distinct)  # of a list without repeats
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

    def source_folder(self) -> Path:
        """The folder that `generate_with_agents` has written to. Raises ValueError before that."""
        if self.sources is None:
            raise ValueError("the agents of this job have not been asked")
        return self.sources


# --- domains of facts ---------------------------------------------------------------------------

_FILES = (".yaml", ".yml")


def _domain(value: Path | str, info: ValidationInfo) -> Path | str:
    """A name, or the path of a file; a run keeps a copy of the file."""
    from retgen.facts.domain import bundled_domains, unknown_domain

    if Path(value).suffix not in _FILES:
        if str(value) not in bundled_domains():
            raise ValueError(unknown_domain(str(value)))
        return str(value)
    path = resolved_path(Path(value), info)
    if path is not None and not path.is_file():
        raise ValueError(f"there is no domain file {path}")
    return path or Path(value)


DomainName = Annotated[Path | str, AfterValidator(_domain)]


def check_readable(domain: Path | str, path: Path) -> None:
    """Raise `UsageError` where the proof could not read texts of one's own domain."""
    if isinstance(domain, Path):
        # what reads texts is not needed for recipes of other families
        from retgen.validators.facts.queries import domain_readers

        domain_readers(path)


def domain_digest(domain: Domain) -> dict[str, str]:
    """The word list that a domain is: its name, and the SHA-256 of its file."""
    return {f"domain {domain.name}": hashlib.sha256(domain.path.read_bytes()).hexdigest()}
