"""Queries of an album: what they ask for, and what a scene is worth to them.

A query is a conjunction over one scene: a thing (with number, colour, what it does), a place, a
time, a topic, another thing. Its grade is

    2   the scene has it, in the query's own terms, and nothing of it only in passing
    1   the scene has it: as a kind of what is asked for, or in passing
    0   else

Of the scenes with 0, some *likely* have it: a caption of a garden does not say that there are
flowers. What makes what likely stands in likely.yaml, which the proof reads by itself.

Types are CapRetrieval's eight (arXiv 2506.08592, Appendix B.1). `granularity`: "fine" asks for one
thing, "middle" for two facts, "coarse" for a whole scene, as a summary does. `level`: "named", or
"hypernym" where a name of it is that of a kind.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from retgen.errors import RecipeError
from retgen.generators.album.scenes import ConceptCatalogue, Scene
from retgen.streams import Stream
from retgen.validators.album import LIKELY_FILE
from retgen.yaml_text import read_yaml

# of 100 queries; what a type lacks (there are only so many names) goes to the last three
SHARES = {
    "object": 8,
    "person": 2,
    "place": 3,
    "concept": 4,
    "event": 9,
    "conjunction": 20,
    "simple condition": 28,
    "complex condition": 26,
}

GRANULARITY = dict.fromkeys(("object", "person", "place", "concept", "event"), "fine") | {
    "conjunction": "middle",
    "simple condition": "middle",
    "complex condition": "coarse",
}

_TYPES = {"person": "person"}  # kinds of things that are no objects
_BELOW = 2**32
_GENERAL = 6  # one part of every so many conditions is asked for by its kind
_NEAR = 10  # captions a query without an answer is judged 0 on, which nearly answer it
_TRIES = 8  # scenes looked at for each query before there are too few


# --- grades ---------------------------------------------------------------------------------------


class Conjunction(NamedTuple):
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


class SceneMention(NamedTuple):
    """Something a scene holds. `number`: None where no text of it says how many."""

    name: str
    number: int | None
    colour: str | None
    salient: bool
    subject: bool


def mentions(scene: Scene) -> Iterator[SceneMention]:
    """All that a scene holds besides action, time and month."""
    yield SceneMention(scene.subject, scene.number, scene.colour, True, True)
    for name in (scene.object, scene.place, scene.topic):
        if name is not None:
            yield SceneMention(name, None, None, True, False)
    for thing, colour in scene.passing:
        yield SceneMention(thing, 1, colour, False, False)


class SceneGrades:
    """Grades of queries over all scenes."""

    def __init__(self, album: ConceptCatalogue, scenes: Sequence[Scene]) -> None:
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
        expected = read_yaml(LIKELY_FILE)
        self._likely = [self._expected(expected, scene) for scene in scenes]
        likely: defaultdict[str, set[int]] = defaultdict(set)
        for i, expected_names in enumerate(self._likely):
            for one in expected_names:
                likely[one].add(i)
        self._likely_holders = likely

    def _expected(self, expected: Mapping[str, Any], scene: Scene) -> frozenset[str]:
        """What a scene makes likely, and all that it is a kind of."""
        result: set[str] = set()
        for part, table in expected.items():
            there = getattr(scene, part)
            for name in (there, *self._concepts[there].parents) if there else ():
                for one in table.get(name, ()):
                    result.update((one, *self._concepts[one].parents))
        return frozenset(result)

    def likely(self, asked: Conjunction) -> list[int]:
        """The scenes that do not say it, or not all of it, and likely have it."""
        parts = {name: value for name, value in asked.parts().items() if name in self._loose(asked)}
        near = sorted(set().union(*(self._likely_holders[str(v)] for v in parts.values())))
        return [i for i in near if self.is_likely(asked, i)]

    def is_likely(self, asked: Conjunction, i: int) -> bool:
        """Whether scene `i` is one of those."""
        expected = self._likely[i]
        absent = {key: None for key in self._loose(asked) if getattr(asked, key) in expected}
        return bool(absent and not self.grade(asked, i) and self.grade(asked._replace(**absent), i))

    @staticmethod
    def _loose(asked: Conjunction) -> Sequence[str]:
        """The parts that may be likely: not a thing of which more is asked for."""
        more = asked.number, asked.colour, asked.action, asked.topic, asked.month
        return ("other", "place", "moment", *(["thing"] if not any(more) else []))

    def near(self, asked: Conjunction) -> list[int]:
        """The first scenes that have all that is asked for but one part."""
        less = [asked._replace(**{key: None}) for key in asked.parts() if key != "thing"]
        return sorted(set().union(*(self.of(one) for one in less)))[:_NEAR]

    def of(self, asked: Conjunction) -> dict[int, int]:
        """The scenes that have it, and their grades."""
        named = [value for key, value in asked.parts().items() if key not in ("number", "colour")]
        sets = sorted((self.holders.get(str(name), set()) for name in named), key=len)
        candidates = set.intersection(*sets)
        grades = ((i, self.grade(asked, i)) for i in sorted(candidates))
        return {i: grade for i, grade in grades if grade}

    def grade(self, asked: Conjunction, i: int) -> int:
        """The grade of scene `i`."""
        scene, seen = self._scenes[i], self._mentions[i]
        grade = 2
        for wanted, there in (
            (asked.action, scene.action),
            (asked.object, scene.object),
            (asked.moment, scene.moment),
            (asked.topic, scene.topic),
            (asked.month, scene.month),
            (asked.place, scene.place),
        ):
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

    def _worth(self, wanted: str, one: SceneMention) -> int:
        return min(self._fits(wanted, one.name), 2 if one.salient else 1)

    def _fits(self, wanted: str, there: str | None) -> int:
        if there is None:
            return 0
        if there == wanted:
            return 2
        return 1 if wanted in self._concepts[there].parents else 0


# --- drawing --------------------------------------------------------------------------------------


class AlbumQuery(NamedTuple):
    """A query, its type, and the grades of the scenes that have what it asks for."""

    asked: Conjunction
    text: str
    type: str
    level: str
    grades: dict[int, int]
    likely: list[int]
    near: list[int]

    @property
    def granularity(self) -> str:
        return GRANULARITY[self.type]


class QuerySampler:
    """Draws queries. `say` words what is asked for, by a function that deals numbers."""

    def __init__(
        self,
        album: ConceptCatalogue,
        scenes: Sequence[Scene],
        seed: int,
        say: Callable[[Conjunction, Callable[[int], int]], str],
    ) -> None:
        self._album, self._scenes, self._say = album, scenes, say
        self._grades = SceneGrades(album, scenes)
        self._stream = Stream(seed, "album/queries")
        # words have a stream of their own, so that both languages ask the same
        self._words = Stream(seed, "album/query words")
        self._seen: set[Conjunction] = set()

    def draw(self, count: int, unanswerable: float) -> list[AlbumQuery]:
        """So many queries, all different, shuffled; that share of them without an answer.

        Of single names, those that few captions hold are drawn first, in proportion.
        """
        wanted = {kind: round(count * share / 100) for kind, share in SHARES.items()}
        result: list[AlbumQuery] = []
        missing = count
        for kind, candidates in self._single().items():
            taken = []
            for asked in self._narrow_first(candidates)[: wanted[kind]]:
                query = self._query(asked, kind)
                taken += [query] if query is not None else []
            result += taken
        several = [kind for kind in SHARES if GRANULARITY[kind] != "fine"]
        missing = count - len(result)
        total = sum(SHARES[kind] for kind in several)
        counts = [missing * SHARES[kind] // total for kind in several]
        counts[-1] = missing - sum(counts[:-1])
        without = round(count * unanswerable)
        empty = [min(without * number // max(1, missing), number) for number in counts]
        empty[-1] = without - sum(empty[:-1])
        for kind, number, none in zip(several, counts, empty, strict=True):
            result += self._conditions(kind, none, answered=False)
            result += self._conditions(kind, number - none)
        if len(result) < count:
            raise RecipeError(
                f"params.queries: {len(self._scenes):,} captions give no more than about "
                f"{len(result):,} different queries; ask for fewer, or for more captions"
            )
        return [result[i] for i in self._stream.permutation(len(result))]

    def _single(self) -> dict[str, list[Conjunction]]:
        """What can be asked for by one name, by type; only what a scene holds."""
        result: dict[str, list[Conjunction]] = {kind: [] for kind in list(SHARES)[:5]}
        for one in self._album.concepts.values():
            if not one.asked or not self._grades.holders.get(one.name):
                continue
            match one.part:
                case "thing":
                    result[_TYPES.get(one.kind, "object")].append(Conjunction(thing=one.name))
                case "place" | "landmark":
                    result["place"].append(Conjunction(thing=one.name))
                case "topic":
                    result["concept"].append(Conjunction(thing=one.name))
                case "moment":
                    result["concept"].append(Conjunction(moment=one.name))
                case "action" if not one.of:
                    result["event"].append(Conjunction(action=one.name))
        pairs = dict.fromkeys(
            (scene.action, name)
            for scene in self._scenes
            if scene.object is not None
            for name in (scene.object, *self._album.concepts[scene.object].parents)
            if self._album.concepts[name].asked
        )
        acts = [Conjunction(action=action, object=name) for action, name in pairs]
        # as many with an object as without, so that actions weigh alike
        chosen = self._stream.permutation(len(acts))[: len(result["event"])]
        result["event"] += [acts[i] for i in chosen]
        return result

    def _narrow_first(self, candidates: list[Conjunction]) -> list[Conjunction]:
        """Drawn without replacement, each by the inverse of the number of its captions."""
        draws = self._stream.integers(_BELOW, len(candidates)).tolist()
        keys = [
            math.log((draw + 0.5) / _BELOW) * len(self._grades.of(asked))
            for draw, asked in zip(draws, candidates, strict=True)
        ]
        order = sorted(range(len(candidates)), key=lambda i: (-keys[i], i))
        return [candidates[i] for i in order]

    def _conditions(self, kind: str, count: int, *, answered: bool = True) -> list[AlbumQuery]:
        """Queries of several facts, each true of a drawn scene; or of none, but for one detail."""
        result: list[AlbumQuery] = []
        for _ in range(_TRIES):
            for i in self._stream.permutation(len(self._scenes)):
                if len(result) == count:
                    return result
                choices = list(together(kind, self._scenes[i]))
                if not choices:
                    continue
                asked = choices[self._below(len(choices))]
                if not answered:
                    changed = self._other_detail(asked)
                    if changed is None or self._grades.of(changed) or self._grades.likely(changed):
                        continue
                    asked = changed
                elif self._below(_GENERAL) == 0:
                    asked = self._general(asked)
                query = self._query(asked, kind)
                result += [query] if query is not None else []
        return result

    def _other_detail(self, asked: Conjunction) -> Conjunction | None:
        """The same with one detail replaced by another that could have been there."""
        concepts, parts = self._album.concepts, asked.parts()
        keys = [
            key for key in ("colour", "place", "moment", "topic", "month", "other") if key in parts
        ]
        if not keys:
            return None
        key = keys[self._below(len(keys))]
        old = concepts.get(str(parts[key]))
        if old is None:  # a colour
            choices = concepts[str(asked.thing)].colours
        else:
            choices = tuple(
                one.name
                for one in concepts.values()
                if one.leaf
                and one.asked
                and (one.part, one.where) == (old.part, old.where)
                and (key != "other" or one.kind == old.kind)
            )
        changed: dict[str, Any] = {key: choices[self._below(len(choices))]}
        return asked._replace(**changed)

    def _general(self, asked: Conjunction) -> Conjunction:
        """The same with one name replaced by that of a kind it is of, where there is one."""
        up = [
            (key, parent)
            for key, value in asked.parts().items()
            if key not in ("number", "colour", "other", "month")
            and not (key == "thing" and asked.number)  # "two people" is too wide
            for parent in self._album.concepts[str(value)].parents
            if self._album.concepts[parent].asked
        ]
        if not up:
            return asked
        key, parent = up[self._below(len(up))]
        changed: dict[str, Any] = {key: parent}
        return asked._replace(**changed)

    def _query(self, asked: Conjunction, kind: str) -> AlbumQuery | None:
        """None where it has been asked before, or two parts of it are one."""
        names = [str(value) for key, value in asked.parts().items() if key != "number"]
        if len(set(names)) < len(names):
            return None
        if asked in self._seen:
            return None
        self._seen.add(asked)
        text = self._say(asked, lambda bound: int(self._words.integers(bound, 1)[0]))
        concepts = self._album.concepts
        general = any(not concepts[n].leaf or self._kinds(n) for n in names if n in concepts)
        level = "hypernym" if general else "named"
        grades, likely = self._grades.of(asked), self._grades.likely(asked)
        near = [] if grades else self._grades.near(asked)
        return AlbumQuery(asked, text, kind, level, grades, likely, near)

    def _kinds(self, name: str) -> bool:
        """Whether other concepts are kinds of this one."""
        return any(name in one.parents for one in self._album.concepts.values())

    def _below(self, bound: int) -> int:
        return int(self._stream.integers(bound, 1)[0])


def together(kind: str, scene: Scene) -> Iterator[Conjunction]:
    """What of a scene can be asked for together."""
    acts: dict[str, Any] = {"action": scene.action, "object": scene.object}
    number = scene.number if scene.number > 1 else None
    # whether something stands "in front of" what is in the distance is another question
    place = scene.place
    subject = Conjunction(thing=scene.subject)
    if scene.topic is not None:
        if kind == "simple condition":
            yield subject._replace(topic=scene.topic)
        elif kind == "complex condition" and scene.month:
            yield subject._replace(topic=scene.topic, month=scene.month)
        return
    match kind:
        case "conjunction":
            others = [scene.object, *(one.thing for one in scene.passing)]
            for other in others:
                if other is not None:
                    yield subject._replace(other=other)
        case "simple condition":
            yield subject._replace(**acts)
            yield subject._replace(place=place)
            yield Conjunction(**acts, place=place)
            if number is not None:
                yield subject._replace(number=number)
            if scene.colour is not None:
                yield subject._replace(colour=scene.colour)
            for one in scene.passing:
                if one.colour is not None:
                    yield Conjunction(thing=one.thing, colour=one.colour)
            if scene.moment is not None:
                yield Conjunction(place=place, moment=scene.moment)
                yield subject._replace(moment=scene.moment)
        case _:
            whole = subject._replace(**acts, place=place)
            yield whole
            yield whole._replace(moment=scene.moment)
            yield whole._replace(colour=scene.colour)
            yield whole._replace(colour=scene.colour, number=number)
