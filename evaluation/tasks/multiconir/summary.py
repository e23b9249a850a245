"""The measures of one system as JSON: what eval.json has under `ladders`.

- `ladders`, `conditions`, `styles`: how many, of the longest query, which
- `task1`: by style and their `mean`, each with `by_query` (n = 1, 2, ...), `average`, and `decline`
  (the first less the last)
- `task2`: the same with `by_rung`: the positive against HN1, HN1 against HN2, ...; no decline
- `task3`: `by_rung`, `flip_rate`
- `task4`: by words as `task2`, and `change`: its average less that of `task2`
- `position`: `by_place`, `average`: win rates by the place of the violated condition in the query;
  `margin`, `average_margin`: by how much the positive's score is higher
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

from collections.abc import Sequence
from typing import Any

from retgen.evaluation.tasks.multiconir.ladders import STYLES
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.task import estimate_json
from retgen.statistics.clustered import Estimate

RANDOM = {"win_rate": 0.5, "flip_rate": 0.5}  # of a random order, which has no ties


class RateTable:
    """The cells of a system's rates, by measure. Styles are averaged where `style` is None."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        result = {str(cell[1]) for cell in rates.where("violated")}
        self.styles = sorted(result, key=lambda s: (s not in STYLES, s != STYLES[0], s))
        self.conditions = max((int(c[2]) for c in rates.where("violated")), default=0)
        self.rungs = max((int(c[2]) for c in rates.where("rung")), default=0)
        self.words = sorted({int(cell[1]) for cell in rates.where("length")})
        self.places = max((int(c[1]) for c in rates.where("place")), default=0)

    def __call__(self, *cells: Cell) -> Estimate | None:
        """The mean of some cells."""
        return self.rates.mean(cells)

    def query(self, n: int, style: str | None = None, violated: int = 1) -> list[Cell]:
        """The positive against documents with so many of n conditions violated."""
        return [("violated", s, n, violated) for s in self._of(style)]

    def task1(self, style: str | None = None) -> list[Cell]:
        """Task 1, all lengths."""
        return [cell for n in range(1, self.conditions + 1) for cell in self.query(n, style)]

    def rung(self, i: int, style: str | None = None, kind: Sequence[str | int] = ("rung",)) -> Any:
        """HN(i-1) against HNi: `kind` rung, blind rung, or length and words."""
        return [(*kind, s, i) for s in self._of(style)]

    def task2(self, style: str | None = None, kind: Sequence[str | int] = ("rung",)) -> list[Cell]:
        """Task 2, all rungs."""
        return [cell for i in range(1, self.rungs + 1) for cell in self.rung(i, style, kind)]

    def single(self, n: int, kind: str = "single") -> list[Cell]:
        """The positive against documents that violate one of n conditions alone, or all of them."""
        return [(kind, s, n) for s in self.styles]

    def singles(self, kind: str = "single") -> list[Cell]:
        """The same, of all queries."""
        return [cell for n in range(1, self.conditions + 1) for cell in self.single(n, kind)]

    @property
    def wordings(self) -> list[str]:
        """How conditions ask."""
        return sorted({str(cell[1]) for cell in self.rates.where("wording")}, key=_wording)

    def by_wording(self, wording: str) -> tuple[Estimate | None, Estimate | None]:
        """Win rates where conditions that ask so are violated: strictly, and with ties as half."""
        cell = ("wording", wording)
        return self(cell), self.rates.halved([cell])

    def blind(self) -> list[Cell]:
        """Task 1 under another ladder's queries."""
        return [("blind", s, n) for n in range(1, self.conditions + 1) for s in self.styles]

    def all_violated(self) -> list[Cell]:
        """Documents that violate all n conditions of a query, n = 1, 2, ..."""
        return [c for n in range(1, self.conditions + 1) for c in self.query(n, violated=n)]

    def _of(self, style: str | None) -> list[str]:
        return self.styles if style is None else [style]


_WORDINGS = ("literal", "paraphrase", "entailed")


def _wording(name: str) -> tuple[int, str]:
    return _WORDINGS.index(name) if name in _WORDINGS else len(_WORDINGS), name


def summary(rates: Rates) -> dict[str, Any]:
    """All measures of a system."""
    read = RateTable(rates)
    lengths, rungs = range(1, read.conditions + 1), range(1, read.rungs + 1)
    styles: list[str | None] = [*read.styles, None]

    def values(cells: Sequence[Sequence[Cell]]) -> list[float | None]:
        result = [read(*one) for one in cells]
        return [one.value if one else None for one in result]

    def climb(kind: Sequence[str | int]) -> dict[str, Any] | None:
        if read(*read.task2(None, kind)) is None:
            return None
        return {
            style or "mean": {
                "by_rung": values([read.rung(i, style, kind) for i in rungs]),
                "average": estimate_json(read(*read.task2(style, kind))),
            }
            for style in styles
            if read(*read.task2(style, kind)) is not None
        }

    padded = {}
    for words in read.words:
        result = climb(("length", words)) or {}
        change = rates.difference(read.task2(None, ("length", words)), read.task2())
        padded[str(words)] = result | {"change": estimate_json(change)}
    flips = [[("flip", i)] for i in rungs]
    conditions = [
        [("condition", s, read.conditions, c) for s in read.styles] for c in lengths
    ]  # fmt: skip
    places = range(1, read.places + 1)
    violated = read(*(cell for v in lengths for cell in read.query(read.conditions, violated=v)))
    return {
        "ladders": rates.ladders,
        "conditions": read.conditions,
        "styles": read.styles,
        "task1": {
            style or "mean": {
                "by_query": values([read.query(n, style) for n in lengths]),
                "average": estimate_json(read(*read.task1(style))),
                "decline": estimate_json(
                    rates.difference(read.query(1, style), read.query(read.conditions, style))
                ),
            }
            for style in styles
        },
        "task2": climb(("rung",)),
        "task3": {
            "by_rung": values(flips),
            "flip_rate": estimate_json(read(*(cell for one in flips for cell in one))),
        }
        if rates.where("flip")
        else None,
        "task4": padded or None,
        "position": {
            "by_place": values([[("place", i)] for i in places]),
            "average": estimate_json(read(*(("place", i) for i in places))),
            "margin": values([[("margin", i)] for i in places]),
            "average_margin": estimate_json(read(*(("margin", i) for i in places))),
        }
        if places
        else None,
        "violations": {
            "by_query": [
                values([read.query(n, violated=v) for v in range(1, n + 1)]) for n in lengths
            ],
            "longest": estimate_json(violated),
            "all": values([read.query(n, violated=n) for n in lengths]),
            "all_average": estimate_json(read(*read.all_violated())),
        }
        if any(int(cell[3]) > 1 for cell in rates.where("violated"))
        else None,
        "by_condition": values(conditions) if rates.where("condition") else None,
        "singles": {
            "by_query": values([read.single(n) for n in lengths]),
            "average": estimate_json(read(*read.singles())),
            "ties_half": estimate_json(rates.halved(read.singles())),
            "beats_all": values([read.single(n, "beats all") for n in lengths]),
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
            "task1": estimate_json(rates.halved(read.task1())),
            "task2": estimate_json(rates.halved(read.task2())),
        },
        "blind": {
            "task1": estimate_json(read(*read.blind())),
            "by_query": values([[("blind", s, n) for s in read.styles] for n in lengths]),
            "task2": estimate_json(read(*read.task2(None, ("blind rung",)))),
        }
        if rates.where("blind")
        else None,
        "tied": {str(cell[1]): estimate_json(read(cell)) for cell in rates.where("tied")},
        "random": RANDOM,
    }
