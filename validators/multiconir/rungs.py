"""What the documents of one ladder have to be to one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from retgen.validators.multiconir.ladders import TEN


def ladder_faults(
    documents: Sequence[tuple[int, int, int]], orders: int, singles: bool = False
) -> Iterator[str]:
    """In one order of places, every rung of every breaking order once, and orders in balance.

    `documents`: of each its broken conditions, its order of places, its breaking orders. `singles`:
    every condition is broken alone, by documents that may belong to no breaking order.
    """
    if len({order for _, order, _ in documents}) > 1:
        yield "the sentences of its documents do not stand in one order"
    if len({broken for broken, *_ in documents}) < len(documents):
        yield "two of its documents break the same conditions"
    alone = {1 << c for c in range(TEN)} if singles else set[int]()
    if alone - {broken for broken, *_ in documents}:
        yield "a condition is broken alone by none of its documents"
    if any(
        (not named and broken not in alone) or named >> orders for broken, _, named in documents
    ):
        yield f"a document belongs to no breaking order, or to one beyond the {orders} there are"
    newly = []
    for number in range(orders):
        chain = sorted(
            (broken for broken, _, named in documents if named >> number & 1), key=int.bit_count
        )
        steps = [b & ~a for a, b in pairwise(chain)]
        rising = [one.bit_count() for one in chain] == list(range(TEN + 1))
        if not rising or any(step.bit_count() != 1 for step in steps):
            yield (
                f"breaking order {number + 1} does not break one condition more at each of ten "
                "rungs"
            )
            return
        newly.append(steps)
    if newly[0] != [1 << c for c in range(TEN)]:
        yield "the first breaking order does not break the conditions in their order"
    if any(len(set(rung)) < len(rung) for rung in zip(*newly, strict=True)):
        yield "two breaking orders break the same condition at the same rung"
