"""The measures of one system as JSON: what eval.json has under `ladders`.

- `ladders`, `conditions`, `styles`: how many, of the longest query, which
- `task1`: by style and their `mean`, each with `by_query` (n = 1, 2, ...), `average`, and `decline`
  (the first less the last)
- `task2`: the same with `by_rung`: the positive against HN1, HN1 against HN2, ...; no decline
- `task3`: `by_rung`, `flip_rate`
- `task4`: by words as `task2`, and `change`: its average less that of `task2`
- `violations`: `by_query`: row n has the win rate by violations v = 1..n; `longest`: the average of
  the last row; `all`: v = n at n; `all_average`
- `by_condition`: at c the win rate where c alone is violated, under the longest query
- `blind`: `task1`, `by_query`, `task2` under the query of another ladder
- `tied`: the share of pairs that tie, which are lost: of `task1`, `task2`, `blind task1`,
  `blind task2`; where t of them tie, chance is (1 - t) / 2
- `singles`: of the positive against every document that violates one condition alone: `by_query`,
  `average`, `ties_half`; `beats_all`: how often it beats all of them, by query, and `random`, what
  a random order gets; `by_wording`: of the longest query, by how the violated condition asks
- `ties_half`: of `task1` and `task2`, where a tie is no loss but half a win
- `random`: what a random order is expected to get
- `domains`: their names, or all of this for each where there are several

Averages are {value, low, high}, with 95% intervals, null of too few ladders; all rates are
fractions. A key is null where there is nothing to measure it on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from retgen.evaluation.tasks.multiconir.ladders import STYLES
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.task import estimate_json
from retgen.results.measurements import Measurement
from retgen.statistics.clustered import Estimate

RANDOM = {"win_rate": 0.5, "flip_rate": 0.5}  # of a random order, which has no ties


AVERAGE = "average"


class Series(NamedTuple):
    """A measure by the levels of a factor, the cells of each; tables, curves and JSON show it."""

    rates: Rates
    factor: str
    levels: dict[str, list[Cell]]

    @property
    def cells(self) -> list[Cell]:
        """Those of all levels."""
        return [cell for of in self.levels.values() for cell in of]

    @property
    def average(self) -> Estimate | None:
        """The mean over all cells that are there."""
        return self.rates.mean(self.cells)

    def estimates(self) -> dict[str, Estimate | None]:
        """The mean of each level."""
        return {level: self.rates.mean(of) for level, of in self.levels.items()}

    def values(self) -> list[float | None]:
        """The same without intervals."""
        return [one.value if one else None for one in self.estimates().values()]

    def to_json(self, levels: str, average: str = "average") -> dict[str, Any]:
        """Both under these keys."""
        return {levels: self.values(), average: estimate_json(self.average)}

    def measurements(
        self,
        system: str,
        measure: str,
        by: Mapping[str, str] | None = None,
        *,
        average: bool = True,
    ) -> list[Measurement]:
        """A row a level, and one for the average."""
        every = self.estimates() | ({AVERAGE: self.average} if average else {})
        return [
            Measurement.of(system, measure, estimate, {self.factor: level, **(by or {})})
            for level, estimate in every.items()
        ]


class RateTable:
    """The cells of a system's rates, by measure. Styles are averaged where `style` is None."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        result = {str(cell[1]) for cell in rates.where("violated")}
        self.styles = sorted(result, key=lambda s: (s not in STYLES, s != STYLES[0], s))
        self.conditions = max((int(c[2]) for c in rates.where("violated")), default=0)
        self.rungs = max((int(c[2]) for c in rates.where("rung")), default=0)
        self.words = sorted({int(cell[1]) for cell in rates.where("length")})

    def query(self, n: int, style: str | None = None, violated: int = 1) -> list[Cell]:
        """The positive against documents with so many of n conditions violated."""
        return [("violated", s, n, violated) for s in self._of(style)]

    def task1(self, style: str | None = None) -> Series:
        """The positive against HN1, by conditions asked for."""
        return self._by_query(lambda n: self.query(n, style))

    def decline(self, style: str | None = None) -> Estimate | None:
        """Q1 less the longest query."""
        last = self.query(self.conditions, style)
        return self.rates.difference(self.query(1, style), last)

    def task2(self, style: str | None = None, kind: Sequence[str | int] = ("rung",)) -> Series:
        """HN(i-1) against HNi: `kind` rung, blind rung, or length and words."""
        return self._by_pair(lambda i: [(*kind, s, i) for s in self._of(style)])

    def flips(self) -> Series:
        """Neighbours that change places between styles."""
        return self._by_pair(lambda i: [("flip", i)])

    def singles(self, kind: str = "single") -> Series:
        """The positive against documents that violate one of n conditions alone, or all of them."""
        return self._by_query(lambda n: [(kind, s, n) for s in self.styles])

    def by_condition(self) -> Series:
        """Under the longest query, by the one condition that is violated."""
        n = self.conditions
        levels: dict[str, list[Cell]] = {
            str(c): [("condition", s, n, c) for s in self.styles] for c in range(1, n + 1)
        }
        return Series(self.rates, "condition", levels)

    def blind(self) -> Series:
        """Task 1 under another ladder's queries."""
        return self._by_query(lambda n: [("blind", s, n) for s in self.styles])

    def violations(self, n: int) -> Series:
        """Documents that violate 1 to n of n conditions."""
        levels = {str(v): self.query(n, violated=v) for v in range(1, n + 1)}
        return Series(self.rates, "violated", levels)

    def all_violated(self) -> Series:
        """Documents that violate all n conditions of a query, n = 1, 2, ..."""
        return self._by_query(lambda n: self.query(n, violated=n))

    @property
    def has_violations(self) -> bool:
        """Whether documents violate more than one condition."""
        return any(int(cell[3]) > 1 for cell in self.rates.where("violated"))

    @property
    def wordings(self) -> list[str]:
        """How conditions ask."""
        return sorted({str(cell[1]) for cell in self.rates.where("wording")}, key=_wording)

    def by_wording(self, wording: str) -> tuple[Estimate | None, Estimate | None]:
        """Win rates where conditions that ask so are violated: strictly, and with ties as half."""
        cell = ("wording", wording)
        return self.rates.mean([cell]), self.rates.halved([cell])

    def _by_query(self, cells: Callable[[int], list[Cell]]) -> Series:
        levels = {f"Q{n}": cells(n) for n in range(1, self.conditions + 1)}
        return Series(self.rates, "query", levels)

    def _by_pair(self, cells: Callable[[int], list[Cell]]) -> Series:
        """P>1 is the positive against HN1, 1>2 is HN1 against HN2."""
        names = pairwise(["P", *map(str, range(1, self.rungs + 1))])
        levels = {f"{one}>{other}": cells(i) for i, (one, other) in enumerate(names, start=1)}
        return Series(self.rates, "pair", levels)

    def _of(self, style: str | None) -> list[str]:
        return self.styles if style is None else [style]


