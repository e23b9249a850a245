"""A domain's YAML file as it is written: its shape; `domain` checks what follows from it."""

from __future__ import annotations

import datetime
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    model_validator,
)

SlotType = Literal["category", "place", "year", "date", "number", "person", "relation"]
ORDERED: frozenset[SlotType] = frozenset({"year", "date", "number"})
LISTED: frozenset[SlotType] = frozenset({"category", "place"})

_LONGEST = 400  # characters of a text
_LARGEST = 1_000_000_000
_PARENTS = 3  # levels of them, at most


def _words(text: str) -> str:
    """A text on one line; raises `ValueError` for what cannot be seen, or not told apart."""
    if not text or text != text.strip():
        raise ValueError(f"{text!r}: must neither be empty nor begin or end with a blank")
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:20]!r}...: at most {_LONGEST} characters, not {len(text):,}")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp"):
            raise ValueError(f"{text!r}: no invisible characters (U+{ord(character):04X})")
    return text


def _end(given: Any) -> int | datetime.date | str:
    if type(given) is int and 0 <= given <= _LARGEST:
        return given
    if isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        return given
    if isinstance(given, str):
        return _words(given)
    raise ValueError(
        f"{given!r}: a whole number from 0 to {_LARGEST:,}, a day (1990-01-31), or an earlier slot "
        "of the same type and a difference, such as 'birth + 20'"
    )


def _nested(given: Any, parents: tuple[str, ...] = ()) -> Any:
    below = f" under {parents[-1]!r}" if parents else ""
    if isinstance(given, dict) and len(parents) < _PARENTS:
        for parent, inner in given.items():
            _leaf(parent, below)
            _nested(inner, (*parents, parent))
    elif isinstance(given, dict):
        raise ValueError(f"{next(iter(given), '')!r}{below}: at most {_PARENTS} levels of parents")
    elif isinstance(given, list):
        for leaf in given:
            _leaf(leaf, below)
    else:
        raise ValueError(f"must be a list{below}, not {given!r}")
    if not given:
        raise ValueError(f"needs a value{below}")
    return given


def _leaf(given: object, below: str) -> None:
    if isinstance(given, dict | list):
        raise ValueError(f"either values or parents of values{below}, not both in one list")
    if not isinstance(given, str):
        raise ValueError(f"{given!r}{below} must be a text: put it in quotes")
    _words(given)
    if not all(one.strip() for one in given.split("|")):
        raise ValueError(f"{given!r}{below}: a name is missing beside the '|'")


def _values(given: Any) -> Any:
    return _words(given) if isinstance(given, str) else _nested(given)


Words = Annotated[str, AfterValidator(_words)]
End = Annotated[int | datetime.date | str, PlainValidator(_end)]
Nested = Annotated[Any, PlainValidator(_nested)]  # lists of texts, nested under their parents


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entity(_Block):
    """What the documents are about, and the pronoun that relative clauses about it begin with."""

    singular: Words
    plural: Words
    relative: Literal["who", "that"]


class Numbers(_Block):
    """A part of names that is a number."""

    from_: int = Field(alias="from", ge=0)
    to: int = Field(le=1_000_000)

    @model_validator(mode="after")
    def _some(self) -> Numbers:
        if self.to < self.from_:
            raise ValueError(f"'to' ({self.to}) is below 'from' ({self.from_})")
        return self


_Some = Annotated[list[Words], Field(min_length=1)]


def _form(part: Any) -> str:
    if not isinstance(part, dict | Numbers):
        return "listed"
    return "numbers" if isinstance(part, Numbers) or part.keys() & {"from", "to"} else "grouped"


Part = Annotated[
    Annotated[_Some, Tag("listed")]
    | Annotated[dict[Literal["she", "he"], _Some], Field(min_length=1), Tag("grouped")]
    | Annotated[Numbers, Tag("numbers")],
    Discriminator(_form),
]


class PronounOf(_Block):
    """The part of a name that tells which pronoun fits."""

    part: str


class Name(_Block):
    """How entities are named."""

    parts: dict[str, Part] = Field(min_length=1)
    pattern: Words
    short: Words | None = None
    pronoun: Literal["it", "she", "he"] | PronounOf = "it"


class Persons(_Block):
    """Names of persons who are no entities."""

    given: list[Words] = Field(min_length=2)
    family: list[Words] = Field(min_length=2)


class Given(_Block):
    """What values a slot may have, by the value of an earlier one or a parent of it."""

    slot: str
    of: dict[Words, _Some] = Field(min_length=1)


class SlotBlock(_Block):
    """A slot as the file has it."""

    about: Words
    type: SlotType
    values: Annotated[Any, PlainValidator(_values)] = None  # those, or the name of a list
    range: tuple[End, End] | None = None
    step: int = Field(1, ge=1)
    unit: tuple[Words, Words] | None = None
    pool: int | None = Field(None, ge=30)
    before: str | None = None
    by: tuple[int, int] | None = None
    share: float = Field(1.0, gt=0, le=1)
    skew: float = Field(0.7, ge=0, le=3)
    given: Given | None = None
    document: tuple[Words, ...] = Field(min_length=1)
    query: tuple[Words, ...] = Field(min_length=1)
    most: tuple[Words, Words] | None = None
    least: tuple[Words, Words] | None = None


class DomainFile(_Block):
    """A whole file."""

    domain: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)
    about: Words
    entity: Entity
    nouns: tuple[Words, ...] = ()
    name: Name
    persons: Persons | None = None
    lists: dict[str, Nested] = Field(default_factory=dict)
    slots: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], SlotBlock] = Field(
        min_length=2
    )
    others: tuple[Words, ...] = ()
    fillers: tuple[Words, ...] = ()
