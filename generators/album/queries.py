"""Queries of an album: what they ask for, and what a scene is worth to them.

A query is a conjunction over one scene: a thing (with number, colour, what it does), a place, a
time, a topic, another thing. Its grade is

    2   the scene has it, in the query's own terms, and nothing of it only in passing
    1   the scene has it: as a kind of what is asked for, or in passing
    0   else

Of the scenes with 0, some *likely* have it: a caption of a garden does not say that there are
flowers. What makes what likely stands in the domain file, which the proof reads by itself.

Types are CapRetrieval's eight (arXiv 2506.08592, Appendix B.1). `granularity`: "fine" asks for one
thing, "middle" for two facts, "coarse" for a whole scene, as a summary does. `level`: "named", or
"hypernym" where a name of it is that of a kind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.captions import CaptionDomain, Facts
from retgen.facts.expressions import Condition, Expression, Is, Within, all_of, execute
from retgen.facts.table import EntityTable, Mask
from retgen.streams import Stream

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
_BELOW = 2**32
_GENERAL = 6  # one part of every so many conditions is asked for by its kind
_NEAR = 10  # captions a query without an answer is judged 0 on, which nearly answer it
_TRIES = 8  # scenes looked at for each query before there are too few

_SAME = ("action", "object", "state", "place", "moment", "topic", "month")  # asked as they are
_SALIENT, _IN_PASSING = ("subject", "object", "place", "topic"), ("passing", "further", "mention")
_PARTS = ("thing", "number", "colour", *_SAME, "other")
_DEEDS = ("action", "state", "topic", "month")  # only a subject does, or is of a topic
_BOUND = ("number", "colour", *_DEEDS)


# --- grades ---------------------------------------------------------------------------------------


class Scenes:
    """The scenes of an album as facts, and which of them have what is asked for."""

    def __init__(self, known: CaptionDomain, table: EntityTable) -> None:
        self.known, self.table = known, table
        slots = known.domain.slots
        self._values = {one: {value.name for value in slot.values} for one, slot in slots.items()}

    @cached_property
    def facts(self) -> list[dict[str, str]]:
        """What each scene has, slot -> value."""
        result: list[dict[str, str]] = [{} for _ in range(self.table.count)]
        for name, slot in self.known.domain.slots.items():
            for facts, code in zip(result, self.table.columns[name].tolist(), strict=True):
                if code >= 0:
                    facts[name] = slot.values[code].name
        return result

    def has(self, asked: Facts, *, certain: bool = False, likely: bool = False) -> Mask:
        """Which scenes have all of it, (scenes,). `certain`: with grade 2; `likely`: or likely."""
        result = np.ones(self.table.count, np.bool_)
        for key in asked:
            if key in ("number", "colour") and "thing" in asked:
                continue  # of the thing
            ways = self._ways(key, asked, certain)
            if likely and key in ("other", "place", "moment", "thing"):
                ways += self._causes(asked[key]) if key != "thing" or not _bound(asked) else []
            met = np.zeros(self.table.count, np.bool_)
            for one in ways:
                met |= execute(one, self.table)
            result &= met
        return result

    def likely(self, asked: Facts) -> Mask:
        """The scenes that do not say it, or not all of it, and likely have it."""
        return self.has(asked, likely=True) & ~self.has(asked)

    def near(self, asked: Facts) -> list[int]:
        """The first scenes that have all that is asked for but one part."""
        result = np.zeros(self.table.count, np.bool_)
        for key in asked.keys() - {"thing"}:
            result |= self.has({one: value for one, value in asked.items() if one != key})
        return [int(i) for i in np.flatnonzero(result)[:_NEAR]]

    def _ways(self, key: str, asked: Facts, certain: bool) -> list[Expression]:
        """The conditions of which a scene meets one where it has this part."""
        if key in _SAME:
            return [*self._fits(key, asked[key], certain)]
        seen = ("number", "colour") if key == "thing" else ()
        alone = key == "thing" and any(one in asked for one in _DEEDS)
        result: list[Expression] = []
        for slot in (*_SALIENT, *(() if certain else _IN_PASSING)):
            of = {"number": "number", "colour": "colour"} if slot == "subject" else {}
            if slot in ("passing", "further"):
                of = {"number": "", "colour": f"{slot}_colour"}
            wanted = [one for one in seen if one in asked]
            if (alone and slot != "subject") or any(one not in of for one in wanted):
                continue
            if of.get("number") == "" and asked.get("number", "1") != "1" and wanted:
                continue
            more = [Is(of[one], asked[one]) for one in wanted if of[one]]
            result += [all_of([one, *more]) for one in self._fits(slot, asked[key], certain)]
        return result

    def _fits(self, slot: str, name: str, certain: bool) -> Iterator[Condition]:
        if name in self._values[slot]:
            yield Is(slot, name)
        if not certain:
            yield Within(slot, name)

    def _causes(self, name: str) -> list[Expression]:
        """What makes something likely."""
        return [
            condition
            for slot, table in self.known.likely.items()
            for cause, effects in table.items()
            if any(name in self.known.concepts[one].value.above for one in effects)
            for condition in self._fits(slot, cause, False)
        ]


def _bound(asked: Facts) -> bool:
    return any(one in asked for one in _BOUND)


def expression(asked: Facts) -> str:
    """Compact JSON, as it stands in the queries' metadata."""
    parts = {key: asked[key] for key in _PARTS if key in asked}
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


