"""Pictures of results: files on white, on the page in the colours of the page."""

from __future__ import annotations

import re
from pathlib import Path

import retgen
from retgen.evaluation import plots as draw

COLOUR = re.compile(r"#[0-9a-f]{6}(?=[;\"])")


def test_pictures_follow_the_theme_of_their_page(tmp_path: Path) -> None:
    lines = [draw.Line(f"system {i}", [1.0, 2.0], [0.1 * i, 0.2], [0.0, 0.1], [0.3, 0.4])
             for i in range(9)]  # fmt: skip
    hollow = lines[0]._replace(name="cut short", hollow=[1])
    noted = lines[1]._replace(name="not read", beside=["", "40% cut"])
    pages = [
        draw.lines(
            tmp_path / "lines", [*lines, hollow, noted],
            [draw.Level("a", 0.5), draw.Level("b", 0.4, True)],
            title="t", x="x", y="y", fraction=True,
        ),
        draw.bars(
            tmp_path / "bars", ["a", "b"], {"r": [0.5, None]}, {"r": [(0.4, 0.6), None]},
            [draw.Level("baseline", 0.1, True)], title="t", y="y",
        ),
        draw.scatter(
            tmp_path / "scatter", {"a": [(0.1, 0.5), (0.2, 0.6)]}, ["p", "q"], title="t", x="x",
            y="y",
        ),
        draw.heat_map(
            tmp_path / "heat_map", ["1", "2"], ["a", "b"], [[0.25, 1.0], [None, 0.0]], title="t",
            x="x", y="y",
        ),
    ]  # fmt: skip
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
        curves = [draw.Line(f"{name} {i}", [1.0, 2.0], [0.5, 0.1 * i]) for i in range(6)]
        svg = draw.lines(tmp_path / "picture", curves, [], title="t", x="x", y="y")
        widths.append(float(svg.partition('width="')[2].partition("pt")[0]))
    assert abs(widths[1] - widths[0]) < 15  # points


def test_names_of_many_groups_stand_apart(tmp_path: Path) -> None:
    names = [f"superlative{i}" for i in range(8)]
    few, many = (
        draw.bars(tmp_path / "bars", some, {"r": [0.5] * len(some)}, {"r": [None] * len(some)},
                  [], title="t", y="y")
        for some in (names[:2], names)
    )  # fmt: skip

    def size(page: str) -> float:
        """Of the first group's name, in pixels of the drawing, which are points."""
        return float(re.findall(r"font-size: ([\d.]+)px[^>]*>superlative0<", page)[0])

    assert size(few) == 9.5
    assert size(many) * 0.6 * len(names[0]) * len(names) < 6.6 * 72
