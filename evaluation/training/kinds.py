"""The kinds of models that `gen train` trains, by the prefix of their names.

    MODEL          an embedder: one vector a text
    sparse:MODEL   a sparse encoder: weights over a vocabulary (SPLADE, arXiv 2109.10086)
    late:MODEL     late interaction: a vector a token, compared by MaxSim (ColBERT)
    cross:MODEL    a cross-encoder, which reads query and document together; it is scored as it is
                   used, on the best documents of BM25

All train on the same pairs, in the same batches. late:MODEL and cross:MODEL may start from an
embedder: its tokens' vectors are those of late interaction, a cross-encoder gets a random head.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import orjson
import torch
from sentence_transformers import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    MultiVectorEncoder,
    MultiVectorEncoderTrainer,
    MultiVectorEncoderTrainingArguments,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    SparseEncoder,
    SparseEncoderTrainer,
    SparseEncoderTrainingArguments,
)
from sentence_transformers.base.model import BaseModel
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from torch import Tensor, nn

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.evaluation.search.late import LateRetriever
from retgen.evaluation.search.rerank import CrossScorer, RerankRetriever
from retgen.evaluation.search.sparse import SparseRetriever
from retgen.evaluation.training import losses
from retgen.evaluation.training.batches import BatchTrainer
from retgen.evaluation.training.config import BATCH_SIZES, LEARNING_RATES, TrainConfig
from retgen.evaluation.training.models import pick_device
from retgen.search.base import Retriever
from retgen.search.dense import DenseRetriever
from retgen.search.embedders.base import SentenceEmbedder
from retgen.search.embedders.loading import kind_of, load, load_model
from retgen.search.embedders.options import Options


class _DenseTrainer(BatchTrainer, SentenceTransformerTrainer):
    pass


class _SparseTrainer(BatchTrainer, SparseEncoderTrainer):
    pass


class _LateTrainer(BatchTrainer, MultiVectorEncoderTrainer):
    pass


class _CrossTrainer(BatchTrainer, CrossEncoderTrainer):
    pass


class Kind:
    """An embedder, and what other kinds differ in.

    `temperature`: by which its scores are divided, where a configuration gives none; `fused`:
    whether it is scored in a fusion with BM25 as well; `unused_weights`: whether some may have no
    gradient, as BERT's pooler, which several processes have to know; `compared`: with how many
    documents of other pairs mnrl compares a query at most, None for all of the batch.
    """

    prefix: ClassVar[str] = ""
    noun: ClassVar[str] = "an embedder"
    model: ClassVar[type[Any]] = SentenceTransformer
    trainer: ClassVar[type[BatchTrainer]] = _DenseTrainer
    arguments: ClassVar[type[Any]] = SentenceTransformerTrainingArguments
    temperature: ClassVar[float] = 0.05
    fused: ClassVar[bool] = True
    unused_weights: ClassVar[bool] = True
    compared: ClassVar[int | None] = None

    def load(self, name: str, device: str, config: TrainConfig) -> Any:
        """A model to train, or one that was trained."""
        return load_model(
            name,
            device,
            weights_in(config),
            attn_implementation=config.attn_implementation,
            trust_remote_code=config.trust_remote_code,
        )

    def loss(self, model: Any, config: TrainConfig, numbers: Tensor) -> nn.Module:
        """The loss of a configuration; `numbers`: see `losses.dense_loss`."""
        return losses.dense_loss(model, config, numbers)

    def retriever(self, name: str, model: Any, options: Options) -> Retriever:
        """What ranks with it. `name`: as it is called."""
        return DenseRetriever(name, SentenceEmbedder(name, model, options), options)

    def check(self, model: Any, config: TrainConfig) -> None:
        """Raise `UsageError` for settings that mean nothing to it."""

    def usage(self, query: str, documents: list[str]) -> list[Any]:
        """What the model's card shows it on."""
        return [query, *documents]

    def failure(self, model: Any, texts: list[str]) -> str:
        """How what it makes of some texts shows that training failed; "" where it does not."""
        vectors = torch.as_tensor(model.encode(texts, show_progress_bar=False)).double()
        vectors = nn.functional.normalize(vectors, dim=1)
        count = len(vectors)
        if count < 3:
            return ""
        cosine = float((vectors.sum(0).square().sum() - count) / (count * (count - 1)))
        if not torch.isfinite(vectors).all():
            return "its vectors hold numbers that are not finite"
        alike = f"the vectors of {count:,} of its texts are alike (mean cosine {cosine:.3f})"
        return alike if cosine >= _ALIKE else ""


