"""Finite automata over the words and values of a clause: which phrases hold every one of them.

Several phrases may be under way at once; sets of states are worked out when they are met first, and
kept. `=slot` matches a value that the slot can have, `~slot` one with its own preposition.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, cast

from retgen.validators.world.mentions import Item, Mention


class Choice(NamedTuple):
    """Alternatives, each a sequence; an empty one for what may be left out."""

    choices: Sequence[list[Node]]


Node = str | Choice


class Automaton:
    """Phrases with an output each."""

    def __init__(self) -> None:
        self._edges: list[dict[str, list[int]]] = [{}]
        self._free: list[list[int]] = [[]]  # edges that take nothing
        self._outputs: list[set[Hashable]] = [set()]
        self._sets: list[tuple[int, ...]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._steps: list[dict[str, int]] = []
        self._ends: list[frozenset[Hashable]] = []
        self.words: set[str] = set()

    def add(self, phrase: Sequence[Node], output: Hashable) -> None:
        """Add a phrase. All are added before the first is matched."""
        self._outputs[self._sequence(phrase, 0)].add(output)

    def _state(self) -> int:
        self._edges.append({})
        self._free.append([])
        self._outputs.append(set())
        return len(self._edges) - 1

    def _sequence(self, nodes: Sequence[Node], state: int) -> int:
        for node in nodes:
            end = self._state()
            if isinstance(node, str):
                self._edges[state].setdefault(node, []).append(end)
                self.words.add(node)
            else:
                for choice in node.choices:
                    self._free[self._sequence(choice, state) if choice else state].append(end)
            state = end
        return state

    # --- matching ---------------------------------------------------------------------------

    def start(self) -> int:
        """The state in which nothing is read."""
        return self._number((0,)) if not self._sets else 0

    def _number(self, states: Sequence[int]) -> int:
        """The number of a set of states, with all that is reached without a word."""
        reached, todo = set(states), list(states)
        while todo:
            for one in self._free[todo.pop()]:
                if one not in reached:
                    reached.add(one)
                    todo.append(one)
        key = frozenset(reached)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sets)
            self._sets.append(tuple(reached))
            self._steps.append({})
            self._ends.append(frozenset().union(*(self._outputs[one] for one in reached)))
        return number

    def step(self, number: int, item: Item) -> int:
        """The state behind an item; -1 where no phrase goes on."""
        key = item if isinstance(item, str) else item.key
        found = self._steps[number].get(key)
        if found is None:
            labels = (item,) if isinstance(item, str) else item.labels
            behind = [
                one
                for state in self._sets[number]
                for label in labels
                for one in self._edges[state].get(label, ())
            ]
            found = self._steps[number][key] = self._number(behind) if behind else -1
        return found

    def outputs(self, number: int) -> frozenset[Hashable]:
        """What phrases say that end in a state."""
        return self._ends[number]

    def longest(self, items: Sequence[Item], start: int = 0) -> tuple[int, Hashable]:
        """Where the longest phrase ends that begins at a place, and what it says; 0 for none."""
        state, found = self.start(), (0, cast(Hashable, None))
        for i in range(start, len(items)):
            state = self.step(state, items[i])
            if state < 0:
                break
            found = next(((i + 1, one) for one in self._ends[state]), found)
        return found

    def conflicts(self, mentions: Sequence[Mention]) -> Iterator[tuple[frozenset[Hashable], str]]:
        """(outputs, words) of what several outputs are for. `mentions`: one of each key."""
        start = self.start()
        words = {start: ""}
        todo = [start]
        while todo:
            state = todo.pop()
            labels = {label for one in self._sets[state] for label in self._edges[one]}
            items: list[Item] = [one for one in labels if one[0] not in "=~#"]
            items += [one for one in mentions if labels.intersection(one.labels)]
            for item in items:
                behind = self.step(state, item)
                if behind not in words:
                    said = item if isinstance(item, str) else "{v}"
                    words[behind] = f"{words[state]} {said}".lstrip()
                    todo.append(behind)
                    if len(self.outputs(behind)) > 1:
                        yield self.outputs(behind), words[behind]
