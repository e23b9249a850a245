"""Retrievers fused by their scores."""

from __future__ import annotations

from retgen.evaluation.retrievers import hybrid


class MinMax(hybrid.Hybrid):
    prefix = "minmax"
    form = "minmax:A+B"
    about = "fusion of scores that are scaled to 0..1 for each query, the same weight each"
    by_score = True
