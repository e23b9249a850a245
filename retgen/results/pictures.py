"""Pictures of results: descriptions, drawn in SVG for a page and as a file for papers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from retgen.results import svg
from retgen.results.measurements import Measurement
from retgen.results.numbers import number, score
from retgen.write import make_folder, write_file


class Line(NamedTuple):
    """A curve: x, y, and 95% intervals of y where there are some.

    `star`: marked with stars. `hollow`: indices of points that are lower bounds only. `like`: the
    name of the curve whose colour and marker it takes. `beside`: what stands at each point, "" for
    nothing; the line is dotted towards points with such a text.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    star: bool = False
    dashed: bool = False
    hollow: Sequence[int] = ()
    like: str = ""
    beside: Sequence[str] = ()

    @classmethod
    def of(
        cls, name: str, points: Iterable[tuple[float, Measurement | None]], **style: Any
    ) -> Line:
        """The curve of measurements at their x, without those that have no value.

        Its band is their intervals, nothing wide where one has none.
        """
        known = [(x, one, one.value) for x, one in points if one and one.value is not None]
        line = cls(name, [x for x, _, _ in known], [value for _, _, value in known], **style)
        if not any(one.span for _, one, _ in known):
            return line
        spans = [one.span or (value, value) for _, one, value in known]
        return line._replace(low=[low for low, _ in spans], high=[high for _, high in spans])


class Level(NamedTuple):
    """A horizontal line. `faint`: a baseline, in grey dots."""

    name: str
    y: float
    faint: bool = False


CHANCE = Level("chance", 0.5, True)


@dataclass(frozen=True, kw_only=True)
class Picture(ABC):
    """What is drawn. `file`: the name of its file, without suffix. `caption`: what it shows."""

    file: str = ""
    caption: str = ""
    title: str = ""
    x: str = ""
    y: str = ""

    @abstractmethod
    def draw(self) -> str:
        """The drawing, in the colours of the page around it."""

    def write(self, folder: Path) -> None:
        """Write FILE.svg to the folder, in colours of its own."""
        make_folder(folder)
        write_file(folder / f"{self.file}.svg", svg.standalone(self.draw()))

    @property
    def about(self) -> str:
        """What it shows, in words."""
        return self.caption or self.title or f"{self.y} by {self.x}"


@dataclass(frozen=True, kw_only=True)
class Lines(Picture):
    """Curves over x with levels across. `fraction`: y runs from 0 to 1.

    `small`: points are too many to be marked. `joined`: without, points stand for themselves.
    `names`: of values of x, above them.
    """

    curves: Sequence[Line]
    levels: Sequence[Level] = ()
    log_x: bool = False
    log_y: bool = False
    fraction: bool = False
    small: bool = False
    joined: bool = True
    names: Sequence[tuple[float, str]] = ()

    def draw(self) -> str:
        """Bands, curves, levels, and a legend of them."""
        curves = self.curves
        xs = [x for line in curves for x in line.x]
        ys = [y for line in curves for y in (*line.y, *(line.low or ()), *(line.high or ()))]
        ys += [level.y for level in self.levels]
        across = svg.logarithmic(xs, at_values=self.joined) if self.log_x else svg.linear(xs)
        up = svg.logarithmic(ys) if self.log_y else svg.linear(ys)
        plot = svg.Plot(across, svg.FRACTION if self.fraction else up, self.x, self.y)
        for x, name in self.names:
            plot.parts.append(
                svg.element("path", d=f"M{svg.short(plot.x(x))} 0v{plot.bottom}", stroke=svg.GRID)
            )
            plot.label(plot.x(x), 0, name, name=True)
        names = [line.name for line in curves]
        looks = [names.index(line.like) if line.like else i for i, line in enumerate(curves)]
        for look, line in zip(looks, curves, strict=True):
            if line.low is not None and line.high is not None:
                band = [*_pixels(plot, line.x, line.high), *_pixels(plot, line.x, line.low)[::-1]]
                style: svg.Style = {"fill": svg.colour(look), "fill_opacity": 0.13}
                plot.parts.append(svg.element("path", d=f"{svg.path(band)}Z", **style))
        for i, (look, line) in enumerate(zip(looks, curves, strict=True)):
            # of curves that lie on each other those beneath are wider, so that all are seen
            above = sum(other[1:3] == line[1:3] for other in curves[i + 1 :])
            self._curve(plot, line, look, 1.8 + 1.8 * above)
        _draw_levels(plot, self.levels, len(curves))
        return plot.svg(self.title, self.about)

    def _curve(self, plot: svg.Plot, line: Line, look: int, width: float) -> None:
        colour, radius = svg.colour(look), 6.5 if line.star else 3.2 + width / 4
        points = _pixels(plot, line.x, line.y)
        noted = [i for i, words in enumerate(line.beside) if words]
        whole = noted[0] if noted else len(points)
        stroke: svg.Style = {"stroke": colour, "stroke_width": width}
        dash: svg.Style = {"stroke_dasharray": "6 4"} if line.dashed else {}
        dots: svg.Style = {"stroke_dasharray": "1.5 4"}
        if self.joined:
            for part, style in ((points[:whole], dash), (points[max(whole - 1, 0) :], dots)):
                if len(part) > 1:
                    plot.parts.append(svg.element("path", d=svg.path(part), **stroke, **style))
        for i, (x, y) in enumerate(points):
            if not self.small or len(points) == 1:
                fill = svg.PAPER if i in line.hollow else colour
                hint = f"{line.name}: {number(line.x[i])}, {score(line.y[i])}"
                mark: svg.Style = {"fill": fill, "stroke": colour, "hint": hint}
                plot.parts.append(svg.marker(look, x, y, radius, star=line.star, **mark))
        for i in noted:
            plot.label(*points[i], line.beside[i], colour)
        sign = svg.element("path", d="M0 0h22", **stroke, **dash) if self.joined else ""
        if not self.small:
            sign += svg.marker(look, 11, 0, radius, star=line.star, fill=colour)
        plot.entry(line.name, sign)


