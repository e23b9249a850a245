"""The cap and the ledger against servers that keep a bill of their own: every fault, random caps.

Whatever comes back, what the server bills is within the cap, and within what the ledger has charged.
The agents of a family are asked as `gen run` asks them, but with shorter pauses.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retgen.agents.caller import Caller
from retgen.agents.context import Context
from retgen.agents.flow import Flight, Stop, Stopped
from retgen.agents.ledger import Ledger, Writer
from retgen.agents.models import ModelSettings, open_chat
from retgen.errors import RetgenError
from retgen.recipe import Recipe, load_recipe
from retgen.write import make_folder
from tests.agents import billing
from tests.agents.billing import (
    FAULTS,
    GEMINI,
    GEMINI_OUTCOMES,
    PRICE,
    Fault,
    Say,
    Server,
)
from tests.agents.ladder_mind import ladder_mind
from tests.agents.minds import mind as limit_mind
from tests.generators.capretrieval.mind import mind as passage_mind
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.generators.niah.test_agents import RECIPE as NIAH
from tests.generators.niah.test_agents import mind as needle_mind
from tests.with_agents.conftest import recipe_of
from tests.with_agents.test_multiconir import ships

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))


def limit(folder: Path) -> Path:
    (folder / "limit.yaml").write_text(recipe_of(12, 26))
    return folder / "limit.yaml"


def capretrieval(folder: Path) -> Path:
    return write_recipe(folder / "kb.yaml", write_rows(folder / "kb.jsonl", TEXTS[:5]))


def niah(folder: Path) -> Path:
    (folder / "own.yaml").write_text(NIAH)
    return folder / "own.yaml"


class Case(NamedTuple):
    recipe: Callable[[Path], Path]
    say: Say


FAMILIES = {
    "limit": Case(limit, limit_mind),
    "capretrieval": Case(capretrieval, passage_mind),
    "niah": Case(niah, needle_mind),
    "multiconir": Case(lambda folder: ships(folder, 3), ladder_mind),
}
BACKENDS = ("openai", "google_genai", "langchain")


def settings_of(backend: str, server: Server, **more: Any) -> ModelSettings:
    url = server.url if backend == "google_genai" else f"{server.url}/v1"
    provider = "google_genai" if backend == "google_genai" else "openai"
    via = {"via": "langchain"} if backend == "langchain" else {}
    return ModelSettings(provider=provider, name="m", base_url=url, timeout=5.0, **via, **more)


class Charged(NamedTuple):
    """In nano-dollars: by the ledger, as progress has it; and what ended it, if it did not work."""

    ledger: int
    shown: int
    error: BaseException | None
    notices: list[str]


def asked(recipe: Recipe, folder: Path, model: ModelSettings, cap: int | None) -> Charged:
    """Ask what the recipe's family asks, under a cap."""
    make_folder(folder / "sources")
    ledger, notices = Ledger(folder / "ledger.sqlite"), list[str]()
    job = recipe.job._replace(sources=folder / "sources")
    error: BaseException | None = None

    async def run() -> int:
        nonlocal error
        writer, stop, flight = Writer(ledger), Stop(), Flight()
        caller = Caller(
            ledger, writer, open_chat(model, "sk-planted-0123"), model, run="a", stop=stop,
            flight=flight, price=PRICE, cap=cap, attempts=3, first_delay=0.002,
            notice=notices.append,
        )  # fmt: skip
        caller.tally.nano_usd = ledger.spent("a").nano_usd
        agents = dict.fromkeys(recipe.agents, (model, caller))
        context = Context(
            folder / "sources", agents, stop=stop, flight=flight, tally=caller.tally, cap=cap,
            notice=notices.append,
        )  # fmt: skip
        try:
            async with asyncio.timeout(120):
                await recipe.family.generate_with_agents(job, context)
        except (RetgenError, Stopped) as end:
            error = end
        finally:
            await caller.close()
            await asyncio.to_thread(writer.close)
        return caller.tally.nano_usd

    try:
        shown = asyncio.run(run())
        return Charged(ledger.spent("a").nano_usd, shown, error, notices)
    finally:
        ledger.close()


