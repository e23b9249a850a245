"""What a query asks for, and what a scene is worth to it.

A query is a conjunction over one scene: a thing (with number, colour, what it does), a place, a
time, a topic, another thing. Its grade is

    2   the scene has it, in the query's own terms, and nothing of it only in passing
    1   the scene has it: as a kind of what is asked for, or in passing
    0   else
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from retgen.generators.album.concepts import Album
from retgen.generators.album.scenes import Scene


class Asked(NamedTuple):
    """All of it must hold; `thing` may be a topic, a place or a landmark where it stands alone."""

    thing: str | None = None
    number: int | None = None
    colour: str | None = None
    action: str | None = None
    object: str | None = None
    place: str | None = None
    moment: str | None = None
    topic: str | None = None
    month: str | None = None
    other: str | None = None

    def parts(self) -> dict[str, str | int]:
        """What is asked for, without what is not."""
        return {key: value for key, value in self._asdict().items() if value is not None}

    def expression(self) -> str:
        """Compact JSON, as it stands in the queries' metadata."""
        return json.dumps(self.parts(), ensure_ascii=False, separators=(",", ":"))


class Mention(NamedTuple):
    """Something a scene holds. `number`: None where no text of it says how many."""

    name: str
    number: int | None
    colour: str | None
    salient: bool
    subject: bool


def mentions(scene: Scene) -> Iterator[Mention]:
    """All that a scene holds besides action, time and month."""
    yield Mention(scene.subject, scene.number, scene.colour, True, True)
    for name in (scene.object, scene.place, scene.topic):
        if name is not None:
            yield Mention(name, None, None, True, False)
    for thing, colour in scene.passing:
        yield Mention(thing, 1, colour, False, False)


class Grades:
    """Grades of queries over all scenes."""

    def __init__(self, album: Album, scenes: Sequence[Scene]) -> None:
        self._concepts = album.concepts
        self._scenes = scenes
        self._mentions = [tuple(mentions(scene)) for scene in scenes]
        holders: defaultdict[str, set[int]] = defaultdict(set)
        for i, scene in enumerate(scenes):
            names = {one.name for one in self._mentions[i]}
            names |= {name for name in (scene.action, scene.moment, scene.month) if name}
            for name in names:
                for one in (name, *album.concepts[name].parents):
                    holders[one].add(i)
        self.holders: Mapping[str, set[int]] = holders

    def of(self, asked: Asked) -> dict[int, int]:
        """The scenes that have it, and their grades."""
        named = [value for key, value in asked.parts().items() if key not in ("number", "colour")]
        sets = sorted((self.holders.get(str(name), set()) for name in named), key=len)
        candidates = set.intersection(*sets)
        grades = ((i, self.grade(asked, i)) for i in sorted(candidates))
        return {i: grade for i, grade in grades if grade}

    def grade(self, asked: Asked, i: int) -> int:
        """The grade of scene `i`."""
        scene, seen = self._scenes[i], self._mentions[i]
        grade = 2
        for wanted, there in (
            (asked.action, scene.action), (asked.object, scene.object),
            (asked.moment, scene.moment), (asked.topic, scene.topic),
            (asked.month, scene.month), (asked.place, scene.place),
        ):  # fmt: skip
            if wanted is not None:
                grade = min(grade, self._fits(wanted, there))
        does = asked.action is not None
        if asked.thing is not None:
            found = (
                self._worth(asked.thing, one)
                for one in seen
                if (asked.number is None or one.number == asked.number)
                and (asked.colour is None or one.colour == asked.colour)
                and (one.subject or not (does or asked.topic or asked.month))
            )
            grade = min(grade, max(found, default=0))
        if asked.other is not None:
            grade = min(grade, max(self._worth(asked.other, one) for one in seen))
        return grade

    def _worth(self, wanted: str, one: Mention) -> int:
        return min(self._fits(wanted, one.name), 2 if one.salient else 1)

    def _fits(self, wanted: str, there: str | None) -> int:
        if there is None:
            return 0
        if there == wanted:
            return 2
        return 1 if wanted in self._concepts[there].parents else 0
