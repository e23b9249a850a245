"""What can be seen, said in both languages: album.yaml read into concepts.

    "dog, dogs; 狗, 只 @any #coat"    below    "canine, canines; 犬科动物, 只"

A concept is named by its first English name. Names after the first are exact synonyms.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.yaml_text import read_yaml

FILE = Path(__file__).parent / "album.yaml"
_TAG = re.compile(r" ([@#!]\w+)")
_UNIT = re.compile(r"(.+) \[(.+), (.+)\]")


class Name(NamedTuple):
    """A name, and what else a language needs of it.

    English things: the plural and the unit ("plate", "plates") of what is not counted itself.
    English places: `also` is the preposition with its article. Chinese: the measure word, or what
    follows the name of a place ("上").
    """

    text: str
    also: str = ""
    unit: tuple[str, str] | None = None


@dataclass(frozen=True)
class Concept:
    """One meaning. `parents`: what it is a kind of, nearest first; `kind`: the last of them.

    `part`: thing, topic, month, place, landmark, moment or action. `leaf`: captions may name it.
    `where`: "in", "out" or "any". `by`, `of`: of an action, who does it and to what. `state`: an
    action that is nothing that goes on. `asked`: queries may name it.
    """

    name: str
    part: str
    english: tuple[Name, ...]
    chinese: tuple[Name, ...]
    parents: tuple[str, ...] = ()
    leaf: bool = True
    where: str = "any"
    colours: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    state: bool = False
    asked: bool = True

    @property
    def kind(self) -> str:
        return self.parents[-1] if self.parents else self.name

    def within(self, names: Sequence[str]) -> bool:
        """Whether it is one of `names`, or a kind of one."""
        return self.name in names or any(parent in names for parent in self.parents)


@dataclass
class Album:
    """All concepts by name, the colours with their Chinese names, and the forms of scenes."""

    concepts: dict[str, Concept] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)
    scenes: list[Mapping[str, Any]] = field(default_factory=list)

    def of_part(self, part: str) -> list[Concept]:
        """The concepts of a part, in the order of the file."""
        return [one for one in self.concepts.values() if one.part == part]

    def leaves(self, names: Sequence[str], side: str) -> list[Concept]:
        """What captions name of these kinds and their own, on one side of the door."""
        return [
            one
            for one in self.concepts.values()
            if one.leaf
            and (one.part in ("thing", "landmark"))
            and (one.within(names) or (one.part in names))
            and one.where in ("any", side)
        ]


@cache
def album() -> Album:
    """The bundled album."""
    tree = read_yaml(FILE)
    result = Album(scenes=tree["scenes"])
    palettes: dict[str, tuple[str, ...]] = {"none": ()}
    for palette, colours in tree["colours"].items():
        pairs = [tuple(line.split("; ")) for line in colours]
        result.colours |= dict(pairs)
        palettes[palette] = tuple(english for english, _ in pairs)
    lines = [
        (line, part, above, leaf)
        for part, key in (("thing", "things"), ("topic", "topics"), ("month", "months"),
                          ("place", "places"), ("landmark", "landmarks"), ("moment", "moments"))
        for line, above, leaf in _walk(tree[key], ())
    ]  # fmt: skip
    for line, part, above, leaf in lines:
        own = _TAG.findall(line)
        tags = [*(tag for one in above for tag in _TAG.findall(one) if tag[0] != "!"), *own]
        where = [tag[1:] for tag in tags if tag[0] == "@"] or ["any"]
        colours = [tag[1:] for tag in tags if tag[0] == "#"] or ["none"]
        parents = tuple(_first(one) for one in reversed(above))
        if part == "place":
            where = ["in" if "indoors" in (*parents, _first(line)) else "out"]
        if part == "landmark":
            where = ["out"]
        english, chinese = _names(line, part)
        _add(result, Concept(_first(line), part, english, chinese, parents,
                             leaf or "!self" in own, where[-1],
                             palettes[colours[-1]], asked="!unasked" not in tags))  # fmt: skip
    for entry in tree["actions"]:
        above = (entry["say"],) if "under" in entry else ()
        for line in [*above, *entry.get("under", [entry["say"]])]:
            parents = tuple(_first(one) for one in above if one != line)
            english, chinese = _names(line, "action")
            _add(result, Concept(_first(line), "action", english, chinese, parents,
                                 not above or bool(parents), by=tuple(entry["by"]),
                                 of=tuple(entry.get("of", ())),
                                 state=entry.get("state", False)))  # fmt: skip
    return result


def digest() -> str:
    """SHA-256 of the file of words."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()


def _add(result: Album, concept: Concept) -> None:
    if concept.name in result.concepts:
        raise ValueError(f"{FILE.name}: two concepts are called {concept.name!r}")
    result.concepts[concept.name] = concept


def _walk(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Lines with those above them, from the top, and whether nothing stands below."""
    if isinstance(tree, list):
        for line in tree:
            yield line, above, True
        return
    for line, below in tree.items():
        yield line, above, not below
        yield from _walk(below, (*above, line))


def _first(line: str) -> str:
    return re.split(r"[,;\[/]", _TAG.sub("", line))[0].strip()


def _names(line: str, part: str) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    english, chinese = (side.strip() for side in _TAG.sub("", line).split(";"))
    names = []
    for one in english.split(" / "):
        unit = _UNIT.fullmatch(one)
        if unit is not None:
            names.append(Name(unit[1], "", (unit[2], unit[3])))
        else:
            text, _, also = one.partition(", ")
            names.append(Name(text, also))
    whole, _, follows = chinese.partition(",")
    return tuple(names), tuple(Name(one, follows.strip()) for one in whole.split(" / "))
