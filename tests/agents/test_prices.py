"""Prices of models: `--price`, then the list of genai-prices. Expected list prices are read from it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.data import providers
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price, Prices
from retgen.agents.prompt import Message, Request
from retgen.errors import UsageError


def price(
    name: str, *given: str, provider: str = "openai", batch: bool = False, **more: Any
) -> Any:
    return Prices(given, batch=batch).of(ModelSettings(provider=provider, name=name, **more))


def listed(provider: str, name: str, context: dict[str, str] | None = None) -> Price:
    """What the list says of a model with one price."""
    models = next(one for one in providers if one.id == provider)
    model = models.find_model(name)
    assert model
    result = model.get_prices(datetime.now(UTC), context)
    assert isinstance(result.input_mtok, Decimal)
    assert not isinstance(result.output_mtok, TieredPrices)
    return Price(math.ceil(result.input_mtok * 1000), math.ceil((result.output_mtok or 0) * 1000))


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a model `invented` first in the list of a provider."""

    def do(provider: str, prices: Any, variants: list[PriceVariant] | None = None) -> None:
        one = next(one for one in providers if one.id == provider)
        model = ModelInfo(
            id="invented", match=ClauseEquals("invented"), prices=prices, price_variants=variants
        )
        monkeypatch.setattr(one, "models", [model, *one.models])

    return do


def dollars(cost_in: str, cost_out: str) -> ModelPrice:
    return ModelPrice(input_mtok=Decimal(cost_in), output_mtok=Decimal(cost_out))


@pytest.mark.parametrize(
    ("provider", "name", "theirs", "same_as"),
    [
        ("openai", "gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai", "gpt-5-mini-2025-08-07", "openai", "gpt-5-mini"),
        ("openai", "gpt-4o-2024-05-13", "openai", "gpt-4o-2024-05-13"),  # not the price of gpt-4o
        ("google_genai", "gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("anthropic", "claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5"),
        ("cohere", "command-r7b-12-2024", "cohere", "command-r7b"),  # 37.5, rounded up
        ("openai", "text-embedding-3-small", "openai", "text-embedding-3-small"),
        ("voyage", "voyage-4", "voyageai", "voyage-4"),
    ],
)
def test_list_prices(provider: str, name: str, theirs: str, same_as: str) -> None:
    result = price(name, provider=provider)
    assert result == listed(theirs, same_as)
    assert result.token_in > 0


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "gpt-5-mini-2025-08-07-x"),
        ("openai", "whisper-1"),  # not charged by tokens
        ("openrouter", "openai/gpt-5-mini"),
        ("nobody", "gpt-5-mini"),
    ],
)
def test_models_without_a_list_price(provider: str, name: str) -> None:
    assert price(name, provider=provider) is None


def test_a_server_of_ones_own_has_no_list_price() -> None:
    url = "http://localhost:8000/v1"
    assert price("gpt-5-mini", base_url=url) is None
    assert price("gpt-5-mini", "1,2", base_url=url) == Price(1000, 2000)


def test_a_long_prompt_costs_more(add: Any) -> None:
    cost_in = TieredPrices(Decimal(2), [Tier(1000, Decimal(4))])
    cost_out = TieredPrices(Decimal(10), [Tier(1000, Decimal(15))])
    add("mistral", ModelPrice(input_mtok=cost_in, output_mtok=cost_out))
    result = price("invented", provider="mistralai")
    assert result == Price(2000, 10_000, ((1000, 4000, 15_000),))
    assert result.of(1000, 7) == 1000 * 2000 + 7 * 10_000
    assert result.of(1001, 7) == 1001 * 4000 + 7 * 15_000
    request = Request("x", "m", (Message("user", "a" * 1000),))
    worst = result.worst(request, 7)
    assert worst == result.of(len(request.body), 7) == len(request.body) * 4000 + 7 * 15_000


