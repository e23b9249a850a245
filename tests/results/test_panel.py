"""Panels: which measurement stands where, what is best, what stands beside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from retgen.results.measurements import Measure, Measurement, write_measurements
from retgen.results.panel import Column, Panel, columns_by
from retgen.statistics.clustered import Estimate

RECALL = Measure("recall@2", chance=0.25, small_digits=3)
LATENCY = Measure("latency", digits=1, better="lower")
ROWS = [
    Measurement("bm25", "recall@2", {}, 0.5, 0.4, 0.6, n=30),
    Measurement("bm25", "latency", {}, 2.0),
    Measurement("bm25", "recall@2", {"wording": "literal"}, 0.75),
    Measurement("minilm", "recall@2", {}, 0.9, note="*"),
    Measurement("minilm", "latency", {}, 7.25),
    Measurement("minilm", "recall@2", {"wording": "literal"}, None, note="not measured"),
    Measurement("oracle", "recall@2", {}, 1.0),
]
PANEL = Panel(
    "Scores",
    ROWS,
    [
        Column("queries", RECALL, count=True),
        Column("recall", RECALL),
        Column("seconds", LATENCY),
        *columns_by(RECALL, "wording", ["literal"]),
    ],
    baselines=frozenset({"oracle"}),
    chance="random order",
)


def test_rows_and_columns() -> None:
    table = PANEL.table()
    assert table.head == ["system", "queries", "recall", "seconds", "literal"]
    assert table.rows == [
        ["bm25", "30", "0.5000", "2.0", "0.7500"],
        ["minilm", "", "0.9000*", "7.2", "not measured"],
        ["oracle", "", "1.0000", "–", "–"],
        ["random order", "", "0.2500", "", "0.2500"],
    ]
    assert table.faint == [2, 3]
    # the baseline is compared with, so it is not the best; of one value none is
    assert table.best == {(1, 2), (0, 3)}
    assert table.beside == {(0, 2): "0.400 to 0.600"}
    assert (table.title, table.names) == ("Scores", 1)


def test_ties_are_all_best_as_they_are_printed() -> None:
    """Within each level of a factor; of one value none is best, of lower ones where these are."""
    values = {"a": (0.50001, 7.0), "b": (0.50004, 2.0), "c": (0.4, None), "baseline": (0.9, 1.0)}
    rows = [
        Measurement(system, measure.name, {"kind": kind}, value)
        for kind in ("one", "two")
        for system, pair in values.items()
        for measure, value in zip((RECALL, LATENCY), pair, strict=True)
        if kind == "one" or system == "a"
    ]
    columns = [Column("recall", RECALL), Column("seconds", LATENCY)]
    baselines = frozenset({"baseline"})
    panel = Panel("", rows, columns, ["kind", "system"], baselines=baselines, best_within="kind")
    assert panel.table().best == {(0, 2), (1, 2), (1, 3)}


@pytest.mark.parametrize(
    ("change", "cell", "beside"),
    [
        ({"interval": "inside"}, "0.5000 (0.400 to 0.600)", {}),
        ({"interval": "inside", "between": "–"}, "0.5000 (0.400–0.600)", {}),
        ({"interval": ""}, "0.5000", {}),
    ],
)
def test_where_intervals_stand(
    change: dict[str, str], cell: str, beside: dict[tuple[int, int], str]
) -> None:
    table = replace(PANEL, **change).table()  # type: ignore[arg-type]
    assert (table.rows[0][2], table.beside) == (cell, beside)
    assert PANEL.table(terminal=True).rows[0][2] == "0.5000"
    own = replace(PANEL, columns=[Column("recall", RECALL, interval=True)], chance="").table()
    assert own.head == ["system", "recall", "95% interval"]
    assert own.rows[0] == ["bm25", "0.5000", "0.400 to 0.600"]
    assert own.rows[1] == ["minilm", "0.9000*", ""]


@pytest.mark.parametrize(
    ("measure", "value", "text", "interval"),
    [
        (Measure("m"), 1234.5, "1,234.5000", "0.1000 to 0.2000"),
        (Measure("m", percent=True, digits=1), 0.123, "12.3", "10.0 to 20.0"),
        (Measure("m", 0, percent=True, sign="%"), 0.5, "50%", "10 to 20"),
        (Measure("m", 2, signed=True), 0.5, "+0.50", "+0.10 to +0.20"),
        (Measure("m", tiny=True), 0.00002, "0.00002", "0.1000 to 0.2000"),
        (Measure("m"), None, "–", "0.1000 to 0.2000"),
    ],
)
def test_how_a_value_is_written(
    measure: Measure, value: float | None, text: str, interval: str
) -> None:
    assert measure.text(value) == text
    assert measure.interval_text((0.1, 0.2)) == interval
    assert measure.interval_text(None) == ""


def test_rows_of_measurements(tmp_path: Path) -> None:
    one = Measurement.of("a", "auc", Estimate(0.5, 0.4, 0.6), {"length": "256"}, note="*")
    assert one == Measurement("a", "auc", {"length": "256"}, 0.5, 0.4, 0.6, None, "*")
    assert one.span == (0.4, 0.6)
    missing = Measurement.of("a", "auc", None)
    assert (missing.value, missing.span) == (None, None)
    write_measurements(tmp_path / "measurements.jsonl", [one, missing, one])
    assert (tmp_path / "measurements.jsonl").read_text() == (
        '{"system":"a","measure":"auc","length":"256","value":0.5,"low":0.4,"high":0.6,"n":null,'
        '"note":"*"}\n{"system":"a","measure":"auc","value":null,"low":null,"high":null,"n":null,'
        '"note":""}\n'
    )
