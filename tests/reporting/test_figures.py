"""The figures of the report page: exact numbers and labels, well-formed, escaped."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from retgen.reporting.figures import (
    Bin,
    Series,
    bins,
    bracket,
    cells,
    histogram,
    line_plot,
    strip,
)


def texts(svg: str) -> list[str]:
    """What a figure says, in order; also proves that it is well-formed."""
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("text")]


def titles(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("title")]


def test_bins_one_bar_a_value() -> None:
    assert bins({"3": 5, "1": 2}) == [Bin(1, 1, 2), Bin(2, 2, 0), Bin(3, 3, 5)]
    assert bins({"2": 1000}) == [Bin(2, 2, 1000)]
    assert bins({}) == []


def test_bins_of_equal_width() -> None:
    result = bins({str(value): 1 for value in range(100, 200)})
    assert result[0] == Bin(100, 102, 3)
    assert result[-1] == Bin(199, 201, 1)
    assert len(result) == 34
    assert sum(bar.height for bar in result) == 100


def test_bins_double_where_few_values_are_far_above_the_median() -> None:
    assert bins({"0": 1, "1": 90, "3": 4, "64": 1}) == [
        Bin(0, 0, 1),
        Bin(1, 1, 90),
        Bin(2, 3, 4),
        Bin(4, 7, 0),
        Bin(8, 15, 0),
        Bin(16, 31, 0),
        Bin(32, 63, 0),
        Bin(64, 127, 1),
    ]


def test_histogram() -> None:
    svg = histogram([Bin(1, 1, 20), Bin(2, 2, 0), Bin(3, 3, 1234)], "<words>", "documents")
    assert titles(svg) == ["<words> 1: 20 documents", "<words> 3: 1,234 documents"]
    assert texts(svg) == ["documents", "0", "500", "1,000", "1,500", "1", "2", "3", "<words>"]
    assert svg.count('class="bar"') == 2


def test_histogram_keeps_a_single_document_visible() -> None:
    svg = histogram([Bin(1, 1, 1), Bin(2, 2, 50_000)], "words", "documents")
    heights = [float(h) for h in re.findall(r'class="bar".*?height="([\d.]+)"', svg)]
    assert heights == [1.0, 120.0]  # the axis ends at 60,000


@pytest.mark.parametrize(
    ("highest", "labels"),
    [
        (9_000, ["0", "5k", "10k"]),
        (18_000, ["0", "5k", "10k", "15k", "20k"]),
        (1_200_000, ["0", "0.5M", "1M", "1.5M"]),
    ],
)
def test_ticks_of_an_axis_share_a_unit(highest: int, labels: list[str]) -> None:
    assert (
        texts(histogram([Bin(1, 1, highest)], "words", "documents"))[1 : 1 + len(labels)] == labels
    )


def test_strip_shows_the_level_of_chance() -> None:
    svg = strip([0] * 49 + [46], "position in the corpus", "relevant documents")
    assert titles(svg) == ["98–100% of the corpus: 46 relevant documents"]
    assert "by chance 0.92 each" in texts(svg)
    assert svg.count('class="bar"') == 1


def test_line_plot_is_linear_where_a_line_is_high() -> None:
    svg = line_plot(
        [
            Series("random", [(2, 0.00004), (46, 0.00092)]),
            Series("summed IDF & <more>", [(2, 0.045), (46, 1.0)]),
        ],
        "cutoff k",
        "recall@k",
    )
    assert texts(svg) == [
        *("recall@k", "0", "0.25", "0.5", "0.75", "1", "2", "46", "cutoff k"),
        *("random", "summed IDF & <more>"),
    ]
    assert titles(svg)[0] == "random: recall@2 = 0.00004"
    assert titles(svg)[3] == "summed IDF & <more>: recall@46 = 1.0000"


def test_line_plot_is_logarithmic_where_all_are_low() -> None:
    svg = line_plot(
        [Series("random", [(2, 0.00004), (100, 0.002)]), Series("longest", [(2, 0), (100, 0)])],
        "cutoff k",
        "recall@k",
    )
    assert texts(svg)[1:6] == ["0", "0.00001", "0.0001", "0.001", "0.01"]


def test_line_plot_of_a_single_cutoff_and_of_nothing_but_zeros() -> None:
    assert "2" in texts(line_plot([Series("random", [(2, 1.0)])], "k", "recall@k"))
    assert "0.25" in texts(line_plot([Series("random", [(2, 0), (3, 0)])], "k", "recall@k"))


def test_names_of_lines_that_end_together_do_not_overlap() -> None:
    svg = line_plot([Series(f"r{i}", [(2, 0.0), (9, 0.5)]) for i in range(6)], "k", "recall@k")
    heights = [float(y) for y in re.findall(r'class="name s\d" x="[\d.]+" y="([\d.]+)"', svg)]
    assert len(heights) == 6
    assert all(b - a >= 16 for a, b in itertools.pairwise(heights))
    assert max(heights) <= 300


def test_bracket_of_few_dimensions_has_a_box_for_each() -> None:
    svg = bracket(4, 4)
    assert texts(svg) == [
        *("1", "2", "3", "4", "5", "6"),
        *("proven too few", "enough", "dimensions of the embedder"),
    ]
    assert re.findall(r'rect class="(\w+)"', svg) == ["low"] * 3 + ["enough"] * 3
    assert 'aria-label="at least 4 and at most 4 dimensions"' in svg


def test_bracket_of_many_dimensions_is_a_band() -> None:
    svg = bracket(6, 88)
    assert re.findall(r'rect class="(\w+)"', svg) == ["low", "open", "enough"]
    assert texts(svg) == [
        *("proven too few", "open", "enough", "6", "88"),
        "dimensions of the embedder (logarithmic)",
    ]


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (0, 1), (1, 1), (1, 2), (1, 40), (40, 40)])
def test_bracket_at_the_edges_is_well_formed(lower: int, upper: int) -> None:
    assert texts(bracket(lower, upper))


def test_cells_merges_runs_and_draws_the_largest_digit_full() -> None:
    svg = cells(["0110", "1000"], "4 documents", "2 <queries>")
    assert '<path class="k9" d="M1 0h2M0 1h1"/>' in svg
    assert texts(svg) == ["4 documents", "2 <queries>"]
    shades = cells(["0369"], "documents", "query")
    assert re.findall(r'class="(k\d)" d="([^"]+)"', shades) == [
        *(("k3", "M1 0h1"), ("k6", "M2 0h1"), ("k9", "M3 0h1"))
    ]
