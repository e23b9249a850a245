"""The kinds of models that `gen train` trains, by the prefix of their names.

    MODEL          an embedder: one vector a text
    sparse:MODEL   a sparse encoder: weights over a vocabulary (SPLADE, arXiv 2109.10086)
    late:MODEL     late interaction: a vector a token, compared by MaxSim (ColBERT)
    cross:MODEL    a cross-encoder, which reads query and document together; it is scored as it is
                   used, on the best documents of BM25

All train on the same pairs, in the same batches, by InfoNCE: with scores s of a query and
temperature t, the loss is -log softmax(s / t) at the pair's document, over all documents of the
batch. `cached-mnrl` has the same value with cached gradients (GradCache), so that a batch may be
the whole training set. late:MODEL and cross:MODEL may start from an embedder: its tokens' vectors
are those of late interaction, a cross-encoder gets a random head.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
import sentence_transformers as st
import torch
from sentence_transformers.base.model import BaseModel
from sentence_transformers.cross_encoder import losses as cross_losses
from sentence_transformers.multi_vector_encoder import losses as late_losses
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer import losses as dense_losses
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from sentence_transformers.sparse_encoder import losses as sparse_losses
from torch import nn

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.evaluation.training.batches import PairTrainer
from retgen.evaluation.training.config import BATCH_SIZES, LEARNING_RATES, TrainConfig
from retgen.evaluation.training.models import pick_device
from retgen.progress import no_progress
from retgen.search.base import CandidateSet, Retriever
from retgen.search.embedders.base import SentenceEmbedder, TokenEmbedder
from retgen.search.embedders.loading import kind_of, load, load_model
from retgen.search.embedders.options import Options
from retgen.search.rerank import CrossScorer, RerankRetriever
from retgen.search.vectors import VectorRetriever

_MINI_BATCH = 32  # texts a forward pass of cached-mnrl
OTHERS = 4  # documents of other pairs that a cross-encoder reads, as in sentence-transformers


class _DenseTrainer(PairTrainer, st.SentenceTransformerTrainer):
    pass


class _SparseTrainer(PairTrainer, st.SparseEncoderTrainer):
    pass


class _LateTrainer(PairTrainer, st.MultiVectorEncoderTrainer):
    pass


class _CrossTrainer(PairTrainer, st.CrossEncoderTrainer):
    pass


class Kind:
    """An embedder, and what other kinds differ in.

    `bases`: other kinds of files that a model may be made of. `temperature`: by which its scores
    are divided, where a configuration gives none; `fused`: whether it is scored in a fusion with
    BM25 as well; `compared`: with how many documents of other pairs a query is compared at most,
    None for all of the batch; `alike`: share of its highest score by which
    the scores of a collapsed model differ at most.
    """

    prefix: ClassVar[str] = ""
    noun: ClassVar[str] = "an embedder"
    model: ClassVar[type[Any]] = st.SentenceTransformer
    embedder: ClassVar[type[SentenceEmbedder]] = SentenceEmbedder
    trainer: ClassVar[type[PairTrainer]] = _DenseTrainer
    arguments: ClassVar[type[Any]] = st.SentenceTransformerTrainingArguments
    bases: ClassVar[tuple[str, ...]] = ()
    temperature: ClassVar[float] = 0.05
    fused: ClassVar[bool] = True
    compared: ClassVar[int | None] = None
    alike: ClassVar[float] = 0.01  # of cosines
    # those of its own settings that mean nothing to other kinds
    only: ClassVar[tuple[str, ...]] = ("dimension", "matryoshka")

    def load(self, name: str, device: str, config: TrainConfig, *, trusted: bool) -> Any:
        """A model to train, or one that was trained."""
        dtype = weights_in(config)
        if kind_of(name) in self.bases:
            return self.made_of(name, device, dtype, config, trusted=trusted)
        if not self.prefix:
            return load_model(name, device, dtype, trust_remote_code=trusted)
        return load(self.model, name, device, dtype, trust_remote_code=trusted)

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, *, trusted: bool
    ) -> Any:
        """One that starts from a model of another kind."""
        raise NotImplementedError

    def loss(self, model: Any, config: TrainConfig, *, together: bool) -> nn.Module:
        """The loss of a configuration. `together`: over the documents of all processes."""
        options: dict[str, Any] = {"gather_across_devices": together, **_scale(config)}
        loss: nn.Module
        if "mini_batch_size" in options:
            loss = dense_losses.CachedMultipleNegativesRankingLoss(model, **options)
        else:
            loss = dense_losses.MultipleNegativesRankingLoss(model, **options)
        if config.matryoshka:
            # the whole vector is always among the trained prefixes: it is what the model returns
            dims = {*config.matryoshka, model.get_embedding_dimension() or 0}
            loss = dense_losses.MatryoshkaLoss(model, loss, sorted(dims, reverse=True))
        return loss

    def retriever(self, name: str, model: Any, options: Options) -> Retriever:
        """What ranks with it. `name`: as it is called."""
        return VectorRetriever(name, self.embedder(name, model, options), options)

    def check(self, model: Any, config: TrainConfig) -> None:
        """Raise `UsageError` for settings that mean nothing to it."""
        for name in _KINDS[""].only if self.prefix else ():
            if getattr(config, name):
                raise UsageError(f"{name} is for embedders, and the model is {self.noun}")

    def usage(self, query: str, documents: list[str]) -> list[Any]:
        """What the model's card shows it on."""
        return [query, *documents]

    def failure(self, model: Any, texts: list[str]) -> str:
        """Say that a model scores some texts alike, whatever the query; "" where it does not."""
        if len(texts) < 3:
            return ""
        ranks: Any = self.retriever("the trained model", model, Options())
        (system, *_) = ranks.systems()
        groups = [CandidateSet(one, tuple(t for t in texts if t != one)) for one in texts]
        rows = np.array(system.scorer.score(groups, no_progress))
        spread = rows.max(axis=1) - rows.min(axis=1)
        if (spread > self.alike * np.abs(rows).max(axis=1)).any():
            return ""
        return f"it gives {len(texts):,} of its texts the same scores, whatever the query"


