"""What is proven about the dimension that a single-vector embedder needs for a qrel matrix.

The notion is the paper's row-wise order-preserving rank (LIMIT, Definition 1): the least d for
which vectors of queries and documents exist such that every query scores each of its relevant
documents above every other. By Proposition 2 it is at least the sign-rank of 2A - 1, less one.
Bounds of a submatrix hold for the whole from below; the upper bounds hold for the whole corpus,
documents that no query asks for included. Only what is proven is said; what was too large to
compute is listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from retgen.qrels.density import Densities, densities
from retgen.qrels.matrix import QrelMatrix, ReducedMatrix, components, reduce
from retgen.qrels.orders import can_walk, changes, few_changes, fits_a_line, is_surely_planar
from retgen.qrels.radon import complete_subset, unasked_split
from retgen.qrels.spectral import LARGEST, SpectralBound, affordable, spectral_bounds

NOTION = "row order"
_PAPER = "arXiv 2508.21038"
_SPECTRAL = ("Forster", "Alon, Moran, Yehudayoff")
_STEP = "dimension >= sign-rank - 1 (Proposition 2)"
_FORSTER = f"J. Forster, J. Comput. Syst. Sci. 65 (2002); {_PAPER}"
_ALON = f"N. Alon, S. Moran, A. Yehudayoff, COLT 2016, arXiv 1503.07648; {_PAPER}"
_REAL = (
    "J. Forster, M. Krause, S. V. Lokam, R. Mubarakzjanov, N. Schmitt, H. U. Simon, FSTTCS 2001; "
    f"proof in retgen.qrels.spectral; {_PAPER}"
)


@dataclass(frozen=True)
class DimensionBound:
    """One end of the bracket: `dimension` by `theorem`, found in `reference`.

    `details` are the figures that a reader can check it by, `sign_rank` what the same argument
    says of the sign-rank, where that is more.
    """

    dimension: int
    theorem: str
    reference: str
    notion: str = NOTION
    details: dict[str, Any] = field(default_factory=dict)
    sign_rank: int | None = None

    def to_json(self) -> dict[str, Any]:
        stated = asdict(self)
        if self.sign_rank is None:
            del stated["sign_rank"]
        details = stated.pop("details")
        return {**stated, **details}


@dataclass(frozen=True)
class DimensionCertificate:
    """Densities and the bracket of a qrel matrix. `skipped`: theorem and reason of each."""

    densities: Densities
    lower_bounds: list[DimensionBound]
    upper_bounds: list[DimensionBound]
    skipped: list[dict[str, str]] = field(default_factory=list)

    @property
    def lower(self) -> int:
        """No embedder of fewer dimensions can rank all queries right."""
        return max((bound.dimension for bound in self.lower_bounds), default=0)

    @property
    def upper(self) -> int:
        """Some vectors of so many dimensions rank all queries right."""
        return min((bound.dimension for bound in self.upper_bounds), default=0)

    def sentence(self) -> str:
        """The bracket in words, saying no more than is proven."""
        unit = f"dimension{'s' * (self.lower != 1)}"
        most = "no more" if self.lower == self.upper else f"at most {self.upper}"
        return (
            f"needs at least {self.lower} {unit}, and {most}, to rank each query's relevant "
            "documents first"
        )

    def to_json(self) -> dict[str, Any]:
        """As the manifest and `gen capacity --json` hold it."""
        graph = asdict(self.densities)
        del graph["left_out"]
        return {
            **graph,
            "lower": self.lower,
            "upper": self.upper,
            "lower_bounds": [bound.to_json() for bound in self.lower_bounds],
            "upper_bounds": [bound.to_json() for bound in self.upper_bounds],
            "skipped": self.skipped,
        }


def certificate(matrix: QrelMatrix, documents_total: int | None = None) -> DimensionCertificate:
    """The certificate of a matrix in a corpus of `documents_total` documents.

    Default: the columns of the matrix are the whole corpus. Raises ValueError for a total below
    the number of documents with a positive. Bounds are sorted, the best first.
    """
    total = documents_total if documents_total is not None else matrix.documents
    result = densities(matrix)
    if total < result.documents:
        raise ValueError(f"{result.documents:,} documents have a positive; the total is {total:,}")
    skipped = [{"theorem": what, "reason": why} for what, why in result.left_out.items()]
    reduced = reduce(matrix, total)
    lower: list[DimensionBound] = []
    upper: list[DimensionBound] = []
    if reduced.matrix.queries:
        lower += _combinatorial(reduced)
        lower += _spectral(reduced.matrix, skipped)
        upper += _anywhere(reduced)
        if max(b.dimension for b in lower) < min(b.dimension for b in upper):
            upper += _by_orders(reduced, skipped)
    lower.sort(key=lambda bound: -bound.dimension)
    upper.sort(key=lambda bound: bound.dimension)
    return DimensionCertificate(result, lower, upper, skipped)


def _combinatorial(reduced: ReducedMatrix) -> Iterator[DimensionBound]:
    """Lower bounds from which sets of documents are asked for."""
    matrix = reduced.matrix
    yield DimensionBound(1, "a query tells documents apart, which equal scores cannot", "immediate")
    crossing = fits_a_line(matrix, reduced.others)
    if isinstance(crossing, list):
        yield DimensionBound(
            2,
            "on a line each query's documents, or all others, begin at an end; two queries cross, "
            "or three ask for sets that begin at three ends",
            "proof in retgen.qrels.orders",
            details={"queries_that_show_it": len(crossing)},
        )
    most = _dichotomies(reduced)
    if most > 1:
        yield DimensionBound(
            most,
            f"{matrix.queries:,} different sets of {reduced.points:,} different documents are more "
            f"than half-spaces cut off from as many points in {most - 1} dimensions",
            "L. Schlaefli (1852); T. M. Cover, IEEE Trans. Electron. Comput. 14 (1965)",
        )
    complete = complete_subset(matrix, reduced.points)
    if complete is not None:
        k, documents = complete
        size = len(documents)
        yield DimensionBound(
            size - 1,
            f"all {k}-subsets of {size} documents are queried, and there are other documents; "
            f"fewer than {size - 1} dimensions leave two affine dependencies of these and one "
            "more, and a combination of them would have to be separated by one of these queries "
            "(Radon's argument)",
            "J. Radon, Math. Ann. 83 (1921); proof in retgen.qrels.radon",
            details={"columns": sorted(int(reduced.columns[j]) for j in documents)},
            sign_rank=size,
        )


def _spectral(matrix: QrelMatrix, skipped: list[dict[str, str]]) -> list[DimensionBound]:
    """Lower bounds from norms: of each kind the best over `_parts`."""
    best: dict[str, DimensionBound] = {}
    for number, part in enumerate(_parts(matrix)):
        if affordable(part):
            for bound in spectral_bounds(part):
                stated = _from_norm(bound, part)
                if stated.dimension > best.get(bound.kind, DimensionBound(0, "", "")).dimension:
                    best[bound.kind] = stated
        elif number == 0:
            reason = (
                f"norms are certified up to {LARGEST:,} on the smaller side; this is "
                f"{part.queries:,} x {part.documents:,} with {part.nnz:,} entries"
            )
            skipped += [{"theorem": name, "reason": reason} for name in _SPECTRAL]
    return list(best.values())


def _dichotomies(reduced: ReducedMatrix) -> int:
    """The least d for which half-spaces cut off so many sets of so many points.

    They cut n points of R^d in at most sum over i <= d of C(n - 1, i) ways into two, the trivial
    one included, each of which gives two sets. With a document without a positive (others) no two
    rows are complements, so each is a way of its own.
    """
    ways = reduced.matrix.queries if reduced.others else -(-reduced.matrix.queries // 2)
    d, reached = 0, 1
    while reached < ways + 1:
        d += 1
        reached += math.comb(reduced.points - 1, d)
    return d


def _parts(matrix: QrelMatrix) -> Iterator[QrelMatrix]:
    """The matrix and submatrices that may have better spectral bounds: a part is never equal.

    The largest connected part, and the rows with at least half as many entries as the largest.
    """
    yield matrix
    sums = matrix.row_sums
    rows = components(matrix)[0]
    names, sizes = np.unique(rows, return_counts=True)
    for kept in (rows == names[np.argmax(sizes)], 2 * sums >= sums.max()):
        if not bool(kept.all()):
            yield reduce(matrix.take_rows(np.flatnonzero(kept)), matrix.documents + 1).matrix


def _from_norm(result: SpectralBound, part: QrelMatrix) -> DimensionBound:
    shape = f"{part.queries} x {part.documents}"
    value = _rounded_down(result.square)
    details: dict[str, Any] = {"submatrix": shape}
    if result.kind == "forster":
        theorem = f"sign-rank >= sqrt(mn)/||2A - 1|| >= {value:.4f} (Forster)"
        details["norm_at_most"] = _rounded_up(result.norm)
        reference = _FORSTER
    elif result.kind == "alon-moran-yehudayoff":
        theorem = f"sign-rank >= D/sigma_2(A) >= {value:.4f} (Alon, Moran, Yehudayoff)"
        details |= {"degree": int(part.row_sums[0]), "sigma_2_at_most": _rounded_up(result.norm)}
        reference = _ALON
    elif result.shift is None:
        theorem = (
            f"sign-rank >= sigma_1(A)/sigma_2(A) + 1 >= {value + 1:.4f} for equal row sums and "
            "equal column sums (Forster's theorem for A - tJ)"
        )
        details["sigma_2_at_most"] = _rounded_up(result.norm)
        reference = _REAL
    else:
        theorem = f"sign-rank >= t sqrt(mn)/||A - tJ|| >= {value:.4f} (Forster for real matrices)"
        details |= {"t": str(result.shift), "norm_at_most": _rounded_up(result.norm)}
        reference = _REAL
    return DimensionBound(
        result.sign_rank - 1,
        f"{theorem}, and {_STEP}",
        reference,
        details=details,
        sign_rank=result.sign_rank,
    )


def _rounded_down(square: Fraction) -> float:
    """sqrt(square), to four decimals, never above."""
    return math.isqrt(int(square * 10**8)) / 10**4


def _rounded_up(square: Fraction) -> float:
    """sqrt(square), to four decimals, never below."""
    return (math.isqrt(math.ceil(square * 10**8) - 1) + 1) / 10**4 if square > 0 else 0.0


def _anywhere(reduced: ReducedMatrix) -> Iterator[DimensionBound]:
    """Upper bounds that hold without looking for an order."""
    matrix, points = reduced.matrix, reduced.points
    sums = matrix.row_sums
    widest = int(np.minimum(sums, points - sums).max())
    yield DimensionBound(
        2 * widest,
        f"documents on the moment curve; a query with k relevant ones is -prod (t - t_j)^2 over "
        f"them, of degree 2k (here 2 x {widest}): so 2k dimensions suffice for any number of "
        "documents",
        "D. Gale, Neighborly and cyclic polytopes (1963); arXiv 2601.20844",
    )
    yield DimensionBound(
        points - 1,
        f"the {points:,} different documents "
        + ("(one of them for all that no query asks for) " if reduced.others else "")
        + "as the corners of a simplex, on which every function is affine",
        "immediate",
    )
    split = None
    if points - 2 < min(2 * widest, matrix.queries):
        split = unasked_split(matrix, reduced.others)
    if split is not None:
        yield DimensionBound(
            points - 2,
            f"the {points:,} different documents"
            + (" (one of them for all that no query asks for)" if reduced.others else "")
            + (
                " as the corners of a simplex and a point within, "
                if len(split) == 1
                else f" as the corners of two simplices, of {len(split)} and "
                f"{points - len(split)}, that cross in a point, "
            )
            + "which planes part in every way but one, that no query asks for",
            "J. Radon, Math. Ann. 83 (1921); proof in retgen.qrels.radon",
            details={"split": [int(reduced.columns[j]) for j in split]},
        )
    yield DimensionBound(
        matrix.queries,
        f"the matrix itself: a dimension for each of {matrix.queries:,} different queries",
        "immediate",
    )
    if is_surely_planar(matrix):
        yield DimensionBound(
            3,
            "queries of two documents at most, as edges of a planar graph: corners and edges of a "
            "convex polytope, which planes cut off",
            "E. Steinitz, Encyklopaedie der math. Wissenschaften (1922); proof in "
            "retgen.qrels.orders",
        )


def _by_orders(reduced: ReducedMatrix, skipped: list[dict[str, str]]) -> Iterator[DimensionBound]:
    """Upper bounds from orders of the documents."""
    matrix = reduced.matrix
    order = fits_a_line(matrix, reduced.others)
    if isinstance(order, np.ndarray):
        whole = QrelMatrix(matrix.indptr, matrix.indices, reduced.points)
        if changes(whole, order, False)[0] <= 1:
            yield DimensionBound(
                1,
                "a line of the documents on which every query's documents, or all others, begin "
                "at an end",
                "proof in retgen.qrels.orders",
            )
    dimension, how = few_changes(matrix, reduced.others)
    yield DimensionBound(
        dimension,
        f"a {how} in which every query's documents change to the others at most {dimension} "
        "times; polynomials with their roots at the changes",
        "N. Alon, P. Frankl, V. Roedl, FOCS 1985; proof in retgen.qrels.orders",
    )
    if not can_walk(matrix):
        skipped.append(
            {
                "theorem": "sign changes in an order found by a walk",
                "reason": f"{matrix.nnz:,} relevant pairs meet too often for a short walk",
            }
        )


GLOBAL = "global threshold"
SIGN = "sign rank"


class Bracket(NamedTuple):
    """lower <= dimension <= upper in one notion, with the reason of each end."""

    notion: str
    lower: int
    upper: int
    lower_by: str
    upper_by: str


def brackets(result: DimensionCertificate) -> list[Bracket]:
    """The bracket in the paper's three notions of the dimension that a qrel matrix A needs.

    - *row order*: least rank of B with B_ij > B_ik wherever A_ij > A_ik; thresholds of a query's
      own come to the same (Proposition 1). It is what a ranking needs.
    - *global threshold*: one threshold for all queries.
    - *sign rank* of 2A - 1: the threshold is zero.

    Proposition 2 (arXiv 2508.21038): sign rank - 1 <= row order <= global threshold <= sign rank.
    So with row order within L..U, the others are within L..U + 1; some of our lower bounds are of
    the sign rank itself, and say more. Empty for a certificate without bounds.
    """
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
