"""What a model costs: the command line's word, a user's tables, then the one that is bundled."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from retgen.agents import prices as module
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price, Prices, price_files, table_date
from retgen.agents.prompt import Message, Request
from retgen.errors import UsageError

BUNDLED = Path(module.__file__).parent / "prices.yaml"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A configuration folder that is the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("RETGEN_PRICES", raising=False)
    return tmp_path / "config"


def table(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def price(name: str, *given: str, provider: str = "openai", **more: Any) -> Price | None:
    return Prices(given).of(ModelSettings(provider=provider, name=name, **more))


def test_every_price_of_the_bundled_table_is_one() -> None:
    tree = YAML(typ="safe", pure=True).load(BUNDLED.read_text("utf-8"))
    assert set(tree) == {"checked", "prices", "batch", "reasoning"}
    assert table_date() == date.fromisoformat(str(tree["checked"])).isoformat()
    assert list(tree["prices"]) == [
        "openai", "google_genai", "anthropic", "mistralai", "deepseek", "groq", "xai", "cohere",
        "together", "fireworks", "voyage",
    ]  # fmt: skip
    for provider, models in tree["prices"].items():
        for name, text in models.items():
            assert set(text) == {"in", "out"}
            result = price(name, provider=provider)
            assert result is not None
            assert result.token_in > 0, name
            assert result.token_out > 0 or "embedding" in name or provider == "voyage", name
            assert 0 <= result.token_in - text["in"] * 1000 < 1, name
            assert 0 <= result.token_out - text["out"] * 1000 < 1, name


@pytest.mark.parametrize(
    ("provider", "name", "expected"),
    [
        ("openai", "gpt-5-mini", Price(250, 2000)),
        ("openai", "gpt-5-mini-2025-08-07", Price(250, 2000)),
        ("openai", "gpt-5-mini-20250807", Price(250, 2000)),
        ("openai", "gpt-5-mini-0807", None),
        ("openai", "GPT-5-mini", None),
        ("openai", "gpt-5-mini-2025-08-07-x", None),
        ("anthropic", "claude-haiku-4-5-20251001", Price(1000, 5000)),
        ("anthropic", "gpt-5-mini", None),
        ("groq", "openai/gpt-oss-20b", Price(75, 300)),
        ("cohere", "command-r7b-12-2024", Price(38, 150)),  # 37.5 nano-dollars, rounded up
        ("nobody", "gpt-5-mini", None),
    ],
)
def test_the_bundled_table(provider: str, name: str, expected: Price | None) -> None:
    assert price(name, provider=provider) == expected


def test_a_server_of_ones_own_has_no_listed_price() -> None:
    url = "http://localhost:8000/v1"
    assert price("gpt-5-mini", base_url=url) is None
    assert price("gpt-5-mini", "1,2", base_url=url) == Price(1000, 2000)


def test_the_first_table_that_knows_a_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path
) -> None:
    assert price_files() == [BUNDLED]
    own = table(home / "retgen" / "prices.yaml", """prices:
  openai:
    gpt-5-mini: {in: 1, out: 2}
    gpt-5-nano: {in: 3, out: 4}
  mine: {small: {in: 0, out: 0}}
""")  # fmt: skip
    assert price_files() == [own, BUNDLED]
    named = table(tmp_path / "named.yaml", """prices:
  openai:
    gpt-5-nano: {in: 5, out: 6}
    gpt-5-nano-2025-08-07: {in: 7, out: 8}
