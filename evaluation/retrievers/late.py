"""Late interaction: a query's score is the sum, over its tokens, of the best cosine with a token of
the document (MaxSim; Khattab and Zaharia, SIGIR 2020). Exact, over the whole corpus, in blocks.

A model that was trained for it is loaded as such; of any other sentence-transformers model the
token embeddings before pooling are taken, which is a baseline and not a trained late-interaction
model (`details["trained_for_late_interaction"]` says which).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from retgen.evaluation.collection import Collection
from retgen.evaluation.devices import choose_device, choose_dtype
from retgen.evaluation.embedders import load_model, loading, spare_memory
from retgen.evaluation.retrievers.base import Options, Ranked
from retgen.evaluation.retrievers.topk import TopK
from retgen.progress import Progress

__all__ = ["Late", "maxsim"]

_BLOCK = {"cpu": 256}  # documents at a time, else:
_BLOCK_GPU = 4_096
_TOKENS = 1 << 25  # token pairs compared at a time: 128 MB of scores


class Late:
    """A model's token embeddings as a retriever."""

    def __init__(self, name: str, model: str, options: Options) -> None:
        self._name = name
        device = choose_device(options.device)
        self._trained = _is_multi_vector(model)
        self._model: Any
        if self._trained:
            with loading(model):
                from sentence_transformers import MultiVectorEncoder

                self._model = MultiVectorEncoder(model, device=device)
            if options.dtype:
                self._model = self._model.to(choose_dtype(options.dtype, device))
        else:
            self._model = load_model(model, device, options.dtype)
        if options.max_length:
            self._model.max_seq_length = options.max_length
        self._device = device
        self._batch = options.batch_size or (32 if device == "cpu" else 256)
        self._notes: list[str] = []

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        queries = self.embed([query.text for query in collection.queries], "query")
        top = TopK(collection, len(queries), depth, self._device)
        for first, texts in collection.blocks(_BLOCK.get(self._device, _BLOCK_GPU)):
            top.add(first, maxsim(queries, self.embed(texts, "document")))
            progress(self._name, first + len(texts), collection.documents)
        yield Ranked(self._name, None, TopK.joined([top]), self.details)

    @property
    def details(self) -> dict[str, Any]:
        """How it runs."""
        return {
            "device": self._device,
            "max_length": self._model.max_seq_length,
            "trained_for_late_interaction": self._trained,
            "notes": self._notes,
        }

    def embed(self, texts: Sequence[str], kind: str) -> list[Tensor]:
        """Vectors of each text's tokens, (tokens, d), of length 1. `kind`: query or document."""
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        for batch in spare_memory(self._batch, self._name, self._notes):
            with batch as size, torch.inference_mode():
                found = encode(
                    list(texts),
                    output_value="token_embeddings",
                    batch_size=size,
                    show_progress_bar=False,
                )
                self._batch = size
        return [torch.nn.functional.normalize(row.float(), dim=1) for row in found]


def maxsim(queries: Sequence[Tensor], documents: Sequence[Tensor]) -> Tensor:
    """Scores (queries, documents) of token embeddings, each (tokens, d) with unit rows."""
    device = queries[0].device
    lengths = torch.tensor([len(d) for d in documents], device=device)
    padded = torch.nn.utils.rnn.pad_sequence(list(documents), batch_first=True)  # (b, t, d)
    beyond = torch.arange(padded.shape[1], device=device) >= lengths[:, None]  # (b, t)
    scores = torch.zeros(len(queries), len(documents), device=device)
    start = 0
    while start < len(queries):
        stop, tokens = start, 0
        while stop < len(queries) and (
            tokens == 0 or (tokens + len(queries[stop])) * beyond.numel() <= _TOKENS
        ):
            tokens += len(queries[stop])
            stop += 1
        rows = torch.cat(list(queries[start:stop]))  # (tokens, d)
        pairs = torch.einsum("qd,btd->qbt", rows, padded).masked_fill_(beyond, -torch.inf)
        best = pairs.amax(dim=2)
        counts = torch.tensor([len(q) for q in queries[start:stop]], device=device)
        owner = torch.repeat_interleave(torch.arange(start, stop, device=device), counts)
        scores.index_add_(0, owner, best)
        start = stop
    return scores


def _is_multi_vector(name: str) -> bool:
    """Whether a model's configuration says that it gives one vector a token."""
    file = "config_sentence_transformers.json"
    path = Path(name) / file
    if not Path(name).exists():
        if "/" not in name:
            return False
        from huggingface_hub import hf_hub_download

        with loading(name):
            path = Path(hf_hub_download(name, file))
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    # the second is how PyLate writes its models
    return config.get("model_type") == "MultiVectorEncoder" or "document_length" in config
