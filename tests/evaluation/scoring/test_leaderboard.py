"""`gen eval --leaderboard`: groups of systems, means over data sets, and power."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.evaluation.scoring.evaluate import evaluate, output_folder
from retgen.evaluation.scoring.leaderboard import (
    Leaderboard,
    leaderboard,
    letter_groups,
    power,
    stacked,
)
from retgen.evaluation.scoring.result import Evaluation
from retgen.statistics.clustered import Units
from tests.conftest import Gen, Write

SIZES = {"near": 60, "far": 40}
# how many of ten queries each system answers
SYSTEMS = {"good": 9, "fair": 5, "same": 5, "poor": 1}


@pytest.fixture
def sets(dataset: Write) -> list[Path]:
    """Two data sets, each query with a document of its own."""
    return [
        dataset(
            {f"{name}-d{i}": f"text {i}" for i in range(size)},
            {f"{name}-q{i}": f"query {i}" for i in range(size)},
            [(f"{name}-q{i}", f"{name}-d{i}", 1) for i in range(size)],
            name,
        )
        for name, size in SIZES.items()
    ]


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    """A system ranks the right document first for so many of ten queries, else the next."""
    result = {}
    for number, (system, right) in enumerate(SYSTEMS.items()):
        lines = []
        for name, size in SIZES.items():
            for i in range(size):
                found = i if (i * 7 + number) % 10 < right else (i + 1) % size
                lines.append(f"{name}-q{i} Q0 {name}-d{found} 1 1.0 x\n")
        result[system] = tmp_path / f"{system}.trec"
        result[system].write_text("".join(lines))
    return result


def board(paths: list[Path], runs: Mapping[str, Path], out: Path) -> Leaderboard:
    result = evaluate(
        paths, runs=list(runs.values()), metrics=["recall@1"], leaderboard=True, out=out
    )
    return of(result, paths, out)


def of(result: Evaluation, paths: list[Path], out: Path) -> Leaderboard:
    """The leaderboard that the evaluation shows."""
    places = [[output_folder([path]), out / path.name if len(paths) > 1 else out] for path in paths]
    found = leaderboard(result.datasets, places)
    assert found is not None
    assert found.to_json() == result.to_json()["leaderboard"]
    return found


def test_groups_of_systems_that_cannot_be_told_apart(
    sets: list[Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    result = board(sets, runs, tmp_path / "out")
    assert [(one.system, one.groups) for one in result.entries] == [
        ("good", "a"),
        ("fair", "b"),
        ("same", "b"),
        ("poor", "c"),
    ]
    assert [round(one.mean.value, 4) for one in result.entries] == [0.9, 0.5, 0.5, 0.1]
    for one in result.entries:
        assert one.mean.value == pytest.approx(sum(e.value for e in one.each) / 2, abs=1e-12)
        assert one.mean.low is not None
        assert one.mean.high is not None
        assert one.mean.low < one.mean.value < one.mean.high
    assert len(result.comparisons) == 6
    assert (result.measure, result.sets) == ("recall@1", ["near", "far"])
    assert result.units == "100 independent units of 2 data sets"
    assert result.sentence() == (
        "good leads by recall@1 over 2 data sets; its lead over each other holds."
    )
    # the same again: the simulation has a seed
    assert board(sets, runs, tmp_path / "out").to_json() == result.to_json()


def test_said_on_page_and_terminal(
    sets: list[Path], runs: dict[str, Path], tmp_path: Path, gen: Gen
) -> None:
    given = [part for file in runs.values() for part in ("--run", file)]
    done = gen(
        "eval", *sets, *given, "--metric", "recall@1", "--leaderboard", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "good leads by recall@1 over 2 data sets; its lead over each other holds."
    assert lines[1].split() == ["system", "group", "mean", "of", "2", "near", "far"]
    assert [line.split()[:3] for line in lines[2:6]] == [
        ["good", "a", "0.9000"],
        ["fair", "b", "0.5000"],
        ["same", "b", "0.5000"],
        ["poor", "c", "0.1000"],
    ]
    head = lines.index(next(line for line in lines if line.startswith("neighbours")))
    assert [line.split("  ")[0] for line in lines[head + 1 : head + 4]] == [
        "good − fair",
        "fair − same",
        "same − poor",
    ]
    assert lines[head + 2].endswith("equal means")
    stored = json.loads((tmp_path / "out/eval.json").read_text())["leaderboard"]
    assert [one["groups"] for one in stored["systems"]] == ["a", "b", "b", "c"]
    assert list(stored["systems"][0]["each"]) == ["near", "far"]
    assert [one["queries"] is None for one in stored["power"]] == [False, True, False]
    page = (tmp_path / "out/eval.html").read_text()
    assert page.index("Leaderboard") < page.index("All data sets")
    assert "correction over all 6 pairs" in page


def test_without_the_option_nothing_is_said(
    sets: list[Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    result = evaluate(sets[0], runs=[runs["good"]], metrics=["recall@1"], out=tmp_path / "out")
    assert result.leaderboard is None
    assert "leaderboard" not in result.to_json()


def test_earlier_calls_count(sets: list[Path], runs: dict[str, Path], tmp_path: Path) -> None:
    """What they scored on the same queries; not what is damaged, or of another measure."""
    near, out = sets[0], tmp_path / "out"
    first = {"good": runs["good"], "poor": runs["poor"]}
    board([near], first, out)
    result = board([near], {"fair": runs["fair"]}, out)
    assert [(one.system, one.groups) for one in result.entries] == [
        ("good", "a"),
        ("fair", "b"),
        ("poor", "c"),
    ]
    assert result.notes == ["near: of earlier calls good and poor"]
    kept = out / "per_query"
    (kept / "poor.jsonl").write_text("{")
    (kept / "other.jsonl").write_text((kept / "good.jsonl").read_text().replace("recall@1", "MAP"))
    lines = (kept / "good.jsonl").read_text().splitlines(keepends=True)
    (kept / "less.jsonl").write_text("".join(lines[1:]))
    # embeddings that were cut stand for themselves at their largest alone
    for dim in (8, 16):
        (kept / f"cut-{dim}.jsonl").write_text("".join(lines))
    result = board([near], {"fair": runs["fair"]}, out)
    assert [one.system for one in result.entries] == ["cut", "good", "fair"]


def test_scores_of_a_data_set_that_was_made_anew_do_not_count(
    limit_run: Path, tmp_path: Path
) -> None:
    import shutil

    run = Path(
        shutil.copytree(limit_run, tmp_path / "limit", ignore=shutil.ignore_patterns("eval"))
    )
    for model in ("bm25", "tfidf"):
        result = evaluate(run, models=[model], metrics=["recall@2"], leaderboard=True)
    found = of(result, [run], run / "eval")
    assert {one.system for one in found.entries} == {"bm25", "tfidf"}
    old = (run / "manifest.json").stat().st_mtime - 10
    os.utime(run / "eval/per_query/bm25.jsonl", (old, old))
    result = evaluate(run, models=["tfidf"], metrics=["recall@2"], leaderboard=True)
    assert (
        of(result, [run], run / "eval").sentence() == "tfidf is the only system on the leaderboard."
    )


def test_a_system_of_one_data_set_alone(
    sets: list[Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    board([sets[0]], runs, tmp_path / "out" / "near")
    result = board(sets, {"good": runs["good"], "poor": runs["poor"]}, tmp_path / "out")
    assert [one.system for one in result.entries] == ["good", "poor"]
    assert result.notes == [
        "near: of earlier calls fair and same",
        "not scored on all data sets: fair and same",
    ]


def test_too_few_queries_tell_nothing_apart(dataset: Write, tmp_path: Path) -> None:
    few = dataset(
        {f"d{i}": "x" for i in range(5)},
        {f"q{i}": "x" for i in range(5)},
        [(f"q{i}", f"d{i}", 1) for i in range(5)],
    )
    runs = {}
    for name, shift in (("right", 0), ("wrong", 1)):
        runs[name] = tmp_path / f"{name}.trec"
        runs[name].write_text("".join(f"q{i} Q0 d{(i + shift) % 5} 1 1.0 x\n" for i in range(5)))
    result = board([few], runs, tmp_path / "out")
    assert [one.groups for one in result.entries] == ["a", "a"]
    assert result.powers == []
    assert result.sentence() == (
        "The leaderboard by recall@1 tells nothing apart: no intervals: too few independent units: "
        "5 groups of queries that share relevant documents, 12 needed."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("limit_density", "--leaderboard"),
            "--leaderboard: about data sets; a study makes its own",
        ),
        (
            ("limit_small", "--seeds", "2", "--leaderboard"),
            "--leaderboard: compares systems on data sets; leave --seeds",
        ),
    ],
)
def test_what_has_no_leaderboard(gen: Gen, options: tuple[str, ...], message: str) -> None:
    done = gen("eval", *options)
    assert (done.returncode, done.stderr) == (2, f"gen: {message}\n")


# --- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_two_systems_share_a_group_if_they_are_not_told_apart(seed: int) -> None:
    draws = np.random.default_rng(seed)
    count = int(draws.integers(1, 8))
    pairs = list(combinations(range(count), 2))
    apart = [pair for pair in pairs if draws.random() < 0.4]
    groups = letter_groups(count, apart)
    for pair in pairs:
        together = any(one.issuperset(pair) for one in groups)
        assert together == (pair not in apart)
    assert not any(one < other for one in groups for other in groups)
    assert set().union(*groups) == set(range(count))


def test_groups_by_hand() -> None:
    assert letter_groups(3, [(0, 2)]) == [frozenset({0, 1}), frozenset({1, 2})]
    assert letter_groups(3, []) == [frozenset({0, 1, 2})]


# --- means over data sets -------------------------------------------------------------------------


def independent(count: int) -> Units:
    return Units(np.arange(count), np.arange(count), f"{count} queries")


def test_the_mean_of_means_with_the_data_sets_as_they_are() -> None:
    draws = np.random.default_rng(1)
    one, other = draws.random(30), 0.5 + draws.random(90) / 2
    values = stacked([one, other])
    assert values.mean() == pytest.approx((one.mean() + other.mean()) / 2)
    both = Units.together([independent(30), independent(90)])
    wanted = sum(v.var(ddof=1) / len(v) for v in (one, other)) / 4
    assert both.variance(values[:, None])[0] == pytest.approx(wanted, rel=0.03)
    assert (both.name, both.note) == ("120 independent units of 2 data sets", "")


def test_intervals_of_means_over_data_sets_hold_the_true_mean() -> None:
    """Of sets whose means differ by much; 300 times."""
    draws, held = np.random.default_rng(2), 0
    both = Units.together([independent(40), independent(80)])
    for _ in range(300):
        columns = [(draws.random(n) < p).astype(float) for n, p in ((40, 0.2), (80, 0.8))]
        low, high = both.interval(stacked(columns)[:, None])[0]
        held += low <= 0.5 <= high
    assert 0.92 <= held / 300 <= 0.99


def test_units_that_are_shared_stay_shared() -> None:
    """Ten queries a group, all alike: the group is the unit."""
    groups = Units(np.arange(200), np.arange(200) // 10, "20 groups")
    values = np.repeat(np.arange(20) % 2, 10).astype(float)
    both = Units.together([groups, groups])
    alone = groups.variance(values[:, None])[0]
    joint = both.variance(stacked([values, values])[:, None])[0]
    assert joint == pytest.approx(alone / 2, rel=0.05)
    few = Units(np.arange(5), np.arange(5), "5 groups")
    assert Units.together([groups, few]).note == (
        "no intervals: too few independent units: 5 groups, 12 needed"
    )


# --- power ----------------------------------------------------------------------------------------


def test_power_is_that_of_a_paired_t_test() -> None:
    """n = (1.96 + 0.84)² variance / difference², whatever the shape of the differences."""
    draws = np.random.default_rng(3)
    one, other = draws.random(500) < 0.60, draws.random(500) < 0.50
    changes = one.astype(float) - other.astype(float)
    found = power("a", "b", [one.astype(float)], [other.astype(float)], [independent(500)])
    wanted = (1.96 + 0.8416) ** 2 * changes.var() / changes.mean() ** 2
    assert found.queries == pytest.approx(wanted, rel=0.12)
    shift = abs(changes.mean()) / math.sqrt(changes.var() / 500)
    normal = 0.5 * (1 + math.erf((shift - 1.96) / math.sqrt(2)))
    assert found.now == pytest.approx(normal, abs=0.05)
    # the sign does not matter, and two data sets of the same differences need half as many of each
    back = power("b", "a", [other.astype(float)], [one.astype(float)], [independent(500)])
    assert (back.now, back.queries) == pytest.approx((found.now, found.queries), rel=0.1)
    twice: dict[str, Any] = {"one": [one.astype(float)] * 2, "other": [other.astype(float)] * 2}
    both = power("a", "b", **twice, units=[independent(500)] * 2)
    assert both.queries == pytest.approx(wanted / 2, rel=0.15)


def test_queries_that_share_documents_need_more() -> None:
    draws = np.random.default_rng(4)
    level = np.repeat(draws.random(50) < 0.6, 10).astype(float)
    other = np.repeat(draws.random(50) < 0.4, 10).astype(float)
    groups = Units(np.arange(500), np.arange(500) // 10, "50 groups")
    alone = power("a", "b", [level], [other], [independent(500)])
    shared = power("a", "b", [level], [other], [groups])
    assert alone.queries is not None
    assert shared.queries is not None
    assert shared.queries / alone.queries == pytest.approx(10, rel=0.25)
    assert shared.now < alone.now


def test_systems_that_rank_alike_are_never_told_apart() -> None:
    same = np.ones(50)
    found = power("a", "b", [same], [same], [independent(50)])
    assert (found.now, found.queries) == (0.0, None)
