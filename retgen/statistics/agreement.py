"""How far reviewers agree: raw and positive agreement, Cohen, Fleiss, Krippendorff, Gwet's AC1.

Where hardly any pair is relevant, raw agreement says little, and the kappas take nearly all of it
for chance: they are low for good reviewers too (Feinstein and Cicchetti, 1990). Positive agreement
asks only of what somebody calls relevant; AC1 (Gwet, 2008) keeps chance small there. Cohen and
Fleiss are those of statsmodels, alpha is that of krippendorff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.statistics.clustered import FEWEST
from retgen.streams import Stream

Floats = NDArray[np.float64]

ONE_RATING = "no item was judged twice"
ONE_CATEGORY = "all verdicts are the same"
TOO_FEW = "too few items for an interval"


@dataclass(frozen=True)
class AgreementMeasure:
    """`value`, with a percentile bootstrap interval over items; None where `reason` says why.

    An interval takes `FEWEST` items that were judged twice, and a value in 9 of 10 resamples.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class UndefinedAgreement(ValueError):
    """A measure has no value; the message is the reason."""


def agreement(
    ratings: Sequence[Sequence[float | None]],
    *,
    categories: Sequence[float] | None = None,
    ordinal: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, AgreementMeasure]:
    """All measures of grades by (items, reviewers); None: not judged. Above 0 is positive.

    `categories`: the grades that could be given, which AC1 counts; those that were, by default.
    "raw": share of pairs of verdicts on one item that are equal, mean of items. "positive": of the
    verdicts above 0, the share that another one on the same item confirms. "cohen": two reviewers,
    on what both judged. "fleiss": items judged equally often. "krippendorff": nominal, or ordinal.
    "ac1": nominal. All but Cohen's take reviewers for exchangeable.
    """
    given = np.array(ratings, float) if len(ratings) else np.zeros((0, 2))
    if given.ndim != 2:
        raise UsageError("Ratings are a table: a row an item, a column a reviewer.")
    found = np.unique(given[~np.isnan(given)])
    domain = found if categories is None else np.unique(np.asarray(categories, float))
    if not np.isin(found, domain).all():
        raise UsageError(f"Not all ratings are among the categories {domain.tolist()}.")
    rows = given[(~np.isnan(given)).sum(1) >= 1]
    counts = (rows[:, :, None] == domain).sum(1).astype(float)  # (items, categories)
    draws = Stream(seed, "agreement").integers(max(len(rows), 1), resamples * len(rows))
    samples = draws.reshape(resamples, len(rows))
    enough = (counts.sum(1) >= 2).sum() >= FEWEST

    def measure(value: Callable[[Floats], float], data: Floats) -> AgreementMeasure:
        try:
            found = value(data)
        except UndefinedAgreement as undefined:
            return AgreementMeasure(None, reason=str(undefined))
        low, high = _bootstrap(value, data, samples, level) if enough else (None, None)
        return AgreementMeasure(found, low, high, TOO_FEW if low is None else "")

    return {
        "raw": measure(raw, counts),
        "positive": measure(lambda data: positive(data, domain > 0), counts),
        "cohen": measure(lambda data: _cohen(data, domain), rows),
        "fleiss": measure(_fleiss, counts),
        "krippendorff": measure(lambda data: _krippendorff(data, domain, ordinal), counts),
        "ac1": measure(ac1, counts),
    }


def raw(counts: Floats, times: Floats | None = None) -> float:
    """Mean share of equal pairs of verdicts; counts (items, categories), each item `times` over."""
    twice, of_item, times = _judged_twice(counts, times)
    equal = (twice * (twice - 1)).sum(1) / (of_item * (of_item - 1))
    return float(np.average(equal, weights=times))


def positive(counts: Floats, categories: NDArray[np.bool_], times: Floats | None = None) -> float:
    """Specific agreement on `categories` (categories,), taken as one.

    Of two reviewers: 2 a / (2 a + b + c), with a items that both call so, b and c that one does.
    """
    twice, of_item, times = _judged_twice(counts, times)
    so = twice[:, categories].sum(1)
    if not (so * times).any():
        raise UndefinedAgreement("nothing is judged relevant")
    return float((times * so * (so - 1) / (of_item - 1)).sum() / (times * so).sum())


def ac1(counts: Floats, times: Floats | None = None) -> float:
    """Gwet's first-order coefficient, for any number of reviewers, some of whom may be missing."""
    equal = raw(counts, times)
    share = np.average(counts / counts.sum(1, keepdims=True), axis=0, weights=times)
    if len(share) < 2:
        raise UndefinedAgreement(ONE_CATEGORY)
    chance = (share * (1 - share)).sum() / (len(share) - 1)
    return float((equal - chance) / (1 - chance))


def _cohen(rows: Floats, domain: Floats) -> float:
    from statsmodels.stats.inter_rater import cohens_kappa

    if rows.shape[1] != 2:
        raise UndefinedAgreement("it is of two reviewers")
    both = rows[~np.isnan(rows).any(1)]
    if not len(both):
        raise UndefinedAgreement(ONE_RATING)
    cells = np.searchsorted(domain, both) @ [len(domain), 1]
    table = np.bincount(cells, minlength=len(domain) ** 2).reshape(len(domain), -1)
    if np.diag(table).max() == len(both):
        raise UndefinedAgreement(ONE_CATEGORY)
    return float(cohens_kappa(table, return_results=False))


def _fleiss(counts: Floats) -> float:
    from statsmodels.stats.inter_rater import fleiss_kappa

    of_item = counts.sum(1)
    if not len(counts) or of_item.max() < 2:
        raise UndefinedAgreement(ONE_RATING)
    if of_item.min() < of_item.max():
        raise UndefinedAgreement("not all items are judged equally often")
    if counts.sum(0).max() == counts.sum():
        raise UndefinedAgreement(ONE_CATEGORY)
    return float(fleiss_kappa(counts))


def _krippendorff(counts: Floats, domain: Floats, ordinal: bool) -> float:
    from krippendorff import alpha

    twice, _, _ = _judged_twice(counts)
    if twice.sum(0).max() == twice.sum():
        raise UndefinedAgreement(ONE_CATEGORY)
    return float(
        alpha(
            value_counts=twice.astype(int),
            value_domain=domain,
            level_of_measurement="ordinal" if ordinal else "nominal",
        )
    )


def _judged_twice(counts: Floats, times: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """The items with two verdicts or more, how many each has, and how many times each counts."""
    of_item = counts.sum(1)
    kept = of_item >= 2
    times = np.ones(len(counts)) if times is None else times
    if not times[kept].any():
        raise UndefinedAgreement(ONE_RATING)
    return counts[kept], of_item[kept], times[kept]


def _bootstrap(
    value: Callable[[Floats], float], data: Floats, samples: NDArray[np.int64], level: float
) -> tuple[float | None, float | None]:
    """Percentiles over resampled items; samples without a value are left out, if they are few."""
    found = []
    for sample in samples:
        try:
            found.append(value(data[sample]))
        except UndefinedAgreement:
            continue
    if len(found) < max(1, 0.9 * len(samples)):
        return None, None
    tail = (1 - level) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(low), float(high)
