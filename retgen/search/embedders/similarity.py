"""How vectors are compared: by the similarity that their model names, wherever a score is made.

| similarity | score of two vectors |
|---|---|
| cosine | their product, each at length 1 |
| dot | their product |
| euclidean, manhattan | minus their distance, so that higher is better |

The scores are those of sentence-transformers. Vectors cut to their first coordinates are compared
in the same way: the cosine takes the length of what is left.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import normalize

from retgen.errors import UsageError

Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]
_LEAST = 1e-12  # the length that a shorter vector is divided by, as in `normalize`


def similarity_of(name: str, stated: object) -> Similarity:
    """The similarity that a model states; the cosine if it states none.

    Raises `UsageError` for one that compares more than two vectors, as MaxSim does.
    """
    result = "cosine" if stated is None else str(getattr(stated, "value", stated))
    names: tuple[Similarity, ...] = get_args(Similarity)
    if result in names:
        return names[names.index(result)]
    raise UsageError(
        f"--model {name}: its similarity is {result}, which is not of single vectors "
        f"({', '.join(names)}); late:MODEL takes a late-interaction model of the "
        "Hub or a folder"
    )


def all_pairs(queries: Tensor, documents: Tensor, similarity: Similarity) -> Tensor:
    """Scores (q, d) of vectors (q, n) and (d, n)."""
    if similarity == "manhattan":
        return -torch.cdist(queries, documents, p=1.0)
    if similarity == "euclidean":
        if queries.device.type == "mps":  # it has no float64
            exact = "donot_use_mm_for_euclid_dist"
            return -torch.cdist(queries, documents, p=2.0, compute_mode=exact)
        # in float32 the difference of large squares would lose the digits of small distances
        one, two = queries.double(), documents.double()
        squares = one.square().sum(1)[:, None] + two.square().sum(1)
        return squares.addmm_(one, two.T, alpha=-2).clamp_min_(0).sqrt_().neg_().float()
    if similarity == "dot":
        return queries @ documents.T
    # scores are divided by the documents' lengths: that is less work than to normalise documents
    scores = normalize(queries, dim=1) @ documents.T
    return scores.mul_(documents.norm(dim=1).clamp_min_(_LEAST).reciprocal_())


def unit_length(vectors: Tensor) -> Tensor:
    """Scale vectors (n, d) to length 1; a vector of zeros stays as it is.

    Lengths are computed in float64: squares of 1e30 and of 1e-30 do not fit into float32.
    """
    exact = vectors.to("cpu" if vectors.device.type == "mps" else vectors.device, torch.float64)
    lengths = torch.linalg.vector_norm(exact, dim=1, keepdim=True)
    return exact.div_(lengths.clamp_min_(torch.finfo(exact.dtype).tiny)).to(vectors)


def each_pair(one: Tensor, two: Tensor, similarity: Similarity) -> Tensor:
    """Scores (n,) of vectors (n, d) with vectors (n, d), row by row."""
    from sentence_transformers.util import SimilarityFunction

    return SimilarityFunction.to_similarity_pairwise_fn(similarity)(one, two)