# --- drawing --------------------------------------------------------------------------------------


class AlbumQuery(NamedTuple):
    """A query, its type, and the grades of the scenes that have what it asks for."""

    asked: Facts
    text: str
    type: str
    level: str
    grades: dict[int, int]
    likely: list[int]
    near: list[int]


class QuerySampler:
    """Draws queries. `say` words what is asked for, by a function that deals numbers."""

    def __init__(
        self, scenes: Scenes, seed: int, say: Callable[[Facts, Callable[[int], int]], str]
    ) -> None:
        self._scenes, self._say = scenes, say
        self._concepts = scenes.known.concepts
        self._stream = Stream(seed, "album/queries")
        # words have a stream of their own, so that both languages ask the same
        self._words = Stream(seed, "album/query words")
        self._seen: set[str] = set()
        self._above = {name for one in self._concepts.values() for name in one.value.parents}

    def draw(self, count: int, unanswerable: float) -> list[AlbumQuery]:
        """So many queries, all different, shuffled; that share of them without an answer.

        Of single names, those that few captions hold are drawn first, in proportion.
        """
        result: list[AlbumQuery] = []
        for kind, candidates in self._single().items():
            wanted = round(count * SHARES[kind] / 100)
            for asked in self._narrow_first(candidates)[:wanted]:
                result += self._query(asked, kind)
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
                f"params.queries: {self._scenes.table.count:,} captions give no more than about "
                f"{len(result):,} different queries; ask for fewer, or for more captions"
            )
        return self._stream.shuffled(result)

    def _single(self) -> dict[str, list[dict[str, str]]]:
        """What can be asked for by one name, by type; only what a scene holds."""
        result: dict[str, list[dict[str, str]]] = {kind: [] for kind in list(SHARES)[:5]}
        for name, one in self._concepts.items():
            key, kind = {
                "moments": ("moment", "concept"),
                "topics": ("thing", "concept"),
                "places": ("thing", "place"),
                "landmarks": ("thing", "place"),
                "actions": ("state" if "state" in one.rules else "action", "event"),
            }.get(one.part, ("thing", "person" if one.kind == "person" else "object"))
            asked = {key: name}
            alone = one.asked and one.part != "months" and "of" not in one.rules
            if alone and self._scenes.has(asked).any():
                result[kind].append(asked)
        pairs = dict.fromkeys(
            (scene["action"], name)
            for scene in self._scenes.facts
            if "object" in scene
            for name in self._concepts[scene["object"]].value.above
            if self._concepts[name].asked
        )
        acts = [{"action": action, "object": name} for action, name in pairs]
        # as many with an object as without, so that actions weigh alike
        result["event"] += self._stream.shuffled(acts)[: len(result["event"])]
        return result

    def _narrow_first(self, candidates: list[dict[str, str]]) -> list[dict[str, str]]:
        """Drawn without replacement, each by the inverse of the number of its captions."""
        draws = self._stream.integers(_BELOW, len(candidates)).tolist()
        keys = [
            math.log((draw + 0.5) / _BELOW) * int(self._scenes.has(asked).sum())
            for draw, asked in zip(draws, candidates, strict=True)
        ]
        return [candidates[i] for i in sorted(range(len(keys)), key=lambda i: (-keys[i], i))]

    def _conditions(self, kind: str, count: int, *, answered: bool = True) -> list[AlbumQuery]:
        """Queries of several facts, each true of a drawn scene; or of none, but for one detail."""
        result: list[AlbumQuery] = []
        for _ in range(_TRIES):
            for i in self._stream.permutation(self._scenes.table.count).tolist():
                if len(result) == count:
                    return result
                choices = [*together(kind, self._scenes.facts[i])]
                if not choices:
                    continue
                asked = choices[self._stream.below(len(choices))]
                if not answered:
                    self._replace(asked, self._other_details(asked))
                    if self._scenes.has(asked, likely=True).any():
                        continue
                elif self._stream.below(_GENERAL) == 0:
                    self._replace(asked, self._kinds(asked))
                result += self._query(asked, kind)
        return result

    def _replace(self, asked: dict[str, str], choices: Sequence[tuple[str, str]]) -> None:
        """Put one of some values in place of what is asked for, if there are any."""
        if choices:
            asked.update([choices[self._stream.below(len(choices))]])

    def _other_details(self, asked: Facts) -> list[tuple[str, str]]:
        """Other details that could have been there in place of one of them."""
        keys = [
            key for key in ("colour", "place", "moment", "topic", "month", "other") if key in asked
        ]
        if not keys:
            return []
        key = keys[self._stream.below(len(keys))]
        if key == "colour":
            own = self._concepts[asked["thing"]].tags.get("#", "none")
            return [("colour", one) for one in self._scenes.known.palettes[own]]
        old = self._concepts[asked[key]]
        return [
            (key, name)
            for name, one in self._concepts.items()
            if one.leaf
            and one.asked
            and (one.part, one.tags.get("@")) == (old.part, old.tags.get("@"))
            and (key != "other" or one.kind == old.kind)
        ]

    def _kinds(self, asked: Facts) -> list[tuple[str, str]]:
        """The kinds of what is asked for."""
        return [
            (key, parent)
            for key, name in asked.items()
            if key not in ("number", "colour", "other", "month")
            and not (key == "thing" and "number" in asked)  # "two people" is too wide
            for parent in self._concepts[name].value.parents
            if self._concepts[parent].asked
        ]

    def _query(self, asked: Facts, kind: str) -> Iterator[AlbumQuery]:
        """None where it has been asked before, or two parts of it are one; else one."""
        names = [value for key, value in asked.items() if key != "number"]
        key = expression(asked)
        if len(set(names)) < len(names) or key in self._seen:
            return
        self._seen.add(key)
        text = self._say(asked, self._words.below)
        level = "named" if self._above.isdisjoint(names) else "hypernym"
        scenes = self._scenes
        there = scenes.has(asked)
        both = there.astype(int) + scenes.has(asked, certain=True)
        grades = {i: int(both[i]) for i in np.flatnonzero(there).tolist()}
        likely = np.flatnonzero(scenes.likely(asked)).tolist()
        near = [] if grades else scenes.near(asked)
        yield AlbumQuery(asked, text, kind, level, grades, likely, near)


