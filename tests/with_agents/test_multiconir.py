"""Ladders written through a model's protocol: the bytes of a run without one, answers with faults."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.generators.multiconir.calibration import sheets
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import Server, counted, serving
from tests.command import in_process
from tests.conftest import read_jsonl
from tests.generators.multiconir.stories import stories
from tests.with_agents.conftest import Gen, contents, gen_at
from tests.with_agents.families import ships

MODEL = ("--model", "openai:gpt-5-mini")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(ladder_mind) as result:
        yield result


def asked_for(server: Server) -> dict[str, int]:
    """Requests by the schema that they ask for."""
    return dict(Counter(one["response_format"]["json_schema"]["name"] for one in server.requests))


CALIBRATION = 24  # calls


@pytest.mark.slow
def test_a_model_that_says_what_the_baselines_say(ask: Gen, server: Server, tmp_path: Path) -> None:
    """24 ladders of 5 calls each."""
    calls = {"Extracted": 24, "Rewrites": 24, "Verdicts": CALIBRATION + 48, "Written": 24}
    recipe = ships(tmp_path)
    assert ask("run", recipe, "--out", "offline").returncode == 0
    done = ask("run", recipe, *MODEL, "--max-usd", "5", "--out", "asked")
    assert done.returncode == 0, done.stderr
    offline, asked = (contents(tmp_path / name) for name in ("offline", "asked"))
    parts = ("dataset/", "tables/", "training/", "sources/")
    same = [name for name in offline if name.startswith(parts)]
    # who judged, and who wrote, is all that differs
    assert [name for name in same if offline[name] != asked[name]] == [
        "dataset/README.md",
        "tables/verdicts.jsonl",
    ]
    assert sorted(asked.keys() - offline.keys()) == ["sources/calibration.json"]
    judged = [json.loads(line) for line in asked["tables/verdicts.jsonl"].splitlines()]
    assert {row["model"] for row in judged} == {"openai:gpt-5-mini"}
    assert [row | {"agent": "figures", "model": ""} for row in judged] == [
        json.loads(line) for line in offline["tables/verdicts.jsonl"].splitlines()
    ]
    a, b = (json.loads(files["manifest.json"]) for files in (offline, asked))
    assert a["counts"] == b["counts"]
    assert (a["evidence"]["structural"], b["evidence"]["judged"]) == (9_600, 9_600)
    assert a["judges"] == {}
    judge = b["judges"]["verify_conditions"]
    assert (judge["cases"], judge["model"]) == (240, "openai:gpt-5-mini")
    assert asked_for(server) == calls
    assert b["calls"] == len(server.requests)


@pytest.mark.slow
def test_plan_and_pilot_agree_with_what_is_paid(ask: Gen, server: Server, tmp_path: Path) -> None:
    """The middles lie within 30% of what is charged: they expect repairs, and none are needed."""
    server.usage = counted
    model = ("--model", "openai:gpt-4.1-mini")
    recipe = ships(tmp_path)
    planned = json.loads(ask("plan", recipe, *model, "--json").stdout)
    assert planned["calls"]["calibrate_judge"] == CALIBRATION
    assert (
        "calibrate_judge is asked once for each model and prompt: the ledger answers later runs"
    ) in planned["notes"]
    assert server.requests == []
    tried = json.loads(ask("run", recipe, *model, "--out", "a", "--pilot", "8", "--json").stdout)
    assert ask("run", recipe, *model, "--out", "a").returncode == 0
    paid = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert paid["calls"] == len(server.requests)
    for message in (planned, tried):
        assert sum(message["calls"].values()) == pytest.approx(paid["calls"], rel=0.3)
        middle = (message["usd"]["low"] + message["usd"]["high"]) / 2
        assert middle == pytest.approx(paid["usd"], rel=0.3)


@pytest.mark.slow
def test_the_judge_is_calibrated_once_for_a_ledger(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    first = ships(tmp_path, count=4)
    assert ask("run", first, *MODEL, "--limit", "2", "--out", "a").returncode == 0
    assert asked_for(server)["Verdicts"] > CALIBRATION
    server.requests.clear()
    second = ships(tmp_path, count=4, begin=4, name="more")
    assert ask("run", second, *MODEL, "--limit", "2", "--out", "b").returncode == 0
    every = {sheet.question.variables()["texts"] for sheet in sheets()}
    assert [one for one in server.requests if any(t in str(one) for t in every)] == []
    assert asked_for(server)["Verdicts"] <= 2 * 4


def test_the_judge_is_the_writer_or_whom_the_recipe_names(tmp_path: Path) -> None:
    """Nothing is sent to a provider that is not named, whatever keys are set."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    keys = plain | {"OPENAI_API_KEY": "a", "GOOGLE_API_KEY": "b"}

    def models(*more: str) -> dict[str, str]:
        done = in_process("plan", "multiconir_books", "--json", *more, cwd=tmp_path, env=keys)
        result: dict[str, str] = json.loads(done.stdout)["models"]
        return result

    assert set(models(*MODEL).values()) == {"openai:gpt-5-mini"}
    named = models(*MODEL, "--set", "models.judge=openai:gpt-5")
    assert named["write_hard_negatives"] == "openai:gpt-5-mini"
    assert named["verify_conditions"] == named["calibrate_judge"] == "openai:gpt-5"


