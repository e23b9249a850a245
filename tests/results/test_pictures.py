"""Pictures of results: on a page in its colours, in files on white; exact numbers, well-formed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import retgen
from retgen.results.measurements import Measurement
from retgen.results.pictures import Bars, HeatMap, Level, Line, Lines, Picture, bins

COLOUR = re.compile(r"#[0-9a-f]{3,6}(?=[;\"])")


def texts(svg: str) -> list[str]:
    """What a picture says, in order; also proves that it is well-formed."""
    return [node.text or "" for node in ET.fromstring(svg).iter() if node.tag.endswith("text")]


def hints(svg: str) -> list[str]:
    return re.findall(r"<title>(.*?)</title>", svg)


def one(value: float, low: float | None = None, high: float | None = None) -> Measurement:
    return Measurement("r", "recall", {}, value, low, high)


def test_pictures_follow_the_theme_of_their_page(tmp_path: Path) -> None:
    lines = [
        Line(f"system {i}", [1.0, 2.0], [0.1 * i, 0.2], [0.0, 0.1], [0.3, 0.4]) for i in range(9)
    ]
    hollow = lines[0]._replace(name="cut short", hollow=[1])
    noted = lines[1]._replace(name="not read", beside=["", "40% cut"])
    pictures: list[Picture] = [
        Lines(
            file="lines",
            curves=[*lines, hollow, noted],
            fraction=True,
            title="t",
            levels=[Level("a", 0.5), Level("b", 0.4, True)],
        ),
        Bars(
            file="bars",
            groups=["a", "b"],
            series={"r": [one(0.5, 0.4, 0.6), None]},
            y="r",
            levels=[Level("baseline", 0.1, True)],
        ),
        HeatMap(
            file="heat_map",
            rows=["1", "2"],
            columns=["a", "b"],
            title="t",
            values=[[0.25, 1.0], [None, 0.0]],
        ),
    ]
    style = (Path(retgen.__file__).parent / "page.css").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)", 1)
    for picture in pictures:
        page = picture.draw()
        assert texts(page)
        assert COLOUR.findall(page) == []
        used = set(re.findall(r"var\((--\w+)\)", page))
        assert {"--soft", "--s1"} <= used
        assert all(f"{variable}: #" in light and f"{variable}: #" in dark for variable in used)
        picture.write(tmp_path)
        file = (tmp_path / f"{picture.file}.svg").read_text()
        assert texts(file) == texts(page)
        assert "var(" not in file
        assert {"#fff", "#2a62a8"} <= set(COLOUR.findall(file))
    assert {f"--s{i}" for i in range(9)} <= set(re.findall(r"var\((--\w+)\)", pictures[0].draw()))
    assert "40% cut" in texts(pictures[0].draw())


def test_a_legend_of_long_names_takes_more_lines_and_leaves_the_plot_its_width() -> None:
    long = "minilm, best chunk · 100 terms, 73% of the queries cut"
    heights = []
    for name in ("minilm", long):
        curves = [Line(f"{name} {i}", [1.0, 2.0], [0.5, 0.1 * i]) for i in range(6)]
        svg = Lines(curves=curves, title="t").draw()
        assert 'width="560"' in svg
        assert [text for text in texts(svg) if text.startswith(name)] == [
            f"{name} {i}" for i in range(6)
        ]
        heights.append(float(svg.partition('height="')[2].partition('"')[0]))
    assert heights[1] > heights[0] + 17


@pytest.mark.parametrize("title", ["a title of 12 words " * 6, "长标题" * 30])
def test_a_long_title_is_wrapped_and_whole(title: str) -> None:
    words = texts(Lines(title=title, curves=[Line("a", [1.0], [0.5])]).draw())
    letters = 14 * (1.0 if title[0] == "长" else 0.6)
    lines = [one for one in words if len(one) > 10]
    assert "".join(lines[::-1]).replace(" ", "") == title.replace(" ", "")
    assert len(lines) > 1
    assert all(letters * len(line) <= 560 for line in lines)


def test_a_scale_of_low_values_is_logarithmic_with_a_place_for_zero() -> None:
    curves = [Line("random", [2, 100], [0.00004, 0.002]), Line("longest", [2, 100], [0, 0])]
    svg = Lines(curves=curves, log_x=True, log_y=True, x="cutoff k", y="recall@k").draw()
    assert texts(svg) == [
        *("0", "0.00001", "0.0001", "0.001", "0.01", "2", "100", "cutoff k"),
        *("random", "longest", "recall@k"),
    ]
    assert hints(svg)[0] == "random: 2, 0.00004"


@pytest.mark.parametrize("points", [[], [(2.0, 1.0)], [(2.0, 0.0), (3.0, 0.0)]])
@pytest.mark.parametrize("log", [True, False])
def test_few_points_are_a_picture_too(points: list[tuple[float, float]], log: bool) -> None:
    line = Line("<a>", [x for x, _ in points], [y for _, y in points])
    assert "<a>" in texts(Lines(curves=[line], log_x=log, log_y=log).draw())


# --- counts ---------------------------------------------------------------------------------------


def test_bins_one_bar_a_value() -> None:
    assert bins({"3": 5, "1": 2}) == {"1": 2, "2": 0, "3": 5}
    assert bins({"2": 1000}) == {"2": 1000}
    assert bins({}) == {}


def test_bins_double_where_few_values_are_far_above_the_median() -> None:
    assert bins({"0": 1, "1": 90, "3": 4, "64": 1}) == {
        "0": 1,
        "1": 90,
        "2–3": 4,
        "4–7": 0,
        "8–15": 0,
        "16–31": 0,
        "32–63": 0,
        "64–127": 1,
    }
