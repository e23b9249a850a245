"""Models of MTEB's registry, with its loader and its prompts: `mteb:NAME`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import xxhash
from torch import Tensor

from retgen.errors import UsageError
from retgen.search.base import Retriever
from retgen.search.dense import DenseRetriever
from retgen.search.embedders.base import Kind, in_batches, shorten
from retgen.search.embedders.devices import choose_device, choose_dtype, tensor_cores
from retgen.search.embedders.loading import attention_of, dtype_of, loading, quiet
from retgen.search.embedders.options import Options
from retgen.search.embedders.similarity import similarity_of

_OPTIONS = {  # what only a model that sentence-transformers runs can be told
    "dtype": "--dtype",
    "attn_implementation": "--attn-implementation",
    "trust_remote_code": "--trust-remote-code",
    "max_length": "--max-length",
    "query_prompt": "--query-prompt",
    "document_prompt": "--document-prompt",
}


def mteb_retriever(name: str, model: str, options: Options) -> Retriever:
    """The retriever of a registered model: an embedder, or one that searches by itself.

    Raises `UsageError` for an option that the model's loader has no place for.
    """
    device = choose_device(options.device)
    with loading(name, options.attn_implementation):
        import mteb
        from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

        meta = mteb.get_model_meta(model)  # known, and its packages are there: `Mteb.check`
        loader = meta.loader
        plain = isinstance(loader, type) and issubclass(loader, SentenceTransformerEncoderWrapper)
        if not plain:
            _refuse(name, options, getattr(loader, "__name__", "its own loader"))
        more = _load_options(meta.loader_kwargs, options, device) if plain else {}
        with _silence():
            result: Any = mteb.get_model(model, device=device, **more)
    if not hasattr(result, "encode"):
        raise UsageError(
            f"--model {name}: gives no vectors of texts. Name an embedder of MTEB, bm25, or "
            "rerank:bm25+MODEL for a cross-encoder of the Hub or a folder"
        )
    return DenseRetriever(name, _Encoder(name, result, device, options), options)


def _refuse(name: str, options: Options, loader: str) -> None:
    for key, option in _OPTIONS.items():
        if getattr(options, key):
            raise UsageError(
                f"{option}: {name} is loaded by MTEB's {loader}, which takes no such option; score "
                "it in a call of its own, without"
            )


def _load_options(own: dict[str, Any], options: Options, device: str) -> dict[str, Any]:
    """What MTEB's loader is given beside its own settings."""
    wanted: dict[str, Any] = dict(own.get("model_kwargs") or {})
    if options.dtype is not None:
        wanted.pop("torch_dtype", None)
        wanted["dtype"] = choose_dtype(options.dtype, device)
    if options.attn_implementation is not None:
        wanted["attn_implementation"] = options.attn_implementation
    trusted = {"trust_remote_code": True} if options.trust_remote_code else {}
    return {"model_kwargs": wanted, **trusted} if wanted else trusted


class _Encoder:
    """An encoder of MTEB as an `Embedder`. It cuts texts itself; how many is not known."""

    max_length: int | None = None

    def __init__(self, name: str, model: Any, device: str, options: Options) -> None:
        self.name = name
        self.device = device
        self._model = model
        self._batch = options.batch_size or (32 if device == "cpu" else 256)
        self._tf32 = options.dtype == "tf32"
        self.notes: list[str] = []
        inner = getattr(model, "model", None)
        module = inner if isinstance(inner, torch.nn.Module) else None
        if options.max_length is not None:
            shorten(module, options.max_length, name)
        given = {"query": options.query_prompt, "document": options.document_prompt}
        for kind, prompt in given.items():
            if prompt is not None:
                model.model_prompts = _prompted(model.model_prompts, kind, prompt)
        meta = model.mteb_model_meta
        # as MTEB compares: the registry is asked only where the model says nothing
        stated = getattr(inner, "similarity_fn_name", None) or meta.similarity_fn_name
        self.similarity = similarity_of(name, stated)
        dtype = None if module is None else "tf32" if self._tf32 else dtype_of(module)
        attention = None if module is None else attention_of(module)
        settings = dtype, attention, options.max_length, sorted(given.items(), key=str)
        # a name and a revision fix the weights; without a revision nothing is kept
        self.fingerprint = (
            f"mteb-{meta.name.replace('/', '--')}-{meta.revision}-"
            + xxhash.xxh3_64_hexdigest(repr(settings).encode())
            if meta.revision
            else None
        )
        self.dimension = self.encode(["?"], "query")[0].shape[1]
        self.details: dict[str, Any] = {
            "hub": meta.name,
            "revision": meta.revision,
            "device": device,
            "dtype": dtype,
            "attention": attention,
            "similarity": self.similarity,
            "trained_for_truncation": None,
            "notes": self.notes,
        }
        if module is None:
            self.notes.append("runs as MTEB runs it: its device and number format are not known")

    def encode(self, texts: Sequence[str], kind: Kind) -> tuple[Tensor, list[int]]:
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        def run(part: Sequence[str]) -> Any:
            rows: Any = Dataset.from_dict({"text": list(part)})
            result = self._model.encode(
                DataLoader(rows, batch_size=len(part)),
                task_metadata=task_metadata("retgen", "."),
                hf_split="test",
                hf_subset="default",
                prompt_type=getattr(PromptType, kind),
                batch_size=len(part),
            )
            return torch.as_tensor(result)

        with _silence(), torch.inference_mode(), tensor_cores(self._tf32):
            rows, self._batch = in_batches(texts, self._batch, run, self.name, self.notes)
        return torch.stack(rows).float().to(self.device), []


def _prompted(prompts: dict[str, str] | None, kind: str, prompt: str) -> dict[str, str]:
    """Prompts with one for every query, or document: MTEB prefers those of a task or its type."""
    kept = {
        key: value
        for key, value in (prompts or {}).items()
        if not key.endswith(f"-{kind}") and key not in ("retgen", "Retrieval")
    }
    return kept | {kind: prompt}


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Its progress bars, which cannot all be switched off."""
    with quiet(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        yield


def task_metadata(name: str, path: str) -> Any:
    """MTEB's description of a retrieval task over a local folder."""
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=name,
        description=name,
        dataset={"path": path, "revision": "local"},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        date=None,
        domains=[],
        task_subtypes=[],
        license=None,
        annotations_creators="derived",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )
