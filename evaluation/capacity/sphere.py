"""Adam on unit vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Schedule(NamedTuple):
    """Temperature and learning rate fall geometrically over the steps."""

    steps: int
    temperature: tuple[float, float]
    rate: tuple[float, float]


class SphereAdam:
    """Adam whose every step ends with the projection to unit length.

    `units` (..., vectors, dimension) are changed in place; `gradient`, of the same shape, is for
    the caller to fill before each step. `mean` and `square` are Adam's moments, `count` its steps:
    give those of another one to go on from it.
    """

    def __init__(
        self,
        units: Tensor,
        mean: Tensor | None = None,
        square: Tensor | None = None,
        count: Tensor | None = None,
    ) -> None:
        self.units = units
        self.gradient = torch.zeros_like(units)
        self.mean = torch.zeros_like(units) if mean is None else mean
        self.square = torch.zeros_like(units) if square is None else square
        self.count = torch.zeros((), device=units.device) if count is None else count
        self._norm = torch.empty_like(units[..., :1])

    def step(self, rate: float, eps: float = 1e-8) -> None:
        """One step with this learning rate."""
        self.count += 1
        torch._fused_adam_(  # what torch.optim.Adam(fused=True) calls, without its 30 us a step
            [self.units],
            [self.gradient],
            [self.mean],
            [self.square],
            [],
            [self.count],
            lr=rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=eps,
            amsgrad=False,
            maximize=False,
        )
        torch.linalg.vector_norm(self.units, dim=-1, keepdim=True, out=self._norm)
        self.units.div_(self._norm)
