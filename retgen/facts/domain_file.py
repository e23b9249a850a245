"""A domain's YAML file as it is written: its shape; `domain` checks what follows from it."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

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

from retgen.tokenizer import STOPWORDS, stems, tokens

SlotType = Literal["category", "place", "year", "date", "number", "person", "relation"]
ORDERED: frozenset[SlotType] = frozenset({"year", "date", "number"})
LISTED: frozenset[SlotType] = frozenset({"category", "place"})

_LONGEST = 400  # characters of a text
LARGEST = 1_000_000_000  # of numbers
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
    if type(given) is int and 0 <= given <= LARGEST:
        return given
    if isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        return given
    if isinstance(given, str):
        return _words(given)
    raise ValueError(
        f"{given!r}: a whole number from 0 to {LARGEST:,}, a day (1990-01-31), or an earlier slot "
        "of the same type and a difference, such as 'birth + 20'"
    )


class Value(NamedTuple):
    """A value of a slot, other names of it, and what it is one of, nearest first."""

    name: str
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    @property
    def above(self) -> tuple[str, ...]:
        """Itself and its parents."""
        return self.name, *self.parents


def _nested(given: Any, parents: tuple[str, ...] = ()) -> tuple[Value, ...]:
    """The values of lists that are nested under their parents."""
    below = f" under {parents[0]!r}" if parents else ""
    result: list[Value] = []
    if isinstance(given, dict) and len(parents) < _PARENTS:
        for parent, inner in given.items():
            _names(parent, below)
            result += _nested(inner, (parent, *parents))
    elif isinstance(given, dict):
        raise ValueError(f"{next(iter(given), '')!r}{below}: at most {_PARENTS} levels of parents")
    elif isinstance(given, list):
        for leaf in given:
            name, *synonyms = _names(leaf, below)
            result.append(Value(name, tuple(synonyms), parents))
    else:
        raise ValueError(f"must be a list{below}, not {given!r}")
    if not given:
        raise ValueError(f"needs a value{below}")
    return tuple(result)


def _names(given: object, below: str) -> list[str]:
    """The names of a value, or of a parent."""
    if isinstance(given, dict | list):
        raise ValueError(f"either values or parents of values{below}, not both in one list")
    if not isinstance(given, str):
        raise ValueError(f"{given!r}{below} must be a text: put it in quotes")
    names = [one.strip() for one in _words(given).split("|")]
    if not all(names):
        raise ValueError(f"{given!r}{below}: a name is missing beside the '|'")
    return names


def _values(given: Any) -> str | tuple[Value, ...]:
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


def part_values(part: list[str] | dict[Literal["she", "he"], list[str]] | Numbers) -> list[str]:
    """The values of a part of names."""
    if isinstance(part, Numbers):
        return [str(number) for number in range(part.from_, part.to + 1)]
    return [*chain(*part.values())] if isinstance(part, dict) else part


class PronounOf(_Block):
    """The part of a name that tells which pronoun fits."""

    part: str


class NamingBlock(_Block):
    """How entities are named."""

    parts: dict[str, Part] = Field(min_length=1)
    pattern: Words
    short: Words | None = None
    pronoun: Literal["it", "she", "he"] | PronounOf = "it"


class Persons(_Block):
    """Names of persons who are no entities."""

    given: list[Words] = Field(min_length=2)
    family: list[Words] = Field(min_length=2)


# values, or parents of values; of a slot of numbers or years the lowest and the highest
Members = _Some | tuple[int, int]


class DependentValues(_Block):
    """What values go with the value of an earlier slot.

    Of a value of that slot, or a parent: `of` has the only values that go with it, `except` those
    that do not. Of a year or number: `from` and `until` have values that there are only from it on,
    or up to it; of numbers, `from` has the range that holds from it on.
    """

    slot: str
    of: dict[Words, Members] = Field(default_factory=dict)
    but: dict[Words, _Some] = Field(default_factory=dict, alias="except")
    since: dict[int, Members] = Field(default_factory=dict, alias="from")
    until: dict[int, _Some] = Field(default_factory=dict)


class SlotBlock(_Block):
    """A slot as the file has it."""

    about: Words
    type: SlotType
    values: Annotated[Any, PlainValidator(_values)] = None  # those, or the name of a list
    range: tuple[End, End] | None = None
    step: int = Field(1, ge=1)
    weekdays: Literal[True] | None = None
    aside: Literal[True] | None = None
    unit: tuple[Words, Words] | None = None
    pool: int | None = Field(None, ge=30)
    before: str | None = None
    by: tuple[int, int] | None = None
    share: float = Field(1.0, gt=0, le=1)
    skew: float = Field(0.7, ge=0, le=3)
    given: tuple[DependentValues, ...] = ()
    document: tuple[Words, ...] = Field(min_length=1)
    query: tuple[Words, ...] = Field(min_length=1)
    most: tuple[Words, Words] | None = None
    least: tuple[Words, Words] | None = None


class ShapePart(_Block):
    """A part of a shape: facts that belong together, in their order, and what states none.

    Slots in a list of their own may share a sentence: `slots: [[birthplace, birth], siblings]`.
    `lead`: connectives before them ("as for the music"); `say`: sentences behind them. A part
    without slots says one of its sentences in every document: an opening, an end; without `say`
    one of the domain's fillers.
    """

    slots: tuple[str | tuple[str, ...], ...] = ()
    lead: tuple[Words, ...] = ()
    say: tuple[Words, ...] = ()

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The slots, those together that may share a sentence."""
        return [(one,) if isinstance(one, str) else one for one in self.slots]