class _Sparse(Kind):
    alike = 1e-4
    prefix = "sparse"
    noun = "a sparse encoder"
    model = st.SparseEncoder
    trainer = _SparseTrainer
    arguments = st.SparseEncoderTrainingArguments
    temperature = 1.0

    def loss(self, model: Any, config: TrainConfig, *, together: bool) -> nn.Module:
        """On products of weights, with FLOPS regularisation of both sides (SPLADE)."""
        options = _scale(config)
        main = sparse_losses.SparseMultipleNegativesRankingLoss(
            model, scale=options.pop("scale"), gather_across_devices=together
        )
        cls = sparse_losses.CachedSpladeLoss if options else sparse_losses.SpladeLoss
        return cls(model, main, 3e-5, 5e-5, **options)  # weights of documents, and of queries


class _Late(Kind):
    alike = 1e-4
    prefix = "late"
    noun = "a late-interaction model"
    model = st.MultiVectorEncoder
    embedder = TokenEmbedder
    trainer = _LateTrainer
    arguments = st.MultiVectorEncoderTrainingArguments
    temperature = 1.0
    bases = ("SentenceTransformer", "MaskedLM")

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, *, trusted: bool
    ) -> Any:
        """Its transformer, whose tokens' vectors are compared as they are: what late:MODEL scores
        untrained is where training starts.
        """
        base = load_model(name, device, dtype, trust_remote_code=trusted)
        if getattr(base[0], "auto_model", None) is None:
            raise UsageError(f"--model late:{name}: {name} has no vectors of tokens in context")
        tokens = "token_embeddings"
        modules = [
            base[0],
            MultiVectorMask(),
            Normalize(module_input_name=tokens, module_output_name=tokens),
        ]
        prompts: Any = base.prompts
        result = st.MultiVectorEncoder(modules=modules, device=device, prompts=prompts)
        result.model_card_data.base_model = base.model_card_data.base_model
        return result

    def loss(self, model: Any, config: TrainConfig, *, together: bool) -> nn.Module:
        """On MaxSim."""
        options: dict[str, Any] = {"gather_across_devices": together, **_scale(config)}
        if "mini_batch_size" in options:
            return late_losses.CachedMultiVectorMultipleNegativesRankingLoss(model, **options)
        return late_losses.MultiVectorMultipleNegativesRankingLoss(model, **options)


class _Cross(Kind):
    alike = 1e-4
    prefix = "cross"
    noun = "a cross-encoder"
    model = st.CrossEncoder
    trainer = _CrossTrainer
    arguments = st.CrossEncoderTrainingArguments
    temperature = 0.1
    fused = False  # its documents are BM25's already
    compared = OTHERS
    bases = ("SentenceTransformer", "MaskedLM")

    def made_of(
        self, name: str, device: str, dtype: str, config: TrainConfig, *, trusted: bool
    ) -> Any:
        """Its transformer with a random head, drawn from the configuration's seed."""
        more: dict[str, Any] = {"trust_remote_code": trusted, "converted": True, "num_labels": 1}
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            return load(st.CrossEncoder, name, device, dtype, **more)

    def loss(self, model: Any, config: TrainConfig, *, together: bool) -> nn.Module:
        """On the scores of a query with its document, its hard negatives and four others of the
        batch: with all of them a batch of n would be n² pairs to read.
        """
        options = _scale(config)
        if "mini_batch_size" in options:
            return cross_losses.CachedMultipleNegativesRankingLoss(model, OTHERS, **options)
        return cross_losses.MultipleNegativesRankingLoss(model, OTHERS, **options)

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


_KINDS = {kind.prefix: kind for kind in (Kind(), _Sparse(), _Late(), _Cross())}


def _scale(config: TrainConfig) -> dict[str, Any]:
    assert config.temperature is not None, "the configuration is not resolved"
    cached = {"mini_batch_size": _MINI_BATCH} if config.loss == "cached-mnrl" else {}
    return {"scale": 1 / config.temperature, **cached}


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
    words = "static" if is_static(model) else "other"
    init = config.init
    if init == "auto":
        of_transformer = isinstance(name, str) and name.startswith("static:")
        init = "idf" if of_transformer else "model"
    start = "lora" if config.lora is not None else "idf" if init == "idf" else words
    update = {
        "init": init,
        "temperature": config.temperature or kind.temperature,
        "learning_rate": config.learning_rate or LEARNING_RATES[start],
        "batch_size": config.batch_size or BATCH_SIZES[words],
    }
    return config.model_copy(update=update)


def slow(model: str, device: str | None) -> bool:
    """Whether a pass over all pairs would take hours: a transformer on a CPU."""
    return pick_device(device, "float32") == "cpu" and not is_static(model)


def is_static(model: str | BaseModel) -> bool:
    """Whether a model is word vectors, by its name or its modules."""
    kind, name = split_name(model)
    if kind.prefix or name == "minilm":
        return False
    if not isinstance(name, str):
        return isinstance(name[0], StaticEmbedding)
    if name == "static:minilm":
        return True
    try:
        modules = orjson.loads((Path(name) / "modules.json").read_bytes())
        return str(modules[0]["type"]).endswith("StaticEmbedding")
    except (OSError, ValueError, LookupError, TypeError):
        return False  # a transformer without modules, a model of the Hub, or nothing that loads
