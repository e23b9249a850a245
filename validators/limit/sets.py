"""No two distractors list the same attributes, more often than chance has them do so."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from retgen.validators.corpus import Duplicates
from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.spec import Spec
from retgen.validators.rule import Batch, Finding

__all__ = ["SharedAttributes"]

_P = 1e-6  # below, equal sets are not taken for chance


class SharedAttributes(Duplicates):
    """Documents that differ in nothing but the name.

    A distractor's m attributes are drawn from the F that no query asks for, so of n distractors
    n(n-1)/2 / C(F, m) pairs are expected to agree. Documents that a query asks for may have to.
    """

    def __init__(self, proof: LimitProof, spec: Spec) -> None:
        self.proof, self.spec = proof, spec
        # sets are compared by the sum of one random number for each attribute, modulo 2**64
        self._numbers = np.random.default_rng(0).integers(
            2**64, size=len(proof.queried), dtype=np.uint64
        )
        super().__init__("limit-proof/attributes", "error", "attributes", self._sets)

    def _sets(self, batch: Batch) -> list[str]:
        """A key for the attributes of each document: of distractors equal where these are."""
        terms, counts = self.proof.terms_of(batch)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        sums = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(self._numbers[terms], dtype=np.uint64)]
        )
        asked = np.concatenate([[0], np.cumsum(self.proof.queried[terms])])
        keys = (sums[starts[1:]] - sums[starts[:-1]]).tolist()
        held = (asked[starts[1:]] - asked[starts[:-1]]).tolist()
        return [
            doc_id if holds or not count else f"{key:016x}"
            for doc_id, key, holds, count in zip(
                batch.ids, keys, held, counts.tolist(), strict=True
            )
        ]

    def findings(self) -> Iterator[Finding]:
        pairs = sum(math.comb(len(members), 2) for members in self.groups.values())
        fillers = len(self.spec.attributes) - int(self.proof.queried.sum())
        if not _by_chance(pairs, self.spec.documents, fillers, self.spec.attributes_per_doc):
            yield from super().findings()


def _by_chance(pairs: int, documents: int, fillers: int, size: int) -> bool:
    """Whether so many pairs of equal sets are likely: Chernoff's bound of Poisson's tail."""
    if not pairs or size > fillers or documents < 2:
        return not pairs
    log_sets = math.lgamma(fillers + 1) - math.lgamma(size + 1) - math.lgamma(fillers - size + 1)
    log_mean = math.log(math.comb(documents, 2)) - log_sets
    if math.log(pairs) <= log_mean:
        return True
    return pairs * (1 + log_mean - math.log(pairs)) - math.exp(log_mean) > math.log(_P)
