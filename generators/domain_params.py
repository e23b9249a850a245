"""Parameters of families that draw on a world: its domain, and lists without repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo

from retgen.errors import RecipeError
from retgen.generators.params import InputFile, located
from retgen.messages import did_you_mean
from retgen.validators.world.definitions import read_definition
from retgen.validators.world.queries import QueryReader
from retgen.validators.world.slot_patterns import read_patterns
from retgen.world.domain import bundled_domains

_FILES = (".yaml", ".yml")
T = TypeVar("T")


def _domain(value: Path | str, info: ValidationInfo) -> Path | str:
    """A name, or the path of a file; a run keeps a copy of the file."""
    if Path(value).suffix not in _FILES:
        if str(value) not in bundled_domains():
            hint = did_you_mean(str(value), bundled_domains()) or "."
            raise ValueError(
                f"there is no domain {str(value)!r}{hint} Bundled: {', '.join(bundled_domains())}. "
                "One of your own is named by its .yaml file"
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


DomainName = Annotated[Path | str, AfterValidator(_domain)]
Distinct = AfterValidator(_distinct)
Patterns = Annotated[
    InputFile | None,
    Field(
        description="words by which the proof tells the slots of a domain of your own: "
        "my_domain.patterns.yaml beside my_domain.yaml"
    ),
]


def check_patterns(domain: Path | str, named: Path | None, path: Path) -> None:
    """Raise `RecipeError` where patterns are not those beside a domain, whose file is `path`, and
    `UsageError` where the proof could not use them.
    """
    if named is not None and not isinstance(domain, Path):
        raise RecipeError(f"params.patterns: for a domain of your own, and {domain} is bundled")
    patterns = path.with_suffix(".patterns.yaml")
    if named is None and isinstance(domain, Path) and patterns.is_file():
        raise RecipeError(
            f"params.patterns: name {patterns.name}, which stands beside the domain, so that a run "
            "keeps a copy of both"
        )
    if named is not None and named.resolve() != patterns:
        raise RecipeError(f"params.patterns: {named} is read only as {patterns}, beside the domain")
    if isinstance(domain, Path):
        definition = read_definition(path)
        QueryReader(definition, read_patterns(definition, path))
