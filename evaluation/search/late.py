"""Late interaction: a query's score is the sum, over its tokens, of the best cosine with a token of
the document (MaxSim; Khattab and Zaharia, SIGIR 2020). Exact, over the whole corpus, in blocks.

A model that was trained for it is loaded as such; of any other sentence-transformers model the
token embeddings before pooling are taken, which is a baseline and not a trained late-interaction
model (`details["trained_for_late_interaction"]` says which).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks, noise_of
from retgen.search.collection import Collection
from retgen.search.dense import TopK
from retgen.search.embedders.base import Kind, RunningModel, in_batches
from retgen.search.embedders.chunks import Cutter, cutter
from retgen.search.embedders.loading import kind_of, load, load_model
from retgen.search.embedders.options import Options

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

_BYTES = 1 << 28  # of a block's padded token vectors, and of its scores
_BLOCK = {"cpu": 256}  # documents between two reports of progress, at most; else:
_BLOCK_GPU = 4_096
_LONGEST = 8_192  # tokens of a text for a model without a limit
TOKENS = 1 << 25  # token pairs compared at a time: 128 MB of scores
_HELD = 512  # documents of candidate sets whose tokens are held


class LateRetriever:
    """A model's token embeddings as a retriever. Nothing of them is kept on disk."""

    def __init__(self, name: str, model: str | MultiVectorEncoder, options: Options) -> None:
        from sentence_transformers import MultiVectorEncoder

        self._trained = not isinstance(model, str) or kind_of(model) == "MultiVectorEncoder"
        loaded: Any = model
        if isinstance(model, str):
            given = options.loading()
            loaded = load(MultiVectorEncoder, model, **given) if self._trained else None
            loaded = loaded or load_model(model, **given)
        if loaded.transformers_model is None:
            raise UsageError(
                f"--model {name}: {model} is no transformer, so it has no tokens' vectors"
            )
        if options.max_length and getattr(loaded[0], "document_length", None) is not None:
            loaded[0].document_length = options.max_length
        self._running = RunningModel(name, loaded, options)
        self._name, self._model, self._device = name, loaded, self._running.device
        self._prompts = {"query": options.query_prompt, "document": options.document_prompt}
        self.details = self._running.details | {
            "prompts": options.prompts(loaded.prompts),
            "trained_for_late_interaction": self._trained,
        }
        if options.dims:
            self._running.notes.append("compares vectors of tokens, which --dims does not cut")

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        queries = self.embed([query.text for query in collection.queries], "query")
        full = {"documents": 0, "queries": self._full(queries)}
        top = TopK(collection.priority, len(queries), depth, self._device)
        block = self._block(len(queries), queries[0].shape[1])

        def compared(texts: Sequence[str]) -> list[tuple[Tensor, int]]:
            documents = self.embed(texts, "document")
            return [
                (scores, self._full([one]))
                for scores, one in zip(maxsim(queries, documents).T, documents, strict=True)
            ]

        for first, texts in collection.blocks(block):
            size = min(block, len(texts))
            rows, _ = in_batches(texts, size, compared, self._name, self._running.notes)
            top.add(first, torch.stack([scores for scores, _ in rows], dim=1))
            full["documents"] += sum(held for _, held in rows)
            progress(self._name, first + len(texts), collection.documents)
        # a trained model leaves tokens out, and fills queries up: there lengths tell nothing
        cut = {} if self._trained or self._model.max_seq_length is None else {"truncated": full}
        yield SystemRanks(self._name, None, TopK.joined([top]), self.details | cut)

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        result: list[Array] = []
        while len(result) < len(groups):
            part = _next(groups, len(result))
            texts = list(dict.fromkeys(text for group in part for text in group.texts))
            queries = list(dict.fromkeys(group.query for group in part))
            documents = dict(zip(texts, self.embed(texts, "document"), strict=True))
            asked = dict(zip(queries, self.embed(queries, "query"), strict=True))
            for group in part:
                candidates = [documents[text] for text in group.texts]
                result.append(maxsim([asked[group.query]], candidates)[0].cpu().double().numpy())
            progress(f"{self._name}: candidate sets", len(result), len(groups))
        return result

    def systems(self) -> list[System]:
        """Itself, as a scorer of candidate sets."""
        return [System(None, self, lambda: self.details, self.pieces)]

    @property
    def noise(self) -> float:
        """See `Scorer`."""
        return noise_of(self.details["dtype"])

    def _full(self, result: Sequence[Tensor]) -> int:
        """Texts with as many tokens as the model reads: what was cut, and what just fits."""
        limit = self._model.max_seq_length
        return 0 if limit is None else sum(len(row) >= limit for row in result)

    def _block(self, queries: int, dimension: int) -> int:
        """Documents at a time, so that neither their padded tokens nor their scores are many."""
        limit = self._model.max_seq_length
        tokens = int(limit) if limit is not None and limit < _LONGEST else _LONGEST
        fit = _BYTES // 4 // max(tokens * dimension, queries)
        return max(1, min(fit, _BLOCK.get(self._device, _BLOCK_GPU)))

    @property
    def pieces(self) -> Cutter | None:
        """Cuts documents into what the model reads whole; None where it does not tell."""
        if self._trained:  # such models leave tokens out
            return None
        prompt = str(self.details["prompts"]["document"])
        return cutter(self._model.tokenizer, self._model.max_seq_length, prompt)

    def embed(self, texts: Sequence[str], kind: Kind) -> list[Tensor]:
        """Vectors of each text's tokens, (tokens, d), of length 1."""
        encode = self._model.encode_query if kind == "query" else self._model.encode_document

        def run(part: Sequence[str]) -> Any:
            return encode(
                list(part),
                prompt=self._prompts[kind],
                output_value="token_embeddings",
                batch_size=len(part),
                show_progress_bar=False,
            )

        rows = self._running.run(texts, run)
        return [torch.nn.functional.normalize(row.float(), dim=1) for row in rows]


def maxsim(queries: Sequence[Tensor], documents: Sequence[Tensor]) -> Tensor:
    """Scores (queries, documents) of token embeddings, each (tokens, d) with unit rows."""
    device = queries[0].device
    lengths = torch.tensor([len(d) for d in documents], device=device)
    padded = torch.nn.utils.rnn.pad_sequence(list(documents), batch_first=True)  # (b, t, d)
    beyond = torch.arange(padded.shape[1], device=device) >= lengths[:, None]  # (b, t)
    scores = torch.zeros(len(queries), len(documents), device=device)
    start = 0
    while start < len(queries):
        stop, tokens = start, 0
        while stop < len(queries) and (
            tokens == 0 or (tokens + len(queries[stop])) * beyond.numel() <= TOKENS
        ):
            tokens += len(queries[stop])
            stop += 1
        rows = torch.cat(list(queries[start:stop]))  # (tokens, d)
        pairs = torch.einsum("qd,btd->qbt", rows, padded).masked_fill_(beyond, -torch.inf)
        best = pairs.amax(dim=2)
        counts = torch.tensor([len(q) for q in queries[start:stop]], device=device)
        owner = torch.repeat_interleave(torch.arange(start, stop, device=device), counts)
        scores.index_add_(0, owner, best)
        start = stop
    return scores


def _next(groups: Sequence[CandidateSet], start: int) -> Sequence[CandidateSet]:
    """The next groups, with no more documents than are held at a time."""
    seen: set[str] = set()
    for stop in range(start, len(groups)):
        seen.update(groups[stop].texts)
        if len(seen) > _HELD and stop > start:
            return groups[start:stop]
    return groups[start:]