def check(
    family: str, backend: str, fault: Fault, folder: Path, *, seed: int, share: float, hidden: int
) -> Server:
    """Twice under a random cap, then under ten times that: resumed, as a user does."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    path = FAMILIES[family].recipe(folder)
    recipe = load_recipe(str(path), {"model": "openai:m"})
    cap = round(10 ** chance.uniform(6.5, 8.5))
    with billing.serving(
        FAMILIES[family].say, fault, share=share, hidden=hidden, seed=seed
    ) as server:
        model = settings_of(backend, server, concurrency=chance.choice([1, 3, 16]))
        for limit in (cap, cap, 10 * cap):
            charged = asked(recipe, folder, model, limit)
            assert server.bill <= charged.ledger <= limit, (charged, server.bill, limit)
            assert charged.shown == charged.ledger
    return server


def seeded(*parts: object) -> int:
    return random.Random(repr(parts)).getrandbits(32)


KINDS = {**FAULTS, **{f"gemini: {name}": fault for name, fault in GEMINI.items()}}
CELLS = [
    (fault, backend, family)
    for fault in KINDS
    for backend in BACKENDS
    for family in FAMILIES
    if backend == "google_genai" or not fault.startswith("gemini: ")
]
# of each fault one cell: another backend and family each time
SAMPLE = [
    next(one for one in CELLS[n % 11 :] + CELLS if one[0] == fault) for n, fault in enumerate(KINDS)
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "backend", "family"), SAMPLE[::8])
def test_no_fault_passes_the_cap_or_the_ledger(
    fault: str, backend: str, family: str, tmp_path: Path
) -> None:
    check(family, backend, KINDS[fault], tmp_path, seed=seeded(fault), share=0.3, hidden=200)


@pytest.mark.slow
@pytest.mark.parametrize("fault", KINDS)
def test_no_fault_passes_the_cap_or_the_ledger_with_any_backend(fault: str, tmp_path: Path) -> None:
    """Of some requests, and of all: other caps, other paces, with and without hidden tokens."""
    for _, backend, family in (one for one in (CELLS if LONG else SAMPLE) if one[0] == fault):
        for share, hidden in ((0.3, 200), (1.0, 0)):
            seed = seeded(fault, backend, family, share)
            folder = tmp_path / f"{family}-{backend}-{share}"
            server = check(
                family, backend, KINDS[fault], folder, seed=seed, share=share, hidden=hidden
            )
            assert server.requests


def test_there_are_enough_faults() -> None:
    assert len(FAULTS) >= 60
    assert len(GEMINI) == len(GEMINI_OUTCOMES) == 19
    assert len(SAMPLE) == len(KINDS)


# --- a server that never states usage -----------------------------------------------------------


def silently(tmp_path: Path, hidden: int, name: str) -> tuple[Server, Charged]:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "limit.yaml").write_text(recipe_of(60, 100))
    recipe = load_recipe(str(folder / "limit.yaml"), {"model": "openai:m"})
    with billing.serving(limit_mind, FAULTS["no usage"], hidden=hidden) as server:
        model = settings_of("openai", server, concurrency=4)
        charged = asked(recipe, folder, model, 10**12)
    assert charged.error is None
    return server, charged


def test_a_server_that_never_states_usage_stays_usable(tmp_path: Path) -> None:
    """After some whole answers the room, which is charged, falls to what their texts can take."""
    server, charged = silently(tmp_path, 0, "plain")
    rooms = [
        body["max_tokens"]
        for body in server.requests
        if body["response_format"]["json_schema"]["name"] == "Description"
    ]
    assert set(rooms[:8]) == {256}
    longest = max(
        len(limit_mind(body).encode())
        for body in server.requests
        if body["response_format"]["json_schema"]["name"] == "Description"
    )
    assert max(rooms[-20:]) <= 1.5 * longest + 1 < 140
    assert server.bill <= charged.ledger <= 4 * server.bill


def test_hidden_tokens_of_such_a_server_are_charged(tmp_path: Path) -> None:
    """What is cut off at the smaller room has its old one back: nothing hidden goes uncharged."""
    server, charged = silently(tmp_path, 1000, "reasons")
    assert server.bill <= charged.ledger
    rooms = [body["max_tokens"] for body in server.requests]
    assert max(rooms) >= 1024
    # few are sent in vain: an agent's room falls once
    assert len({str(body["messages"]) for body in server.requests}) > 0.55 * len(rooms)
