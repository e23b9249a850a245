"""A closed form: every pair of any number of documents in an even dimension d >= 4, unit vectors.

Documents are n points of the trigonometric moment curve with r = d/2 frequencies,

    (cos t, sin t, cos 2t, sin 2t, ..., cos rt, sin rt) / sqrt(r)    at t = 0, 2 pi/n, 4 pi/n, ...

A query is a direction, so its scores are a trigonometric polynomial of degree r in t, up to a
constant. That of the documents at a and b is the non-constant part of

    -(1 - K_m(t - a)) (1 - K_l(t - b)),    m = floor(r/2), l = ceil(r/2),

with Fejer's kernel K_m(t) = (sin((m + 1)t/2) / ((m + 1) sin(t/2)))^2, of degree m, which is 1 at 0
and less elsewhere: zero at a and b, negative at all other documents. For d = 4 it is
-(1 - cos(t - a))(1 - cos(t - b))/4.

So no number of documents is too large for four dimensions; what shrinks is the margin, as n^-4.
How many documents a number format can still tell apart is what `largest` measures, by
brute force over all queries and documents.

The curve and its polynomials: D. Gale, Neighborly and cyclic polytopes (1963); for embedding
retrieval arXiv 2601.20844.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from retgen.errors import UsageError
from retgen.evaluation.capacity.paper import pairs
from retgen.progress import Progress, no_progress

PRECISIONS = {
    "float64": "vectors and scores in float64",
    "float32": "vectors and scores in float32",
    "bf16": "vectors in bfloat16, scores summed in float32",
    "int8": "vectors in int8, the largest component of a query and of all documents at 127",
}
_BLOCK = 8_000_000  # scores at a time


class FormatCapacity(NamedTuple):
    """How many documents a number format tells apart.

    `documents`: every number up to this is carried, and one more is not, unless this is `limit`,
    where trying one number after the other ended. `margin` is that of `documents` before rounding.
    """

    dimension: int
    precision: str
    documents: int
    limit: int
    margin: float | None


def documents(dimension: int, count: int) -> Tensor:
    """The documents: unit vectors, float64 (count, dimension), count >= 3."""
    frequencies = torch.arange(1, dimension // 2 + 1)
    # whole multiples of the angle are reduced before they are rounded
    turns = torch.arange(count)[:, None] * frequencies % count
    angle = turns.double() * (2 * math.pi / count)
    return torch.stack((angle.cos(), angle.sin()), 2).flatten(1) / math.sqrt(dimension // 2)


def queries(dimension: int, count: int, wanted: Tensor | None = None) -> Tensor:
    """The queries of pairs of documents: unit vectors, float64 (pairs, dimension).

    `wanted`: int64 (2, pairs), indices of the two documents; None for all pairs in the order of
    `paper.pairs`.
    """
    first, second = pairs(count) if wanted is None else wanted
    r = dimension // 2
    one, other = _factor(r // 2, count), _factor(r - r // 2, count)
    product = torch.zeros(first.numel(), 2 * r + 1, dtype=torch.complex128)
    for i in range(one.shape[1]):
        product[:, i : i + other.shape[1]] -= one[first, i : i + 1] * other[second]
    half = product[:, r + 1 :]  # c_j; the polynomial is sum c_j e^(ijt)
    flat = torch.stack((half.real, -half.imag), 2).flatten(1)
    return torch.nn.functional.normalize(flat, dim=-1)


def margin(dimension: int, count: int) -> float:
    """The smallest margin of any query, from float64: by symmetry one document may stay at 0."""
    others = torch.arange(1, count)
    wanted = torch.stack((torch.zeros_like(others), others))
    swapped = torch.stack((others, torch.zeros_like(others)))
    worst = math.inf
    for both in (wanted, swapped) if dimension // 2 % 2 else (wanted,):
        scores = queries(dimension, count, both) @ documents(dimension, count).T
        worst = min(worst, float(_gaps(scores, both.T).amin()))
    return worst


def carries(dimension: int, count: int, precision: str) -> bool:
    """Whether every query still ranks its two documents strictly first in this number format.

    `precision`: one of PRECISIONS. Checks all pairs against all documents.
    """
    targets = _rounded(documents(dimension, count), precision, together=True).T
    for both in _closest_first(count):
        result = _rounded(queries(dimension, count, both), precision, together=False)
        if not bool((_gaps(result @ targets, both.T) > 0).all()):
            return False
    return True


def largest(
    dimension: int, precision: str, *, limit: int = 256, progress: Progress = no_progress
) -> FormatCapacity:
    """How many documents a number format carries: one number after the other, up to `limit`."""
    count = 2  # of two documents, the top 2 are both
    while count < limit and carries(dimension, count + 1, precision):
        progress(f"d={dimension} {precision}: documents", count, limit)
        count += 1
    reached = margin(dimension, count) if count > 2 else None
    return FormatCapacity(dimension, precision, count, limit, reached)


def check_dimensions(dimensions: Iterable[int]) -> None:
    """Raise UsageError for an odd dimension, or one below 4."""
    for dimension in dimensions:
        if dimension < 4 or dimension % 2:
            raise UsageError(
                f"the closed form is for even dimensions from 4 on, not {dimension} "
                "(an odd one can leave its last component zero)"
            )


def _factor(degree: int, count: int) -> Tensor:
    """Fourier coefficients of 1 - K(t - t_i), complex128 (count, 2 degree + 1), lowest first.

    Fejer's kernel is sum over |j| <= m of (1 - |j|/(m + 1)) e^(ijt), over m + 1 to be 1 at 0.
    """
    order = torch.arange(-degree, degree + 1)
    kernel = (1 - order.abs().double() / (degree + 1)) / (degree + 1)
    turns = torch.arange(count)[:, None] * order % count
    angle = turns.double() * (-2 * math.pi / count)
    result = -kernel * torch.polar(torch.ones_like(angle), angle)
    result[:, degree] += 1
    return result


def _closest_first(count: int) -> Iterator[Tensor]:
    """All pairs in blocks, neighbours on the circle first: they fail first."""
    start = torch.arange(count)
    rows = max(1, _BLOCK // count)
    block: list[Tensor] = []
    held = 0
    for distance in range(1, count // 2 + 1):
        # at half the circle each pair would come twice
        sources = start[: count // 2] if 2 * distance == count else start
        block.append(torch.stack((sources, (sources + distance) % count)))
        held += sources.numel()
        if held >= rows or distance in (1, count // 2):
            yield torch.cat(block, 1)
            block, held = [], 0


def _rounded(vectors: Tensor, precision: str, *, together: bool) -> Tensor:
    """Vectors in a number format, as a float type in which their products are summed."""
    if precision == "int8":
        largest_component = vectors.abs().amax() if together else vectors.abs().amax(1, True)
        # whole numbers: up to 2^24 / 127^2 = 1,040 dimensions float32 sums them exactly
        return (vectors * (127 / largest_component)).round().to(torch.float32)
    if precision == "bf16":
        return vectors.to(torch.bfloat16).to(torch.float32)
    return vectors.to(getattr(torch, precision))


def _gaps(scores: Tensor, relevant: Tensor) -> Tensor:
    """The worse relevant score minus the best other one: (queries,). Overwrites `scores`."""
    worse = scores.gather(1, relevant).amin(1)
    return worse - scores.scatter_(1, relevant, -math.inf).amax(1)
