"""Embedders behind an API: batches of texts as requests to the ledger, vectors out of its answers.

What was answered stays in the ledger, so a run that was killed pays for no text again, and the cap
holds as for chat models. Vectors are kept on disk as those of local models are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor

from retgen.agents.calls import CallReport, call_models, with_call_report
from retgen.agents.chat import Unusable
from retgen.agents.context import Context
from retgen.agents.models import ModelSettings, open_embedder, settings_of
from retgen.agents.prompt import Message, Request
from retgen.errors import EndpointFailed, UsageError
from retgen.evaluation.embedders.base import Kind, Report, no_report
from retgen.evaluation.embedders.options import ModelCalls, Options
from retgen.evaluation.embedders.similarity import Similarity

_AGENT = "embed"
# of a request: OpenAI takes 2,048 texts and 300,000 tokens, and a token has a byte or more
_TEXTS, _BYTES = 128, 200_000
_SHORTEST = 16  # characters to which a text that is too long is cut at the least


class ApiEmbedder:
    """A model behind an API as an `Embedder`.

    A text that is longer than the model reads is cut in half until it is not, and `details` counts
    those that were sent in this call: the API refuses such a text whole.
    """

    step = 16_384  # texts encoded at a time: many requests are in flight

    def __init__(self, name: str, options: Options) -> None:
        settings = settings_of(name)
        if settings is None or options.calls is None:
            raise UsageError(f"--model {name}: is asked by gen eval alone")
        self.name = name
        self._settings: ModelSettings = settings
        self._calls: ModelCalls = options.calls
        self._prompts = {"query": options.query_prompt, "document": options.document_prompt}
        self._sampling = {} if settings.address() else {"encoding_format": "base64"}
        self.device = "cpu"
        self.similarity: Similarity = "cosine"
        self.max_length: int | None = None
        identity = orjson.dumps([settings.endpoint(), settings.name, self._prompts])
        self.fingerprint: str | None = f"api-{xxhash.xxh3_128_hexdigest(identity)}"
        self.details: dict[str, Any] = {
            "endpoint": settings.endpoint(),
            "similarity": self.similarity,
            "prompts": {kind: prompt or "" for kind, prompt in self._prompts.items()},
            "shortened": 0,
            "notes": [],
        }
        self.dimension = int(self.encode(["?"], "query")[0].shape[1])

    def encode(
        self, texts: Sequence[str], kind: Kind, report: Report = no_report
    ) -> tuple[Tensor, list[int]]:
        prompt = self._prompts[kind] or ""
        sent = [
            prompt + text if (prompt + text).strip() else "." for text in texts
        ]  # none is empty
        batches, result = list(_batches(sent)), list[NDArray[np.float32]]()
        calls, given = CallReport(), self._calls

        async def work(context: Context) -> None:
            calls.stages = context.stages
            stage = context.stage(f"{self.name}: {kind} texts", len(sent))

            async def encoded(batch: list[str]) -> NDArray[np.float32]:
                vectors = await self._vectors(context, batch)
                stage.done += len(batch)
                report(stage.done)
                return vectors

            result.extend(await context.gather(stage, map(encoded, batches)))

        with with_call_report(calls):
            call_models(
                work, given.folder, given.folder, {_AGENT: self._settings}, given.model_options,
                calls, None, lambda *_: None, open_model=open_embedder,
            )  # fmt: skip
        vectors = np.concatenate(result) if result else np.zeros((0, self.dimension), np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return torch.from_numpy(vectors / norms), []

    async def _vectors(
        self, context: Context, texts: Sequence[str], *, cut: bool = False
    ) -> NDArray[np.float32]:
        """Vectors (texts, dimension) of a batch, or of its halves where it is too long. `cut`: it
        is what is left of a text.
        """
        request = Request(
            endpoint=f"{self._settings.endpoint()}/embeddings",
            model=self._settings.name,
            messages=tuple(Message("user", text) for text in texts),
            sampling=self._sampling,
            room=0,
        )
        try:
            answer = await context.ask(_AGENT, request)
        except Unusable as error:
            if len(texts) == 1 and (error.why != "too_long" or len(texts[0]) <= _SHORTEST):
                raise EndpointFailed(
                    f"{self.name} gives no vector for the text that begins "
                    f"{texts[0][:60]!r}: {error}"
                ) from error
            half = len(texts) // 2
            if not half:
                self.details["shortened"] += not cut
                return await self._vectors(context, [texts[0][: len(texts[0]) // 2]], cut=True)
            halves = [await self._vectors(context, part) for part in (texts[:half], texts[half:])]
            return np.concatenate(halves)
        try:
            rows = _parsed(answer)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._no_vectors("an answer that holds no vectors") from None
        return self._checked(rows, len(texts))

    def _checked(self, rows: list[NDArray[np.float32]], count: int) -> NDArray[np.float32]:
        known = getattr(self, "dimension", None) or (len(rows[0]) if rows else 0)
        fault = ""
        if len(rows) != count:
            fault = f"{len(rows):,} vectors for {count:,} texts"
        elif lengths := sorted({len(row) for row in rows} - {known}):
            fault = f"vectors of {lengths[0]:,} dimensions among those of {known:,}"
        elif not all(np.isfinite(row).all() for row in rows):
            fault = "vectors that are not numbers"
        elif not all(row.any() for row in rows):
            fault = "vectors of zeros"
        if fault:
            raise self._no_vectors(fault)
        return np.stack(rows)

    def _no_vectors(self, fault: str) -> EndpointFailed:
        return EndpointFailed(
            f"{self.name} at {self._settings.endpoint()}: gave {fault}. The answer is kept; `gen "
            f"ledger forget --agent {_AGENT} --model {self.name} --state answered --yes` has all "
            "of this model asked again"
        )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        own = len(text.encode())
        if batch and (len(batch) == _TEXTS or size + own > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += own
    if batch:
        yield batch


def _parsed(answer: str) -> list[NDArray[np.float32]]:
    """The vectors of an answer in the order of its texts, as numbers or as base64 of them."""
    rows: dict[int, NDArray[np.float32]] = {}
    for place, one in enumerate(orjson.loads(answer)["data"]):
        vector = one.get("embedding")
        row = (
            np.frombuffer(base64.b64decode(vector), "<f4")
            if isinstance(vector, str)
            else np.array(vector, np.float32)
        )
        if row.ndim != 1:
            raise ValueError(row.shape)
        rows[int(one.get("index", place))] = row
    return [rows[place] for place in sorted(rows)]
