"""Embedders of sentence-transformers: encoding with care for memory and truncation.

A model is loaded by `loading`. Workers of an engine encode where there is one.
"""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
import xxhash
from torch import Tensor, nn

from retgen.errors import UsageError
from retgen.search.embedders.loading import (
    HUB,
    choose_device,
    dtype_of,
    kind_of,
    load,
    load_model,
    loading,
    out_of_memory,
    prompts_of,
    similarity_of,
)
from retgen.search.embedders.options import Options
from retgen.work import Engine

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_STATIC = 1024  # texts at a time of a model that reads any length
_TASK = 512  # texts that a worker of an engine encodes at a time
_BLOCK = 1 << 14  # texts that all workers share
_TOKENS = 256  # texts whose tokens' vectors are held
Kind = Literal["query", "document"]
# of texts: a vector each (texts, dimension), dense or sparse; or of each text its tokens' vectors
Vectors = Tensor | list[Tensor]


class Embedder(Protocol):
    """Texts in, vectors out. `fingerprint` None: vectors must not be kept on disk.

    `similarity`: one of single vectors, or maxsim. `dimension` None: vectors cannot be cut.
    """

    device: str
    similarity: str
    max_length: int | None
    fingerprint: str | None
    details: dict[str, Any]

    @property
    def dimension(self) -> int | None: ...

    def encode(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[int]]:
        """Vectors in float32 on `device`, and the tokens of each text before truncation.

        The tokens are an empty list where that is not known.
        """
        ...


def load_embedder(name: str, options: Options) -> SentenceEmbedder:
    """The embedder of a name: `minilm`, `static:minilm`, a folder, a Hub id; sparse:M, late:M."""
    given = options.loading() | {"device": choose_device(options.device)}
    kind, _, model = name.partition(":")
    if kind not in ("sparse", "late"):
        return SentenceEmbedder(name, load_model(name, **given), options)
    from sentence_transformers import MultiVectorEncoder, SparseEncoder

    if kind == "sparse":
        return SentenceEmbedder(name, load(SparseEncoder, model, **given), options)
    if kind_of(model) == "MultiVectorEncoder":
        loaded: Any = load(MultiVectorEncoder, model, **given)
        return TokenEmbedder(name, loaded, options)
    return TokenEmbedder(name, load_model(model, **given), options, trained=False)


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


class RunningModel:
    """A model of sentence-transformers as it runs: in batches that fit into memory.

    `details` says how, `notes` what else a reader of its scores must know.
    """

    def __init__(self, name: str, model: Any, options: Options) -> None:
        self.name = name
        self.model = model.eval()
        self.device = str(model.device)
        if options.max_length is not None:
            shorten(model, options.max_length, name)
        self._batch = options.batch_size or (32 if self.device == "cpu" else 256)
        self.notes: list[str] = []
        self.details: dict[str, Any] = {
            "device": self.device,
            "dtype": dtype_of(model),
            "max_length": length_limit(model),
            "notes": self.notes,
        }

    def run(
        self, items: Sequence[Any], function: Callable[[Sequence[Any]], Iterable[Any]]
    ) -> list[Any]:
        """What a function gives for each item, see `in_batches`."""
        with torch.inference_mode():
            rows, self._batch = in_batches(items, self._batch, function, self.name, self.notes)
        return rows


