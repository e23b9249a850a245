"""Who looks at what, in which order: populations in turn, control items and second looks between.

What an annotator sees depends on the settings and the items alone, so a review can be left and
taken up again, and two at once need not know of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import xxhash

from retgen.review import goals
from retgen.review.records import Item, Part, Settings


def chance(seed: int, purpose: str, *names: str | int) -> float:
    """A number in [0, 1) of some names, uniform over seeds."""
    text = "\x00".join(map(str, (seed, purpose, *names)))
    return xxhash.xxh3_64_intdigest(text.encode()) / 2.0**64


LATER = 20  # items between two looks of the same person, at least


class Look(NamedTuple):
    """One look that an annotator is asked for."""

    item: Item
    part: Part


def is_shared(item: Item, settings: Settings) -> bool:
    """Whether every annotator is asked for a first look at an item; else one of them is."""
    drawn = chance(settings.seed, "overlap", item.item_id) < settings.overlap
    return item.planted is not None or drawn


def assigned_annotators(item: Item, settings: Settings) -> tuple[str, ...]:
    """The annotators who are asked for a first look at an item."""
    people = settings.annotators
    return people if is_shared(item, settings) else (people[item.place % len(people)],)


def awaited_annotators(item: Item, settings: Settings) -> tuple[str, ...]:
    """Whose first looks an item waits for once somebody looked: of one dealt out, nobody's.

    To whom it is dealt changes with the annotators, so anybody's verdict settles it.
    """
    return settings.annotators if is_shared(item, settings) else ()


def queue(annotator: str, items: Iterable[Item], settings: Settings) -> list[Look]:
    """All looks of an annotator, in order."""
    items = list(items)
    mine = [
        one for one in _in_turn(items, settings) if annotator in assigned_annotators(one, settings)
    ]
    controls = sorted(
        (one for one in items if one.planted is not None),
        key=lambda one: chance(settings.seed, "plant", one.item_id),
    )
    first = list(_mixed(annotator, mine, controls, settings))
    return list(_with_second(annotator, first, settings))


def _in_turn(items: Sequence[Item], settings: Settings) -> Iterator[Item]:
    """The items of the populations that the goals are about, one of each in turn."""
    wanted = goals.goal_populations(goals.parse_goals(settings.goals))
    of = {
        name: sorted(
            (one for one in items if one.population == name and one.planted is None),
            key=lambda one: one.place,
        )
        for name in wanted
    }
    for place in range(max(map(len, of.values()), default=0)):
        for name in wanted:
            if place < len(of[name]):
                yield of[name][place]


def _mixed(
    annotator: str, mine: Sequence[Item], controls: Sequence[Item], settings: Settings
) -> Iterator[Item]:
    """Items with control items between them, one in every 1 / share, at a place that is drawn."""
    if not controls or settings.plants <= 0:
        yield from mine
        return
    window = max(1, round(1 / settings.plants) - 1)  # items for one control item
    left = iter(controls)
    for start in range(0, len(mine), window):
        part = list(mine[start : start + window])
        one = next(left, None)
        if one is not None:
            place = chance(settings.seed, "window", annotator, start)
            part.insert(int(place * (len(part) + 1)), one)
        yield from part


def _with_second(annotator: str, first: Sequence[Item], settings: Settings) -> Iterator[Look]:
    """Each look, and some of them again after others; what is left over at the end."""
    waiting: list[tuple[int, Item]] = []
    for number, item in enumerate(first):
        yield Look(item, "first")
        while waiting and waiting[0][0] <= number:
            yield Look(waiting.pop(0)[1], "second")
        drawn = chance(settings.seed, "second", annotator, item.item_id) < settings.second
        if drawn and item.planted is None:
            waiting.append((number + LATER, item))
    for _, item in waiting:
        yield Look(item, "second")
