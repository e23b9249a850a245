"""Agreement of reviewers: raw, positive, Cohen's kappa, Krippendorff's alpha, Gwet's AC1.

Where hardly any pair is relevant, raw agreement says little, and kappa takes nearly all of it for
chance: it is low for good reviewers too (Feinstein and Cicchetti, 1990). Positive agreement looks
only at pairs that somebody calls relevant; AC1 (Gwet, 2008) keeps chance small there. Kappa is
statsmodels', alpha is krippendorff's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.statistics.clustered import FEWEST
from retgen.streams import Stream

Floats = NDArray[np.float64]

ONE_RATING = "no item was judged twice"
ONE_CATEGORY = "all verdicts are the same"
TOO_FEW = "too few items for an interval"
_RESAMPLES = 1000


@dataclass(frozen=True)
class AgreementMeasure:
    """`value`, with a 95% percentile bootstrap interval over items; None where `reason` says why.

    An interval takes `FEWEST` items that were judged twice, and a value in 9 of 10 resamples.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class UndefinedAgreement(ValueError):
    """A measure has no value; the message is the reason."""


def agreement(
    ratings: Sequence[Sequence[int | None]], *, grades: int, resamples: int = _RESAMPLES
) -> dict[str, AgreementMeasure]:
    """All measures of ratings (items, reviewers), 0 to grades - 1; None: not judged.

    "raw": share of pairs of verdicts on one item that are equal, mean of items. "positive": of the
    verdicts above 0, the share that another one on the same item confirms. "kappa": two reviewers,
    on the items that both judged. "alpha": nominal, ordinal for more than two grades. "ac1":
    nominal. All but kappa take reviewers for exchangeable.
    """
    given = np.array(ratings, float)
    rows = given[(~np.isnan(given)).sum(1) >= 1]
    domain = np.arange(grades)
    counts = (rows[:, :, None] == domain).sum(1).astype(float)  # (items, grades)
    draws = Stream(0, "agreement").integers(max(len(rows), 1), resamples * len(rows))
    samples = draws.reshape(resamples, len(rows))
    enough = (counts.sum(1) >= 2).sum() >= FEWEST

    def measure(value: Callable[[Floats], float], data: Floats) -> AgreementMeasure:
        try:
            found = value(data)
        except UndefinedAgreement as undefined:
            return AgreementMeasure(None, reason=str(undefined))
        low, high = _bootstrap(value, data, samples) if enough else (None, None)
        return AgreementMeasure(found, low, high, TOO_FEW if low is None else "")

    return {
        "raw": measure(raw, counts),
        "positive": measure(lambda data: positive(data, domain > 0), counts),
        "kappa": measure(lambda data: _kappa(data, grades), rows),
        "alpha": measure(_alpha, counts),
        "ac1": measure(ac1, counts),
    }


def raw(counts: Floats) -> float:
    """Mean share of equal pairs of verdicts; counts (items, categories)."""
    twice, of_item = _judged_twice(counts)
    equal = (twice * (twice - 1)).sum(1) / (of_item * (of_item - 1))
    return float(equal.mean())


def positive(counts: Floats, categories: NDArray[np.bool_]) -> float:
    """Specific agreement on `categories` (categories,), taken as one.

    Of two reviewers: 2 a / (2 a + b + c), with a items that both call so, b and c that one does.
    """
    twice, of_item = _judged_twice(counts)
    so = twice[:, categories].sum(1)
    if not so.any():
        raise UndefinedAgreement("nothing is judged relevant")
    return float((so * (so - 1) / (of_item - 1)).sum() / so.sum())


def ac1(counts: Floats) -> float:
    """Gwet's first-order coefficient, for any number of reviewers, some of whom may be missing."""
    equal = raw(counts)
    share = (counts / counts.sum(1, keepdims=True)).mean(axis=0)
    chance = (share * (1 - share)).sum() / (len(share) - 1)
    return float((equal - chance) / (1 - chance))


def _kappa(rows: Floats, grades: int) -> float:
    from statsmodels.stats.inter_rater import cohens_kappa

    if rows.shape[1] != 2:
        raise UndefinedAgreement("it is of two reviewers")
    both = rows[~np.isnan(rows).any(1)].astype(int)
    if not len(both):
        raise UndefinedAgreement(ONE_RATING)
    table = np.bincount(both @ [grades, 1], minlength=grades**2).reshape(grades, -1)
    if np.diag(table).max() == len(both):
        raise UndefinedAgreement(ONE_CATEGORY)
    return float(cohens_kappa(table, return_results=False))


def _alpha(counts: Floats) -> float:
    from krippendorff import alpha

    twice, _ = _judged_twice(counts)
    if twice.sum(0).max() == twice.sum():
        raise UndefinedAgreement(ONE_CATEGORY)
    return float(
        alpha(
            value_counts=twice.astype(int),
            level_of_measurement="ordinal" if counts.shape[1] > 2 else "nominal",
        )
    )


def _judged_twice(counts: Floats) -> tuple[Floats, Floats]:
    """The items with two verdicts or more, and how many each has."""
    of_item = counts.sum(1)
    kept = of_item >= 2
    if not kept.any():
        raise UndefinedAgreement(ONE_RATING)
    return counts[kept], of_item[kept]


def _bootstrap(
    value: Callable[[Floats], float], data: Floats, samples: NDArray[np.int64]
) -> tuple[float | None, float | None]:
    """Percentiles over resampled items; resamples without a value are left out if they are few."""
    found = []
    for sample in samples:
        try:
            found.append(value(data[sample]))
        except UndefinedAgreement:
            continue
    if len(found) < max(1, 0.9 * len(samples)):
        return None, None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