class SentenceEmbedder(RunningModel):
    """A SentenceTransformer or a SparseEncoder as an `Embedder`.

    Where there is `options.engine`, its workers encode, on GPUs if they have some.
    """

    output: Mapping[str, Any] = {"convert_to_tensor": True}  # of the model's encoding

    def __init__(self, name: str, model: Any, options: Options) -> None:
        super().__init__(name, model, options)
        self._options, self.step = options, _BLOCK if options.engine else None
        self.max_length: int | None = self.details["max_length"]
        if options.batch_size is None and self.max_length is None:
            self._batch = _STATIC  # word vectors need little memory
        self._prompts = {"query": options.query_prompt, "document": options.document_prompt}
        self.similarity = self._similarity()
        self.dimension = self._dimension()
        self.fingerprint: str | None = None
        card = model.model_card_data
        self.details |= {
            "similarity": self.similarity,
            "prompts": options.prompts(prompts_of(model)),
        }
        if self.dimension is not None:
            settings = self._prompts, self.details["dtype"], model.prompts
            self.fingerprint = fingerprint(model, self.max_length, *settings)
            self.details["trained_for_truncation"] = _trained_for_truncation(model)
        elif options.dims:
            self.notes.append("has no vector of a text that --dims could cut")
        if card.base_model_revision and not Path(name).exists():
            self.details |= {"hub": name, "revision": card.base_model_revision}
        elif name in HUB:
            self.details["hub"] = HUB[name]
        if options.trust_remote_code:
            self.notes.append("ran code that the model brought along (--trust-remote-code)")

    def _similarity(self) -> str:
        return similarity_of(self.name, self.model.similarity_fn_name)

    def _dimension(self) -> int | None:
        with loading(self.name):  # modules that give no vector of a text are found out here
            vector = self.model.encode("?", show_progress_bar=False, convert_to_tensor=True)
        return None if vector.is_sparse else len(vector)

    @property
    def reads(self) -> Callable[[Sequence[str]], list[int]] | None:
        """Counts the characters of documents that the model reads; None where it does not tell."""
        if self.max_length is None or not getattr(self.model.tokenizer, "is_fast", False):
            return None
        prompt = str(self.details["prompts"]["document"])
        return partial(characters_read, self.model.tokenizer, self.max_length, prompt)

    def encode(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[int]]:
        lengths: dict[str, int] = {}
        with self._counting(lengths):
            if self._options.engine is not None and self.dimension is not None:
                result: Vectors = self._by_engine(self._options.engine, texts, kind, lengths)
            else:
                result = self._joined(self.run(texts, partial(self._encode, kind=kind)))
        self._check_finite(texts, result)
        # a tokenizer may not say what it cut off
        return result, [lengths[text] for text in texts] if lengths else []

    def _joined(self, rows: list[Tensor]) -> Vectors:
        return torch.stack(rows).float()

    def _check_finite(self, texts: Sequence[str], vectors: Vectors) -> None:
        if isinstance(vectors, list):
            wrong = [i for i, one in enumerate(vectors) if not bool(torch.isfinite(one).all())]
        elif vectors.is_sparse:
            entries = vectors.coalesce()
            wrong = entries.indices()[0, ~torch.isfinite(entries.values())].tolist()
        else:
            wrong = (~torch.isfinite(vectors).all(dim=1)).nonzero()[:, 0].tolist()
        if wrong:
            raise UsageError(
                f"--model {self.name}: gives a vector that is not finite for the text that begins "
                f"{texts[wrong[0]][:60]!r}; try --dtype float32"
            )

    def _encode(self, texts: Sequence[str], kind: Kind) -> Any:
        encode = self.model.encode_query if kind == "query" else self.model.encode_document
        return encode(
            list(texts),
            prompt=self._prompts[kind],
            batch_size=len(texts),
            show_progress_bar=False,
            **self.output,
        )

    def _by_engine(
        self,
        engine: Engine,
        texts: Sequence[str],
        kind: Kind,
        lengths: dict[str, int],
    ) -> Tensor:
        starts = range(0, len(texts), _TASK)
        tasks = ((str(start), (kind, texts[start : start + _TASK])) for start in starts)
        # a cache and what APIs are asked with stay here
        context = self.name, replace(self._options, engine=None, cache=None, calls=None)
        rows = []
        for start, data in engine.map(_encode_task, context, tasks):
            vectors, counts = pickle.loads(data)
            rows.append(torch.from_numpy(vectors))
            part = texts[int(start) : int(start) + len(vectors)]
            lengths.update(zip(part, counts, strict=False))  # of which there may be none
        return torch.cat(rows).to(self.device)

    @contextlib.contextmanager
    def _counting(self, lengths: dict[str, int]) -> Iterator[None]:
        """Note each text's tokens where the model itself cuts it into them, so it is done once."""
        plain = self.model.preprocess

        def counted(inputs: Sequence[str], *args: Any, **kwargs: Any) -> Any:
            features = plain(inputs, *args, **kwargs)
            result = getattr(features, "encodings", None) or []
            if len(result) == len(inputs):
                lengths.update(zip(inputs, map(_whole_length, result), strict=True))
            return features

        if self.max_length is None:
            yield
            return
        self.model.preprocess = counted  # of this object alone, and only here
        try:
            yield
        finally:
            del self.model.preprocess


