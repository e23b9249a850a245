"""What recipes say of a model: read, refused with a reason, and where its key comes from."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from retgen.agents.models import Model, ModelSettings, find_key, settings_of
from retgen.errors import UsageError

SERVER = "http://localhost:8000/v1"


@pytest.fixture(autouse=True)
def no_server_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def read(value: Any) -> ModelSettings | None:
    return settings_of(TypeAdapter(Model).validate_python(value))


def settings(provider: str = "openai", name: str = "m", **more: Any) -> ModelSettings:
    return ModelSettings(provider=provider, name=name, **more)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("offline", None),
        ("openai:gpt-5-mini", settings("openai", "gpt-5-mini")),
        ("ollama:qwen3:8b", settings("ollama", "qwen3:8b")),  # the first colon parts them
        (
            {"provider": "openai", "name": "m", "base_url": f"{SERVER}/", "temperature": 0},
            settings(base_url=SERVER, temperature=0.0),
        ),
    ],
)
def test_models_of_recipes(value: Any, expected: ModelSettings | None) -> None:
    assert read(value) == expected


@pytest.mark.parametrize("text", ["gpt-5-mini", "openai:", ":gpt-5-mini", "", "Offline"])
def test_texts_that_name_no_model(text: str) -> None:
    with pytest.raises(ValidationError) as error:
        read(text)
    (problem,) = error.value.errors()
    assert problem["msg"] == (
        f"Value error, {text!r} is neither 'offline' nor 'provider:name', as in openai:gpt-5-mini"
    )


NO_ADDRESS = "Value error, an address is http://HOST:PORT/PATH or https://..."
NO_KEY = (
    "Value error, an address is kept with the data set, so it holds no key: put that into the "
    "environment, and name the variable as api_key_env"
)
NO_VARIABLE = "Value error, is the name of an environment variable, in capital letters"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"base_url": "localhost:8000"}, NO_ADDRESS),
        ({"base_url": "https://me:sk-1@host/v1"}, NO_KEY),
        ({"base_url": "https://host/v1?key=sk-1"}, NO_KEY),
        ({"structured": "tools"}, "Input should be 'schema' or 'prompt'"),
        ({"seed": 2**63}, f"Input should be less than {2**63}"),
        (
            {"extra": {"tools": [], "n": 2, "top_k": 1}},
            "Value error, n, tools cannot stand here: retgen sets it",
        ),
        (
            {"extra": {"api_key": "sk-1", "Authorization": "sk-1"}},
            "Value error, Authorization, api_key: a key does not belong in a recipe",
        ),
        ({"api_key_env": "sk-1"}, NO_VARIABLE),
        ({"concurrency": 4097}, "Input should be less than or equal to 4096"),
        ({"timeout": 0}, "Input should be greater than 0"),
        ({"api_key": "sk-1"}, "Extra inputs are not permitted"),
    ],
)
def test_mappings_that_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        read({"provider": "openai", "name": "m", **more})
    (problem,) = error.value.errors()
    assert (problem["loc"], problem["msg"]) == (("settings", *more), message)


def test_sampling_holds_what_was_said_but_for_the_room() -> None:
    assert settings(max_tokens=9).sampling() == {}
    named = {"temperature": 0.0, "seed": 0}
    assert settings(**named).sampling() == named
    # what has a field of its own goes before extra
    more = settings(extra={"reasoning_effort": "low", "temperature": 2}, temperature=0.1)
    assert more.sampling() == {"reasoning_effort": "low", "temperature": 0.1}


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        (settings(), "openai"),
        (settings(base_url=f"{SERVER}//"), SERVER),
        (settings("google_genai"), "google_genai"),
        (settings("anthropic"), "langchain:anthropic"),
        (settings(via="langchain"), "langchain:openai"),
        (settings("ollama", base_url=SERVER), f"langchain:{SERVER}"),
    ],
)
def test_whom_requests_go_to(model: ModelSettings, endpoint: str) -> None:
    assert model.endpoint() == endpoint


def test_the_environment_names_a_server_of_openais_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other:1/v1/")
    assert settings().endpoint() == "http://other:1/v1"
    assert settings(via="langchain").endpoint() == "langchain:http://other:1/v1"
    assert settings(base_url=SERVER).endpoint() == SERVER
    assert settings("google_genai").endpoint() == "google_genai"
    there = {"OPENAI_BASE_URL": "http://other:1/v1/"}
    assert find_key(settings(), there) == "none"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@other:1/v1")
    with pytest.raises(UsageError) as error:
        settings().endpoint()
    assert str(error.value) == (
        "OPENAI_BASE_URL: an address is kept with the data set, so it holds no key: put that into "
        "the environment, and name the variable as api_key_env"
    )


KEYS = {"OPENAI_API_KEY": "o", "GOOGLE_API_KEY": "g1", "GEMINI_API_KEY": "g2", "MINE": "m"}


@pytest.mark.parametrize(
    ("model", "without", "key"),
    [
        (settings(), "", "o"),
        (settings(base_url=SERVER), "", "o"),
        (settings(base_url=SERVER), "OPENAI_API_KEY", "none"),  # a server of one's own
        (settings("google_genai"), "", "g1"),
        (settings("google_genai"), "GOOGLE_API_KEY", "g2"),
        (settings("anthropic"), "", None),  # LangChain finds it
        (settings(api_key_env="MINE"), "", "m"),
    ],
)
def test_where_a_key_comes_from(model: ModelSettings, without: str, key: str | None) -> None:
    environment = {name: value for name, value in KEYS.items() if name != without}
    assert find_key(model, environment) == key


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (settings(name="gpt-5"), "openai:gpt-5 needs a key: set OPENAI_API_KEY"),
        (
            settings("google_genai", "flash"),
            "google_genai:flash needs a key: set GOOGLE_API_KEY or GEMINI_API_KEY",
        ),
        (settings(base_url=SERVER, api_key_env="EMPTY"), "openai:m needs a key: set EMPTY"),
    ],
)
def test_a_key_that_is_not_there(model: ModelSettings, message: str) -> None:
    with pytest.raises(UsageError) as error:
        find_key(model, {"EMPTY": ""})
    assert str(error.value) == f"{message} in the environment or in a .env file in this folder"
