"""Given queries, judged by a model that is asked through a server on loopback."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.generators.capretrieval import judging
from retgen.generators.capretrieval.judging import GivenQuery, candidates, judge_pages
from retgen.generators.capretrieval.params import Judge
from retgen.generators.capretrieval.passages import Passage
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl, restate
from tests.generators.capretrieval.judge_mind import mind
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.with_agents.conftest import Gen

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
ASKED = ("windmill copper", "tram birds", "spaceship", "chess honey")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """Eight documents, four queries, every pair."""
    rows = "".join(json.dumps({"_id": f"q{n}", "text": t}) + "\n" for n, t in enumerate(ASKED))
    (tmp_path / "asked.jsonl").write_text(rows)
    path = tmp_path / "kb.yaml"
    write_recipe(
        path,
        write_rows(tmp_path / "kb.jsonl", TEXTS),
        "  judge: {queries: {path: asked.jsonl}, depth: all}\n",
    )
    return path


@pytest.mark.slow
def test_pairs_are_read_twice_and_conflicts_settled(
    ask: Gen, server: Server, recipe: Path, tmp_path: Path
) -> None:
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 0, done.stderr
    counts = Counter(one["response_format"]["json_schema"]["name"] for one in server.requests)
    # a page a query and pass, chess once more in each; calibration is 24 of them
    assert counts == {"Grades": 4 * 2 + 2 + 24, "Settled": 2}
    path = tmp_path / "kb"
    corpus = read_jsonl(path / "dataset" / "corpus.jsonl")
    assert [row["text"] for row in corpus] == list(TEXTS)
    queries = {row["_id"]: row for row in read_jsonl(path / "dataset" / "queries.jsonl")}
    assert {name: row["text"] for name, row in queries.items()} == {
        f"q{n}": text for n, text in enumerate(ASKED)
    }
    qrels = read_jsonl(path / "dataset" / "qrels.jsonl")
    assert len(qrels) == 3 * 8  # zeros have rows
    relevant = {(row["query-id"], row["corpus-id"]): row["score"] for row in qrels if row["score"]}
    assert relevant == {
        ("q0", "d0"): 2,
        ("q0", "d2"): 1,  # settled
        ("q1", "d4"): 2,
        ("q1", "d3"): 1,  # both passes say so
        ("q3", "d7"): 2,
        ("q3", "d5"): 1,
    }
    apart = read_jsonl(path / "dataset" / "qrels.no_positives.jsonl")
    assert {row["query-id"] for row in apart} == {"q2"}
    assert (len(apart), sum(row["score"] for row in apart)) == (8, 0)
    assert queries["q2"]["metadata"]["split"] == "no_positives"
    judged = json.loads((path / "sources" / "judged.json").read_text())
    assert (judged["judged"], judged["candidates"], judged["complete"]) == (32, 32, True)
    assert judged["conflicts"] == 2
    twice = judged["agreement"]
    assert (twice["pairs"], twice["raw"], twice["positive"]) == (32, 30 / 32, round(8 / 10, 4))
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["evidence"] == {"structural": 0, "judged": 24, "human": 0}
    stated = manifest["judges"]["annotate_relevance"]
    assert {name: stated[name] for name in judged["calibration"]} == judged["calibration"]
    assert (stated["cases"], stated["unanswered"]) == (240, 0)
    assert (stated["accuracy"], stated["interval"]) == (0.5792, [0.5159, 0.6399])
    assert stated["verdicts"] == {
        "0": {"precision": 0.6593, "recall": 0.8054},
        "1": {"precision": 0.027, "recall": 0.0476},
        "2": {"precision": 0.8571, "recall": 0.2571},
    }
    assert stated["raw"] == twice["raw"]
    card = (path / "dataset" / "README.md").read_text()
    assert "- config_name: no_positives" in card
    assert "2 conflicts were settled" in card
    assert ask("validate", "kb").returncode == 0
    # the answers are known: nobody is asked again
    known = len(server.requests)
    assert ask("run", "kb.yaml", *MODEL, "--out", "kb", "--fresh").returncode == 0
    assert len(server.requests) == known


def test_a_changed_label_is_found(ask: Gen, server: Server, recipe: Path, tmp_path: Path) -> None:
    assert ask("run", "kb.yaml", *MODEL, "--out", "kb").returncode == 0
    path = tmp_path / "kb" / "sources" / "judgements.jsonl"
    rows = read_jsonl(path)
    changed = next(row for row in rows if row["first"] == row["second"] == 0)
    changed["relevance"] = 2
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask("validate", "kb")
    assert done.returncode == 1
    assert "sources/judgements.jsonl is not the file that the manifest describes" in done.stdout
    restate(tmp_path / "kb", "sources/judgements.jsonl")
    done = ask("validate", "kb")
    assert done.returncode == 1
    pair = f"{changed['query']}: {changed['passage']}"
    assert f"{pair} has grade 2, its readings do not" in done.stdout


@pytest.mark.slow
def test_files_of_a_judge_that_are_lost_or_broken_are_findings(
    ask: Gen, server: Server, recipe: Path, tmp_path: Path
) -> None:
    assert ask("run", "kb.yaml", *MODEL, "--out", "kb").returncode == 0
    sources = tmp_path / "kb" / "sources"
    for name, broken, message in (
        ("judged.json", "[]", "judged.json is not the file that the manifest describes"),
        (
            "judgements.jsonl",
            "{}\n",
            "judgements.jsonl is not the file that the manifest describes",
        ),
        ("given.jsonl", None, "given.jsonl is in the manifest but not there"),
    ):
        kept = (sources / name).read_text()
        (sources / name).unlink()
        if broken is not None:
            (sources / name).write_text(broken)
        done = ask("validate", "kb", "--json")
        assert done.returncode == 1
        found = [
            one["message"]
            for one in json.loads(done.stdout)["findings"]
            if one["rule"] == "sources"
        ]
        assert len(found) == 1
        assert message in found[0]
        (sources / name).write_text(kept)


def test_the_plan_counts_pages_of_each_query(ask: Gen, recipe: Path, tmp_path: Path) -> None:
    # two passages of 3,000 characters and more are as many as go on a page
    write_rows(tmp_path / "kb.jsonl", [f"{text} {'Filler goes on. ' * 300}" for text in TEXTS])
    write_recipe(
        recipe,
        tmp_path / "kb.jsonl",
        "  judge: {queries: {path: asked.jsonl}, depth: all, pairs: 14}\n",
    )
    done = ask("plan", "kb.yaml", "--model", "openai:gpt-5-mini", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    # pairs 4, 4, 3, 3: two pages each, twice; a tenth more for repairs
    assert plan["calls"]["annotate_relevance"] == round(16 * 1.1)


def test_the_plan_counts_pages_and_conflicts(ask: Gen, recipe: Path) -> None:
    done = ask("plan", "kb.yaml", "--model", "openai:gpt-5-mini", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert (plan["documents"], plan["queries"], plan["qrels"]) == (8, 4, 32)
    assert set(plan["calls"]) == {
        "annotate_relevance",
        "adjudicate_relevance",
        "calibrate_relevance",
    }


def test_a_budget_stops_judging_and_a_second_run_ends_it(
    ask: Gen, server: Server, recipe: Path
) -> None:
    server.usage = (1000, 500)
    cheap = ("--model", "openai:gpt-5-mini", "--max-usd", "0.011", "--out", "kb")
    assert ask("run", "kb.yaml", *cheap).returncode == 3
    asked = len(server.requests)
    assert 0 < asked < 34
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 36


def test_queries_about_something_else_are_an_error(
    ask: Gen, server: Server, recipe: Path, tmp_path: Path
) -> None:
    (tmp_path / "asked.jsonl").write_text('{"_id": "q0", "text": "spaceship"}\n')
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 1
    assert (
        "of 8 judged pairs none is relevant, so nothing could be scored; are the queries "
        "(params.judge.queries) about these documents?"
    ) in done.stderr


def test_what_got_no_grade_is_unjudged_and_never_called_irrelevant(
    ask: Gen, server: Server, recipe: Path, tmp_path: Path
) -> None:
    def fails(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        settling = body["response_format"]["json_schema"]["name"] == "Settled"
        if (settling and "copper" in prompt) or "<query>\nspaceship\n" in prompt:
            return "no grade"
        return mind(body)

    server.say = fails
    done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "kb"
    judged = json.loads((path / "sources" / "judged.json").read_text())
    # of spaceship no pair has a reading; of windmill one has two that differ
    assert (judged["candidates"], judged["judged"], judged["conflicts"]) == (32, 23, 1)
    # what differs counts as such, settled or not
    assert (judged["agreement"]["pairs"], judged["agreement"]["raw"]) == (24, round(22 / 24, 4))
    assert judged["complete"] is False
    qrels = read_jsonl(path / "dataset" / "qrels.jsonl")
    assert len(qrels) == 23
    assert ("q0", "d2") not in {(row["query-id"], row["corpus-id"]) for row in qrels}
    assert {row["_id"] for row in read_jsonl(path / "dataset" / "queries.jsonl")} == {
        "q0",
        "q1",
        "q3",
    }
    assert not (path / "dataset" / "qrels.no_positives.jsonl").exists()
    unjudged = [
        row for row in read_jsonl(path / "rejected.jsonl") if row["rule"] == "judge/unjudged"
    ]
    assert [row["reason"] for row in unjudged] == [
        "q2: none of its 8 candidates got a grade that could be used"
    ]
    card = (path / "dataset" / "README.md").read_text()
    assert "no_positives" not in card
    assert "9 candidates got no grade that could be used." in card
    assert "Two passes gave 91.7% of 24 pairs the same grade (positive agreement 0.800, AC1" in card
    assert ask("validate", "kb").returncode == 0


def test_a_query_without_a_candidate_is_left_out_with_the_reason(
    ask: Gen, server: Server, recipe: Path, tmp_path: Path
) -> None:
    write_recipe(recipe, tmp_path / "kb.jsonl", "  judge: {queries: {path: asked.jsonl}}\n")
    assert ask("run", "kb.yaml", *MODEL, "--out", "kb").returncode == 0
    rejected = read_jsonl(tmp_path / "kb" / "rejected.jsonl")
    assert [(row["rule"], row["reason"]) for row in rejected] == [
        (
            "judge/unjudged",
            "q2: it has no candidate (params.judge: another ranking in by, or more pairs)",
        ),
    ]
    given = read_jsonl(tmp_path / "kb" / "dataset" / "queries.jsonl")
    assert {row["metadata"]["split"] for row in given} == {"test"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            "  judge: {queries: {path: asked.jsonl}}\n",
            "params.judge: grading passages is a model's work, no rule can do it: name one, as in "
            "--model openai:gpt-5-mini, or leave judge out",
        ),
        ("  judge: {}\n", "judge.queries is missing: the bundled queries are to the captions"),
        (
            "  judge: {queries: {path: asked.jsonl}}\n  mine: {negatives: 2}\n",
            "judge is for given queries, mine for written ones: make two recipes",
        ),
        ("  judge: {queries: {path: nothing.jsonl}}\n", "there is no source"),
        ("  judge: {queries: {path: asked.jsonl}, by: [bm52]}\n", "mining by 'bm52'"),
        ("  judge: {queries: {path: asked.txt}}\n", "asked.txt is one text, not a row a query"),
        (
            "  judge: {queries: {path: beir}}\n",
            "beir is a data set, of which a source is the corpus: give its file of queries, as in "
            "{path: FOLDER/queries.jsonl}",
        ),
    ],
)
def test_what_cannot_be_judged_is_said(
    ask: Gen, recipe: Path, tmp_path: Path, params: str, message: str
) -> None:
    (tmp_path / "asked.txt").write_text("windmill copper\ntram birds\n")
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    for name in ("corpus", "queries"):
        (tmp_path / "beir" / f"{name}.jsonl").write_text('{"_id": "a", "text": "tram birds"}\n')
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\ta\t1\n")
    write_recipe(recipe, tmp_path / "kb.jsonl", params)
    model = () if "model" in message else MODEL
    done = ask("run", "kb.yaml", *model, "--out", "kb")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_bundled_queries_have_their_labels(ask: Gen, tmp_path: Path) -> None:
    done = ask("run", "capretrieval_judged", "--out", "captions")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "captions"
    scores = Counter(row["score"] for row in read_jsonl(path / "dataset" / "qrels.jsonl"))
    assert scores == {0: 29_000 - 742, 1: 228, 2: 514}
    assert len(read_jsonl(path / "dataset" / "qrels.no_positives.jsonl")) == 1000
    assert "labels that came with the captions, written by a language model" in done.stdout


PASSAGES = [Passage(f"d{n}", f"d{n}", 0, len(text), "", text, "en") for n, text in enumerate(TEXTS)]
QUERIES = [
    GivenQuery("q0", "honey frames"),
    GivenQuery("q1", "old windmill"),
    GivenQuery("q2", "spaceship"),
]
JUDGE = Judge.model_validate({"queries": {"path": "q.jsonl"}})


def test_the_best_of_each_ranking_are_candidates() -> None:
    pools = candidates(QUERIES, PASSAGES, JUDGE.model_copy(update={"depth": 2}), 1)
    # honey only in one; old in two; BM25 ranks nothing that shares no term
    assert pools == [[5], [0, 4], []]


def test_all_passages_are_candidates_those_that_rank_high_first() -> None:
    pools = candidates(QUERIES, PASSAGES, JUDGE.model_copy(update={"depth": "all"}), 1)
    assert [sorted(pool) for pool in pools] == 3 * [list(range(8))]
    assert [pool[:2] for pool in pools[:2]] == [[5, pools[0][1]], [0, 4]]
    assert pools[2] != sorted(pools[2])  # drawn


@pytest.mark.parametrize(
    ("sizes", "most", "kept"),
    [
        ([8, 8, 8], 24, [8, 8, 8]),
        ([8, 8, 8], 100, [8, 8, 8]),
        ([8, 8, 8], 11, [4, 4, 3]),
        ([1, 8, 0, 5], 8, [1, 4, 0, 3]),
        ([1, 8, 0, 5], 2, [1, 1, 0, 0]),
        ([3], 1, [1]),
        ([], 5, []),
    ],
)
def test_under_a_cap_no_query_has_more_than_another_could(
    sizes: list[int], most: int, kept: list[int]
) -> None:
    pools = [list(range(size)) for size in sizes]
    assert judging.trim_pools(pools, most) == [list(range(size)) for size in kept]


def test_a_second_pass_has_another_order_and_long_passages_another_page() -> None:
    long = Passage("d8", "d8", 0, 11_900, "", "x" * 11_900, "en")
    made = judge_pages(QUERIES[:1], [*PASSAGES, long], [[0, 1, 8, 2]], 2, seed=3)
    first, second = ([one.passages for one in made if one.turn == turn] for turn in (1, 2))
    assert first == [(0, 1), (8,), (2,)]
    assert sorted(sum(second, ())) == [0, 1, 2, 8]
    assert first != second
    pools = [list(range(8)) * 3]
    assert [len(one.passages) for one in judge_pages(QUERIES[:1], PASSAGES, pools, 1, 3)] == [
        10,
        10,
        4,
    ]
