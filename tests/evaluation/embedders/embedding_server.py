"""A server on loopback that speaks OpenAI's embeddings, with the vectors of static:minilm.

The model that is asked for says how it fails: `ok`, `base64`, `few`, `zeros`, `nan`, `none`, `other` (the
second answer has other dimensions); `flaky` answers every third request only.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from tests.agents.loopback import Handler, Loopback

LONGEST = 4000  # characters of a text that it reads


class EmbeddingServer(Loopback):
    def __init__(self, model: SentenceTransformer, delay: float = 0.0) -> None:
        super().__init__(_Handler)
        self.model, self.delay, self.answered = model, delay, list[str]()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"


class _Handler(Handler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = self.read()
        server, how, texts = self.server, body["model"], body["input"]
        assert self.path == "/v1/embeddings"
        turn = len(server.requests)
        if how == "flaky" and turn % 3:
            return self.drop() if turn % 2 else self.reply(500, b'{"error": "busy"}', {})
        if any(len(text) > LONGEST for text in texts):
            error = {"message": "This model's maximum context length is 100 tokens."}
            return self.reply(400, json.dumps({"error": error}).encode(), {})
        vectors = np.asarray(server.model.encode(texts, show_progress_bar=False), np.float32)
        if how == "few" and len(texts) > 1:
            vectors = vectors[1:]
        elif how == "zeros":
            vectors[-1] = 0
        elif how == "other" and turn > 1:
            vectors = vectors[:, :5]
        rows: list[dict[str, Any]] = [
            {"object": "embedding", "index": i, "embedding": _written(row, how)}
            for i, row in enumerate(vectors)
        ]
        server.answered += texts
        tokens = sum(len(text.encode()) for text in texts) // 4 + 1
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        answer = {"object": "list", "data": rows[::-1], "model": how, "usage": usage}
        return self.reply(200, json.dumps(answer).encode(), {})


def _written(row: Any, how: str) -> Any:
    if how == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    if how == "none":
        return None
    values = [round(float(value), 9) for value in row]
    return [None if how == "nan" else value for value in values]