def together(kind: str, scene: Facts) -> Iterator[dict[str, str]]:
    """What of a scene can be asked for together."""

    def of(*keys: str, **more: str) -> dict[str, str]:
        facts = {**scene, "thing": scene["subject"]}
        return {key: facts[key] for key in keys if key in facts} | more

    does = ("action", "object", "state")
    number = ("number",) if scene["number"] != "1" else ()
    if "topic" in scene:
        if kind == "simple condition":
            yield of("thing", "topic")
        elif kind == "complex condition" and "month" in scene:
            yield of("thing", "topic", "month")
        return
    match kind:
        case "conjunction":
            for key in ("object", "passing", "further"):
                if key in scene:
                    yield of("thing", other=scene[key])
        case "simple condition":
            yield of("thing", *does)
            yield of("thing", "place")
            yield of(*does, "place")
            if number:
                yield of("thing", "number")
            if "colour" in scene:
                yield of("thing", "colour")
            for key in ("passing", "further"):
                if f"{key}_colour" in scene:
                    yield {"thing": scene[key], "colour": scene[f"{key}_colour"]}
            if "moment" in scene:
                yield of("place", "moment")
                yield of("thing", "moment")
        case _:
            yield of("thing", *does, "place")
            yield of("thing", *does, "place", "moment")
            yield of("thing", "colour", *does, "place")
            yield of("thing", *number, "colour", *does, "place")
