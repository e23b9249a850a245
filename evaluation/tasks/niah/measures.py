"""Measures of needles in haystacks, each a plain function of scores.

Sources: the comparative ratio and the separation are those of the post on embedding models and
NoLiMa's setup (jina-embeddings-v3, 2025), the effective length NoLiMa's (arXiv 2502.05167), the
position sensitivity index that of arXiv 2505.13950.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from retgen.search.base import share_won

Array = NDArray[np.float64]

BASES = (250, 500, 1000)  # tokens of the short texts whose best score is the base (NoLiMa)
KEPT = 0.85  # the share of the base that still counts (NoLiMa)
_POWERED = 1.959964 + 0.841621  # standard errors of a difference seen in 80 of 100 tests at 5%


def comparative_ratio(haystacks: Array, controls: Array, noise: float = 0.0) -> float:
    """The share of haystacks (n,) above the control of the same filler (n,); a tie is half."""
    return float(share_won(haystacks, controls, noise).mean())


def auc(positives: Array, negatives: Array, noise: float = 0.0) -> float:
    """The share of pairs whose positive scores higher; a tie is half (area under the ROC curve)."""
    return float(share_won(positives[:, None], negatives[None, :], noise).mean())


def effect_size(positives: Array, negatives: Array, noise: float = 0.0) -> float:
    """Cohen's d: the difference of the means in standard deviations, pooled over both.

    0 where all scores tie; NaN where they differ and nothing varies, or for fewer than 3 scores.
    """
    n, m = len(positives), len(negatives)
    every = np.concatenate([positives, negatives])
    if np.ptp(every) <= noise * np.abs(every).max():
        return 0.0
    if n + m < 3:
        return math.nan
    squares = ((positives - positives.mean()) ** 2).sum() + (
        (negatives - negatives.mean()) ** 2
    ).sum()
    pooled = math.sqrt(squares / (n + m - 2))
    return float((positives.mean() - negatives.mean()) / pooled) if pooled else math.nan


class OnDepth(NamedTuple):
    """How scores change with the needle's depth, from 0 to 1. NaN: nothing varies."""

    pearson: float
    spearman: float
    slope: float


def on_depth(depths: Array, scores: Array, noise: float = 0.0) -> OnDepth:
    """Correlations of scores (n,) with depths (n,), and the slope of the least-squares line."""
    if len(scores) < 3 or np.ptp(depths) == 0:
        return OnDepth(math.nan, math.nan, math.nan)
    if np.ptp(scores) <= noise * np.abs(scores).max():
        return OnDepth(math.nan, math.nan, 0.0)
    x, y = depths - depths.mean(), scores - scores.mean()
    pearson = float((x @ y) / math.sqrt((x @ x) * (y @ y)))
    return OnDepth(
        pearson, float(stats.spearmanr(depths, scores).statistic), float(x @ y / (x @ x))
    )


def position_sensitivity(scores: Array) -> Array:
    """1 - min / max over scores (..., positions), which are not negative (arXiv 2505.13950).

    NaN where the maximum is 0.
    """
    most = scores.max(axis=-1)
    least = scores.min(axis=-1)
    return np.asarray(np.where(most > 0, 1 - least / np.where(most > 0, most, 1), np.nan))


class Effective(NamedTuple):
    """`length`: the longest that keeps `KEPT` of the `base` score, which `base_length` has.

    `open`: nothing longer was measured, so it may be longer still.
    """

    length: int
    base: float
    base_length: int
    open: bool


def base_lengths(lengths: Sequence[int]) -> list[int]:
    """The lengths, in rising order, that are nearest to one of `BASES`."""
    return sorted({min(lengths, key=lambda n: abs(math.log(n / base))) for base in BASES})


def effective_length(lengths: Sequence[int], scores: Sequence[float] | Array) -> Effective:
    """NoLiMa's effective length, of `lengths` in rising order.

    The base is the best score at the lengths nearest to `BASES`. From there on the score must
    remain at `KEPT` of it: a length behind one that falls below does not count.
    """
    near = base_lengths(lengths)
    at = max((i for i, n in enumerate(lengths) if n in near), key=lambda i: (scores[i], -i))
    last = at
    while last + 1 < len(lengths) and scores[last + 1] >= KEPT * scores[at]:
        last += 1
    return Effective(lengths[last], float(scores[at]), lengths[at], last + 1 == len(lengths))


def detectable(values: Array) -> float:
    """The smallest difference of a mean over questions (n,) that would be seen, NaN for n < 2.

    With a power of 80% in a two-sided test at 5%.
    """
    there = values[~np.isnan(values)]
    if len(there) < 2:
        return math.nan
    return float(_POWERED * there.std(ddof=1) / math.sqrt(len(there)))