_ALIKE = 0.995  # mean cosine of two texts
_DENSE_ONLY = ("dimension", "matryoshka")


class _Other(Kind):
    """A kind that has some of the losses, and a class to load it by."""

    bases: ClassVar[tuple[str | None, ...]] = ()  # other kinds of files that it may be made of

    def load(self, name: str, device: str, config: TrainConfig) -> Any:
        more: dict[str, Any] = {
            "attn_implementation": config.attn_implementation,
            "trust_remote_code": config.trust_remote_code,
        }
        if kind_of(name) in self.bases:
            return self.made_of(name, device, weights_in(config), config, more)
        return load(self.model, name, device, weights_in(config), **more)

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, more: dict[str, Any]
    ) -> Any:
        """One that starts from a model of another kind."""
        raise NotImplementedError

    def check(self, model: Any, config: TrainConfig) -> None:
        if config.loss not in ("mnrl", "cached-mnrl"):
            raise UsageError(
                f"loss {config.loss} cannot train {self.noun}. Take mnrl or cached-mnrl"
            )
        for name in _DENSE_ONLY:
            if getattr(config, name):
                raise UsageError(f"{name} is for embedders, and the model is {self.noun}")


class _Sparse(_Other):
    prefix = "sparse"
    noun = "a sparse encoder"
    model = SparseEncoder
    trainer = _SparseTrainer
    arguments = SparseEncoderTrainingArguments
    temperature = 1.0

    def loss(self, model: Any, config: TrainConfig, numbers: Tensor) -> nn.Module:
        return losses.sparse_loss(model, config)

    def retriever(self, name: str, model: Any, options: Options) -> Retriever:
        return SparseRetriever(name, model, options)

    def failure(self, model: Any, texts: list[str]) -> str:
        terms = model.encode(texts, show_progress_bar=False).to_dense()
        if not torch.isfinite(terms).all():
            return "its weights of terms hold numbers that are not finite"
        if not terms.any():
            return f"{len(texts):,} of its texts have no term with a weight"
        return ""


class _Late(_Other):
    prefix = "late"
    noun = "a late-interaction model"
    model = MultiVectorEncoder
    trainer = _LateTrainer
    arguments = MultiVectorEncoderTrainingArguments
    temperature = 1.0
    bases = ("SentenceTransformer", "MaskedLM")

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, more: dict[str, Any]
    ) -> Any:
        """Its transformer, whose tokens' vectors are compared as they are: what late:MODEL scores
        untrained is where training starts.
        """
        base = load_model(name, device, dtype, **more)
        if getattr(base[0], "auto_model", None) is None:
            raise UsageError(f"--model late:{name}: {name} has no vectors of tokens in context")
        modules = [
            base[0],
            MultiVectorMask(),
            Normalize(module_input_name="token_embeddings", module_output_name="token_embeddings"),
        ]
        prompts: Any = base.prompts
        result = MultiVectorEncoder(modules=modules, device=device, prompts=prompts)
        result.model_card_data.base_model = base.model_card_data.base_model
        return result

    def loss(self, model: Any, config: TrainConfig, numbers: Tensor) -> nn.Module:
        return losses.late_loss(model, config)

    def retriever(self, name: str, model: Any, options: Options) -> Retriever:
        return LateRetriever(name, model, options)

    def failure(self, model: Any, texts: list[str]) -> str:
        vectors = model.encode_document(texts, show_progress_bar=False)
        whole = all(bool(torch.isfinite(torch.as_tensor(one)).all()) for one in vectors)
        return "" if whole else "its vectors hold numbers that are not finite"


