"""A sparse encoder: weights over a vocabulary, in an inverted index."""

from __future__ import annotations

from typing import Any

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class Sparse(RetrieverType):
    prefix = "sparse"
    form = "sparse:MODEL"
    about = (
        "a sparse encoder of sentence-transformers (SPLADE and others), by its own similarity over "
        "an inverted index; nothing is cached, `--dims` does not apply"
    )
    needs = ("torch", "sentence-transformers")

    def load(self, name: str, options: Options) -> Retriever:

        from retgen.evaluation.search.sparse import SparseRetriever

        return SparseRetriever(name, name.partition(":")[2], options)

    def systems(self, name: str, retriever: Any, options: Options) -> list[System]:
        return [System(None, retriever, lambda: retriever.details, retriever.embedder.pieces)]
