"""Ladders written through a model's protocol: what they take, and answers with faults."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen import plan, validate
from retgen.errors import RecipeError
from retgen.generators.multiconir.agents import sheets
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import Server, counted, serving
from tests.command import in_process
from tests.conftest import read_jsonl
from tests.generators.multiconir.stories import stories
from tests.with_agents.conftest import Gen, gen_at
from tests.with_agents.families import ships

MODEL = ("--model", "openai:gpt-5-mini")
CALIBRATION = 24  # calls


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(ladder_mind) as result:
        yield result


def asked_for(server: Server) -> dict[str, int]:
    """Requests by the schema that they ask for, without the calibration."""
    calls = Counter(one["response_format"]["json_schema"]["name"] for one in server.requests)
    return dict(calls - Counter({"Verdicts": CALIBRATION}))


def test_ladders_of_documents(ask: Gen, server: Server, tmp_path: Path) -> None:
    """Five calls each, where nothing has to come again; every label has its verdicts."""
    recipe = ships(tmp_path, 4)
    done = ask("run", recipe, *MODEL, "--max-usd", "5", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert asked_for(server) == {"Extracted": 4, "Rewrites": 4, "Verdicts": 8, "Written": 4}
    run = tmp_path / "run"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["counts"] == {"documents": 80, "queries": 80, "qrels": 1600, "rejected": 0}
    assert manifest["evidence"] == {"structural": 0, "judged": 1600, "human": 0}
    judge = manifest["judges"]["verify_conditions"]
    assert (judge["cases"], judge["model"]) == (240, "openai:gpt-5-mini")
    assert set(manifest["models"]) == {
        "extract_conditions",
        "write_query",
        "write_hard_negatives",
        "verify_conditions",
        "calibrate_judge",
    }
    assert sorted(path.name for path in (run / "tables").iterdir()) == [
        "task1.jsonl",
        "task2_3.jsonl",
        "task4_1024.jsonl",
        "task4_512.jsonl",
        "verdicts.jsonl",
    ]
    sources = {row["id"]: row["text"] for row in read_jsonl(run / "sources" / "documents.jsonl")}
    ladders = {row["id"]: row for row in read_jsonl(run / "sources" / "ladders.jsonl")}
    assert all(text in sources[name] for name, one in ladders.items() for text in one["sentences"])
    verdicts = read_jsonl(run / "tables" / "verdicts.jsonl")
    for row, (n, of, verdict) in zip(
        verdicts,
        4
        * [
            (n, of, verdict)
            for n in range(1, 11)
            for of, verdict in (("sentence", "satisfied"), ("rewrite", "violated"))
        ],
        strict=True,
    ):
        ladder = ladders[row["ladder"]]
        text = ladder["sentences" if of == "sentence" else "rewrites"][n - 1]
        assert row["quote"] in text
        assert row == {
            "ladder": ladder["id"],
            "condition": n,
            "of": of,
            "asked": ladder["conditions"][n - 1],
            "text": text,
            "verdict": verdict,
            "quote": row["quote"],
            "agent": "verify_conditions",
            "model": "openai:gpt-5-mini",
        }
    validation = validate(run)
    assert (validation.ok, validation.proven, validation.judged) == (True, 0, 1600)


def test_no_rules_in_place_of_a_model(tmp_path: Path) -> None:
    message = (
        r"params: ladders of documents are a model's work \(calibrate_judge, extract_conditions, "
        r"verify_conditions, write_hard_negatives, write_query\): name one, as in --model "
    )
    with pytest.raises(RecipeError, match=message):
        plan(ships(tmp_path, 2))
    judge = {"model": "openai:gpt-5-mini", "models": {"judge": "offline"}}
    with pytest.raises(RecipeError, match=r"work \(calibrate_judge, verify_conditions\): name one"):
        plan(ships(tmp_path, 2), judge)
    mixed = {"model": "openai:gpt-5-mini", "params.negatives.strategy": "mixed"}
    with pytest.raises(RecipeError, match="mixed is for ladders that are drawn"):
        plan(ships(tmp_path, 2), mixed)


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
    assert ask("run", ships(tmp_path, 2), *MODEL, "--out", "a").returncode == 0
    assert asked_for(server)["Verdicts"] == 4
    server.requests.clear()
    second = ships(tmp_path, count=2, begin=2, name="more")
    assert ask("run", second, *MODEL, "--out", "b").returncode == 0
    every = {sheet.question.variables()["texts"] for sheet in sheets()}
    assert [one for one in server.requests if any(t in str(one) for t in every)] == []


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
Change = Callable[[list[dict[str, Any]], str], Any]


def changed(title: str, change: Change) -> Mind:
    """The right answers; `change` sees the parts of those of one schema, and the conversation."""

    def mind(body: dict[str, Any]) -> str:
        answer = json.loads(ladder_mind(body))
        if body["response_format"]["json_schema"]["name"] == title:
            (parts,) = answer.values()
            change(parts, "\n".join(m["content"] for m in body["messages"]))
        return json.dumps(answer)

    return mind


def ladder_of(folder: Path, mind: Mind) -> tuple[dict[str, Any], dict[str, int]]:
    """The ladder of one document, and the calls that it took beside the calibration."""
    with serving(mind) as server:
        done = gen_at(server, folder)("run", ships(folder, 1, 1), *MODEL, "--out", "run", "--fresh")
        assert done.returncode == 0, done.stderr
        calls = asked_for(server)
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    (ladder,) = read_jsonl(folder / "run" / "sources" / "ladders.jsonl")
    return ladder, calls


PLAIN = {"Extracted": 1, "Rewrites": 1, "Verdicts": 2, "Written": 1}
STORY = stories(2)[1]["text"]
FIRST, SECOND = STORY.split(". ")[:2]


def judged(verdict: str) -> Change:
    """Another verdict on the second sentence."""

    def change(parts: list[dict[str, Any]], prompt: str) -> None:
        number = re_number(prompt.partition("The conditions:")[2], SECOND)
        text = re_number(prompt.partition("The texts:")[2], f"{SECOND}.")
        for one in parts:
            if (one["condition"], one["text"]) == (number, text):
                one.update(verdict=verdict)

    return change


def re_number(text: str, item: str) -> int:
    """The number of an item of a list, 0 where it is none."""
    return next(
        (n for n, line in enumerate(text.strip().split("\n"), 1) if line == f"{n}. {item}"), 0
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "change", "sentence", "reason"),
    [
        (
            "Extracted",
            lambda parts, _: parts.insert(0, {"sentence": STORY[:300], "condition": "x"}),
            STORY[:300],
            "it is not a whole sentence of the document",
        ),
        (
            "Extracted",
            lambda parts, _: parts[1].update(condition="Lisbon"),
            f"{SECOND}.",
            "the condition has 1 words; about ten are wanted",
        ),
        (
            "Rewrites",
            lambda parts, _: parts[1].update(rewrite="No."),
            f"{SECOND}.",
            "its rewrite cannot be used: it is not one complete sentence",
        ),
        (
            "Rewrites",
            lambda parts, _: parts[1].update(rewrite=""),
            f"{SECOND}.",
            "its rewrite cannot be used: there is no rewrite of it",
        ),
        (
            "Rewrites",
            lambda parts, _: parts[1].update(rewrite=f"{FIRST}."),
            f"{SECOND}.",
            "its rewrite cannot be used: it stands in the document already, for another condition",
        ),
        (
            "Verdicts",
            judged("violated"),
            f"{SECOND}.",
            "the judge finds that it contradicts the condition",
        ),
        (
            "Verdicts",
            judged("cannot_tell"),
            f"{SECOND}.",
            "the judge finds that it leaves open the condition",
        ),
    ],
)
def test_a_part_that_cannot_be_used(
    tmp_path: Path, title: str, change: Change, sentence: str, reason: str
) -> None:
    """A spare sentence takes its place, no call is repeated, and the ladder says why."""
    ladder, calls = ladder_of(tmp_path, changed(title, change))
    assert calls == PLAIN
    assert ladder["refused"] == [{"sentence": sentence, "reason": reason}]
    assert len({*ladder["sentences"]} - {sentence}) == 10


@pytest.mark.slow
def test_fewer_than_ten_parts_come_again(tmp_path: Path) -> None:
    """With what is wrong, and all of them."""
    seen: list[str] = []

    def change(parts: list[dict[str, Any]], prompt: str) -> None:
        seen.append(prompt)
        if len(seen) == 1:
            parts[6]["text"] = parts[5]["text"]

    right, _ = ladder_of(tmp_path, ladder_mind)
    ladder, calls = ladder_of(tmp_path, changed("Written", change))
    assert (ladder, calls) == (right, PLAIN | {"Written": 2})
    assert (
        "This answer cannot be taken: 9 can be used, 10 are needed; query 7: it does not ask for "
        "condition 7. "
    ) in seen[1]


def verdict_of(**values: str) -> Change:
    def change(parts: list[dict[str, Any]], prompt: str) -> None:
        for one in parts:
            one.update(values)

    return change


def nothing(parts: list[dict[str, Any]], prompt: str) -> None:
    parts.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "change", "rule", "message"),
    [
        ("Verdicts", verdict_of(verdict="violated"), "verify_conditions/judged", "contradicts the"),
        ("Verdicts", verdict_of(verdict="satisfied"), "verify_conditions/judged", "satisfies the"),
        (
            "Verdicts",
            verdict_of(quote="nowhere"),
            "verify_conditions/check",
            "condition 1: the quo",
        ),
        ("Verdicts", nothing, "verify_conditions/check", "condition 1: there is no verdict"),
        ("Rewrites", nothing, "write_hard_negatives/check", "rewrite 1: there is no rewrite of it"),
        ("Extracted", nothing, "extract_conditions/check", "0 can be used, 10 are needed"),
        ("Written", nothing, "write_query/check", "query 1: there was none"),
    ],
)
def test_answers_that_cannot_be_taken(
    tmp_path: Path, title: str, change: Change, rule: str, message: str
) -> None:
    """Every document is rejected with the rule and the reason; the cost is bounded."""
    with serving(changed(title, change)) as server:
        done = gen_at(server, tmp_path)("run", ships(tmp_path, 4), *MODEL, "--out", "a")
    assert done.returncode == 1, done.stderr
    assert "ladders: 0 of 4 were accepted" in done.stderr
    rejected = read_jsonl(tmp_path / "a" / "rejected.jsonl")
    assert {row["rule"] for row in rejected} == {rule}
    assert all(message in row["reason"] for row in rejected), rejected[0]["reason"]
    assert len(rejected) == 4
    assert len(server.requests) <= CALIBRATION + 4 * 7
