"""Models of MTEB's registry, with its loader and its prompts, as embedders."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from retgen.errors import UsageError
from retgen.search.embedders.base import Kind, in_batches
from retgen.search.embedders.loading import choose_device, dtype_of, loading, quiet, similarity_of
from retgen.search.embedders.options import Options

_OPTIONS = {  # what only a model that sentence-transformers runs can be told
    "dtype": "--dtype",
    "trust_remote_code": "--trust-remote-code",
    "max_length": "--max-length",
    "query_prompt": "--query-prompt",
    "document_prompt": "--document-prompt",
}


def load_registered(name: str, model: str, options: Options) -> RegisteredEmbedder:
    """An embedder of the registry. Raises `UsageError` for options of its loader."""
    for key, option in _OPTIONS.items():
        if getattr(options, key):
            raise UsageError(
                f"{option}: {name} runs as MTEB runs it. Name the model itself, as {model}, or "
                "score it in a call of its own, without"
            )
    device = choose_device(options.device)
    with loading(name), _silence():
        import mteb

        result: Any = mteb.get_model(model, device=device)  # known: `Mteb.check`
    if not hasattr(result, "encode"):
        raise UsageError(
            f"--model {name}: gives no vectors of texts. Name an embedder of MTEB, bm25, or "
            "rerank:bm25+MODEL for a cross-encoder of the Hub or a folder"
        )
    return RegisteredEmbedder(name, result, device, options)


class RegisteredEmbedder:
    """An encoder of MTEB as an `Embedder`. It cuts texts itself; how many is not known."""

    max_length: int | None = None

    def __init__(self, name: str, model: Any, device: str, options: Options) -> None:
        self.name = name
        self.device = device
        self._model = model
        self._batch = options.batch_size or (32 if device == "cpu" else 256)
        self.notes: list[str] = []
        inner = getattr(model, "model", None)
        module = inner if isinstance(inner, torch.nn.Module) else None
        meta = model.mteb_model_meta
        # as MTEB compares: the registry is asked only where the model says nothing
        stated = getattr(inner, "similarity_fn_name", None) or meta.similarity_fn_name
        self.similarity: str = similarity_of(name, stated)
        # a name and a revision fix the weights; without a revision nothing is kept
        self.fingerprint: str | None = (
            meta.revision and f"mteb-{meta.name.replace('/', '--')}-{meta.revision}"
        )
        self.dimension: int = self.encode(["?"], "query")[0].shape[1]
        self.details: dict[str, Any] = {
            "hub": meta.name,
            "revision": meta.revision,
            "device": device,
            "dtype": None if module is None else dtype_of(module),
            "similarity": self.similarity,
            "trained_for_truncation": None,
            "notes": self.notes,
        }
        if module is None:
            self.notes.append("runs as MTEB runs it: its device and number format are not known")

    def encode(self, texts: Sequence[str], kind: Kind) -> tuple[Tensor, list[int]]:
        import mteb
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        any_task = mteb.get_task("SciFact").metadata  # prompts are by name and type of a task
        metadata = any_task.model_copy(update={"name": "retgen", "prompt": None})

        def run(part: Sequence[str]) -> Any:
            rows: Any = Dataset.from_dict({"text": list(part)})
            result = self._model.encode(
                DataLoader(rows, batch_size=len(part)),
                task_metadata=metadata,
                hf_split="test",
                hf_subset="default",
                prompt_type=getattr(PromptType, kind),
                batch_size=len(part),
            )
            return torch.as_tensor(result)

        with _silence(), torch.inference_mode():
            rows, self._batch = in_batches(texts, self._batch, run, self.name, self.notes)
        return torch.stack(rows).float().to(self.device), []


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Its progress bars, which cannot all be switched off."""
    with quiet(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        yield
