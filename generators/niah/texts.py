"""What haystacks are made of, and what they are."""

from __future__ import annotations

from typing import Literal, NamedTuple

from retgen.generators.niah.fillers import Body
from retgen.generators.niah.params import FillerKind, Order

Kind = Literal["one_hop", "literal", "neutral", "none", "near"]


class Key(NamedTuple):
    """What all haystacks of one filler share. `group`: its index."""

    length: int
    group: int
    number: int
    filler: FillerKind
    filtered: bool
    distractors: int


class Variant(NamedTuple):
    """What stands where in a filler."""

    needle: Kind
    order: Order | Literal[""] = ""
    place: int = -1


class Filler(NamedTuple):
    """A body with its near-answers, and where needles go.

    `parts`: its sentences; `boundaries`: of each place, how many parts stand before it (the last:
    all, and the tail); `offsets`: tokens before each boundary between parts; `body`: its sentences
    but near-answers, by their numbers in the pool; `used`: their texts.
    """

    parts: tuple[str, ...]
    boundaries: tuple[int, ...]
    offsets: tuple[int, ...]
    body: Body
    used: frozenset[int]


class Haystack(NamedTuple):
    """A finished text. `filler`: its number; `span`: characters of the needle; `depth`: tokens
    of the filler before it, as a share of all of the filler: 0 at the beginning, 1 at the end.
    """

    filler: int
    key: Key
    variant: Variant
    text: str
    span: tuple[int, int]
    depth: float


class Gaps(NamedTuple):
    """Of a coherent filler without its tail: its sentences, those of its books that are left out
    between them, and how many books there are. `own_tail`: the tail is of the last one, too.
    """

    sentences: int
    left_out: int
    books: int
    own_tail: bool


class Piece(NamedTuple):
    """A sentence that is put into a filler, and its tokens."""

    text: str
    tokens: int
