"""Which passages are relevant to a query, however the documents are cut.

Every query rests on characters [start, stop) of its document, also on those of every query of the
same text that was merged into it. A passage is relevant if it holds such a span whole. Where none
does, as a span that is longer than a passage, those are relevant that lie in it by more than half
of themselves, or, if there is none, the one that overlaps it most. To keywords and phrases every
passage is relevant that holds the words side by side, whatever its document. No model is asked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retgen.generators.capretrieval.corpus import Phrase, holders
from retgen.generators.capretrieval.passages import Passage

Span = tuple[str, int, int]  # a source document, and characters [start, stop) of it


class _Places(NamedTuple):
    """A document's passages: their numbers and places, in order; no passage lies in another."""

    numbers: list[int]
    starts: list[int]
    stops: list[int]


class Labels:
    """The labels of a cutting. `held`: the passages that hold each phrase (`holders`)."""

    def __init__(self, passages: Sequence[Passage], phrases: Iterable[Phrase]) -> None:
        self.held = holders(passages, phrases)
        self._places: dict[str, _Places] = defaultdict(lambda: _Places([], [], []))
        for number, one in enumerate(passages):
            places = self._places[one.source]
            places.numbers.append(number)
            places.starts.append(one.start)
            places.stops.append(one.stop)

    def relevant(self, phrase: Phrase | None, rests_on: Iterable[Span]) -> set[int]:
        """Numbers of the passages, of all splits. `phrase`: of a keyword or phrase."""
        result = set(self.held[phrase].words) if phrase is not None else set()
        return result.union(*map(self.holding, rests_on))

    def holding(self, span: Span) -> list[int]:
        """Numbers of the passages that are relevant to who rests on a span, ascending."""
        source, start, stop = span
        numbers, starts, stops = self._places[source]
        low, high = bisect_right(stops, start), bisect_left(starts, stop)
        shared = {i: min(stops[i], stop) - max(starts[i], start) for i in range(low, high)}
        if not shared:  # it is empty, or the white space between two passages
            return [numbers[min(low, len(numbers) - 1)]]
        whole = [i for i, count in shared.items() if count == stop - start]
        inside = [i for i, count in shared.items() if 2 * count > stops[i] - starts[i]]
        return [numbers[i] for i in whole or inside or [max(shared, key=shared.__getitem__)]]
