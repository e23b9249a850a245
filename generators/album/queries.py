"""Queries of an album: what they ask for, and the captions that are judged.

Types are CapRetrieval's eight (arXiv 2506.08592, Appendix B.1). `granularity`: "fine" asks for one
thing, "middle" for two facts, "coarse" for a whole scene, as a summary does. `level`: "named", or
"hypernym" where a name of it is that of a kind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.captions import Facts
from retgen.generators.album.scenes import Scenes
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
GRANULARITY = dict.fromkeys(SHARES, "fine") | {
    "conjunction": "middle",
    "simple condition": "middle",
    "complex condition": "coarse",
}
UNANSWERED = 0.05  # of the queries have no answer, though some captions nearly are one
_BELOW = 2**32
_GENERAL = 6  # one part of every so many conditions is asked for by its kind
_NEAR = 10  # captions a query without an answer is judged 0 on, which nearly answer it
_TRIES = 8  # scenes looked at for each query before there are too few

_PARTS = "thing number colour action object state place moment topic month other".split()
# what can be asked for together: parts of a query, "=" the slot of the scene, "?" where it has one
_DOES = "action? object? state?"
_TOGETHER = {
    "conjunction": ("thing other=object", "thing other=passing", "thing other=further"),
    "simple condition": (
        f"thing {_DOES}",
        "thing place",
        f"{_DOES} place",
        "thing number",
        "thing colour",
        "thing=passing colour=passing_colour",
        "thing=further colour=further_colour",
        "place moment",
        "thing moment",
        "thing topic",
    ),
    "complex condition": (
        f"thing {_DOES} place",
        f"thing {_DOES} place moment?",
        f"thing colour? {_DOES} place",
        f"thing number? colour? {_DOES} place",
        "thing topic month",
    ),
}
_DETAILS = ("colour", "place", "moment", "topic", "month", "other")


def expression(asked: Facts) -> str:
    """Compact JSON, as it stands in the queries' metadata."""
    parts = {key: asked[key] for key in _PARTS if key in asked}
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


class AlbumQuery(NamedTuple):
    """A query. `judged`: a scene, its score in the qrels and its grade beside them, each."""

    asked: Facts
    text: str
    type: str
    level: str
    judged: list[tuple[int, int, int]]


class QuerySampler:
    """Draws queries."""

    def __init__(self, scenes: Scenes, seed: int) -> None:
        self._scenes, self._concepts = scenes, scenes.known.concepts
        self._stream = Stream(seed, "album/queries")
        # words have a stream of their own, so that both languages ask the same
        self._words = Stream(seed, "album/query words")
        self._seen: set[str] = set()
        self._above = {name for one in self._concepts.values() for name in one.value.parents}

    def draw(self, count: int) -> list[AlbumQuery]:
        """So many queries, all different, shuffled; a share of them without an answer.

        Of single names, those that few captions hold are drawn first, in proportion.
        """
        result: list[AlbumQuery] = []
        for kind, candidates in self._single().items():
            wanted = round(count * SHARES[kind] / 100)
            for asked in self._narrow_first(candidates)[:wanted]:
                result += self._query(asked, kind)
        several = [kind for kind in SHARES if GRANULARITY[kind] != "fine"]
        counts = _apportioned(count - len(result), [SHARES[kind] for kind in several])
        empty = _apportioned(round(count * UNANSWERED), counts)
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
        result: dict[str, list[dict[str, str]]] = {kind: [] for kind in SHARES}
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
        keys = [key for key in _DETAILS if key in asked]
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
        text = self._scenes.speaker.query(asked, self._words.below)
        level = "named" if self._above.isdisjoint(names) else "hypernym"
        yield AlbumQuery(asked, text, kind, level, [*self._judged(asked)])

    def _judged(self, asked: Facts) -> Iterator[tuple[int, int, int]]:
        """What is said, what is likely, and without either what nearly answers the query."""
        has = self._scenes.has
        there, likely = has(asked), has(asked, likely=True)
        certain = has(asked, certain=True)
        for i in np.flatnonzero(there).tolist():
            yield i, 1 + int(certain[i]), 2
        for i in np.flatnonzero(likely & ~there).tolist():
            yield i, 0, 1
        if not there.any():
            near = np.zeros_like(there)
            for key in asked.keys() - {"thing"}:
                near |= has({one: value for one, value in asked.items() if one != key})
            for i in np.flatnonzero(near)[:_NEAR].tolist():
                yield i, 0, 0


def _apportioned(total: int, shares: Sequence[int]) -> list[int]:
    """A total in proportion to shares, rounded down but for the last."""
    parts = [total * share // sum(shares) for share in shares[:-1]]
    return [*parts, total - sum(parts)]


def together(kind: str, scene: Facts) -> Iterator[dict[str, str]]:
    """What of a scene can be asked for together."""
    facts = {**scene, "thing": scene["subject"]}
    if facts["number"] == "1":
        del facts["number"]  # nobody asks for one
    for parts in _TOGETHER[kind]:
        asked, there = {}, True
        for part in parts.split():
            key, _, slot = part.rstrip("?").partition("=")
            if (slot or key) in facts:
                asked[key] = facts[slot or key]
            else:
                there = there and part.endswith("?")
        if there and len(asked) > 1:
            yield asked
