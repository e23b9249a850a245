"""Changes of scores and their intervals, from scores made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.evaluation.tasks.task import SystemResult
from retgen.evaluation.tasks.twins import Twins
from retgen.evaluation.tasks.twins.triples import GAP, MEASURES, TripleQuery, results_of
from retgen.results.rows import Results
from retgen.statistics.clustered import Estimate

COUNT = 12
NAMED = {one.name: one for one in MEASURES}


def made(scores: list[list[float]], noise: float = 0.0, count: int = COUNT) -> Results:
    """Two queries a triple, literal and entailed; the same scores for each triple."""
    every = [np.array(one) for _ in range(count) for one in scores]
    queries = []
    for i in range(count):
        fixed = {"slot_type": ("place", "year")[i % 2], "length": ("16", "4")[i % 2]}
        for wording in ("literal", "entailed")[: len(scores)]:
            queries.append(TripleQuery("", str(i), "", {"wording": wording, **fixed}, ()))
    return results_of(queries, every, noise)


def test_changes_are_counted_in_gaps() -> None:
    """Base and control lie 4 above the others; a fact moves 1 and 2, words 2 and 0."""
    one = made([[5.0, 4.0, 3.0, 0.0, 0.0], [4.0, 2.0, 4.0, 0.0, 0.0]])
    assert one.value(GAP) == 4.0
    values = {m: one.mean(NAMED[m]).value for m in ("fact", "rewording", "sensitivity")}  # type: ignore[union-attr]
    assert values == {"fact": 1.5 / 4, "rewording": 1.0 / 4, "sensitivity": 0.5 / 4}
    # of 12 triples that are alike no more is known than of 12 hits
    assert one.mean(NAMED["base"]) == Estimate(1.0, pytest.approx(0.712, abs=1e-3), 1.0)
    for half in ("control", "last"):
        assert one.mean(NAMED[half]) == Estimate(
            0.5, *(pytest.approx(x, abs=1e-3) for x in (0.232, 0.768))
        )
    # a number without bounds that is the same in all triples has no interval
    assert one.mean(NAMED["sensitivity"], wording="literal") == Estimate(-0.25)
    assert one.mean(NAMED["sensitivity"], wording="paraphrase") is None


@pytest.mark.parametrize(("noise", "base", "last"), [(0.0, 1.0, 1.0), (0.01, 0.5, 0.0)])
def test_a_tie_is_half_and_never_last(noise: float, base: float, last: float) -> None:
    one = made([[5.0, 4.999, 6.0, 0.0]], noise)
    values = [one.mean(NAMED[measure]).value for measure in ("base", "last")]  # type: ignore[union-attr]
    assert values == [base, last]


def test_a_system_that_prefers_what_is_not_asked_for_has_no_unit() -> None:
    one = made([[1.0, 0.0, 1.0, 5.0]])
    assert one.mean(NAMED["fact"]) is None
    assert one.mean(NAMED["base"]).value == 1.0  # type: ignore[union-attr]


def test_tables_and_sentences() -> None:
    one = made([[5.0, 4.0, 3.0, 0.0], [4.0, 2.0, 4.0, 0.0]])
    result = [SystemResult("bm25", None, {"set": one})]
    parts = list(Twins().sections(result))
    tables = [one for part in parts for one in part.tables]
    tables += [one for part in parts for fold in part.folded for one in fold.tables]
    shown = {one.title: one.table() for one in tables}
    overall = "Twins: shares of queries (%), and changes in gaps"
    titles = (
        "Base above twin (%)",
        "Control above twin (%)",
        "Sensitivity: control less twin, in gaps",
    )
    assert set(shown) == {
        overall,
        *(
            f"{title}, by {words}"
            for title in titles
            for words in ("type of the changed fact", "facts a document")
        ),
    }
    assert shown[overall].rows == [
        ["bm25", "all", "100.0", "50.0", "50.0", "0.375", "0.250", "0.125"],
        ["bm25", "literal", "100.0", "0.0", "0.0", "0.250", "0.500", "-0.250"],
        ["bm25", "entailed", "100.0", "100.0", "100.0", "0.500", "0.000", "0.500"],
        ["chance", "", "50.0", "50.0", "33.3", "", "", ""],
    ]
    lengths = shown["Control above twin (%), by facts a document"]
    assert lengths.head == ["system", "wording", "4", "16"]
    assert lengths.rows == [
        ["bm25", "literal", "0.0", "0.0"],
        ["bm25", "entailed", "100.0", "100.0"],
    ]
    assert Twins().sentences(result) == [
        "bm25: the right facts in other words score above the same words with a wrong fact in 0% "
        "(literal), 100% (entailed) of queries; chance is 50%."
    ]
    summary = Twins().summary(result[0])
    assert (summary["triples"], summary["queries"], summary["gap"]) == (12, 24, 4.0)
    assert summary["by"]["length"]["16"]["control"] == {"value": 0.5, "low": None, "high": None}
