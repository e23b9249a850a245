"""The scenes of an album as facts, their captions, and which of them have what a query asks for.

What is asked for is a conjunction over one scene: a thing (with number, colour, what it does), a
place, a time, a topic, another thing. Its grade is

    2   the scene has it, in the query's own terms, and nothing of it only in passing
    1   the scene has it: as a kind of what is asked for, or in passing
    0   else

Of the scenes with 0, some *likely* have it: a caption of a garden does not say that there are
flowers. What makes what likely stands in the domain file, which the proof reads by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.captions import Facts, Speaker, load_captions
from retgen.facts.expressions import Expression, Is, Or, Within, all_of, execute
from retgen.facts.facts import Selection, World
from retgen.facts.table import EntityTable, Mask
from retgen.streams import Stream

_MOST = 1_000_000  # scenes that are drawn, equal ones among them
_DRAWS, _BELOW = 16, 2**16  # choices of a caption's words

# the slots that may hold a thing, and where its number and colour stand; the second ones in passing
_SALIENT: Mapping[str, Mapping[str, str]] = {
    "subject": {"number": "number", "colour": "colour"},
    "object": {},
    "place": {},
    "topic": {},
}
_IN_PASSING: Mapping[str, Mapping[str, str]] = {
    "passing": {"colour": "passing_colour"},
    "further": {"colour": "further_colour"},
    "mention": {},
}
THINGS = (*_SALIENT, *_IN_PASSING)
_DEEDS = frozenset(("action", "state", "topic", "month"))  # only a subject does, or is of a topic
_LOOSE = ("other", "place", "moment")  # may be likely, as a thing may of which no more is asked


class Scenes:
    """Scenes first..first+count-1 of a seed, all different; language by language the same."""

    def __init__(self, seed: int, first: int, count: int, language: str) -> None:
        self.known = load_captions()
        kept = _distinct(seed, first + count)[first:]
        self.table = EntityTable(Selection(self.known.domain, seed, _MOST, kept))
        slots = self.known.domain.slots
        self._values = {one: {value.name for value in slot.values} for one, slot in slots.items()}
        self.facts: list[dict[str, str]] = [{} for _ in kept]  # what each has, slot -> value
        for name, slot in slots.items():
            for facts, code in zip(self.facts, self.table.columns[name].tolist(), strict=True):
                if code >= 0:
                    facts[name] = slot.values[code].name
        self.speaker = Speaker(self.known, language)
        bounds = np.full(_DRAWS, _BELOW, np.uint64)
        draws = Stream(seed, f"album/words/{language}").draws(first, first + count, bounds)
        self.captions = [*map(self._caption, self.facts, draws.tolist())]

    def _caption(self, facts: Facts, draws: Sequence[int]) -> str:
        left = iter(draws)
        return self.speaker.caption(facts, lambda bound: next(left) * bound // _BELOW)

    def has(self, asked: Facts, *, certain: bool = False, likely: bool = False) -> Mask:
        """Which scenes have all of it, (scenes,). `certain`: with grade 2; `likely`: or likely."""
        seen = [key for key in ("number", "colour") if key in asked and "thing" in asked]
        parts: list[Expression] = []
        for key in asked:
            if key in seen:
                continue
            if key in ("thing", "other"):
                ways = [*self._held(key, asked, seen if key == "thing" else (), certain)]
            else:
                ways = [*self._fits(key, asked[key], certain)]
            alone = key == "thing" and not seen and _DEEDS.isdisjoint(asked)
            if likely and (alone or key in _LOOSE):
                ways += self._causes(asked[key])
            if not ways:
                return np.zeros(self.table.count, np.bool_)
            parts.append(Or(tuple(ways)))
        return execute(all_of(parts), self.table)

    def _held(
        self, key: str, asked: Facts, seen: Sequence[str], certain: bool
    ) -> Iterator[Expression]:
        """How a scene can hold a thing. `seen`: what of its number and colour is asked as well."""
        slots = _SALIENT if certain else {**_SALIENT, **_IN_PASSING}
        if key == "thing" and not _DEEDS.isdisjoint(asked):
            slots = {"subject": slots["subject"]}
        for slot, of in slots.items():
            if all(one in of for one in seen):
                more = [Is(of[one], asked[one]) for one in seen]
                for one in self._fits(slot, asked[key], certain):
                    yield all_of([one, *more])

    def _fits(self, slot: str, name: str, certain: bool) -> Iterator[Expression]:
        if name in self._values[slot]:
            yield Is(slot, name)
        if not certain:
            yield Within(slot, name)

    def _causes(self, name: str) -> Iterator[Expression]:
        """What makes something likely."""
        for slot, table in self.known.likely.items():
            for cause, effects in table.items():
                if any(name in self.known.concepts[one].value.above for one in effects):
                    yield from self._fits(slot, cause, False)


def _distinct(seed: int, count: int) -> list[int]:
    """The numbers of the first scenes that differ from all before."""
    world = World(load_captions().domain, seed, _MOST)
    seen: dict[bytes, int] = {}
    start = 0
    while len(seen) < count:
        if start >= _MOST:
            raise RecipeError(
                f"params.captions: {count:,} captions are more than the {len(seen):,} different "
                f"ones among {_MOST:,} scenes; ask for fewer"
            )
        stop = min(start + max(1000, 2 * (count - len(seen))), _MOST)
        rows = np.stack([*world.columns(start, stop).values()], axis=1)
        for i, row in enumerate(rows, start):
            seen.setdefault(row.tobytes(), i)
        start = stop
    return [*seen.values()][:count]