def test_the_highest_price_of_the_coming_week(add: Any) -> None:
    """Peak hours and announced changes count; prices of the past and of next month do not."""
    now = datetime.now(UTC)
    day = {days: (now + timedelta(days=days)).date() for days in (-9, 3, 30)}
    peak = TimeOfDateConstraint(
        (now - timedelta(hours=6)).timetz(), (now - timedelta(hours=3)).timetz()
    )
    changes = [ConditionalPrice(prices=dollars("9", "90"))]
    changes.append(ConditionalPrice(StartDateConstraint(day[-9]), prices=dollars("1", "10")))
    changes.append(ConditionalPrice(StartDateConstraint(day[30]), prices=dollars("8", "80")))
    add("openai", changes)
    assert price("invented") == Price(1000, 10_000)
    add("openai", [*changes[:2], ConditionalPrice(peak, prices=dollars("2", "20")), changes[2]])
    assert price("invented") == Price(2000, 20_000)
    add(
        "openai",
        [*changes, ConditionalPrice(StartDateConstraint(day[3]), prices=dollars("3", "5"))],
    )
    assert price("invented") == Price(3000, 10_000)


def test_writing_into_a_cache(add: Any) -> None:
    prices = {"input_mtok": "2", "cache_write_mtok": "2.5", "output_mtok": "10"}
    model = ModelPrice(**{name: Decimal(text) for name, text in prices.items()})
    add("openai", model)
    add("anthropic", model)
    # prompts are written into OpenAI's cache unasked
    assert price("invented") == Price(2500, 10_000)
    assert price("invented", provider="anthropic") == Price(2000, 10_000)


def test_prices_of_batches(add: Any) -> None:
    mark = {"processing": "batch"}
    assert price("gpt-5-mini", batch=True) == listed("openai", "gpt-5-mini", mark)
    add("openai", dollars("0.001", "2"))
    assert price("invented", batch=True) == Price(1, 2000)  # the usual one
    add("openai", dollars("1", "2"), [PriceVariant(mark, dollars("0.3", "0.6"))])
    assert price("invented", batch=True) == Price(300, 600)
    assert price("gpt-5-mini", "9,10", batch=True) == Price(9000, 10_000)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["0.25,2.00"], Price(250, 2000)),
        (["0,0"], Price(0, 0)),
        (["openai:m=1,2"], Price(1000, 2000)),
        (["1,1", "m=2,2", "openai:m=3,3"], Price(3000, 3000)),  # the most exact goes first
        (["other=1,2"], None),
        # whole nano-dollars a token, rounded up
        (["0.0375,0.000001"], Price(38, 1)),
        (["2.007,2.0071"], Price(2007, 2008)),  # 2.007 * 1000 is a little more than 2007 in binary
    ],
)
def test_prices_of_the_command_line(given: list[str], expected: Price | None) -> None:
    assert price("m", *given) == expected


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "=1,2", "m=1", "-1,2", "1,nan", "1,1e6"])
def test_prices_that_are_none(text: str) -> None:
    with pytest.raises(UsageError) as error:
        Prices([text])
    assert str(error.value) == (
        f"--price {text}: write the dollars per million tokens as IN,OUT, for example "
        "--price 0.25,2.00; for one of several models as MODEL=IN,OUT"
    )


def test_a_cap_counts_with_the_most_that_a_request_can_cost() -> None:
    request = Request("x", "m", (Message("user", "käse"),))
    assert len(request.body) == 114  # bytes, not letters
    assert Price(2, 10).worst(request, 7) == 2 * 114 + 10 * 7
    assert Price(2, 10).of(3, 4) == 46


SERVER = {"base_url": "http://localhost:1/v1"}


@pytest.mark.parametrize(
    ("provider", "name", "more", "hidden"),
    [
        ("openai", "gpt-5-mini", {}, True),
        ("openai", "gpt-5-mini", {"extra": {"reasoning_effort": "minimal"}}, False),
        ("openai", "gpt-4.1-mini", {}, False),
        ("google_genai", "gemini-2.5-flash", {}, True),
        (
            "google_genai",
            "gemini-2.5-flash",
            {"extra": {"thinkingConfig": {"thinkingBudget": 0}}},
            False,
        ),
        ("anthropic", "claude-sonnet-5", {}, False),
        ("anthropic", "claude-sonnet-5", {"extra": {"thinking": {"type": "enabled"}}}, True),
        ("xai", "grok-4.20-0309-non-reasoning", {}, False),
        ("openai", "Qwen/Qwen3-8B", SERVER, True),
        ("openai", "gpt-oss:20b", SERVER, True),
        ("openai", "llama3.3", SERVER, False),
    ],
)
def test_hidden_tokens_to_reckon_with(
    provider: str, name: str, more: dict[str, Any], hidden: bool
) -> None:
    model = ModelSettings(provider=provider, name=name, **more)
    assert Prices().reasoning(model) == ((100, 1500) if hidden else (0, 0))
