"""A server on loopback that speaks the embeddings of two providers, with vectors of static:minilm.

The model that is asked for says how it fails: `ok`, `base64`, `few`, `zeros`, `nan` (null), `literal`
(NaN), the names in `_NO_VECTORS`, `other` (all but the first answer have other dimensions),
`huge` and `tiny` give vectors of some 1e30 and 1e-30, which are right.
"""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from tests.agents.loopback import Handler, Loopback

LONGEST = 4000  # characters of a text that it reads
KEY = "sk-planted-0123456789"
# the variable that names the server, and what stands behind its address
ADDRESSES = {
    "openai": ("OPENAI_BASE_URL", "/v1"),
    "google_genai": ("GOOGLE_GEMINI_BASE_URL", ""),
}


class Question(NamedTuple):
    """A request. `kind`: its type of input, as the provider calls it; `cuts`: long texts are cut."""

    how: str
    texts: list[str]
    kind: str | None
    cuts: bool


class EmbeddingServer(Loopback):
    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__(_Handler)
        self.model = model
        self.questions: list[Question] = []
        self.answered: list[Question] = []

    def address(self, provider: str) -> str:
        return f"{self.url}{ADDRESSES[provider][1]}"

    def texts(self) -> list[str]:
        """Those that were answered."""
        return [text for one in self.answered for text in one.texts]


class _Handler(Handler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        server, (provider, question) = self.server, self._question()
        server.questions.append(question)
        turn, how = len(server.questions), question.how
        texts = question.texts
        if question.cuts:
            texts = [text[:LONGEST] for text in texts]
        if any(len(text) > LONGEST for text in texts):
            return self.reply(400, json.dumps(_TOO_LONG).encode(), {})
        vectors = np.asarray(server.model.encode(texts, show_progress_bar=False), np.float32)
        if how == "few" and len(texts) > 1:
            vectors = vectors[1:]
        elif how == "zeros":
            vectors[-1] = 0
        elif how == "other" and turn > 1:
            vectors = vectors[:, :5]
        tokens = sum(len(text.encode()) for text in texts) // 4 + 1
        data = json.dumps(_ANSWERS[provider](vectors, how, tokens)).encode()
        server.answered.append(question)
        return self.reply(200, data, {})

    def _question(self) -> tuple[str, Question]:
        body = self.read()
        if self.path.startswith("/v1beta/models/"):
            name, _, method = self.path.rpartition("/")[2].partition(":")
            assert method == "batchEmbedContents"
            parts = body["requests"]
            assert {one["model"] for one in parts} == {f"models/{name}"}
            texts = [one["content"]["parts"][0]["text"] for one in parts]
            return "google_genai", Question(name, texts, parts[0].get("taskType"), True)
        assert self.path == "/v1/embeddings"
        return "openai", Question(body["model"], body["input"], None, False)


_TOO_LONG = {"error": {"message": "Invalid 'input[0]': maximum input length is 8192 tokens."}}


def _openai(vectors: NDArray[np.float32], how: str, tokens: int) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {"object": "embedding", "index": i, "embedding": _written(row, how)}
        for i, row in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": rows[::-1], "model": how, "usage": usage}


def _google(vectors: NDArray[np.float32], how: str, tokens: int) -> dict[str, Any]:
    usage = {"usageMetadata": {"promptTokenCount": tokens}}
    return {"embeddings": [{"values": _written(row, how)} for row in vectors], **usage}


_ANSWERS = {"openai": _openai, "google_genai": _google}


_NO_VECTORS: dict[str, Any] = {
    "words": ["one", "two"],
    "object": {"a": 1},
}


def _written(row: Any, how: str) -> Any:
    if how == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    if how in _NO_VECTORS:
        return _NO_VECTORS[how]
    scale = {"huge": 1e30, "tiny": 1e-30}.get(how, 1.0)
    values = [scale * round(float(value), 9) for value in row]
    wrong = {"nan": None, "literal": float("nan")}
    return [wrong.get(how, value) for value in values]
