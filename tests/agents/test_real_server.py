"""A serving program that is not ours, with a real model: `transformers serve` on loopback.

The model is a tiny Llama with random weights, so it knows no JSON: what it says fails after
repairs, and every answer of it is kept and charged. Its log says how many requests it has had.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.client import Client
from retgen.agents.ledger import Ledger
from retgen.agents.models import ModelSettings, find_key, open_chat
from retgen.agents.prices import Price
from retgen.agents.prompt import Message, Prompt, Request
from retgen.agents.report import CallReport
from retgen.errors import EndpointFailed
from tests.agents.ledgers import open_client, spent
from tests.conftest import read_jsonl

pytestmark = pytest.mark.slow  # a server in a process that imports torch
NEEDED = ("torch", "transformers", "tokenizers", "accelerate", "fastapi", "uvicorn", "openai")
NAME = "tiny"  # the folder's, as the server is told it
PRICE = Price(token_in=2, token_out=10)
TEXTS = [
    "Who likes quokkas? A person who likes quokkas, cocktails and vegetables.",
    "Answer with one JSON object and nothing else. Its JSON Schema is:",
    "This answer cannot be taken: it is not JSON. Answer the request above again, in full.",
]
TEMPLATE = (
    "{% for message in messages %}<|begin|>{{ message.role }}\n{{ message.content }}<|end|>\n"
    "{% endfor %}<|begin|>assistant\n"
)


class Ask(Question):
    thing: str


class Fact(AnswerSchema):
    fact: str


def no_rules(question: Ask) -> Fact:
    raise RepairsFailed("tell/offline", "there are none", ())


TELL = Agent(
    name="tell",
    role="write",
    prompt=Prompt("tell", "Tell.", "You tell facts.", "Tell one of {{thing}}.", "0"),
    question=Ask,
    answer=Fact,
    offline=no_rules,
    max_tokens=64,
)


@dataclass
class Served:
    """`tokens`: how many of them messages are, by the model's own tokenizer and template."""

    url: str
    log: Path
    tokens: Callable[[tuple[Message, ...]], int]

    def requests(self) -> int:
        return self.log.read_text().count('"POST /v1/chat/completions')

    def settings(self, **changes: Any) -> ModelSettings:
        known = {"provider": "openai", "name": NAME, "base_url": self.url, "structured": "prompt"}
        return ModelSettings(**{**known, **changes})


