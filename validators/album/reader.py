"""Captions and queries read back into facts, by the templates and names of the domain file.

A template becomes a pattern: its words, and in place of each mark all that can stand there for a
fact. A text is read where one template holds all of it; one that none holds, or two with different
facts, is unreadable. Nothing of the generator is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.facts.queries import UnreadableQuery
from retgen.yaml_text import read_yaml

Facts = Mapping[str, str]

LANGUAGES = ("en", "zh")
NUMBERS = ("1", "2", "3")
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
FACTS = (
    "subject",
    "number",
    "colour",
    "place",
    "action",
    "object",
    "state",
    "moment",
    "topic",
    "month",
    "passing",
    "passing_colour",
    "further",
    "further_colour",
    "mention",
)
ASKED = (
    "thing",
    "number",
    "colour",
    "action",
    "object",
    "state",
    "place",
    "moment",
    "topic",
    "month",
    "other",
)
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
    """All that can stand for a fact. `lengths`: of texts, by their first character."""

    texts: Mapping[str, list[Facts]]
    lengths: Mapping[str, set[int]]


class AlbumDefinition:
    """What the domain file says of captions."""

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

    def values(self, slot: str) -> Iterator[tuple[str, Meaning]]:
        """What a slot can have, and what a query can ask of it."""
        for name, one in self.meanings.items():
            state = slot == "state" if one.part == "actions" else "state" in one.rules
            if one.part in LISTS[slot] and state == ("state" in one.rules):
                yield name, one


class CaptionReader:
    """Reads texts of a language."""

    def __init__(self, definition: AlbumDefinition, language: str) -> None:
        self._definition, self._language = definition, language
        self._words = definition.tree["wordings"][language]
        self._marks: dict[str, Spoken] = {}
        captions, passing, queries = (
            [self._pattern(text) for text in self._words[key]]
            for key in ("captions", "passing", "queries")
        )
        self._captions: list[Any] = [captions, [[], *passing], self._words["stop"]]
        self._queries: list[Any] = [queries]

    def caption(self, text: str) -> list[str]:
        """The facts of a caption, as the corpus notes them in its metadata."""
        facts = self._read(self._captions, text)
        known = self._definition.meanings
        if general := [v for v in facts.values() if v in known and not known[v].leaf]:
            raise Unreadable(f"{general[0]} is a kind of things, and no thing")
        return [f"{slot}={facts[slot]}" for slot in FACTS if slot in facts]

    def query(self, text: str) -> dict[str, str]:
        """What a query asks for, as the queries note it in their metadata."""
        asked = self._read(self._queries, text)
        return {key: asked[key] for key in ASKED if key in asked}

    def _read(self, pattern: Sequence[Any], text: str) -> Facts:
        plain = re.sub(r"\ban (?=[aeiou])", "a ", text.lower())
        found: list[Facts] = []
        problem = "no template holds it"
        for end, facts in _matches(pattern, plain, 0):
            if end < len(plain) or facts in found:
                continue
            deed = facts.get("action")
            done_to = deed is not None and "of" in self._definition.meanings[deed].rules
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
                pieces.append(self._mark(piece[1:-1]))
        return pieces

    def _mark(self, mark: str) -> Spoken:
        """What can stand in place of a mark, with the facts that it states."""
        if mark in self._marks:
            return self._marks[mark]
        slot, _, form = mark.partition(":")
        counted = slot in ("subject", "thing")
        number, colour = ("number", "colour") if counted else ("", f"{slot}_colour")
        forms = [form or "bare"]
        if counted and form in ("n", "a"):
            forms = [*NUMBERS]
            if slot == "thing":  # nobody asks for one of them
                forms[0] = "bare" if form == "n" else form
        result: dict[str, list[Facts]] = {}
        colours = {"": "", **{one: self._colour(one) for one in self._definition.colours}}
        for value, one in self._definition.values(slot):
            if slot == "thing" and form and one.part != "things":
                continue  # a place or a topic is asked for alone
            for name in one.names[self._language]:
                known = self._words.get(one.part, {}).get(len(name), {"bare": "{0}"})
                for which in forms:
                    template = known.get(which)
                    if template is None:
                        continue
                    for shade, said in colours.items() if "{colour}" in template else [("", "")]:
                        facts = {slot: value}
                        facts |= {colour: shade} if shade else {}
                        facts |= {number: which} if number and which in NUMBERS else {}
                        spoken = re.sub(
                            r"\ban (?=[aeiou])", "a ", template.format(*name, colour=said).lower()
                        )
                        if facts not in result.setdefault(spoken, []):
                            result[spoken].append(facts)
        lengths: dict[str, set[int]] = {}
        for text in result:
            lengths.setdefault(text[0], set()).add(len(text))
        self._marks[mark] = Spoken(result, lengths)
        return self._marks[mark]

    def _colour(self, name: str) -> str:
        which = self._definition.colours[name][LANGUAGES.index(self._language)]
        said: str = self._words["colour"].format(which)
        return said


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
        for length in first.lengths.get(text[at : at + 1], ()):
            for facts in first.texts.get(text[at : at + length], ()):
                for stop, more in _matches(rest, text, at + length):
                    if facts.keys().isdisjoint(more):
                        yield stop, {**facts, **more}


@cache
def caption_reader(path: Path, language: str) -> CaptionReader:
    """The reader of a language."""
    return CaptionReader(album_definition(path), language)


@cache
def album_definition(path: Path) -> AlbumDefinition:
    """What a domain file of captions says."""
    return AlbumDefinition(path)
