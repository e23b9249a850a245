"""Which measures are scored by default, and names that are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from retgen.errors import UsageError
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.measures import Measures, default_names
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES


def test_default_measures() -> None:
    assert default_names(50_000) == [
        "recall@1",
        "recall@2",
        "recall@10",
        "recall@20",
        "recall@100",
        "nDCG@10",
        "MRR@10",
    ]
    assert default_names(46)[-3:] == ["recall@20", "nDCG@10", "MRR@10"]
    assert default_names(1) == ["recall@1", "nDCG@1", "MRR@1"]
    assert default_names(46, True)[-2:] == ["MRR@10", "graded nDCG@10"]
    assert default_names(46, main="recall@3")[:3] == ["recall@1", "recall@2", "recall@3"]


@pytest.mark.parametrize("metric", ["recal@2", "nDCG@x", "R@0", "__import__('os')", "recall"])
def test_measures_that_mean_nothing(metric: str) -> None:
    with pytest.raises(UsageError) as error:
        Measures([metric])
    assert str(error.value) == (
        f"--metric {metric}: is no measure. Examples: recall@10, nDCG@10, MRR@10, MAP@100, "
        "success@1, P@5, Judged@10 (names of ir-measures), graded nDCG@10 (over the grades beside "
        "binary qrels)"
    )


def test_a_short_ranking_has_judged_no_more_than_it_ranks(
    dataset: Callable[..., Path],
    trec: Callable[[str, Mapping[str, str]], Path],
    tmp_path: Path,
) -> None:
    """Of two places one is filled, so half is judged at most; there are four documents, not 100."""
    data = dataset(CORPUS, QUERIES, QRELS)
    run = trec("short", {"q1": "a", "q2": "b d"})
    names = ["Judged@2", "Judged@100", "recall@2"]
    (row,) = evaluate(data, runs=[run], metrics=names, out=tmp_path / "out").to_json()["results"]
    assert row["metrics"] == {"Judged@2": 0.5, "Judged@100": 0.25, "recall@2": 0.75}
