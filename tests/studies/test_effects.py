"""Effects of papers: which cells they compare, by which interval, and what came out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.results.measurements import Measurement
from retgen.statistics.clustered import Units
from retgen.studies import Effect, load_study
from retgen.studies.effects import Outcome, QueryValues, Row, conclusion, outcomes

Write = Callable[..., Path]


def row(
    system: str, measure: str, value: float | None, low: float | None, high: float | None, **by: str
) -> Row:
    return Row(Measurement(system, measure, by, value, low, high))


ROWS = [
    row("minilm", "auc", 0.8, 0.7, 0.9, length="128"),
    row("minilm", "auc", 0.6, 0.52, 0.66, length="1,024"),
    row("minilm", "auc", 0.5, None, None, length="8,192"),
    row("minilm", "auc", 0.9, 0.8, 0.95, length="128", third="beginning"),
    row("minilm", "auc", 0.7, 0.6, 0.8, length="128", third="end"),
    row("minilm", "slope", None, None, None, length="128"),
    row("bm25", "auc", 1.0, 1.0, 1.0, length="128"),
]


def effect(**keys: Any) -> Effect:
    return Effect.model_validate({"claim": "It falls.", "paper": "0.81 to 0.66", **keys})


def outcome(cell: dict[str, Any], *, strict: bool = True, **keys: Any) -> Outcome:
    one = effect(cell={"system": "minilm", "measure": "auc", **cell}, **keys)
    (result,) = outcomes([one], ROWS, strict=strict)
    return result


@pytest.mark.parametrize(
    ("bounds", "came_out"),
    [
        ({"above": 0.69}, "yes"),
        ({"above": 0.7}, "not sure"),  # the interval touches it
        ({"above": 0.89}, "not sure"),
        ({"above": 0.9}, "no"),
        ({"below": 0.91}, "yes"),
        ({"below": 0.8}, "not sure"),
        ({"below": 0.7}, "no"),
        ({"above": 0.6, "below": 0.95}, "yes"),
        ({"above": 0.75, "below": 0.95}, "not sure"),
        ({"above": 0.1, "below": 0.5}, "no"),
    ],
)
def test_one_cell_against_its_range(bounds: dict[str, float], came_out: str) -> None:
    result = outcome({"length": 128}, **bounds)
    assert (result.came_out, result.here) == (came_out, "0.800 (0.700 to 0.900)")


def test_of_other_queries_the_difference_is_of_independent_cells() -> None:
    result = outcome({"length": 128}, less={"length": 1024}, above=0)
    # 0.2 - sqrt(0.1² + 0.06²), 0.2 + sqrt(0.1² + 0.08²)
    assert result.estimate == pytest.approx((0.2, 0.2 - 0.0136**0.5, 0.2 + 0.0164**0.5))
    assert result.came_out == "yes"
    assert result.here == "0.800 − 0.600 = +0.200 (+0.083 to +0.328)"
    assert outcome({"length": 128}, less={"length": 1024}, above=0.1).came_out == "not sure"
    assert outcome({"length": 1024}, less={"length": 128}, above=0).came_out == "no"
    between = outcome({"length": 128}, less={"system": "bm25"}, above=-0.31, below=0)
    assert between.estimate == pytest.approx((-0.2, -0.3, -0.1))
    assert between.came_out == "yes"


def test_of_the_same_queries_pairs_are_compared() -> None:
    units = Units(range(40), range(40), "40 queries")
    first, second = np.tile([1.0, 0.0], 20), np.tile([0.5, 0.0], 20)
    rows = [
        Row(
            Measurement(name, "recall@2", {}, values.mean(), 0.0, 1.0),
            QueryValues("a", units, values),
        )
        for name, values in (("x", first), ("y", second), ("z", first))
    ]
    of = {"cell": {"system": "x", "measure": "recall@2"}, "above": 0}
    result, same = outcomes(
        [effect(**of, less={"system": "y"}), effect(**of, less={"system": "z"})], rows, strict=True
    )
    low, high = units.interval((first - second)[:, None], (-1.0, 1.0))[0]
    assert result.estimate == pytest.approx((0.25, low, high))
    assert result.came_out == "yes"  # as independent cells they would not be sure
    assert (same.came_out, same.estimate) == ("no", (0.0, 0.0, 0.0))


def test_levels_in_a_list_are_averaged_with_their_bounds() -> None:
    result = outcome({"length": [128, 1024]}, above=0.6)
    assert result.estimate == pytest.approx((0.7, 0.61, 0.78))
    assert result.came_out == "yes"


def test_what_has_no_interval_is_not_sure_and_what_has_no_value_not_measured() -> None:
    result = outcome({"length": 8192}, below=0.6)
    assert (result.came_out, result.here) == ("not sure", "0.500 (no interval: too few units)")
    result = outcome({"measure": "slope", "length": 128}, below=0)
    assert (result.came_out, result.here) == ("not measured", "no value")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"measure": "acu"}, "no measure is called acu; did you mean auc? There are auc, slope"),
        (
            {"lenght": 128},
            "no measurement has a lenght; did you mean length? There are system, measure, length, "
            "third",
        ),
        (
            {"third": "end", "length": [128, 1024]},
            None,  # not measured, which a shorter run may bring about
        ),
        (
            {},
            "system minilm, measure auc: 3 measurements match. Name one of length: 128, 1024, 8192",
        ),
    ],
)
def test_wrong_cells(cell: dict[str, Any], message: str | None) -> None:
    if message is None:
        result = outcome(cell, above=0)
        assert result.came_out == "not measured"
        assert result.here == "auc is not measured with length 1024. There are 128"
        return
    with pytest.raises(RecipeError) as error:
        outcome(cell, above=0)
    assert str(error.value) == f"effects, number 1: {message}"


def test_where_the_user_chose_what_is_measured_an_unknown_measure_is_no_error() -> None:
    result = outcome({"measure": "ratio"}, above=0, strict=False)
    assert (result.came_out, result.here) == (
        "not measured",
        "no measure is called ratio. There are auc, slope",
    )


def test_the_table_and_the_json() -> None:
    one, two = outcome({"length": 128}, above=0.5), outcome({"length": 128}, below=0.5)
    result = conclusion([one, two])
    (section,) = result.sections
    assert section.text[0].startswith("Of 2 effects came out: 1 yes, 1 no. ")
    (table,) = section.views()
    assert table.head == ["effect", "paper", "claim holds", "here", "came out"]
    assert table.rows[1] == ["It falls.", "0.81 to 0.66", "< 0.5", "0.800 (0.700 to 0.900)", "no"]
    assert json.loads(json.dumps(result.keys))["effects"][0] == {
        "claim": "It falls.",
        "paper": "0.81 to 0.66",
        "cell": {"system": "minilm", "measure": "auc", "length": 128},
        "less": {},
        "above": 0.5,
        "below": None,
        "values": [0.8],
        "value": 0.8,
        "low": 0.7,
        "high": 0.9,
        "came_out": "yes",
        "note": None,
    }


HEAD = (
    "study: x\ndatasets: {dense: {recipe: limit_small}}\nmodels: [bm25]\nmetrics: [recall@2]\n"
    "effects:\n  - {claim: c, paper: p, cell: "
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{system: bm25, measure: recall@2}}", "an effect says above or below which number"),
        ("{system: bm25}, above: 0}", "cell names no measure"),
        (
            "{system: bm25, measure: recall@2}, above: 0.5, below: 0.2}",
            "nothing is above 0.5 and below 0.2",
        ),
        (
            "{system: bm25, measure: recall@2, dataset: dence}, above: 0}",
            "effects, number 1: no dataset is called dence; did you mean dense? There are dense, all",
        ),
        (
            "{system: bm25, measure: recall@2}, over: 0}",
            "unknown key",
        ),
    ],
)
def test_wrong_effects_are_found_when_read(recipe_file: Write, text: str, message: str) -> None:
    path = recipe_file(HEAD + text + "\n")
    with pytest.raises(RecipeError) as error:
        load_study(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
