"""What is proven about the dimension that a single-vector embedder needs for a qrel matrix.

The notion is the paper's row-wise order-preserving rank (LIMIT, Definition 1): the least d for
which vectors of queries and documents exist such that every query scores each of its relevant
documents above every other. By Proposition 2 it is at least the sign-rank of 2A - 1, less one.
Bounds of a submatrix hold for the whole from below; the upper bounds hold for the whole corpus,
documents that no query asks for included. Only what is proven is said; what was too large to
compute is listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from retgen.qrels.density import Densities, densities
from retgen.qrels.matrix import QrelMatrix
from retgen.qrels.orders import few_changes
from retgen.qrels.radon import complete_subset
from retgen.qrels.spectral import LARGEST, alon_moran_yehudayoff, forster

__all__ = ["Bound", "Certificate", "certificate"]

NOTION = "row order"
_PAPER = "arXiv 2508.21038"


@dataclass(frozen=True)
class Bound:
    """One end of the bracket: `dimension` by `theorem`, found in `reference`."""

    dimension: int
    theorem: str
    reference: str
    notion: str = NOTION


@dataclass(frozen=True)
class Certificate:
    """Densities and the bracket of a qrel matrix."""

    densities: Densities
    lower_bounds: list[Bound]
    upper_bounds: list[Bound]
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
        return (
            f"needs at least {self.lower} and at most {self.upper} dimensions in {NOTION}; "
            f"excludes no embedder of {self.upper} or more dimensions"
        )

    def to_json(self) -> dict[str, Any]:
        """As the manifest and `gen capacity --json` hold it."""
        return {
            **asdict(self.densities),
            "lower": self.lower,
            "upper": self.upper,
            "lower_bounds": [asdict(bound) for bound in self.lower_bounds],
            "upper_bounds": [asdict(bound) for bound in self.upper_bounds],
            "skipped": self.skipped,
        }


def certificate(matrix: QrelMatrix, documents_total: int | None = None) -> Certificate:
    """The certificate of a matrix in a corpus of `documents_total` documents.

    Default: the columns of the matrix are the whole corpus.
    """
    total = documents_total if documents_total is not None else matrix.documents
    play = matrix.positives_only()[0]
    skipped: list[dict[str, str]] = []
    lower = list(_lower(play, total, skipped))
    upper = list(_upper(play, total))
    lower.sort(key=lambda bound: -bound.dimension)
    upper.sort(key=lambda bound: bound.dimension)
    return Certificate(densities(play), lower, upper, skipped)


def _lower(play: QrelMatrix, total: int, skipped: list[dict[str, str]]) -> Iterator[Bound]:
    sums = play.row_sums
    if bool(((sums > 0) & (sums < total)).any()):
        yield Bound(1, "a query tells documents apart, which equal scores cannot", "immediate")
    if _three_of_a_size(play, total):
        yield Bound(
            2,
            "on a line a query's k best documents are the k first or the k last, so at most two "
            "sets of a size can be asked for; here there are three",
            "immediate",
        )
    found = complete_subset(play)
    if found is not None:
        k, documents = found
        yield Bound(
            2 * k,
            f"all {k}-subsets of {len(documents)} documents are queried; fewer than {2 * k} "
            f"dimensions leave two affine dependencies, one of which separates at most {k} "
            "documents from the rest (Radon's argument)",
            "J. Radon, Math. Ann. 83 (1921); proof in retgen.qrels.radon",
        )
    if min(play.queries, play.documents) > LARGEST:
        reason = f"{play.queries:,} x {play.documents:,} is above {LARGEST:,} on both sides"
        skipped += [{"theorem": name, "reason": reason} for name in ("Forster", "Alon et al.")]
        return
    if not play.nnz:
        return
    rank, norm = forster(play)
    yield Bound(
        rank - 1,
        f"sign-rank >= sqrt(mn)/||2A - 1|| with ||2A - 1||^2 <= {float(norm):.6g} (Forster), and "
        "dimension >= sign-rank - 1 (Proposition 2)",
        f"J. Forster, J. Comput. Syst. Sci. 65 (2002); {_PAPER}",
    )
    regular = alon_moran_yehudayoff(play)
    if regular is not None:
        rank, second = regular
        yield Bound(
            rank - 1,
            f"sign-rank >= D/sigma_2(A) with D = {int(sums[0])}, sigma_2^2 <= {float(second):.6g} "
            "(Alon, Moran, Yehudayoff), and dimension >= sign-rank - 1 (Proposition 2)",
            f"N. Alon, S. Moran, A. Yehudayoff, COLT 2016, Theorem 5; {_PAPER}",
        )


def _three_of_a_size(play: QrelMatrix, total: int) -> bool:
    kinds: dict[int, set[bytes]] = {}
    for i in range(play.queries):
        row = play.row(i)
        if 0 < len(row) < total:
            sets = kinds.setdefault(len(row), set())
            sets.add(row.tobytes())
            if len(sets) == 3:
                return True
    return False


def _upper(play: QrelMatrix, total: int) -> Iterator[Bound]:
    sums = play.row_sums
    if not len(sums):
        return
    widest = int(np.minimum(sums, total - sums).max())
    yield Bound(
        max(1, 2 * widest),
        f"documents on the moment curve; a query with k relevant ones is -prod (t - t_j)^2 over "
        f"them, of degree 2k (here 2 x {widest}): so 2k dimensions suffice for any number of "
        "documents",
        "D. Gale, Neighborly and cyclic polytopes (1963); arXiv 2601.20844",
    )
    others = total > play.documents
    yield Bound(
        max(1, play.documents - (0 if others else 1)),
        f"the {play.documents:,} documents in play"
        + (" and one point for all others" if others else "")
        + " as the corners of a simplex, on which every function is affine",
        "immediate",
    )
    yield Bound(play.queries, "the matrix itself: a dimension for each query", "immediate")
    dimension, order = few_changes(play, others)
    yield Bound(
        max(1, dimension),
        f"a {order} in which every query's documents change to the others at most {dimension} "
        "times; polynomials with their roots at the changes",
        "N. Alon, P. Frankl, V. Roedl, FOCS 1985; proof in retgen.qrels.orders",
    )
