"""Measures of needles in haystacks, each a plain function of scores.

They are those of the post on embedding models and NoLiMa's setup (jina-embeddings-v3, 2025).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.search.base import share_won

Array = NDArray[np.float64]


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
    slope: float


def on_depth(depths: Array, scores: Array, noise: float = 0.0) -> OnDepth:
    """Correlation of scores (n,) with depths (n,), and the slope of the least-squares line."""
    if len(scores) < 3 or np.ptp(depths) == 0:
        return OnDepth(math.nan, math.nan)
    if np.ptp(scores) <= noise * np.abs(scores).max():
        return OnDepth(math.nan, 0.0)
    x, y = depths - depths.mean(), scores - scores.mean()
    pearson = float((x @ y) / math.sqrt((x @ x) * (y @ y)))
    return OnDepth(pearson, float(x @ y / (x @ x)))
