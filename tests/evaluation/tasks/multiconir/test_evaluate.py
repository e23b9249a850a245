"""`gen eval` on ladders: what is measured by default, what is written, and chat models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.models import ModelOptions
from retgen.errors import UsageError
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.evaluation.tasks.multiconir.made import condition, write_ladders


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ladders(tmp_path_factory.mktemp("sets") / "houses", 6)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "barns"
    return write_ladders(folder, 4, domain="barns", first=20)


@pytest.mark.slow
def test_by_default_both_bm25_climb(houses: Path, tmp_path: Path) -> None:
    result = evaluate(houses, out=tmp_path / "out")
    content = json.loads((tmp_path / "out" / "eval.json").read_text())
    assert content == json.loads(json.dumps(result.to_json()))
    assert [(r["model"], bool(r["metrics"])) for r in content["results"]] == [
        ("bm25", True),
        ("bm25-paper", False),
    ]
    honest, paper = (row["ladders"] for row in content["results"])
    assert honest["ladders"] == 6
    assert honest["domains"] == ["houses"]
    # the violated condition's word is gone; what stands there may be asked for from Q6 on
    assert honest["task1"]["mean"]["by_query"][:5] == [1.0] * 5
    assert 0.5 < honest["task1"]["mean"]["by_query"][5] < 1
    assert paper["task1"]["mean"]["average"]["value"] < 0.75
    assert list(paper["task4"]) == ["512"]
    assert len(paper["violations"]["all"]) == 10
    notes = content["notes"]
    assert "bm25-paper: orders candidate sets, so it is not among the rankings of all" in notes
    lines = text_of(result).splitlines()
    assert lines[0] == "Averages (%)"
    assert sum(line.startswith("random order") for line in lines) == 6
    assert f"{houses}" in lines
    assert (
        "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)" in lines
    )
    heads = [line.split()[0] for line in lines if line.startswith("system")]
    assert heads == ["system"] * 6
    assert re.search(r"^bm25 +(100\.00 +){5}", text_of(result), re.MULTILINE)
    rows = read_jsonl(tmp_path / "out" / "per_ladder" / "bm25-paper.jsonl")
    assert [(row["ladder"], row["domain"]) for row in rows[:2]] == [
        ("houses-00", "houses"),
        ("houses-01", "houses"),
    ]
    mean = sum(row["cells"]["task 1/instruction/Q3"] for row in rows) / 6
    assert mean == pytest.approx(paper["task1"]["instruction"]["by_query"][2])
    assert "### Task 3: flip rate (%)" in (tmp_path / "out" / "eval.md").read_text()
    page = (tmp_path / "out" / "eval.html").read_text()
    assert page.count("<svg") == 3
    assert page.index("Average win rate of the positive over HN1") < page.index("<section>")
    assert page.count("<details>") == 3  # styles of two tasks, Task 4
    assert "Which differences hold" not in page
    figures = {path.name for path in (tmp_path / "out" / "figures").glob("ladders*.svg")}
    assert figures == {"ladders_task1.svg", "ladders_task2.svg"}


@pytest.mark.slow
def test_domains_weigh_the_same_in_every_table(houses: Path, other: Path, tmp_path: Path) -> None:
    result = evaluate([houses, other], models=["bm25-paper"], out=tmp_path / "out").to_json()
    each = [d["results"][0]["ladders"] for d in result["datasets"]]
    (both,) = result["ladders"]
    assert (both["model"], both["ladders"], list(both["domains"])) == (
        "bm25-paper",
        10,
        ["houses", "barns"],
    )
    flips = [one["task3"]["flip_rate"]["value"] for one in each]
    assert both["task3"]["flip_rate"]["value"] == pytest.approx(sum(flips) / 2)
    rates = [one["task1"]["mean"]["average"]["value"] for one in each]
    assert both["task1"]["mean"]["average"]["value"] == pytest.approx(sum(rates) / 2)
    assert rates[0] != rates[1]
    assert "| bm25-paper |" in (tmp_path / "out" / "eval.md").read_text()
    table = (tmp_path / "out" / "eval.md").read_text().partition("### Task 3")[2]
    assert "| system | houses | barns | average | 95% interval |" in table


def test_what_has_no_score_of_a_pair_is_told(houses: Path, tmp_path: Path) -> None:
    result = evaluate(houses, models=["bm25", "hybrid:bm25+tfidf"], out=tmp_path / "out").to_json()
    assert ["ladders" in row for row in result["results"]] == [True, False]
    assert result["notes"][-1] == (
        "hybrid:bm25+tfidf: gives no score to a single pair of query and document, so it is not "
        "measured on the ladders"
    )


def test_other_data_sets_are_as_they_were(limit_run: Path, houses: Path, tmp_path: Path) -> None:
    result = evaluate(limit_run, out=tmp_path / "out")
    assert result.datasets[0].task is None
    assert [row["model"] for row in result.to_json()["results"]] == ["bm25"]
    assert "Task 1" not in text_of(result)
    with pytest.raises(UsageError) as error:
        evaluate([houses, limit_run], models=["bm25-paper"])
    assert str(error.value) == (
        f"--model bm25-paper: orders the documents of candidate sets, and {limit_run} holds none"
    )


# --- chat models --------------------------------------------------------------------------------


def rank(body: dict[str, Any]) -> str:
    """Orders documents by the conditions that they meet; a repair is asked for now and then."""
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    query, _, listed = prompt.partition("The documents:")
    documents = {int(n): text for n, text in re.findall(r"^\[(\d+)\] (.*)$", listed, re.M)}
    asked = re.findall(r"the \w+ of house \d+ was [a-z ]+?(?=, and |$)", query, re.M)
    met = {
        n: sum(one.lower() in text.lower().replace(" that year", ",") + "," for one in asked)
        for n, text in documents.items()
    }
    order = sorted(met, key=lambda n: -met[n])
    if len(body["messages"]) == 2 and len(asked) == 3:
        order = order[:1]  # the first answer about three conditions lacks a document
    return json.dumps({"ranking": order})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(rank) as result:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
        monkeypatch.setenv("OPENAI_BASE_URL", result.url)
        yield result


@pytest.mark.slow
def test_a_chat_model_orders_the_first_ladders(
    houses: Path, server: Server, tmp_path: Path
) -> None:
    call: Any = {"models": ["llm:openai:gpt-5-mini"], "limit": 2, "out": tmp_path / "out"}
    row = evaluate(houses, **call).to_json()["results"][0]
    assert condition(0, 1) in server.requests[0]["messages"][1]["content"]
    ladders = row["ladders"]
    assert ladders["ladders"] == 2
    assert ladders["task1"]["mean"]["average"]["value"] == 1.0
    assert ladders["task2"]["mean"]["average"]["value"] == 1.0
    assert ladders["task3"]["flip_rate"]["value"] == 0.0
    assert (ladders["blind"], ladders["violations"]) == (None, None)
    details = row["details"]
    # a ladder and style: ten pairs and a whole; four of those are repaired
    assert (details["lists"], details["failed_after_repairs"], details["calls"]) == (44, 0, 48)
    assert details["model"] == "openai:gpt-5-mini"
    assert len(server.requests) == 48
    assert (tmp_path / "ledger.sqlite").is_file()
    again = evaluate(houses, **call).to_json()["results"][0]
    assert len(server.requests) == 48  # all of it is in the ledger
    assert again["ladders"] == ladders
    assert (again["details"]["calls"], again["details"]["from_ledger"]) == (0, 48)


@pytest.mark.slow
def test_the_cap_ends_it_and_keeps_the_rest(houses: Path, server: Server, tmp_path: Path) -> None:
    server.usage = 1000, 400  # a tenth of a cent a call
    models = ["bm25-paper", "llm:openai:gpt-5-mini"]
    result = evaluate(
        houses,
        models=models,
        limit=2,
        model_options=ModelOptions(max_usd=0.02),
        out=tmp_path / "out",
    )
    assert result.exit_code == 3
    assert [row["model"] for row in result.to_json()["results"]] == ["bm25-paper"]
    assert "of the cap are left. Raise --max-usd to go on" in result.failures[models[1]]
    assert "Done so far: llm:openai:gpt-5-mini: lists: " in result.failures[models[1]]
    sent = len(server.requests)
    assert 0 < sent < 48
    more = evaluate(houses, models=models, limit=2, out=tmp_path / "out")
    assert more.exit_code == 0
    assert len(server.requests) == 48  # nothing is asked twice
