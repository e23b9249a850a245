"""Pictures of results: descriptions (curves, bars, a heat map, points), drawn by matplotlib.

A picture becomes an SVG and a PNG file for slides and papers, on white. The SVG on the page is the
same with its colours as variables of the page's style, light or dark as its reader likes.
"""

from __future__ import annotations

import io
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.results.measurements import Measurement
from retgen.write import make_folder, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#2a62a8", "#c2571a", "#17806d", "#8e4a9e", "#9c7a1d", "#b3261e", "#4b6b2f", "#55606c")
_INK, _SOFT, _GREY, _GRID, _PAPER = "#1c2127", "#4c5661", "#7b848e", "#e4e5e1", "#ffffff"
# what the page's style calls these colours; of a seventh and eighth series too
_VARIABLES = {
    **{colour: f"--s{i}" for i, colour in enumerate(_COLOURS, start=1)},
    _INK: "--ink", _SOFT: "--soft", _GREY: "--s0", _GRID: "--faint", _PAPER: "--card",
}  # fmt: skip
_MARKERS = "osD^vP"
_NEAR = 50  # points of the screen
_LEGEND = 78  # letters side by side in a legend
_WIDTH, _LETTER = 368, 0.62  # of the axes, in points; of a letter, in parts of its size
_ABOVE = 6.0  # points between a plot and its title


class Line(NamedTuple):
    """A curve: x, y, and 95% intervals of y where there are some.

    `star`: marked with stars. `hollow`: indices of points that are lower bounds only. `like`: the
    name of the curve whose colour and marker it takes. `beside`: what stands at each point, "" for
    nothing; the line is dashed towards points with such a text.
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
    def of(cls, name: str, points: Iterable[tuple[float, Measurement]], **style: Any) -> Line:
        """The curve of measurements at their x, without those that have no value.

        Its band is their intervals, nothing wide where one has none.
        """
        known = [(x, one, one.value) for x, one in points if one.value is not None]
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


def missing_package() -> str:
    """The message where matplotlib, which draws, is not installed; else ""."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        return "pictures need the package matplotlib: pip install 'retgen[eval]'"
    return ""


@dataclass(frozen=True, kw_only=True)
class Picture(ABC):
    """What is drawn. `file`: the name of its files, without suffix. `caption`: what it shows."""

    file: str
    caption: str
    title: str
    x: str = ""
    y: str = ""

    def draw(self, folder: Path) -> str:
        """Write FILE.svg and FILE.png to the folder; the SVG for a page.

        Where nothing draws, the page says so in the picture's place, and there is no file.
        """
        if why := missing_package():
            return f"<p>({escape(why)})</p>"
        with _figure(folder / self.file) as (axes, svg):
            above = self._plot(axes)
            _dress(axes, self, above)
            self._finish(axes)
        return svg()

    @abstractmethod
    def _plot(self, axes: Axes) -> float:
        """Plot the data; the points between the plot and its title."""

    def _finish(self, axes: Axes) -> None:  # noqa: B027  most change nothing
        """Change axes that are dressed."""


@dataclass(frozen=True, kw_only=True)
class Lines(Picture):
    """Curves over x with levels across. `fraction`: y runs from 0 to 1.

    `small`: points are too many to be marked.
    """

    curves: Sequence[Line]
    levels: Sequence[Level] = ()
    log_x: bool = False
    log_y: bool = False
    fraction: bool = False
    small: bool = False

    def _plot(self, axes: Axes) -> float:
        names = [line.name for line in self.curves]
        for at, line in enumerate(self.curves):
            i = names.index(line.like) if line.like else at
            colour = _COLOURS[i % len(_COLOURS)]
            marker = "" if self.small else "*" if line.star else _MARKERS[i % len(_MARKERS)]
            _curve(axes, line, colour, marker)
        for i, level in enumerate(self.levels, start=len(self.curves)):
            colour = _GREY if level.faint else _COLOURS[i % len(_COLOURS)]
            style = ":" if level.faint else "--"
            axes.axhline(level.y, color=colour, linestyle=style, linewidth=1.6, label=level.name)
        if self.log_x:
            axes.set_xscale("log", base=2)
            ticks = _apart(sorted({value for line in self.curves for value in line.x}))
            axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
            axes.minorticks_off()
        elif all(float(value).is_integer() for line in self.curves for value in line.x):
            from matplotlib.ticker import MaxNLocator

            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if self.log_y:
            axes.set_yscale("log")
            from matplotlib.ticker import LogFormatter

            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            axes.yaxis.set_minor_formatter(LogFormatter())
        if self.fraction:
            axes.set_ylim(-0.02, 1.04)
        return _ABOVE