class TokenEmbedder(SentenceEmbedder):
    """A MultiVectorEncoder, or the tokens' vectors of another model: late interaction.

    Those of a model that was not trained for it are a baseline
    (`details["trained_for_late_interaction"]`).
    """

    output: Mapping[str, Any] = {"output_value": "token_embeddings"}

    def __init__(self, name: str, model: Any, options: Options, *, trained: bool = True) -> None:
        if model.transformers_model is None:
            raise UsageError(f"--model {name}: is no transformer, so it has no tokens' vectors")
        if options.max_length and getattr(model[0], "document_length", None) is not None:
            model[0].document_length = options.max_length
        super().__init__(name, model, options)
        self.step = _TOKENS
        self.details["trained_for_late_interaction"] = trained
        if trained:  # such models leave tokens out, and fill queries up: lengths tell nothing
            self.max_length = None

    def _similarity(self) -> str:
        return "maxsim"

    def _dimension(self) -> None:
        return None

    def _joined(self, rows: list[Tensor]) -> Vectors:
        return [torch.nn.functional.normalize(row.float(), dim=1) for row in rows]


def _encode_task(context: tuple[str, Options], task: tuple[Kind, Sequence[str]]) -> bytes:
    """In a worker of an engine: the vectors of some texts, and their tokens."""
    kind, texts = task
    vectors, lengths = _embedder(*context).encode(texts, kind)
    assert isinstance(vectors, Tensor)
    return pickle.dumps((vectors.cpu().numpy(), lengths), protocol=5)


@lru_cache(1)
def _embedder(name: str, options: Options) -> SentenceEmbedder:
    return load_embedder(name, options)


def _whole_length(encoding: Any) -> int:
    """Tokens of a text with what was cut off of it, as the `tokenizers` library keeps it."""
    rest = sum(len(o.ids) - sum(o.special_tokens_mask) for o in encoding.overflowing)
    return int(sum(encoding.attention_mask) + rest)


def characters_read(tokenizer: Any, limit: int, prompt: str, texts: Sequence[str]) -> list[int]:
    """Of each text how many characters a model reads that cuts it, behind a prompt, at `limit`."""
    prompted = [prompt + text for text in texts]
    cut = tokenizer(prompted, truncation=True, max_length=limit, return_offsets_mapping=True)
    result = []
    for text, offsets in zip(texts, cut["offset_mapping"], strict=True):
        end = max((stop for _, stop in offsets), default=0)
        whole = end >= len((prompt + text).rstrip())
        result.append(len(text) if whole else max(0, end - len(prompt)))
    return result


def in_batches(
    items: Sequence[Any],
    size: int,
    run: Callable[[Sequence[Any]], Iterable[Any]],
    name: str,
    notes: list[str],
) -> tuple[list[Any], int]:
    """What `run` gives for each item, and the size of the last batches; the longest items first.

    A batch that memory does not hold is tried again with half as many items, and so are all after
    it; `notes` says so. Items are texts, or pairs of them.
    """
    lengths = [len(one) if isinstance(one, str) else sum(map(len, one)) for one in items]
    order = sorted(range(len(items)), key=lambda i: -lengths[i])
    result: list[Any] = [None] * len(items)
    start = 0
    while start < len(items):
        part = order[start : start + size]
        try:
            for i, row in zip(part, run([items[i] for i in part]), strict=True):
                result[i] = row
            start += len(part)
            continue
        except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
            if not out_of_memory(error):
                raise
            if len(part) == 1:
                raise UsageError(
                    f"--model {name}: a single text does not fit into memory; set --max-length, "
                    "or --dtype bf16"
                ) from error
        size = len(part) // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        notes.append(f"out of memory: went on with batches of {size}")
    return result, size


def length_limit(model: SentenceTransformer) -> int | None:
    """Tokens of a text that a model reads; None where that has no limit."""
    limit = model.max_seq_length
    return int(limit) if limit is not None and 0 < limit < 10**6 else None


def shorten(model: Any, wanted: int, name: str) -> None:
    """Let a model read so many tokens. Raises `UsageError` where it cannot."""
    if length_limit(model) is None:
        raise UsageError(f"--max-length: {name} has no limit of its own and cannot be given one")
    transformer: Any = getattr(model[0], "auto_model", None)
    most = getattr(getattr(transformer, "config", None), "max_position_embeddings", None)
    if wanted < 3 or (most is not None and wanted > most):
        raise UsageError(f"--max-length {wanted}: {name} takes 3 to {most} tokens")
    model.max_seq_length = wanted


def _trained_for_truncation(model: SentenceTransformer) -> bool | None:
    """Whether the model's card names Matryoshka training; None where it has no card."""
    card = getattr(model, "_model_card_text", None)
    # an option that was not used says nothing, nor does a link
    text = re.sub(r"\[[^\]]*\]\([^)]*\)|\| matryoshka \| none \|", "", (card or "").lower())
    return "matryoshka" in text if card else None
