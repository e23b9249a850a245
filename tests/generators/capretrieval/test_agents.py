"""Queries that a model writes, asked through a server on loopback."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.generators.capretrieval.agents import fault
from retgen.generators.capretrieval.passages import Kind
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.generators.capretrieval.mind import HYPERNYM, mind
from tests.generators.capretrieval.texts import CHINESE, ENGLISH, TEXTS, write_recipe, write_rows
from tests.with_agents.conftest import Gen

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


@pytest.mark.slow
def test_bad_answers_are_repaired_and_what_is_not_is_given_up(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    calls = 8 + 1 + 1 + 2  # one a passage; owls and honey are asked again once, chess to the end
    write_recipe(tmp_path / "kb.yaml", write_rows(tmp_path / "kb.jsonl", TEXTS))
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == calls
    path = tmp_path / "kb"
    corpus = read_jsonl(path / "dataset" / "corpus.jsonl")
    assert [row["text"] for row in corpus] == list(TEXTS)  # whatever a model does
    queries = read_jsonl(path / "dataset" / "queries.jsonl")
    assert {row["metadata"]["source"] for row in queries} == {f"d{n}" for n in range(7)}
    rejected = read_jsonl(path / "rejected.jsonl")
    common = [row["record"]["text"] for row in rejected if row["rule"] == "query/common"]
    assert common == ["before"]  # of two passages, and of 8 none may be of more than one
    assert Counter(row["metadata"]["kind"] for row in queries) == {
        "keyword": 4 * 7 - 2,
        "hypernym": 7,
        "summary": 7,
        "question": 7,
    }
    for row in queries:
        note = row["metadata"]
        text = TEXTS[int(note["source"][1:])]
        held = text[slice(*note["span"])]
        if note["kind"] == "keyword":
            assert held.casefold() == row["text"]
        elif note["kind"] == "hypernym":
            assert row["text"] == f"{HYPERNYM} {held}"
        else:
            assert held == (text if note["kind"] == "question" else text.partition(". ")[0] + ".")
    (lost,) = [row for row in rejected if row["rule"] != "query/common"]
    assert lost["rule"] == "write_queries/check"
    assert lost["record"]["record"] == {"id": "d7"}
    assert lost["reason"] == "; ".join(3 * ["the keyword 'x': it is one letter"])
    assert len(lost["record"]["history"]) == 3
    manifest = json.loads((path / "manifest.json").read_text())
    assert (manifest["calls"], manifest["counts"]["rejected"]) == (calls, len(rejected))
    assert ask("validate", "kb").returncode == 0
    # the answers are known: nobody is asked again
    assert ask("run", "kb.yaml", *MODEL, "--out", "kb", "--fresh").returncode == 0
    assert len(server.requests) == calls


@pytest.mark.slow
def test_a_model_of_which_nothing_can_be_used_leaves_the_words_of_people(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    server.say = lambda body: "Sure! Here are some queries."
    titles = ["Windmills", "Lighthouses", "Copper pans", "Owls", "Trams", "Bees", "Glass", "Chess"]
    write_recipe(tmp_path / "kb.yaml", write_rows(tmp_path / "kb.jsonl", TEXTS, titles))
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 0, done.stderr
    assert (
        "gen: passages: 0 of 8 were accepted; rejected were 8 (write_queries/answer 8 times), see "
        "rejected.jsonl. The run goes on with what people wrote.\n"
    ) in done.stderr
    poor = (
        "The texts of write_queries are not good: 24 of 24 answers were unusable. Use a stronger "
        "model."
    )
    assert f"  warning     {poor}\n" in done.stdout
    assert (
        "  answers     write_queries: 24 of 24 answers unusable (24 not JSON); of 8 questions 0 "
        "repaired, 8 failed\n"
    ) in done.stdout
    page = (tmp_path / "kb" / "report.html").read_text()
    assert f"<b>WEAK MODEL</b><span>{poor}</span>" in page
    queries = read_jsonl(tmp_path / "kb" / "dataset" / "queries.jsonl")
    assert {row["metadata"]["evidence"] for row in queries} == {"found"}
    manifest = tmp_path / "kb" / "manifest.json"
    assert json.loads(manifest.read_text())["answers"] == {
        "write_queries": {"failed": 8, "not JSON": 24}
    }
    assert ask("validate", "kb").returncode == 0


def test_the_plan_counts_a_call_a_passage(ask: Gen, server: Server, tmp_path: Path) -> None:
    write_recipe(tmp_path / "kb.yaml", write_rows(tmp_path / "kb.jsonl", TEXTS))
    done = ask("plan", "kb.yaml", *MODEL[:2], "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["documents"] == 8
    assert "hypernyms" not in done.stdout
    done = ask("run", "kb.yaml", *MODEL, "--pilot", "2")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 2


VERBATIM = "stands in the passage word for word"
SAME_WORD = "a hypernym is another word than what it generalises"
MILL = "The old windmill on the river bank was restored by volunteers from the village."


@pytest.mark.parametrize(
    ("kind", "text", "rests_on", "reason"),
    [
        ("keyword", "WINDMILL", "windmill", None),
        ("phrase", "river bank", "river  bank", None),
        ("hypernym", "building", "windmill", None),
        ("summary", "volunteers repaired a mill", MILL, None),
        ("question", "Who restored the windmill?", "", None),
        ("topics", "windmill flour bread", "", None),
        ("keyword", "", "", "it is empty"),
        ("keyword", "1928", "1928", "it has no letter"),
        ("summary", "two\nlines", "", "it has a line break"),
        ("keyword", "w", "w", "it is one letter"),
        ("phrase", "a b c d e f g h i", "", "it is longer than 8 words"),
        ("summary", "word " * 61, "", "it is longer than 60 words"),
        ("keyword", "tower", "tower", "the passage does not hold 'tower'"),
        ("keyword", "mill", "windmill", f"a keyword {VERBATIM}; 'mill' does not"),
        ("hypernym", "Windmill", "windmill", SAME_WORD),
        ("summary", "a mill", "Nobody came.", "the passage does not hold 'Nobody came.'"),
        ("summary", f"{MILL[:50].upper()}", "", "it copies 8 words in a row from the passage"),
    ],
)
def test_a_query_that_cannot_be_used_is_named(
    kind: Kind, text: str, rests_on: str, reason: str | None
) -> None:
    assert fault(kind, text, rests_on, ENGLISH, "en") == reason


@pytest.mark.parametrize(
    ("kind", "text", "rests_on", "reason"),
    [
        ("keyword", "三輪車", "三輪車", None),
        ("keyword", "三轮车", "三輪車", None),
        ("hypernym", "三輪車", "三轮车", SAME_WORD),
        ("phrase", CHINESE[:18], CHINESE[:18], "it is longer than 16 words"),
        ("keyword", "狗", "狗", "it is one letter"),
    ],
)
def test_chinese_is_measured_in_characters_and_compared_in_one_script(
    kind: Kind, text: str, rests_on: str, reason: str | None
) -> None:
    assert fault(kind, text, rests_on, CHINESE, "zh") == reason
