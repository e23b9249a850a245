"""A text as sentences of concepts: what each word, name or value is, implies and excludes.

Function words make no concept; they stay in the row as units, where the clauses are read off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Literal

from retgen.generators.multiconir.judge.dates import Token, Value
from retgen.generators.multiconir.judge.lists import GAPS, forms, lexicon, words
from retgen.generators.multiconir.judge.stems import stem
from retgen.generators.multiconir.judge.values import read_value

_TOKEN = re.compile(
    r"\d{2,3}/\d{2,3}\b|\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:['’]?s\b|st\b|nd\b|rd\b|th\b)?"
    r"|(?:[A-Z]\.){2,}|[^\W\d_]+n['’]t\b|[^\W\d_]+(?:['’](?!s\b|\W|$)[^\W\d_]+)?|['’]s\b"
    r"|[$€£¥%]|--|\S"
)
_END = re.compile(r"[.!?]+[\"'”’)]*(?=\s+[\"'“‘(]*[^\Wa-z_]|\s*$)|\n+")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|No|vs|v|Jr|Sr|Prof|Rev|Gen|approx)|\b[A-Z])$")


_PARENTS = frozenset(["father", "mother", "parent", "dad", "mum"])  # "father of three"


@dataclass(slots=True, eq=False)
class Concept:
    """A content word, a name or a value in its place. Sets hold stems and ids of synonym groups."""

    key: str
    kind: Literal["word", "name", "value"]
    start: int
    end: int
    ids: frozenset[str] = frozenset()  # what it may be called
    implies: frozenset[str] = frozenset()  # `ids`, and all it is a kind or a part of
    opposite: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    value: Value | None = None
    place: bool = False
    share: float = 1.0  # of a name of three words each is a third
    weak: bool = False  # a condition holds without it
    role: str = "o"  # "s" subject (and agent), "o" object or complement, else the preposition
    phrase: int = 0  # number of its phrase in the sentence
    position: int = 0  # index among the concepts of the sentence
    negated: bool = False
    possessed: bool = False  # "her brother"
    verb: bool = False  # it is the verb of its clause


@dataclass(slots=True)
class Unit:
    """One word or mark of a sentence, with its concept where it has one."""

    low: str
    start: int
    end: int
    concept: Concept | None = None
    text: str = field(default="", repr=False)
    hyphen: bool = False  # the second part of "half-built"


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence."""
    start = 0
    for found in _END.finditer(text):
        if text[found.start()] == "." and _ABBREVIATION.search(text[: found.start()]):
            continue
        if text[start : found.end()].strip():
            yield start, found.end()
        start = found.end()
    if text[start:].strip():
        yield start, len(text)


def units_of(text: str, start: int, end: int) -> list[Unit]:
    """The words and marks of `text[start:end]`."""
    tokens = [
        Token(found[0], found[0].casefold().replace("’", "'"), found.start(), found.end())
        for found in _TOKEN.finditer(text, start, end)
    ]
    stems = [stem(token.low) for token in tokens]
    function = forms("function")
    units: list[Unit] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        row, after = _row(tokens, stems, i)
        value = read_value(tokens, i) if len(row) == 1 else None
        if value is not None:
            found, begin, after = value
            while units and units[-1].start >= tokens[begin].start:
                units.pop()
            span = tokens[begin].start, tokens[after - 1].end
            concept = Concept(found.unit, "value", *span, value=found)
            units.append(Unit("#", *span, concept))
            i = after
            continue
        span = token.start, tokens[after - 1].end
        word = len(row) > 1 or (token.low[0].isalpha() and token.low not in function)
        # capitals tell a function word from a name ("IT", "Will") only within a sentence
        concept_ = _concept(" ".join(row), tokens, i, after) if word else None
        # a verb of several words is read as a verb by its first one
        by_first = len(row) == 1 or concept_ is None or row[0] in lexicon().verbs
        low = token.low if by_first or row[0] == "be" else " ".join(row)
        units.append(Unit(low, *span, concept_, token.text))
        i = after
    for one, two in pairwise(units):
        two.hyphen = one.low == "-"
    for i, unit in enumerate(units[:-2]):
        if unit.concept is not None and unit.concept.key in _PARENTS and units[i + 1].low == "of":
            number = units[i + 2].concept
            if number is not None and number.value is not None and number.value.unit == "count":
                unit.concept.implies |= {"child"} | lexicon().same.get("child", frozenset())
    return [unit for unit in units if unit.low not in ("-", '"', "“", "”", "'", "’", "‘", ".")]


def _row(tokens: Sequence[Token], stems: Sequence[str], i: int) -> tuple[tuple[str, ...], int]:
    """The longest listed row of words that begins at `i`, and the token after it."""
    for row in lexicon().joined.get(stems[i], ()):
        j = i + 1
        for part in row[1:]:
            while j < len(tokens) and tokens[j].low in GAPS and stems[j] != part:
                j += 1
            if j == len(tokens) or stems[j] != part:
                break
            j += 1
        else:
            return row, j
    return (stems[i],), i + 1


def _concept(row: str, tokens: Sequence[Token], i: int, after: int) -> Concept:
    lex = lexicon()
    key = row
    ids = frozenset((key,)) | lex.same.get(key, frozenset())
    listed = key in lex.same or key in lex.sets or key in lex.above or key in lex.opposite
    name = tokens[i].text[0].isupper() and (i > 0 or _opens_with_name(tokens, i, listed))
    parts = frozenset() if name and (key in lex.sets or key in lex.places) else _parts(key)
    opposite = lex.opposite.get(key, frozenset())
    return Concept(
        key,
        "name" if name else "word",
        tokens[i].start,
        tokens[after - 1].end,
        ids,
        ids | lex.above.get(key, frozenset()) | parts,
        opposite.union(*(lex.opposite.get(part, ()) for part in key.split())),
        lex.sets.get(key, frozenset()),
        place=key in lex.places,
        weak=key in words("weak"),
    )


@cache
def _parts(key: str) -> frozenset[str]:
    """What the words that define a noun say each: a "prison sentence" is a sentence."""
    lex, parts = lexicon(), key.split()
    told = list(lex.defined.get(key, ()))
    simple = len(parts) == 2 and forms("function").isdisjoint(parts)
    if simple and key not in lex.verbs and parts[0] != "be":
        own = lex.sets.get(key, frozenset())
        told += [part for part in parts[1:] if own.isdisjoint(lex.sets.get(part, ()))]
    return frozenset(told).union(*(lex.same.get(part, ()) for part in told))


def _opens_with_name(tokens: Sequence[Token], i: int, listed: bool) -> bool:
    """Whether the capital that a sentence begins with is a name's."""
    if listed or i + 1 == len(tokens) or tokens[i].low.endswith(("ed", "ing", "ly")):
        return False
    following = tokens[i + 1]
    if following.text[0].isupper() or following.low in ("'s", "was", "is", "had", "has", "who"):
        return True
    return stem(following.low) in lexicon().verbs and following.low.endswith(("ed", "s"))