_WORDINGS = ("literal", "paraphrase", "entailed")


def _wording(name: str) -> tuple[int, str]:
    return _WORDINGS.index(name) if name in _WORDINGS else len(_WORDINGS), name


def summary(rates: Rates) -> dict[str, Any]:
    """All measures of a system."""
    read = RateTable(rates)
    lengths = range(1, read.conditions + 1)
    styles: list[str | None] = [*read.styles, None]

    def task2(kind: Sequence[str | int]) -> dict[str, Any] | None:
        each = {style or "mean": read.task2(style, kind) for style in styles}
        return {
            style: series.to_json("by_rung")
            for style, series in each.items()
            if series.average is not None
        } or None

    padded = {}
    for words in read.words:
        kind = ("length", words)
        change = rates.difference(read.task2(None, kind).cells, read.task2().cells)
        padded[str(words)] = (task2(kind) or {}) | {"change": estimate_json(change)}
    singles = read.singles()
    return {
        "ladders": rates.ladders,
        "conditions": read.conditions,
        "styles": read.styles,
        "task1": {
            style or "mean": {
                **read.task1(style).to_json("by_query"),
                "decline": estimate_json(read.decline(style)),
            }
            for style in styles
        },
        "task2": task2(("rung",)),
        "task3": read.flips().to_json("by_rung", "flip_rate") if rates.where("flip") else None,
        "task4": padded or None,
        "violations": {
            "by_query": [read.violations(n).values() for n in lengths],
            "longest": estimate_json(read.violations(read.conditions).average),
            **read.all_violated().to_json("all", "all_average"),
        }
        if read.has_violations
        else None,
        "by_condition": read.by_condition().values() if rates.where("condition") else None,
        "singles": {
            **singles.to_json("by_query"),
            "ties_half": estimate_json(rates.halved(singles.cells)),
            "beats_all": read.singles("beats all").values(),
            "random": [1 / (n + 1) for n in lengths],
            "by_wording": {
                name: dict(zip(("win_rate", "ties_half"), map(estimate_json, both), strict=True))
                for name in read.wordings
                for both in [read.by_wording(name)]
            },
        }
        if rates.where("single")
        else None,
        "ties_half": {
            "task1": estimate_json(rates.halved(read.task1().cells)),
            "task2": estimate_json(rates.halved(read.task2().cells)),
        },
        "blind": {
            "task1": estimate_json(read.blind().average),
            "by_query": read.blind().values(),
            "task2": estimate_json(read.task2(None, ("blind rung",)).average),
        }
        if rates.where("blind")
        else None,
        "tied": {str(cell[1]): estimate_json(rates.mean([cell])) for cell in rates.where("tied")},
        "random": RANDOM,
    }
