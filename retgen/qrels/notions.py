"""The bracket in the paper's three notions of the dimension that a qrel matrix A needs.

- *row order*: least rank of B with B_ij > B_ik wherever A_ij > A_ik; thresholds of a query's own
  come to the same (Proposition 1). It is what a ranking needs.
- *global threshold*: one threshold for all queries.
- *sign rank* of 2A - 1: the threshold is zero.

Proposition 2 of "On the Theoretical Limitations of Embedding-Based Retrieval" (arXiv 2508.21038):
sign rank - 1 <= row order <= global threshold <= sign rank. So with row order within L..U, the
others are within L..U + 1; some of our lower bounds are of the sign rank itself, and say more.
"""

from __future__ import annotations

from typing import NamedTuple

from retgen.qrels.certificate import NOTION, Certificate

GLOBAL = "global threshold"
SIGN = "sign rank"


class Bracket(NamedTuple):
    """lower <= dimension <= upper in one notion, with the reason of each end."""

    notion: str
    lower: int
    upper: int
    lower_by: str
    upper_by: str


def brackets(result: Certificate) -> list[Bracket]:
    """The three, from the bounds of a certificate; none where it has none."""
    if not result.lower_bounds or not result.upper_bounds:
        return []
    low = max(result.lower_bounds, key=lambda bound: bound.dimension)
    high = min(result.upper_bounds, key=lambda bound: bound.dimension)
    by_low = f"not below row order: {low.theorem}"
    by_high = f"at most one more than row order: {high.theorem}"
    sign, by_sign = low.dimension, by_low
    for bound in result.lower_bounds:
        if bound.sign_rank is not None and bound.sign_rank > sign:
            sign, by_sign = bound.sign_rank, bound.theorem
    return [
        Bracket(NOTION, low.dimension, high.dimension, low.theorem, high.theorem),
        Bracket(GLOBAL, low.dimension, high.dimension + 1, by_low, by_high),
        Bracket(SIGN, sign, high.dimension + 1, by_sign, by_high),
    ]