class DomainFile(_Block):
    """A whole file."""

    domain: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)
    about: Words
    entity: Entity
    nouns: tuple[Words, ...] = ()
    name: NamingBlock
    persons: Persons | None = None
    lists: dict[str, Nested] = Field(default_factory=dict)
    slots: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], SlotBlock] = Field(
        min_length=2
    )
    others: tuple[Words, ...] = ()
    fillers: tuple[Words, ...] = ()
    shapes: dict[Words, tuple[ShapePart, ...]] = Field(default_factory=dict)


Problem = tuple[tuple[str | int, ...], str]  # where in the file, and what is wrong there

_MARK = re.compile(r"\{([^{}]*)\}")
# words that carry grammar, beside the tokenizer's stop words
_GRAMMAR = frozenset(
    "who whose whom that which one ones has had have having is was were are be been being did does "
    "do done can could would should may might must once ever also both either neither".split()
)


def content_words(wording: str, entity: frozenset[str] = frozenset()) -> frozenset[str]:
    """Stems of the words that carry meaning, without marks and `entity`, the entity's nouns."""
    words = [
        word
        for word in tokens(_MARK.sub(" ", wording))
        if word not in STOPWORDS and word not in _GRAMMAR and word not in ("s", "t")
    ]
    return frozenset(stems(words)) - entity


def skeleton(wording: str) -> str:
    """A wording without what changes from text to text."""
    return " ".join(_MARK.sub(" # ", wording).casefold().split())


