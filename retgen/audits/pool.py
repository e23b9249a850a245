"""The pairs whose labels are audited: what runs rank first and nobody judged, judged positives.

Which pairs are looked at first is drawn with known chances: a pair counts for the scores of all
runs that rank it among their first `DEPTH`, and the higher one ranks it, the likelier it is
relevant. Every pair keeps a chance, so totals over the whole pool are estimated as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retgen.statistics.bottom import BottomSample, CorrectedSample, JudgeLabels
from retgen.statistics.clustered import CHANGE, SHARE, Estimate, Floats
from retgen.statistics.sequences import weighted_keys

DEPTH = 10  # documents of a query that scores count
UNJUDGED, POSITIVE = 0, 1  # strata
_UNIFORM = 0.1  # share of the draws that knows nothing
_SEEN = 0.3  # what a pair that no run has among its first counts beside one that all have
_WRONG = 0.1  # expected share of wrong positives, before anybody looks
_LEAST = 0.02  # expected share of relevant ones among unjudged pairs, at least


@dataclass(frozen=True)
class Pool:
    """Pairs: `rows` (pairs,) of queries, `documents` (pairs,), `strata` (pairs,).

    `ranks` (runs, pairs): from 1, 0 where a run has the pair deeper than the pool. `queries`: how
    many there are. `seed`: of the order in which pairs are looked at.
    """

    rows: NDArray[np.int64]
    documents: NDArray[np.int64]
    strata: NDArray[np.int64]
    ranks: NDArray[np.int64]
    queries: int
    seed: int = 0

    @classmethod
    def of(
        cls,
        rankings: Sequence[NDArray[np.int64]],
        positives: Sequence[AbstractSet[int]],
        judged: Sequence[AbstractSet[int]] | None,
        seed: int = 0,
    ) -> Pool:
        """`rankings`: of each run (queries, depth) documents, -1 where there is none.

        `positives`, `judged`: documents of each query; `judged` None: all of them are, so that the
        pool holds positives alone. Pairs judged not relevant stay out.
        """
        places: dict[tuple[int, int], list[int]] = {
            (row, document): [0] * len(rankings)
            for row, documents in enumerate(positives)
            for document in sorted(documents)
        }
        for run, ranking in enumerate(rankings):
            for row, documents in enumerate(ranking.tolist()):
                for rank, document in enumerate(documents, 1):
                    open_ = judged is not None and document not in judged[row]
                    if document >= 0 and (open_ or document in positives[row]):
                        places.setdefault((row, document), [0] * len(rankings))[run] = rank
        pairs = np.array([*places], np.int64).reshape(-1, 2)
        kinds = [POSITIVE if d in positives[row] else UNJUDGED for row, d in places]
        ranks = np.array([*places.values()], np.int64).reshape(len(pairs), len(rankings)).T
        return cls(pairs[:, 0], pairs[:, 1], np.array(kinds, np.int64), ranks, len(positives), seed)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """(runs, pairs): whether a pair is in a run's score."""
        return np.asarray((self.ranks > 0) & (self.ranks <= DEPTH))

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """(pairs,): the best rank over the runs, one more than the deepest where none has it."""
        deepest = int(self.ranks.max(initial=0)) + 1
        return np.asarray(np.where(self.ranks > 0, self.ranks, deepest).min(axis=0))

    @cached_property
    def prior(self) -> Floats:
        """(pairs,): how likely a pair is relevant, before anybody looks.

        Of unjudged ones half as likely as that a pair of this rank or a worse one is a positive.
        """
        positive = self.strata == POSITIVE
        deepest = int(self.best.max(initial=1))
        held = np.bincount(self.best, positive, deepest + 1)[::-1].cumsum()[::-1]
        total = np.bincount(self.best, minlength=deepest + 1)[::-1].cumsum()[::-1]
        by_rank = np.clip(held / np.maximum(total, 1) / 2, _LEAST, 0.5)
        return np.where(positive, 1 - _WRONG, by_rank[self.best])

    @cached_property
    def weights(self) -> Floats:
        """(pairs,) of the draws, with mean 1."""
        share = self.counted.mean(axis=0) + _SEEN**2
        size = np.sqrt(share * self.prior * (1 - self.prior))
        return np.asarray(_UNIFORM + (1 - _UNIFORM) * size / size.mean())

    @cached_property
    def keys(self) -> Floats:
        """(pairs,): the smallest is looked at first."""
        return weighted_keys(self.weights, self.seed, "audit")

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(pairs,): in which to look at them."""
        return np.asarray(np.argsort(self.keys, kind="stable"))

    # --- what is estimated: weights (pairs,) of labels -----------------------------------------

    def precision(self, run: int) -> Floats:
        """The share of relevant documents among a run's first `DEPTH`."""
        return np.asarray(self.counted[run] / (DEPTH * self.queries))

    def corrected(
        self, labels: Floats, judged: Floats | None = None, count: int | None = None
    ) -> CorrectedSample:
        """By people's labels of the first pairs in order, and a judge's of the first `count` (all,
        if None): `judged` (pairs,), 0 or 1, NaN where it gave none.
        """
        kinds = [self.strata == kind for kind in (UNJUDGED, POSITIVE)]
        guesses = np.stack([one for kind in kinds for one in (kind, kind / self.best)], axis=1)
        sample = BottomSample(self.order, self.keys, self.weights, labels)
        judge = None
        if judged is not None:
            columns = np.stack([kind * (np.nan_to_num(judged) - self.prior) for kind in kinds], 1)
            judge = JudgeLabels(judged, len(self) if count is None else count, columns)
        return CorrectedSample.of(sample, self.prior, guesses.astype(float), judge)


@dataclass(frozen=True)
class LabelErrors:
    """What labels say of the pool. `missing`: of all relevant pairs, the share without a positive
    label, None where no pair is unjudged; `wrong`: of the positives, the share that is not
    relevant. By run: `precision`, of the first `DEPTH` documents the share that is relevant;
    `recall`: of all relevant pairs, the share that is among these; None where nothing is relevant.
    """

    missing: Estimate | None
    wrong: Estimate | None
    precision: list[Estimate]
    recall: list[Estimate | None]
    fit: CorrectedSample

    @classmethod
    def of(cls, pool: Pool, fit: CorrectedSample) -> LabelErrors:
        """By a sample of the pool."""
        every = np.ones(len(pool))
        unjudged, positive = (pool.strata == kind for kind in (UNJUDGED, POSITIVE))
        count = int(positive.sum())
        runs = range(len(pool.ranks))
        return cls(
            fit.ratio(unjudged.astype(float), every, SHARE) if unjudged.any() else None,
            fit.mean(positive / -count, SHARE, 1.0) if count else None,
            [fit.mean(pool.precision(run), SHARE) for run in runs],
            [fit.ratio(pool.counted[run].astype(float), every, SHARE) for run in runs],
            fit,
        )

    def difference(self, pool: Pool, first: int, second: int) -> Estimate:
        """Of two runs' precision."""
        return self.fit.mean(pool.precision(first) - pool.precision(second), CHANGE)
