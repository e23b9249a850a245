"""Embedders behind an API: batches of texts as requests to the ledger, vectors out of its answers.

What was answered stays in the ledger, so a run that was killed pays for no text again, and the cap
holds as for chat models. Vectors are kept on disk as those of local models are. What a provider's
requests and answers look like is up to `retgen.agents.embedders`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import orjson
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor

from retgen.agents.chat import Unusable
from retgen.agents.context import Context
from retgen.agents.embedders import OTHER_FORM, EmbeddingBackend, Row, parse_answer
from retgen.agents.models import EmbedderSettings, open_chat
from retgen.agents.prices import BYTES_A_TOKEN, Prices, price_list
from retgen.agents.prompt import Message, Request
from retgen.agents.report import CallReport
from retgen.agents.session import call_models, notice
from retgen.errors import EndpointFailed, UsageError
from retgen.search.embedders.base import Kind
from retgen.search.embedders.options import ModelCalls, Options

_AGENT = "embed"
_REQUEST = 200_000  # bytes of texts in a request
_SHORTEST = 16  # characters to which a text that is too long is cut at the least


class ApiEmbedder:
    """A model behind an API as an `Embedder`.

    A text that is longer than the model reads is refused whole. Half of it is sent then, until that
    fits; `details` counts such texts.
    """

    step = 16_384  # texts encoded at a time: many requests are in flight

    def __init__(self, name: str, options: Options) -> None:
        if options.calls is None:
            raise UsageError(f"--model {name}: is asked by gen eval alone")
        self.name = name
        self._settings = settings = EmbedderSettings.named(name)
        # for its protocol: requests go through `calls`
        self._backend = cast(EmbeddingBackend, open_chat(settings))
        self._calls: ModelCalls = options.calls
        self._prompts = {"query": options.query_prompt, "document": options.document_prompt}
        self.device = "cpu"
        self.similarity = "cosine"
        self.max_length: int | None = None
        identity: list[Any] = [settings.endpoint(), settings.name, self._prompts]
        identity += [self._backend.input_types] if self._backend.input_types else []
        digest = xxhash.xxh3_128_hexdigest(orjson.dumps(identity))
        self.fingerprint: str | None = f"api-{digest}"
        self.details: dict[str, Any] = {
            "endpoint": settings.endpoint(),
            "similarity": self.similarity,
            "prompts": {kind: prompt or "" for kind, prompt in self._prompts.items()},
            "input_types": self._backend.input_types,
            "shortened": 0,
            "notes": [],
        }

    @cached_property
    def dimension(self) -> int:
        """Of its vectors: that of a short text, which is asked for."""
        return int(self.encode(["?"], "query")[0].shape[1])

    def announce(self, texts: Iterable[str]) -> None:
        """Say how many texts are to be sent, at what price; those that the ledger has are free."""
        sizes = [len(text.encode()) for text in texts]
        if not sizes:
            return
        said = f"{self.name}: up to {len(sizes):,} texts are to be sent"
        options, settings = self._calls.model_options, self._settings
        price = Prices(options.prices).of(settings)
        if price is None:
            notice(f"{said}; the price is not known: add --price {settings.full_name}=IN,OUT")
            return
        most, least = (price.token_in * sum(sizes) / each / 1e9 for each in BYTES_A_TOKEN)
        source = "" if options.prices else f" (list prices of {price_list()})"
        notice(f"{said}: ${least:.4f} to ${most:.4f}{source}")

    def encode(self, texts: Sequence[str], kind: Kind) -> tuple[Tensor, list[int]]:
        batches, result = list(self._batches(texts, kind)), list[NDArray[np.float32]]()
        place = {text: i for i, text in enumerate(text for one in batches for text in one)}
        calls, given = CallReport(), self._calls

        async def work(context: Context) -> None:
            stage = context.stage(f"{self.name}: {kind} texts", len(place))

            async def encoded(batch: list[str]) -> NDArray[np.float32]:
                vectors = await self._vectors(context, batch, kind)
                stage.done += len(batch)
                return vectors

            result.extend(await context.gather(stage, map(encoded, batches)))

        call_models(work, given.folder, {_AGENT: self._settings}, given.model_options, calls)
        vectors = np.concatenate(result) if result else np.zeros((0, self.dimension), np.float32)
        return torch.from_numpy(vectors[[place[self._sent(text, kind)] for text in texts]]), []

    def _sent(self, text: str, kind: Kind) -> str:
        """What is sent of a text: never nothing, which servers refuse."""
        prompted = (self._prompts[kind] or "") + text
        return prompted if prompted.strip() else "."

    def _batches(self, texts: Iterable[str], kind: Kind) -> Iterator[list[str]]:
        """The texts of each request; those that are equal are sent once."""
        batch: list[str] = []
        size = 0
        for text in dict.fromkeys(self._sent(text, kind) for text in texts):
            own = len(text.encode())
            if batch and (len(batch) == self._backend.texts or size + own > _REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += own
        if batch:
            yield batch

    def _request(self, texts: Sequence[str], kind: Kind) -> Request:
        prompted = self._prompts[kind] is not None
        return Request(
            endpoint=f"{self._settings.endpoint()}/embeddings",
            model=self._settings.name,
            messages=tuple(Message("user", text) for text in texts),
            sampling=self._backend.parameters(kind, prompted=prompted),
            max_tokens=0,
        )

    async def _vectors(
        self, context: Context, texts: Sequence[str], kind: Kind, *, cut: bool = False
    ) -> NDArray[np.float32]:
        """Vectors (texts, dimension) of length 1 of a batch, or of its halves if it is too long.

        `cut`: it is what is left of a text that was too long.
        """
        try:
            answer = await context.request(_AGENT, self._request(texts, kind))
        except Unusable as error:
            if half := len(texts) // 2:
                parts = texts[:half], texts[half:]
                return np.concatenate([await self._vectors(context, one, kind) for one in parts])
            (text,) = texts
            if error.why != "too_long" or len(text) <= _SHORTEST:
                raise EndpointFailed(
                    f"{self.name} gives no vector for the text that begins {text[:60]!r}: {error}"
                ) from error
            self.details["shortened"] += not cut
            return await self._vectors(context, [text[: len(text) // 2]], kind, cut=True)
        try:
            rows = [_numbers(row) for row in self._backend.rows(parse_answer(answer.encode()))]
        except OTHER_FORM:
            raise self._no_vectors("an answer that holds no vectors") from None
        return self._unit_length(rows, texts)

    def _unit_length(
        self, rows: list[NDArray[np.float64]], texts: Sequence[str]
    ) -> NDArray[np.float32]:
        """Check the vectors of some texts, and scale them to length 1."""
        known = vars(self).get("dimension") or (len(rows[0]) if rows else 0)
        if len(rows) != len(texts):
            raise self._no_vectors(f"{len(rows):,} vectors for {len(texts):,} texts")
        if lengths := sorted({len(row) for row in rows} - {known}):
            raise self._no_vectors(f"vectors of {lengths[0]:,} dimensions among those of {known:,}")
        vectors = np.stack(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(vectors, axis=1)
        for number in np.flatnonzero(~np.isfinite(norms) | (norms == 0)).tolist():
            fault, begins = "that is not finite" if norms[number] else "of length 0", texts[number]
            raise self._no_vectors(f"a vector {fault} for the text that begins {begins[:60]!r}")
        result: NDArray[np.float32] = (vectors / norms[:, None]).astype(np.float32)
        return result

    def _no_vectors(self, fault: str) -> EndpointFailed:
        return EndpointFailed(
            f"{self.name} at {self._settings.endpoint()}: gave {fault}. The answer is kept, so "
            "asking again does not help: take another model or, if the server is mended, another "
            "ledger (--ledger FILE)"
        )


def _numbers(row: Row) -> NDArray[np.float64]:
    """Decode a vector of an answer: numbers, or base64 of float32."""
    numbers = np.frombuffer(base64.b64decode(row), "<f4") if isinstance(row, str) else row
    result = np.array(numbers, np.float64)
    if result.ndim != 1:
        raise ValueError(result.shape)
    return result