def problems_of_wordings(file: DomainFile) -> Iterator[Problem]:
    """All that is wrong with the wordings of a domain."""
    nouns = (file.entity.singular, file.entity.plural, *file.nouns)
    entity = frozenset().union(*(content_words(noun) for noun in nouns))
    seen: dict[str, str] = {}
    for name, block in file.slots.items():
        for i, wording in enumerate(block.document):
            for said in _document(wording, block):
                yield ("slots", name, "document", i), said
        for i, wording in enumerate(block.query):
            for said in _query(wording, file.entity.relative):
                yield ("slots", name, "query", i), said
        if not any(one.startswith(("{S} ", "{P} ")) for one in block.document):
            yield (
                ("slots", name, "document"),
                "none begins with '{S} ' or '{P} ', so no query can ask in its words",
            )
        told = {w: one for one in block.document for w in content_words(one, entity)}
        for i, wording in enumerate(block.query):
            for word in sorted(content_words(wording, entity) & told.keys()):
                yield (
                    ("slots", name, "query", i),
                    f"shares {word!r} with the document wording {told[word]!r}",
                )
        for kind in ("document", "query"):
            for i, wording in enumerate(getattr(block, kind)):
                timed = block.type in ("year", "date")  # "married {v}": in 1950, or Ann Lee
                other = seen.setdefault(f"{kind} {timed} {skeleton(wording)}", name)
                if other != name or skeleton(wording) in map(skeleton, getattr(block, kind)[:i]):
                    yield ("slots", name, kind, i), f"reads the same as a wording of {other}"
    for i, wording in enumerate(file.others):
        if _MARK.findall(wording) != ["P"] or re.search(r"[{}]", _MARK.sub("", wording)):
            yield ("others", i), "must hold {P} once, and no other mark"
    for i, wording in enumerate(file.fillers):
        for said in _idle(wording):
            yield ("fillers", i), said
    for name, parts in file.shapes.items():
        yield from _shape(name, parts, file)


def _shape(name: str, parts: Sequence[ShapePart], file: DomainFile) -> Iterator[Problem]:
    """Every slot stands in one part, and what is said beside facts states none."""
    listed = [slot for part in parts for group in part.groups for slot in group]
    for slot in file.slots:
        if listed.count(slot) != 1:
            yield (("shapes", name), f"{slot!r} stands in {listed.count(slot)} parts, not in one")
    for slot in dict.fromkeys(listed):
        if slot not in file.slots:
            yield ("shapes", name), f"there is no slot {slot!r}"
    for i, part in enumerate(parts):
        at = ("shapes", name, i)
        if not part.slots and (part.lead or not (part.say or file.fillers)):
            yield at, "a part without slots has sentences under 'say' (or 'fillers'), and no 'lead'"
        for k, wording in enumerate(part.say):
            for said in _idle(wording):
                yield (*at, "say", k), said
        for k, lead in enumerate(part.lead):
            if "{" in lead or "}" in lead or lead.endswith(","):
                yield (*at, "lead", k), "a connective holds no mark, and no comma at its end"


def _common(wording: str) -> Iterator[str]:
    """What no wording may have."""
    if re.search(r"[{}]", _MARK.sub("", wording)):
        yield "a brace is left over"
    if wording.endswith((".", "!", "?")):
        yield "must not end with a full stop"


def _idle(wording: str) -> Iterator[str]:
    """What is wrong with a sentence without a fact."""
    yield from _common(wording)
    if set(_MARK.findall(wording)) - {"S", "P", "O"}:
        yield "may hold {S}, {P} and {O} only"


def _document(wording: str, block: SlotBlock) -> Iterator[str]:
    yield from _common(wording)
    marks = _MARK.findall(wording)
    values = [mark for mark in marks if mark in ("v", "n")]
    if unknown := [mark for mark in marks if mark not in ("S", "P", "O", "v", "n")]:
        yield f"unknown mark {{{unknown[0]}}}; possible are {{S}}, {{P}}, {{O}}, {{v}}, {{n}}"
    if len(values) != 1:
        yield "must hold {v} (or {n}) once"
    if "n" in values and block.type not in ("year", "date"):
        yield f"{{n}} is for years and dates, not for a {block.type}"
    if not {"S", "P", "O"} & set(marks):
        yield "must hold {S}, {P} or {O}, or nobody knows whom it is about"


def _query(wording: str, relative: str) -> Iterator[str]:
    yield from _common(wording)
    if not wording.startswith((f"{relative} ", "whose ")):
        yield f"must begin with '{relative} ' or 'whose '"
    if _MARK.findall(wording) != ["v"]:
        yield "must hold {v} once, and no other mark"
