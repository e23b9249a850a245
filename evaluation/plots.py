"""Pictures of results, drawn by matplotlib: SVG and PNG files for slides and papers, on white.

The SVG of the page is the same with its colours as variables of the page's style, so that it is
light or dark as its reader likes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

from retgen.write import make_folder, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")

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


class Level(NamedTuple):
    """A horizontal line. `faint`: a baseline, in grey dots."""

    name: str
    y: float
    faint: bool = False


def without() -> str:
    """What is to be said where matplotlib, which draws, is not installed; else ""."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        return "pictures need the package matplotlib: pip install 'retgen[eval]'"
    return ""


def _picture(draw: Callable[P, str]) -> Callable[P, str]:
    """Where nothing draws, the page says so in the picture's place, and there is no file."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> str:
        why = without()
        return f"<p>({escape(why)})</p>" if why else draw(*args, **kwargs)

    return drawn


@_picture
def lines(
    path: Path,
    curves: Sequence[Line],
    levels: Sequence[Level],
    *,
    title: str,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    fraction: bool = False,
    small: bool = False,
) -> str:
    """Curves over x with levels across. `fraction`: y runs from 0 to 1. Returns the SVG.

    `small`: points are too many to be marked.
    """
    with _figure(path) as (axes, svg):
        names = [line.name for line in curves]
        for at, line in enumerate(curves):
            i = names.index(line.like) if line.like else at
            colour = _COLOURS[i % len(_COLOURS)]
            marker = "" if small else "*" if line.star else _MARKERS[i % len(_MARKERS)]
            noted = [i for i, text in enumerate(line.beside) if text]
            whole = noted[0] if noted else len(line.x)
            axes.plot(
                line.x[:whole], line.y[:whole], marker=marker, color=colour, label=line.name,
                linewidth=1.8, markersize=10 if line.star else 5,
                linestyle="--" if line.dashed else "-",
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
                [line.x[at] for at in line.hollow], [line.y[at] for at in line.hollow],
                marker=marker, color=colour, markerfacecolor=_PAPER, markersize=5, linestyle="",
                zorder=3,
            )  # fmt: skip
            if line.low is not None and line.high is not None:
                axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, lw=0)
        for i, level in enumerate(levels, start=len(curves)):
            colour = _GREY if level.faint else _COLOURS[i % len(_COLOURS)]
            style = ":" if level.faint else "--"
            axes.axhline(level.y, color=colour, linestyle=style, linewidth=1.6, label=level.name)
        if log_x:
            axes.set_xscale("log", base=2)
            ticks = _apart(sorted({value for line in curves for value in line.x}))
            axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
            axes.minorticks_off()
        elif all(float(value).is_integer() for line in curves for value in line.x):
            from matplotlib.ticker import MaxNLocator

            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if log_y:
            axes.set_yscale("log")
            from matplotlib.ticker import LogFormatter

            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            axes.yaxis.set_minor_formatter(LogFormatter())
        if fraction:
            axes.set_ylim(-0.02, 1.04)
        _dress(axes, title, x, y)
    return svg()


def _apart(values: Sequence[float]) -> list[float]:
    """Values of which none is less than a sixth above the one before: their labels fit."""
    kept: list[float] = []
    for value in values:
        if not kept or value >= kept[-1] * 7 / 6:
            kept.append(value)
    return kept


@_picture
def bars(
    path: Path,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    intervals: Mapping[str, Sequence[tuple[float, float] | None]],
    levels: Sequence[Level],
    *,
    title: str,
    y: str,
) -> str:
    """A bar a series in each group, with 95% intervals; y runs from 0 to 1. Returns the SVG."""
    with _figure(path) as (axes, svg):
        width = 0.8 / max(len(series), 1)
        for i, (name, values) in enumerate(series.items()):
            at = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
            heights = [value or 0.0 for value in values]
            axes.bar(at, heights, width * 0.92, color=_COLOURS[i % len(_COLOURS)], label=name)
            for place, height, span in zip(at, heights, intervals[name], strict=True):
                if span:
                    reach = [[max(height - span[0], 0)], [max(span[1] - height, 0)]]
                    axes.errorbar(place, height, reach, color=_INK, lw=1.1, capsize=3)
        for level in levels:
            axes.axhline(level.y, color=_GREY, linestyle=":", linewidth=1.6, label=level.name)
        room = _WIDTH / max(len(groups), 1) / max(map(len, groups), default=1)
        axes.set_xticks(range(len(groups)), groups, fontsize=min(9.5, max(5.0, room / _LETTER)))
        axes.set_ylim(0, 1.04)
        _dress(axes, title, "", y)
    return svg()


@_picture
def heat_map(
    path: Path,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    title: str,
    x: str,
    y: str,
) -> str:
    """A cell for each value in 0..1, the darker the higher, with the value in it. Returns the SVG.

    `values`: (rows, columns), None for nothing.
    """
    with _figure(path) as (axes, svg):
        from matplotlib.patches import Rectangle

        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if value is not None:
                    square = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_COLOURS[0], lw=0)
                    square.set_alpha(0.04 + 0.7 * value)
                    axes.add_patch(square)
                    axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        _dress(axes, title, x, y)
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
    return svg()


@_picture
def scatter(
    path: Path,
    points: Mapping[str, Sequence[tuple[float, float]]],
    labels: Sequence[str],
    *,
    title: str,
    x: str,
    y: str,
) -> str:
    """Points (x, y), a colour a series; `labels` name the points of each series in order."""
    with _figure(path) as (axes, svg):
        for i, (name, result) in enumerate(points.items()):
            axes.scatter(
                [p[0] for p in result], [p[1] for p in result],
                color=_COLOURS[i % len(_COLOURS)], marker=_MARKERS[i % len(_MARKERS)], label=name,
            )  # fmt: skip
        axes.set_xscale("symlog", linthresh=1e-3)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(-0.02, 1.04)
        first = next(iter(points.values()))
        near: list[tuple[float, list[str]]] = []  # names of points side by side stand together
        for (px, _), label in sorted(zip(first, labels, strict=True)):
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
        _dress(axes, title, x, y, 12 + 10 * max(len(names) for _, names in near))
    return svg()


def _dress(axes: Axes, title: str, x: str, y: str, above: float = 6) -> None:
    """Title, axes, grid and legend; `above`: points between the plot and its title."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=above)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
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
