"""Groups that a model writes and judges, asked through a server on loopback."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.generators.niah.groups import NeedleGroup, read_groups
from retgen.generators.niah.params import NiahParams
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.with_agents.conftest import Gen, ask

__all__ = ["ask"]

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
RECIPE = """name: own
family: niah
params:
  written: {categories: [landmark, diet, author], each: 3}
  lengths: [128]
  places: 3
"""
GROUPS = read_groups(NiahParams(groups="all"))


def _row(group: NeedleGroup, **changed: Any) -> dict[str, Any]:
    row = group.model_dump(exclude={"id", "set", "category"})
    return {**row, "near": list(group.near), **changed}


def _written(prompt: str) -> list[dict[str, Any]]:
    """The bundled groups of a category, of each another one spoilt."""
    category = re.search(r"of the category: (\w+)", prompt)
    assert category is not None
    first, second, third = [one for one in GROUPS if one.category == category[1]][:3]
    if category[1] == "landmark":
        spoilt = _row(second, one_hop="Nobody in Barcelona had ever seen {name} hurry to work.")
        return [_row(first), spoilt, _row(third)]
    if category[1] == "diet":
        return [_row(first), _row(second), _row(first)]
    return [_row(first), _row(second, near=[]), _row(third)]


def mind(body: dict[str, Any]) -> str:
    """The content of an answer. The judge takes a near-answer about Copenhagen or Easter for one."""
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    name = body["response_format"]["json_schema"]["name"]
    if name == "WrittenGroups":
        return json.dumps({"groups": _written(prompt)})
    asked = next(one for one in GROUPS if f"The question: {one.question}\n" in prompt)
    verdicts = []
    for number, text in re.findall(r"^(\d+)\. (.*)$", prompt, re.MULTILINE):
        key = next(
            key
            for key, one in asked.sentences().items()
            if re.fullmatch(re.escape(one).replace(r"\{name\}", r"\w+"), text)
        )
        yes = key.startswith("one_hop") or "Easter Island" in text
        answers = "yes" if yes else "no"
        verdicts.append({"sentence": int(number), "answers": answers, "needs_fact": answers})
    return json.dumps({"fact_is_true": "yes", "verdicts": verdicts})


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


@pytest.mark.slow
def test_written_groups_are_checked_and_judged(ask: Gen, server: Server, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(RECIPE)
    done = ask("run", "own.yaml", *MODEL, "--out", "own")
    assert done.returncode == 0, done.stderr
    counts = Counter(one["response_format"]["json_schema"]["name"] for one in server.requests)
    # two of each category pass; of these the judge refuses one
    assert counts == {"WrittenGroups": 3, "Verdicts": 6}
    path = tmp_path / "own"
    groups = read_jsonl(path / "sources" / "groups.jsonl")
    kept = ["landmark-01", "diet-01", "diet-02", "author-01", "author-03"]
    asked = {one.id: one.question for one in GROUPS}
    assert [row["question"] for row in groups] == [asked[name] for name in kept]
    assert [row["group"] for row in groups][:2] == ["written-1-01", "written-2-01"]
    rejected = [(row["rule"], row["reason"]) for row in read_jsonl(path / "rejected.jsonl")]
    assert rejected == [
        (
            "write_needles/group",
            "one_hop holds 'barcelona', a word of the question 'Which character has been to "
            "Barcelona?' ('barcelona'), so it could be found by that word: 'Nobody in Barcelona had "
            "ever seen {name} hurry to work.'",
        ),
        ("write_needles/group", "its question stands in another group"),
        ("write_needles/group", "near: there are 0, 4 are wanted"),
        ("judge_needle/group", "near[3] answers the question"),
    ]
    corpus = read_jsonl(path / "dataset" / "corpus.jsonl")
    assert len(corpus) == 5 * (2 * 3 + 1)
    assert ask("validate", "own").returncode == 0
    known = len(server.requests)
    assert ask("run", "own.yaml", *MODEL, "--out", "own", "--fresh").returncode == 0
    assert len(server.requests) == known


def test_the_plan_says_what_is_asked(ask: Gen, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(RECIPE)
    done = ask("plan", "own.yaml", *MODEL[:2], "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert (plan["queries"], plan["documents"]) == (9, 9 * 7)
    assert sorted(plan["calls"]) == ["judge_needle", "write_needles"]


def test_without_a_model_nothing_is_written(ask: Gen, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(RECIPE)
    done = ask("run", "own.yaml", "--out", "own")
    assert done.returncode == 2
    assert (
        "params.written: that is a model's work: name one, as in --model openai:gpt-5-mini, or "
        "leave written out"
    ) in done.stderr
