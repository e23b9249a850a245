"""The cap and the ledger against a server that keeps a bill of its own: every fault, random caps.

Whatever comes back, what the server bills is within the cap, and within what the ledger has charged.
The agents of a family are asked as `gen run` asks them, but with shorter pauses.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retgen.agents.context import Context
from retgen.agents.ledger import Ledger
from retgen.agents.limits import Session, Stopped
from retgen.agents.models import ModelSettings
from retgen.errors import BudgetReached, RetgenError
from retgen.recipe import Recipe, load_recipe
from retgen.write import make_folder
from tests.agents.ledgers import open_client
from tests.agents.server import FAULTS, GEMINI, PRICE, STATUS, TRANSFER, Server, by_bytes, serving
from tests.with_agents.families import FAMILIES

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))
BACKENDS = ("openai", "google_genai", "langchain")
KINDS = {**FAULTS, **{f"gemini: {name}": fault for name, (fault, _) in GEMINI.items()}}
CELLS = [
    (fault, backend, family)
    for fault in KINDS
    for backend in BACKENDS
    for family in FAMILIES
    if backend == "google_genai" or not fault.startswith("gemini: ")
]
# of each fault one cell: another backend and family each time
SAMPLE = [
    (cells := [one for one in CELLS if one[0] == fault])[n % len(cells)]
    for n, fault in enumerate(KINDS)
]
# what is no record's fault: server, network or account fail
OUTAGES = {*TRANSFER, *STATUS} - {name for name in STATUS if name.startswith("4")} | {
    *("408", "429", "401", "404", "a page", "nothing", "JSON cut", "null", "a 429 in a 200"),
    *("a 500 in a 200", "an error in a 200", "204", "no choices", "finish error"),
}
REFUSALS = ("/refused", "/filtered", "/too_long", "/cut_off")


def settings_of(backend: str, server: Server, concurrency: int) -> dict[str, Any]:
    """Of a model whose sixth failure in a row is an outage."""
    return {
        "provider": "google_genai" if backend == "google_genai" else "openai",
        "via": "langchain" if backend == "langchain" else None,
        "name": "m",
        "base_url": server.url,
        "concurrency": concurrency,
        "outage_attempts": 6,
        "outage_seconds": 0,
    }


class Charged(NamedTuple):
    """In nano-dollars: by the ledger, as progress has it; what ended it, and rules that rejected."""

    ledger: int
    shown: int
    error: Exception | None
    rules: set[str]


def asked(recipe: Recipe, folder: Path, settings: dict[str, Any], cap: int | None) -> Charged:
    """Ask what the recipe's family asks, under a cap."""
    make_folder(folder / "sources")
    job = recipe.job._replace(sources=folder / "sources")
    model, error = ModelSettings(**settings), list[Exception | None]()

    async def run(ledger: Ledger) -> Session:
        options = {"cap": cap, "price": PRICE, "first_delay": 0.002, "settings": settings}
        async with open_client(ledger, settings["base_url"], **options) as client:
            session, agents = client.session, dict.fromkeys(recipe.agents, (model, client))
            context = Context(folder / "sources", agents, session.report, session=session)
            try:
                await recipe.family.generate_with_agents(job, context)
            except RetgenError as end:
                error.append(end)
            except Stopped:
                error.append(session.stop.error)
        return session

    with closing(Ledger(folder / "ledger.sqlite")) as ledger:
        session = asyncio.run(run(ledger))
        rules = {one.rule for one in session.report.rejected}
        charged, end = session.budget.charged, next(iter(error), None)
        return Charged(ledger.spent("a").nano_usd, charged, end, rules)


def check(
    family: str, backend: str, name: str, folder: Path, *, seed: int, share: float, hidden: int
) -> None:
    """Twice under a random cap, then under ten times that: resumed, as a user does."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    recipe = load_recipe(str(FAMILIES[family].write(folder)), {"model": "openai:m"})
    cap = round(10 ** chance.uniform(6.5, 8.5))
    options = {"share": share, "hidden": hidden, "usage": by_bytes, "seed": seed}
    with serving(FAMILIES[family].say, KINDS[name], **options) as server:
        model = settings_of(backend, server, chance.choice([1, 3, 16]))
        for limit in (cap, cap, 10 * cap):
            charged = asked(recipe, folder, model, limit)
            assert server.bill <= charged.ledger <= limit, (charged, server.bill, limit)
            assert charged.shown == charged.ledger
            if name in OUTAGES:
                assert not [rule for rule in charged.rules if rule.endswith(REFUSALS)]


def seeded(*parts: object) -> int:
    return random.Random(repr(parts)).getrandbits(32)


@pytest.mark.parametrize(
    ("fault", "backend", "family"),
    [
        ("no usage", "openai", "limit"),
        ("no choices", "langchain", "capretrieval"),
        ("503", "google_genai", "limit"),
    ],
)
def test_a_few_faults(fault: str, backend: str, family: str, tmp_path: Path) -> None:
    check(family, backend, fault, tmp_path, seed=seeded(fault), share=0.3, hidden=200)


@pytest.mark.slow
@pytest.mark.parametrize("fault", KINDS)
def test_no_fault_passes_the_cap_or_the_ledger(fault: str, tmp_path: Path) -> None:
    """Of some requests, and of all: other caps, other paces, with and without hidden tokens."""
    for _, backend, family in (one for one in (CELLS if LONG else SAMPLE) if one[0] == fault):
        for share, hidden in ((0.3, 200), (1.0, 0)):
            seed = seeded(fault, backend, family, share)
            folder = tmp_path / f"{family}-{backend}-{share}"
            check(family, backend, fault, folder, seed=seed, share=share, hidden=hidden)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_caps(seed: int, tmp_path: Path) -> None:
    """A run stops within its cap at a cent's hundredth, and goes on under another one."""
    chance = random.Random(seed)
    family, backend = chance.choice([*FAMILIES]), chance.choice(BACKENDS)
    recipe = load_recipe(str(FAMILIES[family].write(tmp_path)), {"model": "openai:m"})
    hidden = chance.choice([0, 300])
    say = FAMILIES[family].say
    with serving(say, usage=by_bytes, hidden=hidden, seed=seed) as server:
        model = settings_of(backend, server, chance.choice([1, 3, 16, 64]))
        cap, ends = 0, list[Exception | None]()
        while not ends or ends[-1] is not None:
            cap += round(10 ** chance.uniform(6, 8))
            charged = asked(recipe, tmp_path, model, cap)
            assert server.bill == charged.ledger == charged.shown <= cap
            ends.append(charged.error)
        assert all(isinstance(end, BudgetReached) for end in ends[:-1])
        # what is cut off when nothing is left for a longer answer is asked again
        assert hidden or set(server.worked.values()) == {1}


def test_there_are_enough_faults() -> None:
    assert len(KINDS) > 70
    assert {cell[1:] for cell in SAMPLE} == {cell[1:] for cell in CELLS}
    assert set(FAULTS) >= OUTAGES