""")  # fmt: skip
    monkeypatch.setenv("RETGEN_PRICES", str(named))
    assert price_files() == [named, own, BUNDLED]
    assert price("gpt-5-nano") == Price(5000, 6000)
    assert price("gpt-5-nano-2025-08-07") == Price(7000, 8000)
    assert price("gpt-5-nano-2025-09-01") == Price(5000, 6000)
    assert price("gpt-5-mini") == Price(1000, 2000)
    assert price("gpt-5") == Price(1250, 10000)
    assert price("small", provider="mine") == Price(0, 0)
    assert price("gpt-5-nano", "9,10") == Price(9000, 10000)


def test_batches_cost_half_but_what_is_given_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    batched = {
        name: Prices(given, batch=True).of(ModelSettings(provider=provider, name=model))
        for name, provider, model, given in (
            ("openai", "openai", "gpt-5-mini", ()),
            ("google", "google_genai", "gemini-2.5-flash", ()),
            ("none", "mistralai", "mistral-large-latest", ()),
            ("given", "openai", "gpt-5-mini", ("9,10",)),
        )
    }
    plain = price("mistral-large-latest", provider="mistralai")
    assert batched == {
        "openai": Price(125, 1000), "google": Price(150, 1250), "none": plain,
        "given": Price(9000, 10000),
    }  # fmt: skip
    own = table(
        tmp_path / "own.yaml",
        "prices: {openai: {odd: {in: 0.001, out: 2}}}\nbatch: {openai: 0.3}\n",
    )
    monkeypatch.setenv("RETGEN_PRICES", str(own))
    odd = ModelSettings(provider="openai", name="odd")
    assert Prices(batch=True).of(odd) == Price(1, 600)  # rounded up, so that a cap holds


@pytest.mark.parametrize("part", ["0", "1.5", "half"])
def test_a_part_for_batches_that_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str
) -> None:
    own = table(tmp_path / "own.yaml", f"prices: {{}}\nbatch: {{openai: {part}}}\n")
    monkeypatch.setenv("RETGEN_PRICES", str(own))
    with pytest.raises(UsageError) as error:
        price("m")
    assert str(error.value) == (
        f"{own}: its part `batch` says what batches cost of these prices, more than 0 and at most 1, "
        "as `batch: {openai: 0.5}`"
    )


def test_without_xdg_it_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    own = table(tmp_path / ".config" / "retgen" / "prices.yaml", "prices: {}\n")
    assert price_files() == [own, BUNDLED]


def test_a_named_table_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RETGEN_PRICES", str(tmp_path))
    with pytest.raises(UsageError) as error:
        Prices()
    assert str(error.value) == f"RETGEN_PRICES names {tmp_path}, which is no file"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prices:",
        "prices: [1]",
        "openai: {m: {in: 1, out: 2}}",
        "prices: {openai: }",
        "prices: {openai: {m: 1}}",
        "prices: {openai: {m: {in: 1}}}",
        "prices: {openai: {m: {in: 1, out: much}}}",
        "prices: {openai: {m: {in: 1, out: -2}}}",
        "prices: {openai: {m: {in: 1, out: .inf}}}",
        "prices: {openai: {m: {in: .nan, out: 1}}}",
    ],
)
def test_files_that_are_no_table(home: Path, text: str) -> None:
    path = home / "retgen" / "prices.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as error:
        price("m")
    assert str(error.value) == (
        f"{path}: is no price table. It says, in dollars per million tokens: "
        "prices: {openai: {gpt-5-mini: {in: 0.25, out: 2.00}}}"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["0.25,2.00"], Price(250, 2000)),
        (["0,0"], Price(0, 0)),
        (["m=1,2"], Price(1000, 2000)),
        (["openai:m=1,2"], Price(1000, 2000)),
        (["1,1", "m=2,2", "openai:m=3,3"], Price(3000, 3000)),  # the most exact goes first
        (["openai:m=3,3", "m=2,2", "1,1"], Price(3000, 3000)),
        (["1,1", "m=2,2"], Price(2000, 2000)),
        (["other=1,2"], None),
        (["other=1,2", "4,5"], Price(4000, 5000)),
        # whole nano-dollars a token, rounded up
        (["0.0375,0.000001"], Price(38, 1)),
        (["2.007,2.0071"], Price(2007, 2008)),  # 2.007 * 1000 is a little more than 2007 in binary
    ],
)
def test_prices_of_the_command_line(given: list[str], expected: Price | None) -> None:
    assert price("m", *given) == expected


@pytest.mark.parametrize(
    "text", ["", "1", "1,2,3", "1;2", "a,b", "=1,2", "m=", "m=1", "-1,2", "1,nan", "inf,1", "1,1e6"]
)
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
    assert Price(2, 10).worst(request, 7, 3) == 2 * 117 + 10 * 7
    assert Price(2, 10).of(3, 4) == 46


@pytest.mark.parametrize(
    ("provider", "name", "extra", "expected"),
    [
        ("openai", "gpt-5-mini", {}, (100, 1500)),
        ("openai", "gpt-5-mini", {"reasoning_effort": "low"}, (100, 375)),
        ("openai", "gpt-5-mini", {"reasoning_effort": "minimal"}, (0, 0)),
        ("openai", "gpt-5-chat", {}, (0, 0)),
        ("openai", "gpt-4.1-mini", {}, (0, 0)),
        ("google_genai", "gemini-2.5-flash", {}, (100, 1500)),
        ("google_genai", "gemini-2.5-flash-lite", {}, (0, 0)),
        ("google_genai", "gemini-2.5-flash", {"thinkingConfig": {"thinkingBudget": 0}}, (0, 0)),
        (
            "google_genai",
            "gemini-2.5-flash-lite",
            {"thinkingConfig": {"thinkingBudget": 9}},
            (100, 1500),
        ),
        ("anthropic", "claude-sonnet-5", {}, (0, 0)),
        ("anthropic", "claude-sonnet-5", {"thinking": {"type": "enabled"}}, (100, 1500)),
        ("xai", "grok-4.20-0309-non-reasoning", {}, (0, 0)),
        ("xai", "grok-4.7", {"reasoning": "odd"}, (100, 1500)),
    ],
)
def test_hidden_tokens_to_reckon_with(
    provider: str, name: str, extra: dict[str, Any], expected: tuple[int, int]
) -> None:
    model = ModelSettings(provider=provider, name=name, extra=extra)
    assert Prices().reasoning(model) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Qwen/Qwen3-8B", (100, 1500)), ("gpt-oss:20b", (100, 1500)), ("gpt-5-mini", (100, 1500)),
     ("llama3.3", (0, 0)), ("tiny", (0, 0))],
)  # fmt: skip
def test_hidden_tokens_of_a_server_of_ones_own(name: str, expected: tuple[int, int]) -> None:
    own = ModelSettings(provider="openai", name=name, base_url="http://localhost:1/v1")
    assert Prices().reasoning(own) == expected


@pytest.mark.parametrize(
    "stated",
    ["{tokens: [1], models: {}}", "{tokens: [1, 2]}", "{tokens: [1, 2], models: {a: '('}}"],
)
def test_a_table_whose_allowance_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"prices: {{}}\nreasoning: {stated}\n")
    monkeypatch.setenv("RETGEN_PRICES", str(path))
    with pytest.raises(UsageError) as error:
        Prices().reasoning(ModelSettings(provider="openai", name="gpt-5"))
    assert str(error.value) == (
        f"{path}: its part `reasoning` says `tokens: [LEAST, MOST]` and `models: {{PROVIDER: PATTERN "
        "OF NAMES}`"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"prices: {", ", line 1: is not YAML: expected"),
        (b"prices: \xff", ": is not a UTF-8 text file: byte 8"),
        (b"prices: " + b"[" * 2000, ", line 1: is nested more than 50 levels deep"),
    ],
)
def test_files_that_are_no_yaml(home: Path, content: bytes, said: str) -> None:
    path = home / "retgen" / "prices.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        price("m")
    assert str(error.value).startswith(f"{path}{said}")
