"""Draws for one item that depend on nothing but the item: any order, any process, the same."""

from __future__ import annotations

import xxhash


def chance(seed: int, purpose: str, *names: str | int) -> float:
    """A number in [0, 1) of some names, uniform over seeds."""
    text = "\x00".join(map(str, (seed, purpose, *names)))
    return xxhash.xxh3_64_intdigest(text.encode()) / 2.0**64