def _curve(axes: Axes, line: Line, colour: str, marker: str) -> None:
    noted = [i for i, text in enumerate(line.beside) if text]
    whole = noted[0] if noted else len(line.x)
    axes.plot(
        line.x[:whole], line.y[:whole], marker=marker, color=colour, label=line.name,
        linewidth=1.8, markersize=10 if line.star else 5, linestyle="--" if line.dashed else "-",
    )  # fmt: skip
    if noted:
        axes.plot(
            line.x[max(whole - 1, 0):], line.y[max(whole - 1, 0):], color=colour,
            linewidth=1.4, linestyle=":", marker=marker, markersize=4, zorder=1.9,
            markevery=range(min(whole, 1), len(line.x) - max(whole - 1, 0)),
        )  # fmt: skip
    for i in noted:
        axes.annotate(
            line.beside[i], (line.x[i], line.y[i]), (0, 6), textcoords="offset points",
            fontsize=7.5, ha="center", color=colour,
        )  # fmt: skip
    axes.plot(
        [line.x[at] for at in line.hollow], [line.y[at] for at in line.hollow], marker=marker,
        color=colour, markerfacecolor=_PAPER, markersize=5, linestyle="", zorder=3,
    )  # fmt: skip
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, lw=0)


def _apart(values: Sequence[float]) -> list[float]:
    """Values of which none is less than a sixth above the one before: their labels fit."""
    kept: list[float] = []
    for value in values:
        if not kept or value >= kept[-1] * 7 / 6:
            kept.append(value)
    return kept


@dataclass(frozen=True, kw_only=True)
class Bars(Picture):
    """A bar a series in each group, with 95% intervals; y runs from 0 to 1.

    `series`: by name a measurement for each group, None for none.
    """

    groups: Sequence[str]
    series: Mapping[str, Sequence[Measurement | None]]
    levels: Sequence[Level] = ()

    def _plot(self, axes: Axes) -> float:
        width = 0.8 / max(len(self.series), 1)
        for i, (name, measurements) in enumerate(self.series.items()):
            at = [g + (i - (len(self.series) - 1) / 2) * width for g in range(len(self.groups))]
            heights = [one.value or 0.0 if one else 0.0 for one in measurements]
            axes.bar(at, heights, width * 0.92, color=_COLOURS[i % len(_COLOURS)], label=name)
            for place, height, one in zip(at, heights, measurements, strict=True):
                if one and (span := one.span):
                    reach = [[max(height - span[0], 0)], [max(span[1] - height, 0)]]
                    axes.errorbar(place, height, reach, color=_INK, lw=1.1, capsize=3)
        for level in self.levels:
            axes.axhline(level.y, color=_GREY, linestyle=":", linewidth=1.6, label=level.name)
        groups = self.groups
        room = _WIDTH / max(len(groups), 1) / max(map(len, groups), default=1)
        axes.set_xticks(range(len(groups)), groups, fontsize=min(9.5, max(5.0, room / _LETTER)))
        axes.set_ylim(0, 1.04)
        return _ABOVE


