"""Watching a model encode: libraries take many texts, and say nothing until all are done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn


@contextlib.contextmanager
def each_batch(embedder: object, report: Callable[[int], None]) -> Iterator[None]:
    """Call `report` with the number of texts encoded in this block, after each batch.

    `embedder`: whatever keeps its sentence-transformers model as `model`; of others, and of models
    in processes of their own, nothing is heard until the block ends.
    """
    model = getattr(embedder, "model", None)
    modules = list(model.children()) if isinstance(model, nn.Sequential) else []
    if not modules:
        yield
        return
    done = 0

    def count(_module: nn.Module, _given: Any, result: Any) -> None:
        nonlocal done
        vectors = result.get("sentence_embedding") if isinstance(result, Mapping) else None
        if isinstance(vectors, Tensor):
            done += len(vectors)
            report(done)

    hook = modules[-1].register_forward_hook(count)
    try:
        yield
    finally:
        hook.remove()
