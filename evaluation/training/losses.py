"""The losses, on scores s of a query q with documents d, temperature t, margin m.

    mnrl         -log softmax(s / t) at the pair's document, over all documents of the batch
                 (InfoNCE; sentence-transformers' MultipleNegativesRankingLoss)
    cached-mnrl  the same value, with gradients cached (GradCache), so that a batch may be the whole
                 training set; memory is that of mini_batch_size texts
    triplet      max(0, s(q, negative) - s(q, positive) + m), explicit negatives only
                 (sentence-transformers' TripletLoss on cosine distance)
    margin       t log(1 + sum over irrelevant d of exp((s(q, d) - s(q, positive) + m) / t)): a soft
                 maximum over the batch of how far an irrelevant document comes within m of the
                 relevant one; what recall asks for
    listwise     cross-entropy of softmax(s / t) over the batch with the uniform distribution over
                 the query's relevant documents in it (ListNet's top-one probability, Cao et al.,
                 ICML 2007); its least value is the log of their number, not 0

margin and listwise are ours, as sentence-transformers has none that knows which of the other
documents in a batch are relevant as well: another positive of the query is never an irrelevant one
here, and a document that stands in the batch several times counts once. With batch_size "full" that
is the paper's "full dataset for in batch negatives (excluding positives)" to the letter. mnrl has
no such knowledge: where queries share documents, a batch without duplicates may still hold a second
positive of a query as its negative.
"""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import (
    CrossEncoder,
    MultiVectorEncoder,
    SentenceTransformer,
    SparseEncoder,
)
from sentence_transformers.cross_encoder.losses import (
    CachedMultipleNegativesRankingLoss as CachedCrossEncoderRankingLoss,
)
from sentence_transformers.cross_encoder.losses import (
    MultipleNegativesRankingLoss as CrossEncoderRankingLoss,
)
from sentence_transformers.multi_vector_encoder.losses import (
    CachedMultiVectorMultipleNegativesRankingLoss,
    MultiVectorMultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.losses import (
    CachedMultipleNegativesRankingLoss,
    MatryoshkaLoss,
    MultipleNegativesRankingLoss,
    TripletLoss,
)
from sentence_transformers.sentence_transformer.losses.triplet import TripletDistanceMetric
from sentence_transformers.sparse_encoder.losses import (
    CachedSpladeLoss,
    SparseMultipleNegativesRankingLoss,
    SpladeLoss,
)
from torch import Tensor, nn

from retgen.evaluation.training import distributed
from retgen.evaluation.training.config import TrainConfig

_NEVER = -1e9  # finite, so that a row of nothing else has a gradient of 0 and not of NaN


def needs_labels(config: TrainConfig) -> bool:
    """Whether the loss wants to know which pairs are in the batch: labels (batch,) int64."""
    return config.loss in ("margin", "listwise")


def dense_loss(model: SentenceTransformer, config: TrainConfig, numbers: Tensor) -> nn.Module:
    """The loss of a configuration, of an embedder.

    `numbers`: (pairs, 2 + negatives) int64, for each pair the numbers of its query and documents;
    equal texts have equal numbers below 2**31.
    """
    scale = _scale(config)
    loss: nn.Module
    match config.loss:
        case "mnrl":
            loss = MultipleNegativesRankingLoss(model, scale, gather_across_devices=_gather())
        case "cached-mnrl":
            loss = CachedMultipleNegativesRankingLoss(
                model,
                scale=scale,
                mini_batch_size=config.mini_batch_size,
                gather_across_devices=_gather(),
            )
        case "triplet":
            loss = TripletLoss(model, TripletDistanceMetric.COSINE, config.margin)
        case "margin":
            loss = MarginLoss(model, numbers, 1 / scale, config.margin)
        case "listwise":
            loss = ListwiseLoss(model, numbers, 1 / scale)
    if config.matryoshka:
        # the whole vector is always among the trained prefixes: it is what the model returns
        dims = sorted({*config.matryoshka, model.get_embedding_dimension() or 0}, reverse=True)
        loss = MatryoshkaLoss(model, loss, dims)
    return loss


def sparse_loss(model: SparseEncoder, config: TrainConfig) -> nn.Module:
    """A loss on products of weights, and FLOPS regularisation of both sides (SPLADE)."""
    main = SparseMultipleNegativesRankingLoss(
        model, scale=_scale(config), gather_across_devices=_gather()
    )
    weights: dict[str, Any] = {
        "document_regularizer_weight": config.flops_document,
        "query_regularizer_weight": config.flops_query,
    }
    if config.loss != "cached-mnrl":
        return SpladeLoss(model, main, **weights)
    return CachedSpladeLoss(model, main, mini_batch_size=config.mini_batch_size, **weights)


def late_loss(model: MultiVectorEncoder, config: TrainConfig) -> nn.Module:
    """A loss on MaxSim."""
    if config.loss == "mnrl":
        return MultiVectorMultipleNegativesRankingLoss(
            model, scale=_scale(config), gather_across_devices=_gather()
        )
    return CachedMultiVectorMultipleNegativesRankingLoss(
        model,
        scale=_scale(config),
        mini_batch_size=config.mini_batch_size,
        gather_across_devices=_gather(),
    )


def cross_loss(model: CrossEncoder, config: TrainConfig) -> nn.Module:
    """mnrl on the scores of a query with its document, its hard negatives and four others of the
    batch: with all of them a batch of n would be n² pairs to read.
    """
    if config.loss == "mnrl":
        return CrossEncoderRankingLoss(model, OTHERS, scale=_scale(config))  # type: ignore[arg-type]
    return CachedCrossEncoderRankingLoss(
        model, OTHERS, scale=_scale(config), mini_batch_size=config.mini_batch_size
    )


OTHERS = 4  # documents of other pairs of the batch, as in sentence-transformers


def _gather() -> bool:
    """Whether a query is compared with the documents of other devices too."""
    return distributed.ranks() > 1


def _scale(config: TrainConfig) -> float:
    assert config.temperature is not None, "the configuration is not resolved"
    return 1 / config.temperature


class _InBatch(nn.Module):
    """Cosines of a batch, and which of its (query, document) pairs are known to be relevant.

    Every distinct text of a batch is embedded once, so a batch of all 2,000 pairs of LIMIT costs
    1,000 queries and 46 documents.
    """

    numbers: Tensor
    known: Tensor

    def __init__(self, model: SentenceTransformer, numbers: Tensor, temperature: float) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature
        self.register_buffer("numbers", numbers, persistent=False)
        known = torch.unique((numbers[:, 0] << 31) + numbers[:, 1])
        self.register_buffer("known", known, persistent=False)

    def _batch(self, features: Any, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of the distinct queries and documents of the batch the cosines (queries, documents) and
        relevance (same); of each pair the places of its query and its document there (batch,)."""
        columns = list(features)
        rows = self.numbers[labels]
        query, of_query, at_query = _distinct(rows[:, 0])
        document, of_document, at_document = _distinct(rows[:, 1:].T.reshape(-1))
        queries = self._embed(columns[0], at_query)
        documents = []
        for j, column in enumerate(columns[1:]):
            begin = j * len(labels)
            here = at_document[(at_document >= begin) & (at_document < begin + len(labels))]
            if len(here):
                documents.append(self._embed(column, here - begin))
        cosines = queries @ torch.cat(documents).T
        relevant = torch.isin((query[:, None] << 31) + document[None, :], self.known)
        return cosines, relevant, of_query, of_document[: len(labels)]

    def _embed(self, column: dict[str, Tensor], rows: Tensor) -> Tensor:
        """Unit vectors of some texts of a column, (rows, dimension)."""
        padded = "attention_mask" in column and column["attention_mask"].ndim == 2
        if padded:
            size = len(column["attention_mask"])
            column = {
                key: value[rows] if isinstance(value, Tensor) and len(value) == size else value
                for key, value in column.items()
            }
        vectors = self.model(column)["sentence_embedding"]
        return nn.functional.normalize(vectors if padded else vectors[rows], dim=-1)

    def get_config_dict(self) -> dict[str, Any]:
        """For the model card."""
        return {"temperature": self.temperature}


def _distinct(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct numbers by first place, where each number stands among them, those places."""
    result, inverse = torch.unique(numbers, return_inverse=True)
    places = torch.arange(len(numbers), device=numbers.device)
    first = torch.full_like(result, len(numbers)).scatter_reduce_(0, inverse, places, "amin")
    first, order = first.sort()
    return result[order], order.argsort()[inverse], first


class MarginLoss(_InBatch):
    """Soft hinge on the closest irrelevant document of the batch; see the module."""

    def __init__(
        self, model: SentenceTransformer, numbers: Tensor, temperature: float, margin: float
    ) -> None:
        super().__init__(model, numbers, temperature)
        self.margin = margin

    def forward(self, sentence_features: Any, labels: Tensor) -> Tensor:
        """Mean over the pairs of the batch."""
        cosines, relevant, query, document = self._batch(sentence_features, labels)
        positive = cosines[query, document]
        above = (cosines[query] - positive[:, None] + self.margin) / self.temperature
        above = above.masked_fill(relevant[query], _NEVER)
        losses = nn.functional.softplus(above.logsumexp(dim=1)) * self.temperature
        return losses.mean()

    def get_config_dict(self) -> dict[str, Any]:
        """For the model card."""
        return {**super().get_config_dict(), "margin": self.margin}


class ListwiseLoss(_InBatch):
    """Cross-entropy with the uniform distribution over the relevant documents; see the module."""

    def forward(self, sentence_features: Any, labels: Tensor) -> Tensor:
        """Mean over the distinct queries of the batch."""
        cosines, relevant, _, _ = self._batch(sentence_features, labels)
        target = relevant / relevant.sum(dim=1, keepdim=True)
        logits = (cosines / self.temperature).log_softmax(dim=1)
        return -(target * logits).sum(dim=1).mean()
