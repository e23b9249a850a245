"""Exact search in blocks: the best documents of each query so far, with trec_eval's ties.

A document's place is one 64-bit key: its 32-bit score, made sortable, above its priority among
equals. Taking the largest keys therefore breaks ties exactly, on any device, whatever the blocks.
Past the first block only scores that reach a query's threshold are looked at again, and only when
some query has as many of them as are kept, so the cost of choosing is little beside that of the
matrix product.
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
        self._waiting: list[tuple[Tensor, Tensor]] = []  # rows and keys not yet compared
        self._counts = torch.zeros(queries, dtype=torch.int64, device=device)  # of them, by row

    def add(self, first: int, scores: Tensor) -> None:
        """Scores (queries, b) of the documents first..first + b - 1."""
        scores = scores.float()
        queries, width = scores.shape
        reach = _reaching(scores, self._bar)
        if len(reach) > 4 * self._depth * queries and width > self._depth:
            # too many to sort: the block's own depth-th score is a higher bar
            own = _largest(scores, self._depth).amin(1, keepdim=True)
            reach = _reaching(scores, torch.maximum(self._bar, own))
        if len(reach) == 0:
            return
        rows = reach // width
        priority = self._priority[first + reach - rows * width]
        self._waiting.append((rows, _keys(scores.flatten()[reach], priority)))
        self._counts += torch.bincount(rows, minlength=queries)
        if int(self._counts.max()) >= self._depth:
            self._compare()

    def _compare(self) -> None:
        """Keep the best of what waits, which also raises the bar."""
        if not self._waiting:
            return
        rows, keys = map(torch.cat, zip(*self._waiting, strict=True))
        rows, order = rows.sort(stable=True)
        begins = self._counts.cumsum(0) - self._counts
        place = torch.arange(len(rows), device=rows.device) - begins[rows]
        shape = len(self._keys), int(self._counts.max())
        candidates = torch.full(shape, _NONE, device=rows.device)
        candidates[rows, place] = keys[order]
        self._keys = _largest(torch.cat([self._keys, candidates], dim=1), self._depth)
        self._bar = _scores(self._keys.amin(1, keepdim=True))
        self._waiting.clear()
        self._counts.zero_()

    @staticmethod
    def joined(parts: Sequence[TopK]) -> Rankings:
        """What was found, best first: the queries of all parts, in order."""
        for part in parts:
            part._compare()
        keys = torch.cat([part._keys for part in parts]).sort(dim=1, descending=True).values
        scores = torch.where(keys > _NONE, _scores(keys), 0.0).cpu().numpy()
        places = keys.cpu().numpy()
        result = places > _NONE
        documents = by_priority(parts[0]._ties)[np.where(result, places & _LOW, 0)]
        return Rankings(np.where(result, documents, -1), scores)


# on a processor numpy does both in a fifth of the time


def _largest(values: Tensor, count: int) -> Tensor:
    """The `count` largest of each row, in no order."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.partition(values.numpy(), -count, axis=1)[:, -count:])
    return values.topk(count, dim=1, sorted=False).values


def _reaching(scores: Tensor, bar: Tensor) -> Tensor:
    """The places in the flattened scores (queries, b) that are at least a query's bar."""
    if scores.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(scores.numpy() >= bar.numpy()))
    return (scores >= bar).flatten().nonzero()[:, 0]


def _keys(scores: Tensor, priority: Tensor) -> Tensor:
    bits = (scores + 0.0).contiguous().view(torch.int32)  # + 0.0: -0 is 0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # as integers, in the order of the floats
    return (ordered.long() << 32) | priority


def _scores(keys: Tensor) -> Tensor:
    ordered = (keys >> 32).int()
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    scores = bits.view(torch.float32)
    return torch.where(keys > _NONE, scores, -torch.inf)
