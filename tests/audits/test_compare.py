"""`gen audit --real`: what is printed, written and refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from retgen.audits.overlap import mean_overlap, word_overlap
from retgen.search.collection import load
from retgen.statistics.clustered import Units
from tests.conftest import Gen, Write

WORDS = "amber birch cedar delta ember fjord grove heron islet jetty knoll lupin".split()
# of the same letters: what cuts words into pieces takes one for another
CODES = "qzxkv zqxkv xzqkv kzxqv vzxkq qxzkv qkxzv qvxkz qzkxv qzvkx qzxvk kvqzx".split()
SYSTEMS = ("--model", "bm25", "--model", "tfidf")


@pytest.fixture
def real(dataset: Write) -> Path:
    return _set(dataset, "real", "where is the {} {}")


@pytest.fixture
def made(dataset: Write) -> Path:
    return _set(dataset, "made", "{} {}")


def _set(dataset: Write, name: str, query: str, words: list[str] = WORDS) -> Path:
    """66 documents of two words each, and a query for each."""
    pairs = [(a, b) for i, a in enumerate(words) for b in words[i + 1 :]]
    documents = {f"d{i}": f"a note about {a} and {b}" for i, (a, b) in enumerate(pairs)}
    queries = {f"q{i}": query.format(a, b) for i, (a, b) in enumerate(pairs)}
    return dataset(documents, queries, [(f"q{i}", f"d{i}", 1) for i in range(len(pairs))], name)


@pytest.mark.slow
def test_what_is_printed_and_written(gen: Gen, tmp_path: Path, made: Path, real: Path) -> None:
    done = gen("audit", made, "--real", real, *SYSTEMS, "--model", "rank-bm25")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "No order: on made or real all systems have the same score, so there is no order.\n"
        "Not certain on the real set. bm25 / tfidf, bm25 / rank-bm25 and tfidf / rank-bm25: only "
        "more queries of real would tell.\n"
    )
    assert done.stdout.endswith("page: outputs/audit_made/audit.html\n")
    folder = tmp_path / "outputs" / "audit_made"
    value = json.loads((folder / "audit.json").read_text())
    assert (value["synthetic"], value["real"], value["tau"]) == ("made", "real", None)
    assert [one["system"] for one in value["systems"]] == ["bm25", "tfidf", "rank-bm25"]
    assert value["word_overlap"]["synthetic"]["value"] == 1.0
    assert value["word_overlap"]["gap"]["value"] == 0.0
    assert len(value["pairs"]) == 3
    assert "No order" in (folder / "audit.html").read_text()
    assert (folder / "figures" / "order.svg").is_file()
    assert (folder / "scores" / "eval.json").is_file()
    assert json.loads(gen("audit", made, "--real", real, *SYSTEMS, "--json").stdout)["pairs"]


@pytest.mark.slow
def test_a_system_that_the_set_turns_around(gen: Gen, dataset: Write) -> None:
    """Words run together: whatever reads whole words finds nothing."""
    real = _set(dataset, "real", "where is the {} {}", CODES)
    other = _set(dataset, "other", "{0}{1} {0}{1}")
    result = gen(
        "audit",
        other,
        "--real",
        real,
        *SYSTEMS,
        "--model",
        "static:minilm",
        "--metric",
        "RR@10",
        "--json",
    )
    assert result.returncode == 0
    value = json.loads(result.stdout)
    assert value["measure"] == "RR@10"
    pair = next(one for one in value["pairs"] if one["first"] == "bm25")
    assert (pair["second"], pair["certain_on_real"]) == ("static:minilm", True)
    assert (pair["same_on_synthetic"], pair["certain_on_synthetic"]) == (False, True)
    assert value["word_overlap"]["gap"]["high"] < -0.5


def test_words_in_common(dataset: Write) -> None:
    path = dataset(
        {"d1": "Two red kites circling", "d2": "A barn owl", "d3": "nothing"},
        {"q1": "red kite in the sky", "q2": "owls and barns", "q3": "what is it"},
        [("q1", "d1", 1), ("q1", "d3", 1), ("q2", "d2", 1), ("q3", "d3", 1)],
    )
    overlap = word_overlap(load(path))
    assert overlap.tolist()[:2] == [pytest.approx((2 / 3 + 0) / 2), 1.0]
    assert np.isnan(overlap[2])
    units = Units(range(3), range(3), "3 queries")
    assert mean_overlap(overlap, units) == (pytest.approx(2 / 3), None, None)
    assert mean_overlap(np.full(3, np.nan), units) is None


def test_what_is_refused(gen: Gen, tmp_path: Path, made: Path, real: Path) -> None:
    one = gen("audit", made, "--real", real, "--model", "bm25")
    assert (one.returncode, one.stderr) == (
        2,
        "gen: --real: an order takes at least two systems, and bm25 is named. Add --model, for "
        "example --model bm25 --model minilm\n",
    )
    same = gen("audit", made, "--real", made, *SYSTEMS)
    assert (same.returncode, same.stderr) == (
        2,
        f"gen: --real {made}: is the audited set itself; name one of people's queries\n",
    )
    (tmp_path / "empty").mkdir()
    none = gen("audit", made, "--real", tmp_path / "empty", *SYSTEMS)
    assert none.returncode == 2
    assert f"{tmp_path}/empty holds no corpus table." in none.stderr
    unknown = gen("audit", made, "--real", real, "--model", "bm52", "--model", "bm25")
    assert unknown.returncode == 2
    assert "bm52" in unknown.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_system_that_fails_costs_only_itself(gen: Gen, made: Path, real: Path) -> None:
    done = gen("audit", made, "--real", real, *SYSTEMS, "--model", str(made))
    assert done.returncode == 2
    assert "tau" in done.stdout or "No order" in done.stdout
    assert str(made) in done.stderr
    alone = gen("audit", made, "--real", real, "--model", "bm25", "--model", str(made))
    assert alone.returncode == 2
    assert "an order takes two systems that are scored on both sets, and there is one." in (
        alone.stderr
    )