def make_model(folder: Path) -> Callable[[tuple[Message, ...]], int]:
    """A model of 7,000 weights that ends an answer with two of any three tokens."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(TEXTS, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained, bos_token=special[0], eos_token=special[1], pad_token=special[1]
    )
    tokenizer.chat_template = TEMPLATE
    size = len(tokenizer)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=size,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=8192,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )
    # never the special ones, which are no text
    ends = [token for token in range(len(special), size) if token % 3]
    model.generation_config.update(do_sample=True, suppress_tokens=[0, 1], eos_token_id=ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    def count(messages: tuple[Message, ...]) -> int:
        asked = [message._asdict() for message in messages]
        text = tokenizer.apply_chat_template(asked, tokenize=False)
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    return count


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        pytest.fail(f"not installed: {', '.join(missing)} (pip install -e '.[all,dev]')")
    folder = tmp_path_factory.mktemp("served")
    tokens = make_model(folder / NAME)
    (folder / "hub" / "hub").mkdir(parents=True)
    environment = os.environ | {
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",  # it looks into PyPI even offline
    }
    log = folder / "log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "transformers.cli.transformers",
                "serve",
                NAME,
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--device",
                "cpu",
                "--default-seed",
                "0",
            ],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=file,
        )
    try:
        yield Served(f"{address(process, log)}/v1", log, tokens)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server says that it listens."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if result := re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text()):
            return result[1]
        time.sleep(0.05)
    ended = "is not up after five minutes" if process.poll() is None else "has ended"
    pytest.fail(f"transformers serve {ended}:\n{log.read_text()[-4000:]}")


def with_client(
    ledger: Ledger, settings: ModelSettings, work: Callable[[Client], Coroutine[Any, Any, Any]]
) -> tuple[CallReport, Any]:
    """What was counted, and what `work` returns or the error that it raises."""

    async def run() -> tuple[CallReport, Any]:
        chat, counters = open_chat(settings, find_key(settings, {})), CallReport()
        assert isinstance(chat, OpenAIChat)
        given = {"chat": chat, "report": counters, "price": PRICE}
        async with open_client(ledger, settings.endpoint(), **given) as client:
            try:
                return counters, await work(client)
            except (RepairsFailed, EndpointFailed) as error:
                return counters, error

    return asyncio.run(run())


def usage(answer: bytes) -> tuple[int, int]:
    content = json.loads(answer)["usage"]
    return content["prompt_tokens"], content["completion_tokens"]


def test_an_answer_is_text_with_its_tokens_and_is_paid_once(served: Served, ledger: Ledger) -> None:
    messages = Message("system", "You are brief."), Message("user", "Say {a} “thing” of Örebro.")
    request = Request(served.url, NAME, messages, {"temperature": 1.0}, max_tokens=64)

    async def ask(client: Client) -> str:
        return await client.request(request, "tell")

    before = served.requests()
    counters, text = with_client(ledger, served.settings(), ask)
    assert text
    (kept,) = ledger.answers()
    tokens_in, tokens_out = usage(kept.answer.raw)
    assert tokens_in == served.tokens(messages)
    assert 1 <= tokens_out < 64
    assert (counters.calls, counters.cached) == ({"tell": 1}, {})
    assert (counters.tokens_in, counters.tokens_out) == (
        {"tell": tokens_in},
        {"tell": tokens_out},
    )
    assert served.requests() == before + 1

    counters, again = with_client(ledger, served.settings(), ask)
    assert again == text
    assert (counters.calls, counters.cached) == ({}, {"tell": 1})
    assert served.requests() == before + 1
    cost = PRICE.of(tokens_in, tokens_out)
    assert spent(ledger) == {"a": (1, 0, tokens_in, tokens_out, cost)}


def test_what_is_never_right_fails_with_all_that_was_said(served: Served, ledger: Ledger) -> None:
    settings = served.settings()
    before = served.requests()
    question = Ask(thing="quokkas")
    _, error = with_client(
        ledger, settings, lambda client: TELL.request(question, settings, client, Counter())
    )
    assert isinstance(error, RepairsFailed)
    assert error.rule == "tell/answer"
    assert len(error.history) == 3
    assert served.requests() == before + 3

    # each turn holds the ones before it, so the tokens of its prompt say which it was
    kept = sorted(ledger.answers(), key=lambda one: one.answer.tokens_in)
    chat = open_chat(settings, "none")
    assert [chat.read(one.answer.raw).text for one in kept] == [
        turn.answer for turn in error.history
    ]
    for number, one in enumerate(kept):
        sent = tuple(Message(**each) for each in json.loads(one.request)["messages"])
        contents = [message.content for message in sent if message.role == "assistant"]
        assert contents == [turn.answer for turn in error.history[:number]]
        raw, *tokens, _, _ = one.answer
        assert tuple(tokens) == usage(raw)
        assert one.answer.tokens_in == served.tokens(sent)
    sums = ledger.spent("a")
    costs = [PRICE.of(one.answer.tokens_in, one.answer.tokens_out) for one in kept]
    assert (sums.calls, sums.tokens_in) == (3, sum(one.answer.tokens_in for one in kept))
    assert sums.nano_usd == sum(costs)


def test_what_is_cut_off_gets_more_tokens(served: Served, ledger: Ledger) -> None:
    longer = json.dumps({"do_sample": True, "min_new_tokens": 20})
    settings = served.settings(max_tokens=16, extra={"generation_config": longer})
    request = TELL.begin(Ask(thing="quokkas"), settings)
    _, text = with_client(ledger, settings, lambda client: client.request(request, "tell"))
    assert text
    (kept,) = ledger.answers()
    assert 20 <= kept.answer.tokens_out < 256
    (sums,) = ledger.sums()
    assert (sums.calls, sums.tokens_out) == (2, 16 + kept.answer.tokens_out)


def test_a_model_that_is_not_there_ends_it(served: Served, ledger: Ledger) -> None:
    settings = served.settings(name="large")

    async def ask(client: Client) -> str:
        messages = (Message("user", f"Hello {number}") for number in range(3))
        asked = (Request(served.url, "large", (one,), max_tokens=9) for one in messages)
        requests = (client.request(one, "tell") for one in asked)
        results = await asyncio.gather(*requests, return_exceptions=True)
        raise next(one for one in results if isinstance(one, EndpointFailed))

    _, error = with_client(ledger, settings, ask)
    assert isinstance(error, EndpointFailed)
    assert str(error).startswith(
        f"large at {served.url}, asked by tell: 400: Server is pinned to 'tiny'; requested 'large'. "
        "Leave what the server does not know out of the recipe's model block"
    )
    # a 400, and nobody documents that it costs nothing
    worst = PRICE.worst(Request(served.url, "large", (Message("user", "Hello 0"),)), 9)
    tried = spent(ledger)["a"][0]  # eight refusals, and what else is in flight
    assert 8 <= tried <= 10
    assert spent(ledger) == {"a": (tried, 0, 0, 0, tried * worst)}


def test_gen_run_with_a_model_that_cannot_do_it(
    served: Served,
    gen: Callable[..., subprocess.CompletedProcess[str]],
    recipe_file: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    recipe = recipe_file(f"""# gen run recipe.yaml
