"""Intervals over independent units, and which systems they tell apart."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import retgen
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from retgen.evaluation.scoring.significance import compare, units_of
from retgen.search.collection import load
from tests.pages import Read


def test_units_of_queries(limit_run: Path, tmp_path: Path) -> None:
    assert units_of(load(limit_run)).name == "15 relevant documents"
    overrides = {"params.queries": 40, "params.docs": 100}
    run = retgen.run("limit_disjoint", out=tmp_path / "disjoint", overrides=overrides)
    units = units_of(load(run.path))
    assert units.name == "40 groups of queries that share relevant documents"
    values = np.random.default_rng(0).random((40, 1))
    low, high = units.interval(values)[0]
    # independent queries: the usual standard error, and t
    error = values.std(ddof=1) / math.sqrt(40)
    assert (high - low) / (2 * 2.023 * error) == pytest.approx(1, abs=0.03)
    assert low < values.mean() < high


def test_too_few_units_have_no_interval_and_the_reason(dataset, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    names = [f"{i:02}" for i in range(11)]
    path = dataset(
        {f"d{i}": "text" for i in names},
        {f"q{i}": "ask" for i in names},
        [(f"q{i}", f"d{i}", 1) for i in names],
    )
    runs = [trec("mine", {f"q{i}": f"d{i}" for i in names[:6]}), trec("none", {"q00": "d01"})]
    result = evaluate(path, runs=runs, metrics=["recall@1"], out=tmp_path / "out")
    content = json.loads((tmp_path / "out" / "eval.json").read_text())
    why = (
        "no intervals: too few independent units: 11 groups of queries that share relevant "
        "documents, 12 needed"
    )
    assert content["intervals"] == {
        "level": 0.95,
        "units": "11 groups of queries that share relevant documents",
        "note": why,
    }
    assert [one["intervals"] for one in content["results"]] == [{"recall@1": [None, None]}] * 2
    (one,) = content["comparisons"]
    assert one == {
        "first": "mine",
        "second": "none",
        "measure": "recall@1",
        "difference": 6 / 11,
        "low": None,
        "high": None,
        "p": None,
        "adjusted": None,
    }
    assert f"note: {why}" in text_of(result)
    page = Read((tmp_path / "out" / "eval.html").read_text()).text
    assert f"There are {why}." in page
    assert "mine has the highest recall@1: 0.5455 (no interval), 0.5455 more than none" in page


def test_comparisons(limit_run: Path) -> None:
    rng = np.random.default_rng(0)
    base = rng.random((100, 1))
    values = {"one": base, "same": base, "better": base + 0.3 * rng.random((100, 1))}
    result = compare(units_of(load(limit_run)), values, ["m"])
    assert [(c.first, c.second) for c in result] == [
        ("one", "same"),
        ("one", "better"),
        ("same", "better"),
    ]
    assert (result[0].difference, result[0].p, result[0].adjusted) == (0.0, 1.0, 1.0)
    first = result[1]
    assert first.difference == pytest.approx(-0.15, abs=0.02)
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.difference < first.high < -0.1
    assert first.p is not None
    assert first.p < 0.001
    assert first.adjusted == pytest.approx(3 * first.p)
