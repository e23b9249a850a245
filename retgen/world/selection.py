"""Some entities of a world as rows of their own, in place of those that have left it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from retgen.world.domain import Domain
from retgen.world.facts import ABSENT, Codes, World


class Selection(World):
    """Row i is entity `kept[i]`, which has the facts that it has in the world.

    A relation's code is the row of the other entity. One that refers to an entity that was not kept
    is absent: nothing can be asked of it.
    """

    def __init__(self, domain: Domain, seed: int, entities: int, kept: Sequence[int]) -> None:
        super().__init__(domain, seed, entities)
        self._kept = np.array(kept, np.int64)

    def columns(self, start: int, stop: int) -> dict[str, Codes]:
        return {slot: codes[start:stop] for slot, codes in self._chosen.items()}

    def names(self, entities: Codes) -> list[str]:
        return super().names(self._kept[entities])

    def forms(self, entities: Codes) -> list[tuple[str, str, str]]:
        return super().forms(self._kept[entities])

    @cached_property
    def _chosen(self) -> dict[str, Codes]:
        end = int(self._kept.max()) + 1
        row = np.full(max(end, self.entities), ABSENT, np.int64)
        row[self._kept] = np.arange(len(self._kept))
        result = {}
        for slot, codes in super().columns(0, end).items():
            chosen = codes[self._kept]
            if self.domain.slots[slot].type == "relation":
                chosen = np.where(chosen >= 0, row[chosen], ABSENT)
            result[slot] = chosen
        return result
