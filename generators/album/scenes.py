"""Scenes: typed facts, drawn without repeats. Scene i depends on nothing but the seed and i.

A *form* is a kind of scene: who does what, indoors or outdoors, with so many things in passing. Its
scenes are a product of three lists, so they can be counted, and a keyed permutation of the product
deals them out. Forms take turns on a schedule that keeps their shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any, Literal, NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.generators.album.concepts import Album, Concept
from retgen.streams import Permutation, Stream

SLOTS = 1000  # places on the schedule
# of the captions of a form: with nothing, one and two things in passing
_PASSING = (0.25, 0.5, 0.25)
_FEWEST = 250  # scenes of a form: one with fewer would soon be used up
Side = Literal["in", "out"]


class Seen(NamedTuple):
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
    passing: tuple[Seen, ...] = ()

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
    passing: Sequence[tuple[Seen, ...]]
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
        return Scene(subject, number, colour, self.action, thing, place, moment, topic, month,
                     self.passing[passing])  # fmt: skip


class Scenes:
    """The scenes of a seed, as many as there are."""

    def __init__(self, album: Album, seed: int) -> None:
        self.forms = [*_forms(album)]
        self._orders = [
            Permutation(seed, f"album/scenes/{i}", form.size) for i, form in enumerate(self.forms)
        ]
        counts = _shared([form.share for form in self.forms], SLOTS)
        slots = np.repeat(np.arange(len(counts)), counts)
        self._schedule = slots[Stream(seed, "album/schedule").permutation(SLOTS)]
        self._counts = counts
        # how often the form of a slot stood on the schedule before it
        self._before = [int((self._schedule[:i] == f).sum()) for i, f in enumerate(self._schedule)]
        self.most = min(
            form.size // count for form, count in zip(self.forms, counts, strict=True) if count
        ) * SLOTS  # fmt: skip

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


def _shared(shares: Sequence[float], slots: int) -> list[int]:
    """Whole slots by share, by the largest remainder."""
    exact = [share * slots / sum(shares) for share in shares]
    counts = [int(one) for one in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_rest[: slots - sum(counts)]:
        counts[i] += 1
    return counts


def _forms(album: Album) -> list[Form]:
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


def _settings(album: Album, side: Side, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
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
    album: Album, scene: Mapping[str, Any], side: Side
) -> tuple[list[tuple[Seen, ...]], ...]:
    """What may be in passing: nothing, one thing, one of each list."""
    lists = [
        [Seen(one.name, colour) for one in album.leaves(kinds, side)
         for colour in (None, *one.colours)]
        for kinds in scene["passing"]
    ]  # fmt: skip
    pairs = list(product(*lists)) if len(lists) == 2 else []
    return [()], [(one,) for one in chain(*lists)], pairs


def _documents(album: Album, scene: Mapping[str, Any]) -> list[Form]:
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
        (0.75, [(Seen(one.name),) for one in topics]),
    ):
        forms.append(Form(scene["share"] * share, cores, settings, passing))
    return forms