class _Cross(_Other):
    prefix = "cross"
    noun = "a cross-encoder"
    model = CrossEncoder
    trainer = _CrossTrainer
    arguments = CrossEncoderTrainingArguments
    temperature = 0.1
    fused = False  # its documents are BM25's already
    unused_weights = False
    compared = losses.OTHERS
    bases = ("SentenceTransformer", "MaskedLM")

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, more: dict[str, Any]
    ) -> Any:
        """Its transformer with a random head, drawn from the configuration's seed."""
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            return load(CrossEncoder, name, device, dtype, converted=True, num_labels=1, **more)

    def loss(self, model: Any, config: TrainConfig, numbers: Tensor) -> nn.Module:
        return losses.cross_loss(model, config)

    def retriever(self, name: str, model: Any, options: Options) -> Retriever:
        first = retrievers.retriever("bm25", Options())
        return RerankRetriever(name, first, CrossScorer(name, model, options), options)

    def usage(self, query: str, documents: list[str]) -> list[Any]:
        return [[query, document] for document in documents]

    def check(self, model: Any, config: TrainConfig) -> None:
        super().check(model, config)
        if model.num_labels != 1:
            raise UsageError(
                f"the model gives {model.num_labels} values a pair, as a classifier does. Name a "
                "cross-encoder that gives one score, or an embedder to start from"
            )
        for name in ("query_prompt", "document_prompt"):
            if getattr(config, name):
                raise UsageError(
                    f"{name} is for embedders: a cross-encoder reads pairs as they are"
                )

    def failure(self, model: Any, texts: list[str]) -> str:
        pairs = list(zip(texts, reversed(texts), strict=True))
        scores = torch.as_tensor(model.predict(pairs, show_progress_bar=False))
        if not torch.isfinite(scores).all():
            return "its scores hold numbers that are not finite"
        if len(pairs) > 2 and float(scores.max() - scores.min()) < 1e-4:
            return f"the scores of {len(pairs):,} pairs of its texts are alike"
        return ""


_KINDS = {kind.prefix: kind for kind in (Kind(), _Sparse(), _Late(), _Cross())}


def split_name(model: str | BaseModel) -> tuple[Kind, str | BaseModel]:
    """The kind of a model, and its name without the prefix."""
    if not isinstance(model, str):
        return next(one for one in _KINDS.values() if isinstance(model, one.model)), model
    prefix, colon, name = model.partition(":")
    return (_KINDS[prefix], name) if colon and prefix in _KINDS else (_KINDS[""], model)


def weights_in(config: TrainConfig) -> str:
    """The format of weights in training: float32, since a step is often less than the distance
    between two numbers of 16 bits, and would be lost. Weights that only adapters change may be in
    bf16.
    """
    return "bf16" if config.lora is not None and config.dtype == "bf16" else "float32"


def resolve(config: TrainConfig, model: str | BaseModel) -> TrainConfig:
    """The configuration with what the kind of the model decides, where it does not say.

    Only the word vectors of a transformer start from idf by themselves: whoever trained or saved a
    static embedding may have weighted its tokens already.
    """
    kind, name = split_name(model)
    update: dict[str, Any] = {"temperature": config.temperature or kind.temperature}
    if config.init == "auto":
        of_transformer = isinstance(name, str) and name.startswith("static:")
        update["init"] = "idf" if of_transformer else "model"
    if config.learning_rate is None or config.batch_size is None:
        static = is_static(model, trust_remote_code=config.trust_remote_code)
        words = "static" if static else "other"
        start = "idf" if update.get("init", config.init) == "idf" else words
        start = "lora" if config.lora is not None else start
        update["learning_rate"] = config.learning_rate or LEARNING_RATES[start]
        update["batch_size"] = config.batch_size or BATCH_SIZES[words]
    return config.model_copy(update=update)


def slow(model: str, device: str | None) -> bool:
    """Whether a pass over all pairs would take hours: a transformer on a CPU."""
    return pick_device(device, "float32") == "cpu" and not is_static(model)


def can_cache(model: str | BaseModel, config: TrainConfig) -> bool:
    """Whether the loss is one whose gradients can be cached to save memory."""
    return config.loss == "mnrl" and not is_static(
        model, trust_remote_code=config.trust_remote_code
    )


def is_static(model: str | BaseModel, *, trust_remote_code: bool = False) -> bool:
    """Whether a model is word vectors, by its name or its folder where that is enough."""
    kind, name = split_name(model)
    if kind.prefix:
        return False
    if name in ("minilm", "static:minilm"):
        return name == "static:minilm"
    if isinstance(name, str) and Path(name).is_dir():
        try:
            modules = orjson.loads((Path(name) / "modules.json").read_bytes())
            return str(modules[0]["type"]).endswith("StaticEmbedding")
        except (OSError, ValueError, LookupError, TypeError):
            return False  # a transformer without modules, or nothing that loads
    if isinstance(name, str):
        name = load_model(name, "cpu", trust_remote_code=trust_remote_code)
    return isinstance(name[0], StaticEmbedding)
