"""A domain's YAML file as it is written: its shape; `domain` checks what follows from it."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SlotType = Literal["category", "place", "year", "date", "number", "person", "relation"]
ORDERED: frozenset[SlotType] = frozenset({"year", "date", "number"})
LISTED: frozenset[SlotType] = frozenset({"category", "place"})

Words = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^\S(.*\S)?$")]
End = int | datetime.date | Words

# values as they are nested under their parents, three levels of them at most
_Leaves = list[Words]
Nested = _Leaves | dict[Words, _Leaves | dict[Words, _Leaves | dict[Words, _Leaves]]]


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
    to: int


Part = list[Words] | dict[Literal["she", "he"], list[Words]] | Numbers


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
    of: dict[Words, list[Words]] = Field(min_length=1)


class SlotBlock(_Block):
    """A slot as the file has it."""

    about: Words
    type: SlotType
    values: Words | Nested | None = None
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
