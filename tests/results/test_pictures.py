"""Pictures of results: files on white, on the page in the colours of the page."""

from __future__ import annotations

import re
from pathlib import Path

import retgen
from retgen.results.measurements import Measurement
from retgen.results.pictures import Bars, HeatMap, Level, Line, Lines, Picture, Scatter

COLOUR = re.compile(r"#[0-9a-f]{6}(?=[;\"])")


def test_pictures_follow_the_theme_of_their_page(tmp_path: Path) -> None:
    lines = [Line(f"system {i}", [1.0, 2.0], [0.1 * i, 0.2], [0.0, 0.1], [0.3, 0.4])
             for i in range(9)]  # fmt: skip
    hollow = lines[0]._replace(name="cut short", hollow=[1])
    noted = lines[1]._replace(name="not read", beside=["", "40% cut"])
    one = Measurement("r", "recall", {}, 0.5, 0.4, 0.6)
    axes = {"caption": "", "title": "t", "x": "x", "y": "y"}
    pictures: list[Picture] = [
        Lines(file="lines", curves=[*lines, hollow, noted], fraction=True,
              levels=[Level("a", 0.5), Level("b", 0.4, True)], **axes),
        Bars(file="bars", groups=["a", "b"], series={"r": [one, None]},
             levels=[Level("baseline", 0.1, True)], **axes),
        Scatter(file="scatter", points={"a": [(0.1, 0.5), (0.2, 0.6)]}, labels=["p", "q"], **axes),
        HeatMap(file="heat_map", rows=["1", "2"], columns=["a", "b"],
                values=[[0.25, 1.0], [None, 0.0]], **axes),
    ]  # fmt: skip
    pages = [picture.draw(tmp_path) for picture in pictures]
    style = (Path(retgen.__file__).parent / "page.css").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)", 1)
    for name, page in zip(("lines", "bars", "scatter", "heat_map"), pages, strict=True):
        assert COLOUR.findall(page) == []
        used = set(re.findall(r"var\((--\w+)\)", page))
        assert {"--ink", "--soft", "--card", "--s1"} <= used
        assert ("--faint" in used) == (name != "heat_map")  # which has no grid
        assert all(f"{variable}: #" in light and f"{variable}: #" in dark for variable in used)
        file = (tmp_path / f"{name}.svg").read_text()
        assert "var(" not in file
        assert {"#ffffff", "#1c2127", "#2a62a8"} <= set(COLOUR.findall(file))
    assert {f"--s{i}" for i in range(9)} <= set(re.findall(r"var\((--\w+)\)", pages[0]))


def test_a_legend_of_long_names_leaves_the_picture_its_width(tmp_path: Path) -> None:
    widths = []
    for name in ("minilm", "minilm, best chunk · 100 terms, 73% of the queries cut"):
        curves = [Line(f"{name} {i}", [1.0, 2.0], [0.5, 0.1 * i]) for i in range(6)]
        svg = Lines(file="picture", caption="", title="t", curves=curves).draw(tmp_path)
        widths.append(float(svg.partition('width="')[2].partition("pt")[0]))
    assert abs(widths[1] - widths[0]) < 15  # points


def test_names_of_many_groups_stand_apart(tmp_path: Path) -> None:
    names = [f"superlative{i}" for i in range(8)]
    few, many = (
        Bars(file="bars", caption="", title="t", groups=some, y="y",
             series={"r": [Measurement("r", "recall", {}, 0.5)] * len(some)}).draw(tmp_path)
        for some in (names[:2], names)
    )  # fmt: skip

    def size(page: str) -> float:
        """Of the first group's name, in pixels of the drawing, which are points."""
        return float(re.findall(r"font-size: ([\d.]+)px[^>]*>superlative0<", page)[0])

    assert size(few) == 9.5
    assert size(many) * 0.6 * len(names[0]) * len(names) < 6.6 * 72


def test_a_curve_of_measurements_has_a_band_where_they_have_intervals() -> None:
    rows = [Measurement("a", "auc", {}, 0.5, 0.4, 0.6), Measurement("a", "auc", {}, 0.7),
            Measurement("a", "auc", {}, None)]  # fmt: skip
    points = [(float(x), one) for x, one in enumerate(rows)]
    assert Line.of("a", points, star=True) == Line(
        "a", [0.0, 1.0], [0.5, 0.7], [0.4, 0.7], [0.6, 0.7], star=True
    )
    assert Line.of("a", points[1:]) == Line("a", [1.0], [0.7])
