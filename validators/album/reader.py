"""Captions and queries read back into facts, by the templates and names of the domain file.

A template becomes a pattern: its words, and in place of each mark all that can stand there for a
fact. A text is read where one template holds all of it; one that none holds, or two with different
facts, is unreadable. What a query asks becomes an expression over the facts of a caption. Nothing
of the generator is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.facts.definitions import ValueDefinition
from retgen.validators.facts.queries import UnreadableQuery
from retgen.yaml_text import read_yaml

Facts = Mapping[str, str]
Expression = list[Any]

LANGUAGES = ("en", "zh")
# the lists of the file in which the values of a slot stand
LISTS = {
    "subject": ("things",),
    "action": ("actions",),
    "object": ("things",),
    "state": ("actions",),
    "place": ("places", "landmarks"),
    "moment": ("moments",),
    "topic": ("topics",),
    "month": ("months",),
    "passing": ("things", "landmarks"),
    "further": ("things", "landmarks"),
    "mention": ("topics",),
    "thing": ("things", "landmarks", "places", "topics"),
    "other": ("things", "landmarks"),
}
# the facts of a caption and the parts of a query, in their order
FACTS = tuple(
    "subject number colour place action object state moment topic month passing passing_colour "
    "further further_colour mention".split()
)
ASKED = tuple("thing number colour action object state place moment topic month other".split())

# the slots that may hold a thing, the salient ones and those in passing: where its colour stands
_SALIENT = {"subject": "colour", "object": "", "place": "", "topic": ""}
_IN_PASSING = {"passing": "passing_colour", "further": "further_colour", "mention": ""}
_DEEDS = frozenset(("action", "state", "topic", "month"))  # only a subject does, or is of a topic
_LOOSE = ("other", "place", "moment")  # may be likely, as a thing may of which no more is asked
_PIECE = re.compile(r"(\[.*?\]|\{.*?\})")


class Unreadable(UnreadableQuery):
    """A text that does not read as one scene, or one query; says why."""


class Meaning(NamedTuple):
    """Something that texts name. `above`: what it is a kind of; `names`: by language, in parts."""

    part: str
    above: frozenset[str]
    names: Mapping[str, list[list[str]]]
    leaf: bool
    rules: Mapping[str, Any]


class Spoken(NamedTuple):
    """All that can stand for a fact. `lengths`: of the texts."""

    texts: Mapping[str, list[Facts]]
    lengths: frozenset[int]


class AlbumDefinition:
    """What the domain file says of captions. `values`: of the slots that a caption can have."""

    def __init__(self, path: Path) -> None:
        self.tree: Mapping[str, Any] = read_yaml(path)
        self.meanings: dict[str, Meaning] = {}
        for part in ("things", "landmarks", "places", "moments", "topics", "months"):
            self._add(self.tree[part], part, frozenset(), {})
        for entry in self.tree["actions"]:
            self._add({entry["say"]: entry.get("under", [])}, "actions", frozenset(), entry)
        lines = dict.fromkeys(chain(*self.tree["colours"].values()))
        self.colours = {line.split("; ")[0]: line.split("; ") for line in lines}
        self.kinds = frozenset().union(*(one.above for one in self.meanings.values()))
        self.values = {
            slot: {name: ValueDefinition(name, (), tuple(one.above)) for name, one in self.of(slot)}
            for slot in FACTS
        }
        self._kinds_of = {
            slot: {kind for one in known.values() for kind in one.parents}
            for slot, known in self.values.items()
        }

    def _add(self, lines: Any, part: str, above: frozenset[str], rules: Mapping[str, Any]) -> None:
        for line in lines:
            below = lines[line] if isinstance(lines, dict) else ()
            sides = re.sub(r" [@#!]\w+", "", line).split(";")
            names = {
                language: [name.strip().split(", ") for name in side.split("/")]
                for language, side in zip(LANGUAGES, sides, strict=True)
            }
            name = names["en"][0][0]
            leaf = not below or "!self" in line
            self.meanings[name] = Meaning(part, above, names, leaf, rules)
            # what nobody asks for is no kind
            inner = above if "!unasked" in line else above | {name}
            self._add(below, part, inner, rules)

    def of(self, slot: str) -> Iterator[tuple[str, Meaning]]:
        """What a slot can have, and what a query can ask of it."""
        for name, one in self.meanings.items():
            fits = one.part != "actions" or (slot == "state") == ("state" in one.rules)
            if fits and one.part in LISTS.get(slot, ()):
                yield name, one

    # --- what a query asks ----------------------------------------------------------------------

    def expression(
        self, asked: Facts, *, certain: bool = False, likely: bool = False
    ) -> Expression:
        """What a caption's facts must meet to have all of it. `certain`: in the query's own terms
        and not in passing; `likely`: or to make it likely.
        """
        bound = [one for one in ("number", "colour") if one in asked and "thing" in asked]
        parts = []
        for part in asked:
            if part in bound:
                continue
            if part in ("thing", "other"):
                ways = [*self._held(part, asked, bound if part == "thing" else (), certain)]
            else:
                ways = [self._fits(part, asked[part], certain)]
            alone = part == "thing" and not bound and _DEEDS.isdisjoint(asked)
            if likely and (alone or part in _LOOSE):
                ways += self._causes(asked[part])
            parts.append(["or", *ways])
        return ["and", *parts]

    def _held(
        self, part: str, asked: Facts, bound: Sequence[str], certain: bool
    ) -> Iterator[Expression]:
        """The ways in which a caption holds a thing, of which `bound` is asked as well."""
        slots = _SALIENT if certain else _SALIENT | _IN_PASSING
        if part == "thing" and not _DEEDS.isdisjoint(asked):
            slots = {"subject": "colour"}
        for slot, colour in slots.items():
            of = {"number": "number" if slot == "subject" else "", "colour": colour}
            if all(of[one] for one in bound):
                seen = [["is", of[one], asked[one]] for one in bound]
                yield ["and", self._fits(slot, asked[part], certain), *seen]

    def _fits(self, slot: str, value: str, certain: bool) -> Expression:
        own = ["is", slot, value]
        if certain or value not in self._kinds_of[slot]:
            return own
        return ["or", own, ["within", slot, value]]

    def _causes(self, value: str) -> Iterator[Expression]:
        """What makes something likely."""
        for slot, table in self.tree["likely"].items():
            for cause, effects in table.items():
                if any(value in {effect, *self.meanings[effect].above} for effect in effects):
                    yield self._fits(slot, cause, False)

    def meets(self, facts: Facts, expression: Expression) -> bool:
        """Whether the facts of one caption meet an expression."""
        match expression:
            case ["and", *parts]:
                return all(self.meets(facts, part) for part in parts)
            case ["or", *parts]:
                return any(self.meets(facts, part) for part in parts)
            case ["is", slot, value]:
                return bool(facts.get(slot) == value)
            case ["within", slot, kind]:
                return slot in facts and kind in self.meanings[facts[slot]].above
        raise ValueError(f"no expression: {expression!r}")


class CaptionReader:
    """Reads texts of a language."""

    def __init__(self, definition: AlbumDefinition, language: str) -> None:
        self.definition, self._language = definition, language
        self._words = definition.tree["wordings"][language]
        self._marks: dict[str, Spoken] = {}
        captions, passing, queries = (
            [self._pattern(text) for text in self._words[key]]
            for key in ("captions", "passing", "queries")
        )
        self._captions: list[Any] = [captions, [[], *passing], self._words["stop"]]
        self._queries: list[Any] = [queries]

    def caption(self, text: str) -> dict[str, str]:
        """The facts of a caption, in the order in which the corpus notes them."""
        facts = self._read(self._captions, text)
        known = self.definition.meanings
        if general := [v for v in facts.values() if v in known and not known[v].leaf]:
            raise Unreadable(f"{general[0]} is a kind of things, and no thing")
        return {slot: facts[slot] for slot in FACTS if slot in facts}

    def query(self, text: str) -> dict[str, str]:
        """What a query asks for, as the queries note it in their metadata."""
        asked = self._read(self._queries, text)
        return {key: asked[key] for key in ASKED if key in asked}

    def _read(self, pattern: Sequence[Any], text: str) -> Facts:
        plain = _plain(text)
        found: list[Facts] = []
        problem = "no template holds it"
        for end, facts in _matches(pattern, plain, 0):
            if end != len(plain) or facts in found:
                continue
            deed = facts.get("action")
            done_to = deed is not None and "of" in self.definition.meanings[deed].rules
            if done_to == ("object" in facts):
                found.append(facts)
            elif done_to:
                problem = f"{deed} is done to something, which is not named"
        if not found:
            raise Unreadable(problem)
        if len(found) > 1:
            raise Unreadable(f"it reads as {' and as '.join(map(str, found))}")
        return found[0]

    def _pattern(self, text: str) -> list[Any]:
        """A template in pieces: a text, all that can stand there -> its facts, or alternatives."""
        pieces: list[Any] = []
        for piece in filter(None, _PIECE.split(text)):
            if piece[0] == "[":
                pieces.append([[], self._pattern(piece[1:-1])])
            elif piece[0] != "{":
                pieces.append(piece.lower())
            elif "|" in piece:
                pieces.append([[one] for one in piece[1:-1].split("|")])
            else:
                mark = piece[1:-1]
                if mark not in self._marks:
                    self._marks[mark] = self._mark(*mark.split(":"))
                pieces.append(self._marks[mark])
        return pieces

    def _mark(self, slot: str, form: str = "bare") -> Spoken:
        """What can stand in place of a mark, with the facts that it states."""
        counted = slot in ("subject", "thing")
        forms = [form]
        if counted and form in ("n", "a"):
            single = "bare" if form == "n" else form  # of a thing, nobody asks for one
            forms = ["1" if slot == "subject" else single, "2", "3"]
        which = LANGUAGES.index(self._language)
        colours = {"": ""} | {
            name: self._words["colour"].format(said[which])
            for name, said in self.definition.colours.items()
        }
        texts: dict[str, list[Facts]] = {}
        for value, one in self.definition.of(slot):
            if slot == "thing" and form != "bare" and one.part != "things":
                continue  # a place or a topic is asked for alone
            for name in one.names[self._language]:
                templates = self._words.get(one.part, {}).get(len(name), {"bare": "{0}"})
                for number in filter(templates.__contains__, forms):
                    template = templates[number]
                    stated = {slot: value}
                    if counted and number.isdigit():
                        stated["number"] = number
                    for colour in colours if "{colour}" in template else [""]:
                        shade = {"colour" if counted else f"{slot}_colour": colour}
                        facts = stated | (shade if colour else {})
                        meant = texts.setdefault(
                            _plain(template.format(*name, colour=colours[colour])), []
                        )
                        if facts not in meant:
                            meant.append(facts)
        return Spoken(texts, frozenset(map(len, texts)))


def _plain(text: str) -> str:
    return re.sub(r"\ban (?=[aeiou])", "a ", text.lower())


def _matches(pieces: Sequence[Any], text: str, at: int) -> Iterator[tuple[int, Facts]]:
    """(end, facts) of every way in which pieces hold a text from a place on."""
    if not pieces:
        yield at, {}
        return
    first, *rest = pieces
    if isinstance(first, str):
        if text.startswith(first, at):
            yield from _matches(rest, text, at + len(first))
    elif isinstance(first, list):
        for alternative in first:
            yield from _matches([*alternative, *rest], text, at)
    else:
        for length in first.lengths:
            for facts in first.texts.get(text[at : at + length], ()):
                for stop, more in _matches(rest, text, at + length):
                    if facts.keys().isdisjoint(more):
                        yield stop, {**facts, **more}


@cache
def caption_reader(path: Path, language: str) -> CaptionReader:
    """The reader of a language."""
    return CaptionReader(AlbumDefinition(path), language)
