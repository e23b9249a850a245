"""Scenes: typed facts over the concepts of album.yaml, drawn without repeats.

    "dog, dogs; 狗, 只 @any #coat"    below    "canine, canines; 犬科动物, 只"

A concept is what can be seen, said in both languages. Its first English name is its id; names after
the first are exact synonyms.

A *form* is a kind of scene: who does what, indoors or outdoors, with so many things in passing. Its
scenes are a product of three lists, so they can be counted, and a keyed permutation of the product
deals them out. Forms take turns on a schedule that keeps their shares. Scene i depends on nothing
but the seed and i.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from typing import Any, Literal, NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.streams import Permutation, Stream
from retgen.validators.album import ALBUM_FILE
from retgen.yaml_text import read_yaml

_TAG = re.compile(r" ([@#!]\w+)")
_UNIT = re.compile(r"(.+) \[(.+), (.+)\]")
SLOTS = 1000  # places on the schedule

# of the captions of a form: with nothing, one and two things in passing
_PASSING = (0.25, 0.5, 0.25)
_FEWEST = 250  # scenes of a form: one with fewer would soon be used up
Side = Literal["in", "out"]


# --- concepts -------------------------------------------------------------------------------------


class ConceptName(NamedTuple):
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
    english: tuple[ConceptName, ...]
    chinese: tuple[ConceptName, ...]
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
class ConceptCatalogue:
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
def bundled_catalogue() -> ConceptCatalogue:
    """The bundled album."""
    tree = read_yaml(ALBUM_FILE)
    result = ConceptCatalogue(scenes=tree["scenes"])
    palettes: dict[str, tuple[str, ...]] = {"none": ()}
    for palette, colours in tree["colours"].items():
        pairs = [tuple(line.split("; ")) for line in colours]
        result.colours |= dict(pairs)
        palettes[palette] = tuple(english for english, _ in pairs)
    lines = [
        (line, part, above, leaf)
        for part, key in (
            ("thing", "things"),
            ("topic", "topics"),
            ("month", "months"),
            ("place", "places"),
            ("landmark", "landmarks"),
            ("moment", "moments"),
        )
        for line, above, leaf in _walk(tree[key], ())
    ]
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
        _add(
            result,
            Concept(
                _first(line),
                part,
                english,
                chinese,
                parents,
                leaf or "!self" in own,
                where[-1],
                palettes[colours[-1]],
                asked="!unasked" not in tags,
            ),
        )
    for entry in tree["actions"]:
        above = (entry["say"],) if "under" in entry else ()
        for line in [*above, *entry.get("under", [entry["say"]])]:
            parents = tuple(_first(one) for one in above if one != line)
            english, chinese = _names(line, "action")
            _add(
                result,
                Concept(
                    _first(line),
                    "action",
                    english,
                    chinese,
                    parents,
                    not above or bool(parents),
                    by=tuple(entry["by"]),
                    of=tuple(entry.get("of", ())),
                    state=entry.get("state", False),
                ),
            )
    return result


def catalogue_digest() -> str:
    """SHA-256 of the file of words."""
    return hashlib.sha256(ALBUM_FILE.read_bytes()).hexdigest()


def _add(result: ConceptCatalogue, concept: Concept) -> None:
    if concept.name in result.concepts:
        raise ValueError(f"{ALBUM_FILE.name}: two concepts are called {concept.name!r}")
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


def _names(line: str, part: str) -> tuple[tuple[ConceptName, ...], tuple[ConceptName, ...]]:
    english, chinese = (side.strip() for side in _TAG.sub("", line).split(";"))
    names = []
    for one in english.split(" / "):
        unit = _UNIT.fullmatch(one)
        if unit is not None:
            names.append(ConceptName(unit[1], "", (unit[2], unit[3])))
        else:
            text, _, also = one.partition(", ")
            names.append(ConceptName(text, also))
    whole, _, follows = chinese.partition(",")
    return tuple(names), tuple(ConceptName(one, follows.strip()) for one in whole.split(" / "))


# --- scenes ---------------------------------------------------------------------------------------


class PassingDetail(NamedTuple):
    """Something in passing."""

    thing: str
    colour: str | None = None


class Scene(NamedTuple):
    """What a caption says, all of it. Names are those of concepts."""

    subject: str
    number: int = 1
    colour: str | None = None
    action: str | None = None
    object: str | None = None
    place: str | None = None
    moment: str | None = None
    topic: str | None = None
    month: str | None = None
    passing: tuple[PassingDetail, ...] = ()

    def facts(self) -> list[str]:
        """The facts as the corpus states them in its metadata."""
        rows = [
            f"{name}={value}"
            for name, value in zip(self._fields[:-1], self[:-1], strict=True)
            if value is not None
        ]
        for thing, colour in self.passing:
            rows.append(f"passing={thing}" if colour is None else f"passing={colour} {thing}")
        return rows


class _Core(NamedTuple):
    subject: str
    number: int
    colour: str | None
    object: str | None


@dataclass
class Form:
    """Scenes that differ in everything but their action, their side and how much is in passing."""

    share: float
    cores: Sequence[tuple[Any, ...]]
    settings: Sequence[tuple[Any, ...]]
    passing: Sequence[tuple[PassingDetail, ...]]
    action: str | None = None
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.cores) * len(self.settings) * len(self.passing)

    def scene(self, index: int) -> Scene:
        """Scene number `index` of `size`."""
        rest, core = divmod(index, len(self.cores))
        passing, setting = divmod(rest, len(self.settings))
        subject, number, colour, thing = self.cores[core]
        place, moment, topic, month = self.settings[setting]
        return Scene(
            subject,
            number,
            colour,
            self.action,
            thing,
            place,
            moment,
            topic,
            month,
            self.passing[passing],
        )


class Scenes:
    """The scenes of a seed, as many as there are."""

    def __init__(self, album: ConceptCatalogue, seed: int) -> None:
        self.forms = [*_scene_forms(album)]
        self._orders = [
            Permutation(seed, f"album/scenes/{i}", form.size) for i, form in enumerate(self.forms)
        ]
        counts = _slots_by_share([form.share for form in self.forms], SLOTS)
        slots = np.repeat(np.arange(len(counts)), counts)
        self._schedule = slots[Stream(seed, "album/schedule").permutation(SLOTS)]
        self._counts = counts
        # how often the form of a slot stood on the schedule before it
        self._before = [int((self._schedule[:i] == f).sum()) for i, f in enumerate(self._schedule)]
        self.most = (
            min(form.size // count for form, count in zip(self.forms, counts, strict=True) if count)
            * SLOTS
        )

    def take(self, count: int) -> list[Scene]:
        """The first `count` scenes, all different."""
        if count > self.most:
            raise RecipeError(
                f"params.captions: {count:,} captions are more than the {self.most:,} different "
                "ones that the scenes of the album give in their shares; ask for fewer"
            )
        return [self._scene(i) for i in range(count)]

    def _scene(self, i: int) -> Scene:
        turn, slot = divmod(i, SLOTS)
        form = int(self._schedule[slot])
        index = turn * self._counts[form] + self._before[slot]
        return self.forms[form].scene(int(self._orders[form](np.array([index]))[0]))


def _slots_by_share(shares: Sequence[float], slots: int) -> list[int]:
    """Whole slots by share, by the largest remainder."""
    exact = [share * slots / sum(shares) for share in shares]
    counts = [int(one) for one in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_rest[: slots - sum(counts)]:
        counts[i] += 1
    return counts


def _scene_forms(album: ConceptCatalogue) -> list[Form]:
    result: list[Form] = []
    for scene in album.scenes:
        if "passing" not in scene:
            result += _documents(album, scene)
            continue
        sides: list[Side] = [scene["where"]] if "where" in scene else ["out", "in"]
        kinds = scene["subject"]
        forms: list[Form] = []
        for side in sides:
            settings = _settings(album, side, scene.get("places", []))
            subjects = album.leaves(kinds, side)
            for action in album.of_part("action"):
                does = [one for one in subjects if one.within(action.by)]
                if not does or not action.leaf or bool(action.of) != scene.get("of", False):
                    continue
                objects: list[Concept | None] = [None]
                if action.of:
                    objects = list(album.leaves(action.of, side))
                cores = [
                    _Core(one.name, number, colour, thing.name if thing is not None else None)
                    for one, number, thing in product(does, scene["numbers"], objects)
                    if one is not thing
                    for colour in (None, *one.colours)
                ]
                weight = 3.0 if side == "out" and len(sides) == 2 else 1.0
                for passing, share in zip(_passing(album, scene, side), _PASSING, strict=True):
                    form = Form(weight * share, cores, settings, passing, action.name)
                    if form.size >= _FEWEST:
                        forms.append(form)
        total = sum(form.share for form in forms)
        for form in forms:
            form.share *= scene["share"] / total
        result += forms
    return result


def _settings(album: ConceptCatalogue, side: Side, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """Place, moment, topic and month; of all places where no kinds are named."""
    places = [
        one.name
        for one in album.of_part("place")
        if one.leaf and one.where == side and (not kinds or one.within(kinds))
    ]
    if side == "in":
        return [(place, None, None, None) for place in places]
    places += [one.name for one in album.of_part("landmark") if one.leaf]
    moments = [None, *(one.name for one in album.of_part("moment"))]
    return [(place, moment, None, None) for place, moment in product(places, moments)]


def _passing(
    album: ConceptCatalogue, scene: Mapping[str, Any], side: Side
) -> tuple[list[tuple[PassingDetail, ...]], ...]:
    """What may be in passing: nothing, one thing, one of each list."""
    lists = [
        [
            PassingDetail(one.name, colour)
            for one in album.leaves(kinds, side)
            for colour in (None, *one.colours)
        ]
        for kinds in scene["passing"]
    ]
    pairs = list(product(*lists)) if len(lists) == 2 else []
    return [()], [(one,) for one in chain(*lists)], pairs


def _documents(album: ConceptCatalogue, scene: Mapping[str, Any]) -> list[Form]:
    """Written things: about a topic, of a month, with another topic in passing or none."""
    cores = [_Core(one.name, 1, None, None) for one in album.leaves(scene["subject"], "in")]
    topics = [one for one in album.of_part("topic") if one.leaf]
    settings = [
        (None, None, topic.name, month)
        for topic in topics
        for month in (None, *(one.name for one in album.of_part("month")))
    ]
    forms = []
    for share, passing in (
        (0.25, [()]),
        (0.75, [(PassingDetail(one.name),) for one in topics]),
    ):
        forms.append(Form(scene["share"] * share, cores, settings, passing))
    return forms