@dataclass(frozen=True, kw_only=True)
class HeatMap(Picture):
    """A cell for each value in 0..1, the darker the higher, with the value in it.

    `values`: (rows, columns), None for nothing.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]

    def _plot(self, axes: Axes) -> float:
        from matplotlib.patches import Rectangle

        for i, row in enumerate(self.values):
            for j, value in enumerate(row):
                if value is not None:
                    square = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_COLOURS[0], lw=0)
                    square.set_alpha(0.04 + 0.7 * value)
                    axes.add_patch(square)
                    axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8)
        axes.set_xlim(-0.5, len(self.columns) - 0.5)
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.set_xticks(range(len(self.columns)), self.columns)
        axes.set_yticks(range(len(self.rows)), self.rows)
        return _ABOVE

    def _finish(self, axes: Axes) -> None:
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)


@dataclass(frozen=True, kw_only=True)
class Scatter(Picture):
    """Points (x, y), a colour a series; `labels` name the points of each series in order."""

    points: Mapping[str, Sequence[tuple[float, float]]]
    labels: Sequence[str] = field(default_factory=list)

    def _plot(self, axes: Axes) -> float:
        for i, (name, result) in enumerate(self.points.items()):
            axes.scatter(
                [p[0] for p in result], [p[1] for p in result],
                color=_COLOURS[i % len(_COLOURS)], marker=_MARKERS[i % len(_MARKERS)], label=name,
            )  # fmt: skip
        axes.set_xscale("symlog", linthresh=1e-3)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(-0.02, 1.04)
        first = next(iter(self.points.values()))
        near: list[tuple[float, list[str]]] = []  # names of points side by side stand together
        for (px, _), label in sorted(zip(first, self.labels, strict=True)):
            place = float(axes.transData.transform((px, 0.0))[0])
            if near and place - near[-1][0] < _NEAR:
                near[-1][1].append(label)
            else:
                near.append((place, [label]))
        for place, names in near:
            px = float(axes.transData.inverted().transform((place, 0.0))[0])
            axes.annotate(
                "\n".join(names), (px, 1.04), (0, 3), xycoords="data",
                textcoords="offset points", fontsize=8, ha="center", va="bottom",
            )  # fmt: skip
            axes.axvline(px, color=_GRID, linewidth=0.8, zorder=0)
        return 12 + 10.0 * max(len(names) for _, names in near)


def _dress(axes: Axes, picture: Picture, above: float) -> None:
    """Title, axes, grid and legend; `above`: points between the plot and its title."""
    axes.set_title(picture.title, loc="left", fontsize=11, fontweight="bold", pad=above)
    axes.set_xlabel(picture.x)
    axes.set_ylabel(picture.y)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if labels := axes.get_legend_handles_labels()[1]:
        # a legend that is wider than the axes would make all of the picture smaller
        columns = max(1, min(3, _LEGEND // max(len(label) for label in labels)))
        axes.legend(
            fontsize=8.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.17),
            ncol=columns,
        )  # fmt: skip


@contextmanager
def _figure(path: Path) -> Iterator[tuple[Axes, Callable[[], str]]]:
    """An empty figure that ends as PATH.svg and PATH.png; the second value returns the SVG."""
    import matplotlib

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": path.name, "font.family": "sans-serif",
                "font.size": 9.5, "text.parse_math": False, "text.color": _INK,
                "axes.edgecolor": _SOFT, "axes.labelcolor": _SOFT, "xtick.color": _SOFT,
                "ytick.color": _SOFT}  # fmt: skip
    with warnings.catch_warnings(), matplotlib.rc_context(settings):
        warnings.filterwarnings("ignore", message="Glyph")  # names may hold what no font has
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.6, 3.7))
        FigureCanvasAgg(figure)
        drawn: list[str] = []
        yield figure.add_subplot(), lambda: drawn[0]
        make_folder(path.parent)
        for suffix, extra in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 160})):
            out = io.BytesIO()
            figure.savefig(out, format=suffix, bbox_inches="tight", **extra)
            write_file(path.with_name(f"{path.name}.{suffix}"), out.getvalue())
            if suffix == "svg":
                text = out.getvalue().decode()
                drawn.append(_themed(text[text.index("<svg") :]))


def _themed(svg: str) -> str:
    """The drawing in the colours of the page around it."""
    return re.sub(
        r"(?<=[ \"])(fill|stroke): (#[0-9a-f]{6})(?=[;\"])",
        lambda match: f"{match[1]}: var({_VARIABLES[match[2]]})",
        svg,
    )
