"""Names of entities, without repeats and without a table of them; names of other persons."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from retgen.streams import Permutation
from retgen.world.domain import Domain
from retgen.world.domain_file import Numbers

Codes = NDArray[np.int64]


class Names:
    """All combinations of a domain's parts of names, in the order of a keyed bijection."""

    def __init__(self, domain: Domain, seed: int) -> None:
        naming = domain.naming
        self._pattern, self._short = naming.pattern, naming.short
        self._parts: dict[str, list[str]] = {}
        self._pronouns: list[str] = []
        self._by_part = ""
        self._fixed = naming.pronoun if isinstance(naming.pronoun, str) else "it"
        for name, part in naming.parts.items():
            if isinstance(part, Numbers):
                self._parts[name] = [str(n) for n in range(part.from_, part.to + 1)]
            elif isinstance(part, dict):
                self._parts[name] = [one for listed in part.values() for one in listed]
                if not isinstance(naming.pronoun, str) and naming.pronoun.part == name:
                    self._by_part = name
                    self._pronouns = [who for who, listed in part.items() for _ in listed]
            else:
                self._parts[name] = list(part)
        self.count = math.prod(map(len, self._parts.values()))
        self._order = Permutation(seed, f"world/{domain.name}/names", self.count)
        persons = domain.persons
        self._persons = (persons.given, persons.family) if persons else ([""], [""])
        self.persons_count = len(self._persons[0]) * len(self._persons[1])
        self._seed, self._domain = seed, domain.name
        self._orders: dict[str, Permutation] = {}

    def full(self, entities: Codes) -> list[str]:
        """Names of entities (n,)."""
        return [name for name, _, _ in self.forms(entities)]

    def forms(self, entities: Codes) -> list[tuple[str, str, str]]:
        """Name, short name and pronoun of entities (n,)."""
        left = self._order(entities)
        columns: dict[str, list[str]] = {}
        pronouns = [self._fixed] * len(entities)
        for name, listed in self._parts.items():
            which = (left % len(listed)).tolist()
            left = left // len(listed)
            columns[name] = [listed[i] for i in which]
            if name == self._by_part:
                pronouns = [self._pronouns[i] for i in which]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        names = [self._pattern.format_map(row) for row in rows]
        short = [self._short.format_map(row) for row in rows] if self._short else [""] * len(rows)
        return list(zip(names, short, pronouns, strict=True))

    def persons(self, slot: str, codes: Codes) -> list[str]:
        """Names of persons (n,) of a slot's pool."""
        given, family = self._persons
        size = self.persons_count
        if slot not in self._orders:
            self._orders[slot] = Permutation(self._seed, f"world/{self._domain}/{slot}", size)
        drawn = self._orders[slot](codes).tolist()
        return [f"{given[i % len(given)]} {family[i // len(given)]}" for i in drawn]
