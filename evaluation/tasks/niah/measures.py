"""Measures of needles in haystacks: an entry of `MEASURES` each, and a plain function of scores.

They are those of the post on embedding models and NoLiMa's setup (jina-embeddings-v3, 2025). An
entry is all that a measure needs: eval.json, tables, terminal and docs follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.results.measurements import Measure
from retgen.search.base import share_won

Array = NDArray[np.float64]
_CONTROLS = 10  # texts without needle of an effect size, at least


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


class QuestionScores(NamedTuple):
    """The scores of one query under haystacks of one variant and length.

    `haystacks` (n,); `paired` (n,): the control of the same filler of each; `controls` (m,): those
    of all questions; `needle`: the bare needle's; `noise`: the relative tolerance of a tie.
    """

    haystacks: Array
    paired: Array
    controls: Array
    needle: float
    noise: float


@dataclass(frozen=True)
class HaystackMeasure(Measure):
    """A measure with its function. `what`, `source`: for the docs.

    `of_control`: by what stands in a control instead of the needle; the title has a place for it.
    `by`: it is broken down by these, too.
    """

    of: Callable[[QuestionScores], float] = lambda scores: math.nan
    what: str = ""
    source: str = ""
    of_control: bool = False
    by: frozenset[str] = frozenset()

    def of_kind(self, kind: str, main: str) -> HaystackMeasure:
        """The same against another kind of control than the main one."""
        return self if kind == main else replace(self, name=f"{self.name}, {kind}")


_BOTH = frozenset({"order", "category"})
MEASURES = (
    HaystackMeasure(
        "auc",
        3,
        chance=0.5,
        head="AUC",
        title="AUC within the question, by tokens of the haystack (* not read whole)",
        of=lambda s: auc(s.haystacks, s.controls, s.noise),
        what="share of pairs (haystack, control of any question, same length and variant) whose "
        "haystack scores higher; a tie is half",
        source="the post, which pools",
        by=_BOTH | {"place"},
    ),
    HaystackMeasure(
        "ratio",
        3,
        chance=0.5,
        head="ratio",
        title="Comparative ratio: a haystack above {}",
        of=lambda s: comparative_ratio(s.haystacks, s.paired, s.noise),
        what="share of haystacks above their control; a tie is half",
        source="the post",
        of_control=True,
        by=_BOTH,
    ),
    HaystackMeasure(
        "gain",
        4,
        chance=0.0,
        bounds=None,
        head="separation",
        title="Separation: score of a haystack less that of {}",
        of=lambda s: float((s.haystacks - s.paired).mean()),
        what="mean difference to the control",
        source="the post",
        of_control=True,
    ),
    HaystackMeasure(
        "effect",
        2,
        chance=0.0,
        bounds=None,
        head="effect size",
        title="Effect size: haystacks against all texts without needle (Cohen's d)",
        # the spread of a handful of texts without needle says nothing
        of=lambda s: (
            effect_size(s.haystacks, s.controls, s.noise)
            if len(s.controls) >= _CONTROLS
            else math.nan
        ),
        what="Cohen's d of the same sets as the AUC's; from 10 controls",
        source="the post",
    ),
    HaystackMeasure(
        "similarity",
        3,
        bounds=None,
        head="score",
        title="Score of question and haystack",
        of=lambda s: float(s.haystacks.mean()),
        what="mean score of question and haystack",
        source="the post",
        by=frozenset({"order", "place"}),
    ),
    HaystackMeasure(
        "normalised",
        2,
        bounds=None,
        head="normalised",
        title="Normalised: divided by the score of question and needle alone",
        of=lambda s: float(s.haystacks.mean()) / s.needle if s.needle > 0 else math.nan,
        what="score over that of question and default needle alone",
        source="the post",
        by=_BOTH,
    ),
    HaystackMeasure(
        "control",
        3,
        bounds=None,
        of=lambda s: float(s.controls.mean()),
        what="mean score of question and control",
        source="the post",
    ),
    HaystackMeasure(
        "difference",
        3,
        bounds=None,
        of=lambda s: float(s.haystacks.mean() - s.controls.mean()),
        what="mean difference to the controls of all questions",
    ),
)
AUC, RATIO, GAIN, NORMALISED = (
    next(one for one in MEASURES if one.name == name)
    for name in ("auc", "ratio", "gain", "normalised")
)
OF_PLACE = tuple(
    Measure(name, 3, bounds=None, better="", head=head, title=title)
    for name, head, title in (
        ("pearson", "Pearson", "Correlation of score and depth"),
        ("slope", "slope", "Slope of the score, from first to last place"),
    )
)
# what stands beside the measures: how many texts there are, and what is read of them
HAYSTACKS, CONTROLS = Measure("haystacks"), Measure("controls")
TRUNCATED, SEEN, CUT = (
    Measure(name, 0, percent=True, sign="%", head=name, title=title)
    for name, title in (
        ("truncated", "Haystacks that are not read whole"),
        ("needle read", "Haystacks whose needle is read"),
        ("cut", ""),
    )
)


def broken_down(factor: str) -> dict[str, HaystackMeasure]:
    """By their names the measures that are broken down by a factor: they hold its levels apart."""
    return {
        one.name: replace(one, name=f"{one.name} by {factor}")
        for one in MEASURES
        if factor in one.by
    }
