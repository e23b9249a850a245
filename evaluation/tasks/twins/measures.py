"""Measures of twins: an entry of `MEASURES` each, which tables, eval.json and docs follow.

Each is a function of the scores of base, twin and control (queries,) and of the tolerance of a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.results.measurements import Measure
from retgen.results.rows import Results
from retgen.search.base import share_won

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TwinMeasure(Measure):
    """`of`: its values (queries,), of the scores of base, twin and control and the tolerance.

    `title`: of its tables by the further factors, "" for none.
    """

    of: Callable[[Array, Array, Array, float], Array] = lambda base, twin, control, noise: base


def _share(name: str, chance: float, head: str, title: str, of: Any) -> TwinMeasure:
    """A share of queries; a tie is half."""
    return TwinMeasure(name, digits=1, percent=True, chance=chance, head=head, title=title, of=of)


def _change(name: str, head: str, title: str, of: Any) -> TwinMeasure:
    """A change of scores, in gaps."""
    return TwinMeasure(name, digits=3, bounds=None, per=GAP.name, head=head, title=title, of=of)


GAP = Measure("gap", digits=3, bounds=None)
MEASURES = (
    _share(
        "base",
        0.5,
        "base > twin",
        "Base above twin (%)",
        lambda base, twin, control, noise: share_won(base, twin, noise),
    ),
    _share(
        "control",
        0.5,
        "control > twin",
        "Control above twin (%)",
        lambda base, twin, control, noise: share_won(control, twin, noise),
    ),
    _share(
        "last",
        1 / 3,
        "twin last",
        "",
        lambda base, twin, control, noise: (
            (share_won(base, twin, noise) == 1) & (share_won(control, twin, noise) == 1)
        ),
    ),
    _change("fact", "change of a fact", "", lambda base, twin, control, noise: base - twin),
    _change(
        "rewording", "change of words", "", lambda base, twin, control, noise: abs(base - control)
    ),
    _change(
        "sensitivity",
        "sensitivity",
        "Sensitivity: control less twin, in gaps",
        lambda base, twin, control, noise: control - twin,
    ),
)


def results_of(
    scores: Sequence[Array],
    triples: Sequence[int],
    factors: Mapping[str, Sequence[str]],
    noise: float,
    name: str = "",
) -> Results:
    """A row a query and measure.

    `scores`: of each query base, twin, control and documents on something else; `triples`: the
    number of its triple; `factors`: by factor its level.
    """
    base, twin, control = (np.array([of[i] for of in scores]) for i in range(3))
    others = np.array([of[3:].mean() for of in scores])
    values = {one.name: one.of(base, twin, control, noise) for one in MEASURES}
    values[GAP.name] = (base + control) / 2 - others
    each = [
        dict(zip(factors, levels, strict=True)) for levels in zip(*factors.values(), strict=True)
    ]
    return Results.of(
        [f"{name}: {i}" for i in range(max(triples) + 1)],
        (
            (triple, {"measure": measure, **levels}, value)
            for measure, of in values.items()
            for triple, levels, value in zip(triples, each, of, strict=True)
        ),
    )