name: hopeless
family: limit
model:
  {{provider: openai, name: {NAME}, base_url: "{served.url}", structured: prompt, max_tokens: 16,
   concurrency: 2}}
params:
  {{pattern: dense, docs: 10, queries: 10, k: 2, attributes_per_doc: 5,
   catalogue: {{size: 30, split: all}}}}
""")
    before, rejected = served.requests(), tmp_path / "outputs" / "hopeless" / "rejected.jsonl"
    for run in range(2):  # the second finds all answers in the ledger
        result = gen("run", recipe, "--price", "2,10")
        assert result.returncode == 1, result.stderr
        assert "gen: attributes: 0 of 30 were accepted; rejected were" in result.stderr
        assert "see rejected.jsonl. Ask for fewer, or try another model." in result.stderr
        assert "Traceback" not in result.stdout + result.stderr
        asked = {row["record"]["record"] for row in read_jsonl(rejected)}
        assert len(asked) > 1
        assert served.requests() == before + 3 * len(asked), f"run {run}"

    folder = tmp_path / "outputs" / "hopeless"
    assert not (folder / "manifest.json").exists()
    ledger = Ledger(folder.parent / "ledger.sqlite")
    kept, sums = list(ledger.answers("hopeless")), ledger.spent("hopeless")
    ledger.close()
    assert (len(kept), sums.calls) == (3 * len(asked), 3 * len(asked))
    # two and ten dollars a million tokens are 2,000 and 10,000 nano-dollars each
    assert sums.nano_usd == 2000 * sums.tokens_in + 10_000 * sums.tokens_out > 0

    rows = read_jsonl(rejected)
    assert {row["rule"] for row in rows} == {"propose_attributes/answer"}
    assert len(rows) == len(asked)
    chat = open_chat(served.settings(), "none")
    texts = {chat.read(one.answer.raw).text for one in kept}
    histories = [row["record"]["history"] for row in rows]
    assert {len(history) for history in histories} == {3}
    assert {turn["answer"] for history in histories for turn in history} == texts
