"""Memory that runs out: batches are halved, and nothing is encoded twice without need."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.retrievers import Options
from retgen.search.embedders.base import SentenceEmbedder

MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 30.5 GiB"),
    MemoryError(),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("HIP out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("MPS backend out of memory (MPS allocated: 9.05 GB)"),
]


class Device(torch.nn.Module):
    """Vectors of two numbers, the length of a text and 1, on a device whose memory may not do.

    `most`: texts that it holds; `at`: a text that fails once. `seen`: texts of every batch.
    """

    def __init__(self, error: Exception, most: int = 1000, at: str | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.error, self.most, self.at = error, most, at
        self.seen: list[list[str]] = []

    def preprocess(self, texts: list[str], **_: Any) -> dict[str, Any]:
        self.seen.append(texts)
        return {"lengths": torch.tensor([len(text) for text in texts])}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        failed, self.at = self.at in self.seen[-1], None if self.at in self.seen[-1] else self.at
        if failed or len(self.seen[-1]) > self.most:
            raise self.error
        lengths = features["lengths"].float()
        features["sentence_embedding"] = torch.stack([lengths, torch.ones_like(lengths)], dim=1)
        return features

    def get_embedding_dimension(self) -> int:
        return 2


@pytest.mark.parametrize("error", MEMORY, ids=str)
def test_only_the_batch_that_memory_does_not_hold_is_tried_again(error: Exception) -> None:
    """1,000 texts, the longest first, so that the 768th is that of length 1,000 - 768."""
    device = Device(error, at="x" * (1000 - 768))
    model = SentenceTransformer(modules=[device], device="cpu")
    embedder = SentenceEmbedder("m", model, Options(batch_size=32))
    device.seen.clear()  # a text is encoded to see how long vectors are
    texts = ["x" * (i * 7 % 1000 + 1) for i in range(1000)]
    vectors, _ = embedder.encode(texts, "document")
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert sum(map(len, device.seen)) == 1032
    assert embedder.notes == ["out of memory: went on with batches of 16"]
    assert max(map(len, device.seen[-10:])) == 16