# --- answers that are wrong in part -------------------------------------------------------------

Mind = Callable[[dict[str, Any]], str]
Change = Callable[[dict[str, Any], str], Any]


def changed(title: str, change: Change) -> Mind:
    """The baselines' answers; `change` sees those of one schema, and the prompt, and alters them."""

    def mind(body: dict[str, Any]) -> str:
        answer = json.loads(ladder_mind(body))
        if body["response_format"]["json_schema"]["name"] == title:
            prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
            change(answer, prompt)
        return json.dumps(answer)

    return mind


LONG = "The file held " + "one more letter to the harbour office, " * 9 + "and a map."
STORY = stories(2)[1]["text"]


def recipe_of(folder: Path, text: str) -> Path:
    (folder / "files.jsonl").write_text(json.dumps({"_id": "one", "text": text}) + "\n")
    path = folder / "files.yaml"
    path.write_text(
        "name: files\nfamily: multiconir\nmodel: openai:gpt-5-mini\n"
        "params: {domain: legal, source: {path: files.jsonl}}\n"
    )
    return path


def ladder_of(folder: Path, mind: Mind, text: str = STORY) -> tuple[dict[str, Any], dict[str, int]]:
    """The ladder of one document, and the calls that it took beside the calibration."""
    recipe = recipe_of(folder, text)
    with serving(mind) as server:
        done = gen_at(server, folder)("run", recipe, "--out", "run", "--fresh")
        assert done.returncode == 0, done.stderr
        calls = asked_for(server)
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    (ladder,) = read_jsonl(folder / "run" / "sources" / "ladders.jsonl")
    return ladder, calls | {"Verdicts": calls["Verdicts"] - CALIBRATION}


