"""Exact search in blocks: the best documents of each query so far, with trec_eval's ties.

A document's place is one 64-bit key: its 32-bit score, made sortable, above its priority among
equals. Taking the largest keys therefore breaks ties exactly, on any device, whatever the blocks.
Past the first block only scores that reach a query's threshold are looked at again, so the cost of
choosing is little beside that of the matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retgen.evaluation.collection import by_priority
from retgen.evaluation.search.rankings import Rankings

_LOW = (1 << 32) - 1
_NONE = -(1 << 63)  # below every key of a score


class TopK:
    """The best `depth` documents of `queries` queries, fed block by block.

    `priority` (documents,): of equal scores the highest comes first, as in `Collection`.
    """

    def __init__(self, priority: NDArray[np.int64], queries: int, depth: int, device: str) -> None:
        self._ties = priority
        self._depth = depth
        self._priority = torch.from_numpy(priority).to(device)
        self._keys = torch.full((queries, depth), _NONE, dtype=torch.int64, device=device)
        self._bar = torch.full((queries, 1), -torch.inf, device=device)

    def add(self, first: int, scores: Tensor) -> None:
        """Scores (queries, b) of the documents first..first + b - 1."""
        scores = scores.float()
        queries, width = scores.shape
        priority = self._priority[first : first + width]
        most = 4 * self._depth
        reach = scores >= self._bar
        widest = int(reach.sum(1).max())
        if widest > most and width > most:
            # too many to sort: the block's own depth-th score is a higher bar
            own = scores.topk(self._depth, dim=1, sorted=False).values.amin(1, keepdim=True)
            self._bar = torch.maximum(self._bar, own)
            reach = scores >= self._bar
            widest = int(reach.sum(1).max())
        if widest == 0:
            return
        if widest > most:  # ties in masses: let the keys decide over the whole block
            candidates = _keys(scores, priority.expand(queries, -1))
        else:
            rows, columns = reach.nonzero(as_tuple=True)
            begins = torch.searchsorted(rows, torch.arange(queries, device=rows.device))
            place = torch.arange(len(rows), device=rows.device) - begins[rows]
            candidates = torch.full((queries, widest), _NONE, device=rows.device)
            candidates[rows, place] = _keys(scores[rows, columns], priority[columns])
        both = torch.cat([self._keys, candidates], dim=1)
        self._keys = both.topk(self._depth, dim=1).values
        self._bar = torch.maximum(self._bar, _scores(self._keys[:, -1:]))

    @staticmethod
    def joined(parts: Sequence[TopK]) -> Rankings:
        """What was found, best first: the queries of all parts, in order."""
        keys = torch.cat([part._keys for part in parts])
        scores = torch.where(keys > _NONE, _scores(keys), 0.0).cpu().numpy()
        places = keys.cpu().numpy()
        result = places > _NONE
        documents = by_priority(parts[0]._ties)[np.where(result, places & _LOW, 0)]
        return Rankings(np.where(result, documents, -1), scores)


def _keys(scores: Tensor, priority: Tensor) -> Tensor:
    bits = (scores + 0.0).contiguous().view(torch.int32)  # + 0.0: -0 is 0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # as integers, in the order of the floats
    return (ordered.long() << 32) | priority


def _scores(keys: Tensor) -> Tensor:
    ordered = (keys >> 32).int()
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    scores = bits.view(torch.float32)
    return torch.where(keys > _NONE, scores, -torch.inf)
