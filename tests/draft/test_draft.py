"""`gen draft` against a loopback model that makes mistakes on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import retgen
from tests.agents.server import Server, counted, serving
from tests.conftest import Gen

WISH = "a few films, with distinct conditions"
RECIPE = "name: films\nfamily: multiconir\nseed: 7\nparams: {domain: movies, ladders: 3}\n"
CHOICES = ["Films are a bundled domain.", "Three ladders are few.", "The seed is any number."]


def call(tool: str, text: str, choices: Sequence[str] = ()) -> str:
    return json.dumps({"tool": tool, "text": text, "choices": [*choices]})


def finished(recipe: str = RECIPE, choices: Sequence[str] = CHOICES) -> str:
    return call("Draft", recipe, choices)


def script(*answers: str) -> Any:
    """One answer after the other."""
    left = iter(answers)
    return lambda body: next(left)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as made:
        monkeypatch.setenv("OPENAI_BASE_URL", made.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-for-tests")
        made.usage = counted
        made.say = script(finished())
        yield made


def results(server: Server) -> list[str]:
    """What the model was told after each of its answers but the last."""
    return [request["messages"][-1]["content"] for request in server.requests[1:]]


def test_mistakes_go_back_and_a_recipe_comes_out(server: Server, gen: Gen, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not for a model")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.txt").write_text("not for a model")
    stranger = "name: x\nfamily: capretrieval\nparams: {source: {path: secret.txt}}\n"
    server.say = script(
        "I would take films.",
        call("browse", "https://example.org"),
        call("examples", "limit"),
        call("schema", "multicorn"),
        call("schema", "multiconir"),
        call("plan", "name: films\nfamily: multiconir\nparams: {ladder: 3}\n"),
        call("plan", RECIPE),
        finished(stranger),
        call("plan", stranger.replace("secret.txt", "private")),
        finished(choices=CHOICES[:2]),
        finished(),
    )
    done = gen("draft", WISH, "--model", "openai:ok")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "wrote draft.yaml\n"
        "  - Films are a bundled domain.\n"
        "  - Three ladders are few.\n"
        "  - The seed is any number.\n"
        "          60  documents\n"
    )
    assert done.stdout.endswith(
        "drafted in 11 calls, at a price that is not known\nlook at it, then: gen run draft.yaml\n"
    )
    assert (tmp_path / "draft.yaml").read_text() == (
        "# gen run draft.yaml\n"
        f"# Drafted by openai:ok for: {WISH}\n"
        "# - Films are a bundled domain.\n"
        "# - Three ladders are few.\n"
        "# - The seed is any number.\n" + RECIPE
    )
    told = results(server)
    assert told[0].startswith("this answer calls no tool (Invalid JSON: ")
    assert told[1].startswith("this answer calls no tool (Input should be 'schema', 'examples', ")
    assert "gen run limit_dense" in told[2] or "name: limit_dense" in told[2]
    assert told[3].startswith(
        "Result of schema:\nrefused: there is no family 'multicorn'; families: "
    )
    assert "family: multiconir" in told[4]
    assert told[5].startswith(
        "Result of plan:\nrefused: recipe, line 3, params.domain: is missing\n"
        "recipe, line 3, params.ladder: unknown key; did you mean ladders? Allowed: "
    )
    assert told[6].startswith("Result of plan:\n          60  documents\n")
    assert "secret.txt was not given, so a draft may not name it; given: none" in told[7]
    assert "private was not given, so a draft may not name it; given: none" in told[8]
    assert "List should have at least 3 items" in told[9]
    assert "limit_dense: " in server.requests[0]["messages"][0]["content"]
    assert "not for a model" not in json.dumps(server.requests)
    # nothing but the recipe and the ledger
    assert {one.name for one in tmp_path.iterdir()} == {
        "draft.yaml",
        "outputs",
        "private",
        "secret.txt",
    }
    assert all(one.name.startswith("ledger.sqlite") for one in (tmp_path / "outputs").iterdir())
    assert retgen.plan(tmp_path / "draft.yaml").documents == 60


def test_documents_that_were_given(server: Server, gen: Gen, tmp_path: Path) -> None:
    (tmp_path / "manuals").mkdir()
    for i in range(30):
        text = f"# Device {i}\n\nThe {i}th device pumps water through a filter of {i} cm.\n" * 5
        (tmp_path / "manuals" / f"{i}.md").write_text(text)
    recipe = "name: kb\nfamily: capretrieval\nparams: {source: {path: manuals}}\n"
    server.say = script(
        call("schema", "capretrieval"),
        finished(recipe),
    )
    done = gen("draft", "queries over manuals", "--model", "openai:ok", "--source", "manuals")
    assert (done.returncode, done.stderr) == (0, "")
    told = results(server)
    assert "source: manuals (30 .md" in server.requests[0]["messages"][1]["content"]
    assert "path: manuals" in told[0]
    assert "note: the licence of your documents is not stated" in done.stdout


def test_asked_again_it_pays_nothing(server: Server, gen: Gen, tmp_path: Path) -> None:
    server.say = script(call("schema", "limit"), call("plan", RECIPE), finished())
    options = ("--model", "openai:ok", "--price", "1,1", "--max-usd", "1", "--json")
    first = json.loads(gen("draft", WISH, *options).stdout)
    assert (first["costs"]["calls"], first["plan"]["documents"]) == (3, 60)
    (tmp_path / "draft.yaml").unlink()
    again = gen("draft", WISH, *options)
    assert (again.returncode, len(server.requests)) == (0, 3)
    assert json.loads(again.stdout)["choices"] == CHOICES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "error"),
    [
        (
            ["I would take films."] * 3,
            "gen: openai:ok came to no recipe: this answer calls no tool (Invalid JSON: ",
        ),
        (
            [call("schema", "limit")] * 30,
            "gen: openai:ok came to no recipe in 20 calls of tools; say more exactly what is "
            "wanted, or try another model\nDone so far: draft: 0 of 1. ",
        ),
    ],
)
def test_a_model_that_comes_to_nothing(
    server: Server, gen: Gen, tmp_path: Path, answers: list[str], error: str
) -> None:
    server.say = script(*answers)
    done = gen("draft", WISH, "--model", "openai:ok")
    assert done.returncode == 1
    assert done.stderr.startswith(error)
    assert not (tmp_path / "draft.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([" ", "--model", "openai:ok"], "say in a sentence which data set is wanted"),
        (
            [WISH, "--model", "offline"],
            "--model offline: a chat model drafts the recipe; name one, as openai:gpt-5-mini",
        ),
        (
            [WISH, "--model", "openai:ok", "--source", "nowhere"],
            "--source nowhere: is not there (paths count from the folder of --out)",
        ),
        (
            [WISH, "--model", "openai:ok", "--out", "there.yaml"],
            "there.yaml is there already; choose another file with --out",
        ),
        (
            [WISH, "--model", "openai:ok", "--out", "no/draft.yaml"],
            "there is no folder no to write draft.yaml in; make it",
        ),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(
    server: Server, gen: Gen, tmp_path: Path, arguments: list[str], error: str
) -> None:
    (tmp_path / "there.yaml").write_text(RECIPE)
    done = gen("draft", *arguments)
    assert (done.returncode, done.stderr) == (2, f"gen: {error}\n")
    assert not server.requests