# rules that reject a document
SENTENCE, JUDGED = "verify_conditions/sentence", "write_hard_negatives/judged"
REWRITES, EXTRACTED = "write_hard_negatives/check", "extract_conditions/sentences"
PLAIN = {"Extracted": 1, "Rewrites": 1, "Verdicts": 2, "Written": 1}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The ladder of answers without faults."""
    ladder, calls = ladder_of(tmp_path_factory.mktemp("right"), ladder_mind)
    assert (ladder["refused"], calls) == ([], PLAIN)
    return ladder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (LONG, "it is not a complete sentence of 5 to 60 words"),
        (STORY[:300], "it is not a whole sentence of the document"),
    ],
)
def test_one_sentence_that_does_not_do(tmp_path: Path, sentence: str, reason: str) -> None:
    """It is left out: the ladder is what it is without it, and says so."""
    text = f"{STORY} {LONG}"
    whole, _ = ladder_of(tmp_path, ladder_mind, text)
    bad = {"sentence": sentence, "condition": "The file held many letters to the harbour office"}

    def change(answer: dict[str, Any], prompt: str) -> None:
        answer["found"].insert(0, bad)

    result, calls = ladder_of(tmp_path, changed("Extracted", change), text)
    assert result == whole | {"refused": [bad | {"reason": reason}]}
    assert calls == PLAIN


@pytest.mark.slow
def test_fewer_than_ten_sentences(tmp_path: Path) -> None:
    """More are asked for; those that did are not given up."""

    def change(answer: dict[str, Any], prompt: str) -> None:
        if "again:\n(none)" in prompt:
            del answer["found"][8:]

    result, calls = ladder_of(tmp_path, changed("Extracted", change))
    assert calls == PLAIN | {"Extracted": 2}
    assert len(set(result["sentences"])) == 10
    assert result["refused"] == []


@pytest.mark.slow
def test_one_rewrite_that_fails_for_good(tmp_path: Path, right: dict[str, Any]) -> None:
    """Its sentence gives its place to a spare one; everything else stays."""
    lost = right["sentences"][3]

    def change(answer: dict[str, Any], prompt: str) -> None:
        asked = prompt.partition("The sentences to rewrite")[2].partition("Rewrites that")[0]
        for one in answer["rewrites"]:
            if f"- {one['condition']} | " in asked and f" | {lost}" in asked:
                one["rewrite"] = "No." if one["condition"] == 4 else one["rewrite"]

    result, calls = ladder_of(tmp_path, changed("Rewrites", change))
    # the sentence once more, then the spare one
    assert calls == PLAIN | {"Rewrites": 3}
    reason = "its rewrite 'No.' was not taken: it was given before, and not taken"
    refused = {"sentence": lost, "condition": right["conditions"][3], "reason": reason}
    assert result["refused"] == [refused]
    for part in ("sentences", "conditions", "rewrites"):
        differ = [a != b for a, b in zip(right[part], result[part], strict=True)]
        assert differ == [n == 3 for n in range(10)]
    assert result["verdicts"][6]["condition"] == 4


@pytest.mark.slow
def test_a_rewrite_that_the_judge_does_not_take(tmp_path: Path, right: dict[str, Any]) -> None:
    """Only what is new is judged again, in one call."""

    def change(answer: dict[str, Any], prompt: str) -> None:
        for one in answer["verdicts"]:
            if f"{one['text']}. {right['rewrites'][6]}\n" in prompt:
                one.update(verdict="satisfied")

    result, calls = ladder_of(tmp_path, changed("Verdicts", change))
    assert calls == PLAIN | {"Rewrites": 2, "Verdicts": 3}
    assert result["sentences"] == right["sentences"]
    differ = [a != b for a, b in zip(right["rewrites"], result["rewrites"], strict=True)]
    assert differ == [n == 6 for n in range(10)]
    assert result["refused"] == []


@pytest.mark.slow
def test_one_query_that_asks_for_too_little(tmp_path: Path, right: dict[str, Any]) -> None:
    """It alone is asked for again, with its fault."""
    seen: list[str] = []

    def change(answer: dict[str, Any], prompt: str) -> None:
        seen.append(prompt)
        if len(seen) == 1:
            answer["queries"][6]["text"] = answer["queries"][5]["text"]

    result, calls = ladder_of(tmp_path, changed("Written", change))
    assert (result, calls) == (right, PLAIN | {"Written": 2})
    assert "Write the queries 7, each with its number." in seen[1]
    assert "\n- query 7: it does not ask for condition 7" in seen[1]


def verdict_of(**values: str) -> Change:
    def change(answer: dict[str, Any], prompt: str) -> None:
        for one in answer["verdicts"]:
            one.update(values)

    return change


def nothing(answer: dict[str, Any], prompt: str) -> None:
    for value in answer.values():
        value.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "change", "rule", "message"),
    [
        ("Verdicts", verdict_of(verdict="satisfied"), JUDGED, "satisfies the condition"),
        ("Verdicts", verdict_of(quote="nowhere"), SENTENCE, "is not a part of the text"),
        ("Verdicts", nothing, SENTENCE, "the judge gave no verdict on it: condition "),
        ("Rewrites", nothing, REWRITES, "its rewrite '' was not taken: there was none"),
        ("Extracted", nothing, EXTRACTED, "it has 0 sentences of 10 that can be asked for"),
        ("Written", nothing, "write_query/check", "query 1: there was none"),
    ],
)
def test_answers_that_cannot_be_taken(
    tmp_path: Path, title: str, change: Change, rule: str, message: str
) -> None:
    """Every document is rejected with the rule and the reason; the cost is bounded."""
    with serving(changed(title, change)) as server:
        done = gen_at(server, tmp_path)(
            "run", ships(tmp_path), *MODEL, "--limit", "2", "--out", "a"
        )
    assert done.returncode == 1, done.stderr
    assert "ladders: 0 of 2 were accepted" in done.stderr
    rejected = read_jsonl(tmp_path / "a" / "rejected.jsonl")
    assert len(rejected) == 24
    for row in rejected:
        assert row["rule"] == rule
        assert message in row["reason"]
    assert len(server.requests) <= CALIBRATION + 24 * 12
