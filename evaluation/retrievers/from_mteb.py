"""Models of MTEB's registry, with its loader and its prompts: `mteb:NAME`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection
from retgen.evaluation.devices import choose_device
from retgen.evaluation.embedders import Kind, loading, quiet
from retgen.evaluation.rankings import Rankings, best
from retgen.evaluation.retrievers.base import Options, Ranked, Retriever
from retgen.evaluation.retrievers.dense import Dense
from retgen.messages import did_you_mean
from retgen.progress import Progress

__all__ = ["mteb_retriever", "task_metadata"]


def mteb_retriever(name: str, model: str, options: Options) -> Retriever:
    """The retriever of a registered model: an embedder, or one that searches by itself."""
    with loading(name):
        import mteb

        known = [meta.name for meta in mteb.get_model_metas() if meta.name]
        if model not in known:
            hint = did_you_mean(model, known)
            raise UsageError(f"--model {name}: MTEB's registry has no {model!r}{hint or '.'}")
        found: Any = mteb.get_model(model, device=choose_device(options.device))
    if hasattr(found, "encode"):
        return Dense(name, _Encoder(name, found, options), options)
    return _Search(name, found)


class _Encoder:
    """An encoder of MTEB as an `Embedder`. It cuts texts itself; how many is not known."""

    max_length = None

    def __init__(self, name: str, model: Any, options: Options) -> None:
        self.name = name
        self.device = "cpu"
        self._model = model
        self._batch = options.batch_size or 32
        meta = model.mteb_model_meta
        similarity = str(getattr(meta.similarity_fn_name, "value", meta.similarity_fn_name))
        self.normalise = similarity in ("cosine", "None")
        # a name and a revision fix the weights; without a revision nothing is kept
        self.fingerprint = (
            f"mteb-{meta.name.replace('/', '--')}-{meta.revision}" if meta.revision else None
        )
        self.dimension = len(self.encode(["?"], "query")[0])
        self.details: dict[str, Any] = {
            "revision": meta.revision,
            "similarity": similarity,
            "trained_for_truncation": None,
            "notes": [],
        }

    def encode(self, texts: Sequence[str], kind: Kind) -> Tensor:
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        rows: Any = Dataset.from_dict({"text": list(texts)})
        with _silence(), torch.inference_mode():
            found = self._model.encode(
                DataLoader(rows, batch_size=self._batch),
                task_metadata=task_metadata("retgen", "."),
                hf_split="test",
                hf_subset="default",
                prompt_type=PromptType.query if kind == "query" else PromptType.document,
            )
        return torch.as_tensor(found).float().cpu()

    def tokens(self, texts: Sequence[str], kind: Kind) -> list[int]:
        return []


class _Search:
    """A model of MTEB that indexes and searches by itself, as its BM25 does."""

    def __init__(self, name: str, model: Any) -> None:
        self._name = name
        self._model = model

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        from datasets import Dataset

        ids = [doc.decode() for doc in collection.doc_ids.tolist()]
        index = {doc_id: i for i, doc_id in enumerate(ids)}
        texts = [text for _, block in collection.blocks(8192) for text in block]
        corpus = Dataset.from_dict({"id": ids, "title": [""] * len(ids), "text": texts})
        queries = Dataset.from_dict(
            {
                "id": [query.query_id for query in collection.queries],
                "text": [query.text for query in collection.queries],
            }
        )
        place: dict[str, Any] = {
            "task_metadata": task_metadata("retgen", "."),
            "hf_split": "test",
            "hf_subset": "default",
            "encode_kwargs": {"show_progress_bar": False},
            "num_proc": None,
        }
        with _silence():
            self._model.index(corpus, **place)
            found = self._model.search(queries, top_k=depth, **place)
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros((len(collection.queries), depth), np.float32)
        for row, query in enumerate(collection.queries):
            ranked = found.get(query.query_id, {})
            documents[row], scores[row] = best(
                np.array([index[doc] for doc in ranked], np.int64),
                np.array(list(ranked.values()), np.float32),
                collection.priority,
                depth,
            )
        progress(self._name, len(collection.queries), len(collection.queries))
        yield Ranked(self._name, None, Rankings(documents, scores))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Its progress bars, which cannot all be switched off."""
    with quiet(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        yield


def task_metadata(name: str, path: str) -> Any:
    """MTEB's description of a retrieval task over a local folder."""
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=name, description=name, dataset={"path": path, "revision": "local"},
        type="Retrieval", category="t2t", modalities=["text"], eval_splits=["test"],
        eval_langs=["eng-Latn"], main_score="ndcg_at_10", date=None, domains=[], task_subtypes=[],
        license=None, annotations_creators="derived", dialect=[], sample_creation="created",
        bibtex_citation="",
    )  # fmt: skip