def _pixels(plot: svg.Plot, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    return [(plot.x(x), plot.y(y)) for x, y in zip(xs, ys, strict=True)]


def _draw_levels(plot: svg.Plot, levels: Sequence[Level], first: int) -> None:
    for i, level in enumerate(levels, first):
        style: svg.Style = {"stroke_width": 1.6, "stroke_dasharray": "7 4", "stroke": svg.colour(i)}
        if level.faint:
            style |= {"stroke_dasharray": "2 3", "stroke": svg.GREY}
        plot.rule(plot.y(level.y), **style)
        plot.entry(level.name, svg.element("path", d="M0 0h22", **style))


@dataclass(frozen=True, kw_only=True)
class Bars(Picture):
    """A bar a series in each group, with 95% intervals; y runs from 0 to 1.

    `series`: by name a measurement for each group, None for none. `counts`: the groups are ranges
    of numbers, y how many there are in each.
    """

    groups: Sequence[str]
    series: Mapping[str, Sequence[Measurement | None]]
    levels: Sequence[Level] = ()
    counts: bool = False

    def draw(self) -> str:
        """Bars side by side, levels, and a legend if there are several."""
        up, across = svg.FRACTION, svg.names_scale(self.groups)
        size: dict[str, Any] = {}
        if self.counts:
            values = [one.value for of in self.series.values() for one in of if one and one.value]
            up = svg.linear([0, *values, *(level.y for level in self.levels)])
            size, across = {"width": 340, "height": 150}, across._replace(names=False)
        plot = svg.Plot(across, up, self.x, self.y, **size)
        share = 0.8 / max(len(self.series), 1)
        step = plot.x(share) - plot.x(0)
        wide = min(step - min(1.0, step / 10), 60)
        for i, (name, measurements) in enumerate(self.series.items()):
            for group, one in enumerate(measurements):
                if one is not None and one.value is not None:
                    centre = plot.x(group + (i + 0.5 - len(self.series) / 2) * share)
                    hint = f"{name}, {self.groups[group]}: {number(one.value)}"
                    _draw_bar(plot, centre, wide, one, fill=svg.colour(i), hint=hint)
            if len(self.series) > 1 or self.levels:
                square: svg.Style = {"x": 4, "y": -6, "width": 12, "height": 12}
                plot.entry(name, svg.element("rect", **square, fill=svg.colour(i)))
        _draw_levels(plot, self.levels, len(self.series))
        return plot.svg(self.title, self.about)


def _draw_bar(plot: svg.Plot, x: float, wide: float, one: Measurement, **style: str) -> None:
    value = one.value or 0.0
    high = max(plot.y(0) - plot.y(value), 1 if value else 0)  # a small one is still seen
    box: svg.Style = {"x": x - wide / 2, "y": plot.y(0) - high, "width": wide, "height": high}
    if value:
        plot.parts.append(svg.element("rect", **box, **style))
    if one.span:
        half = min(3, wide / 2)
        for y, ahead in zip(map(plot.y, one.span), map(plot.y, one.span[::-1]), strict=True):
            points = [(x - half, y), (x + half, y), (x, y), (x, ahead)]
            plot.parts.append(svg.element("path", d=svg.path(points), stroke=svg.INK))


@dataclass(frozen=True, kw_only=True)
class Dots(Picture):
    """A line of points in percent for each row, the first on top, with their 95% intervals.

    `series`: by name a measurement for each row, None for none; those in `hollow` are drawn hollow,
    without intervals. `at`: a vertical line, as of chance, with its name.
    """

    rows: Sequence[str]
    series: Mapping[str, Sequence[Measurement | None]]
    hollow: frozenset[str] = frozenset()
    at: Level | None = None

    def draw(self) -> str:
        """Points of a row below one another where they are many, and a legend."""
        up = svg.names_scale(self.rows)
        up = up._replace(low=up.high, high=up.low)
        step = max(22, 7 * len(self.series) + 8)
        across = svg.FRACTION._replace(ticks=[(i / 5, str(20 * i)) for i in range(6)])
        plot = svg.Plot(across, up, self.x, self.y, height=step * len(self.rows))
        for row in range(0, len(self.rows), 2):  # bands tell rows of many points apart
            top, wide = plot.y(row) - step / 2, plot.x(1) - plot.x(0)
            band: svg.Style = {"x": plot.x(0), "y": top, "width": wide, "height": step}
            plot.parts.append(svg.element("rect", **band, fill=svg.GREY, fill_opacity=0.1))
        if self.at is not None:
            line = [(plot.x(self.at.y), 0.0), (plot.x(self.at.y), plot.bottom)]
            dots: svg.Style = {"stroke": svg.GREY, "stroke_dasharray": "2 3"}
            plot.parts.append(svg.element("path", d=svg.path(line), **dots))
            plot.entry(self.at.name, svg.element("path", d="M11 -6v12", **dots))
        for i, (name, measurements) in enumerate(self.series.items()):
            colour, paper = svg.colour(i), name in self.hollow
            mark: svg.Style = {"fill": svg.PAPER if paper else colour, "stroke": colour}
            for row, one in enumerate(measurements):
                if one is not None and one.value is not None:
                    y = plot.y(row) + 7 * (i - (len(self.series) - 1) / 2)
                    if one.span and not paper:
                        ends = [(plot.x(end), y) for end in one.span]
                        plot.parts.append(svg.element("path", d=svg.path(ends), stroke=colour))
                    hint = f"{name}, {self.rows[row]}: {score(one.value)}"
                    plot.parts.append(svg.marker(i, plot.x(one.value), y, 4, hint=hint, **mark))
            plot.entry(name, svg.marker(i, 11, 0, 4, **mark))
        return plot.svg(self.title, self.about)


@dataclass(frozen=True, kw_only=True)
class HeatMap(Picture):
    """A cell for each value in 0..1, the darker the higher, with the value in it.

    `values`: (rows, columns), None for nothing.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]

    def draw(self) -> str:
        """Cells between the names of rows and columns, the first row above."""
        rows = svg.names_scale(self.rows)
        rows = rows._replace(low=rows.high, high=rows.low)
        height = min(26 * max(len(self.rows), 2), 420)
        across = svg.names_scale(self.columns)
        plot = svg.Plot(across, rows, self.x, self.y, height=height, grid=False)
        wide, high = plot.x(1) - plot.x(0), plot.y(1) - plot.y(0)
        size = min(11, wide / 2.4, high)
        for i, row in enumerate(self.values):
            for j, value in enumerate(row):
                if value is not None:
                    x, y = plot.x(j), plot.y(i)
                    box: svg.Style = {
                        "x": x - wide / 2,
                        "y": y - high / 2,
                        "width": wide,
                        "height": high,
                        "fill": svg.colour(0),
                        "fill_opacity": 0.04 + 0.7 * value,
                    }
                    plot.parts.append(svg.element("rect", **box))
                    shown = svg.text(x, y + size / 3, f"{value:.2f}", fill=svg.INK, font_size=size)
                    plot.parts.append(shown)
        return plot.svg(self.title, self.about)


def bins(histogram: Mapping[str, int], most: int = 40) -> dict[str, int]:
    """How many values there are in each range of {value: count}, at most about `most` ranges.

    One value a range where the values are close together; else equal widths; doubling widths
    (1, 2-3, 4-7, ...) where the largest value is far above the median.
    """
    counts = sorted((int(value), count) for value, count in histogram.items())
    if not counts:
        return {}
    low, high = counts[0][0], counts[-1][0]
    half = sum(count for _, count in counts) / 2
    seen = accumulate(count for _, count in counts)
    median = next(value for (value, _), so_far in zip(counts, seen, strict=True) if so_far >= half)
    width = -(-(high - low + 1) // most)
    starts, last = [*range(low, high + 1, width)], width
    if width > 1 and low >= 0 and high > 16 * max(1, median):
        starts = [0, *(1 << power for power in range(high.bit_length()))]
        starts = starts[sum(start <= low for start in starts) - 1 :]
        last = starts[-1]
    result = dict.fromkeys(starts, 0)
    for value, count in counts:
        result[starts[bisect_right(starts, value) - 1]] += count
    ends = [start - 1 for start in starts[1:]] + [starts[-1] + last - 1]
    spans = zip(starts, ends, result.values(), strict=True)
    return {number(a) + (f"–{number(b)}" if b > a else ""): n for a, b, n in spans}
