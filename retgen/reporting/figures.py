"""Inline SVG for the report page: data in, a string out.

Every run draws its report, so this does without matplotlib, which would add 98 MB to the core and
0.6 s to a command of 1.6 s. Pages of results, made now and then, are drawn by it.

Sizes are CSS pixels of a figure shown at its natural width. Colours come from classes that the page
defines for light and dark (`s0`.. for series, `bar`, `axis`, `grid`, ...), so a figure follows the
reader's theme. Whatever is text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from retgen.results.numbers import number, score


class Series(NamedTuple):
    """One line of a plot: (k, recall) points by rising k, k >= 1, recall a fraction."""

    name: str
    points: Sequence[tuple[int, float]]


class Bin(NamedTuple):
    """One bar: how often (`height`) a value from `low` to `high`, both included, occurs."""

    low: int
    high: int
    height: int


def bins(histogram: Mapping[str, int], most: int = 40) -> list[Bin]:
    """The bars of {value: count}, at most about `most`.

    One bar a value where the values are close together; else equal widths; doubling widths
    (1, 2-3, 4-7, ...) where the largest value is far above the median.
    """
    counts = sorted((int(value), count) for value, count in histogram.items())
    if not counts:
        return []
    low, high = counts[0][0], counts[-1][0]
    if high - low < most:
        edges = list(range(low, high + 2))
    elif low >= 0 and high > 16 * max(1, _median(counts)):
        edges = [0] if low == 0 else []
        edge = 1 << max(low.bit_length() - 1, 0)
        while edge <= high:
            edges.append(edge)
            edge *= 2
        edges.append(edge)
    else:
        width = -(-(high - low + 1) // most)
        edges = list(range(low, high + width + 1, width))
    result = [0] * (len(edges) - 1)
    at = 0
    for value, count in counts:
        while value >= edges[at + 1]:
            at += 1
        result[at] += count
    return [Bin(edges[i], edges[i + 1] - 1, count) for i, count in enumerate(result)]


def _median(counts: Sequence[tuple[int, int]]) -> int:
    half = sum(count for _, count in counts) / 2
    for value, count in counts:
        half -= count
        if half <= 0:
            return value
    return counts[-1][0]


# --- figures ------------------------------------------------------------------------------------


_LEFT, _TOP, _WIDTH, _HEIGHT = 46, 26, 340, 210
_INNER, _TALL, _BASE = _WIDTH - _LEFT - 8, _HEIGHT - _TOP - 40, _HEIGHT - 40  # of the bars


def histogram(bars: Sequence[Bin], x_label: str, y_label: str) -> str:
    """Bars over a value, 340 x 210. `y_label`: what is counted."""
    step = _INNER / len(bars)
    gap = max(step - 40, 2 if step >= 6 else 0.5 if step >= 3 else 0)  # no bar wider than 40
    exact = all(bar.low == bar.high for bar in bars)
    spans = [number(b.low) if exact else f"{number(b.low)}–{number(b.high)}" for b in bars]
    titles = [f"{x_label} {span}" for span in spans]
    heights = [bar.height for bar in bars]
    parts = _bars(heights, titles, gap, _ticks(max(heights)), y_label)
    free = -math.inf
    for i, bar in enumerate(bars):
        centre = _LEFT + i * step + (step / 2 if exact else 0)
        text = number(bar.low)
        if centre - 3.5 * len(text) >= free:
            parts.append(_text(centre, _BASE + 16, text, anchor="middle"))
            free = centre + 3.5 * len(text) + 8
    if len({bar.high - bar.low for bar in bars}) > 1:
        x_label += " (doubling)"
    parts.append(_text(_LEFT + _INNER / 2, _HEIGHT - 6, x_label, "lab", "middle"))
    return _svg(_WIDTH, _HEIGHT, f"Histogram of {x_label}", parts)


def strip(counts: Sequence[int], x_label: str, y_label: str) -> str:
    """How many stand in each equal part of the corpus, with the level that chance expects."""
    expected, share = sum(counts) / len(counts), 100 / len(counts)
    titles = [
        f"{number(i * share, 1)}–{number((i + 1) * share, 1)}% of the corpus"
        for i in range(len(counts))
    ]
    ticks = _ticks(max(*counts, math.ceil(expected)))
    parts = _bars(counts, titles, 1, ticks, y_label)
    level, end = _BASE - _TALL * expected / ticks[-1], _LEFT + _INNER
    parts.append(f'<path class="level" d="M{_LEFT} {level:.1f}H{end}"/>')
    parts.append(_text(end, _TOP - 12, f"by chance {number(expected, 2)} each", "level", "end"))
    for part, anchor in ((0, "start"), (50, "middle"), (100, "end")):
        parts.append(_text(_LEFT + _INNER * part / 100, _BASE + 16, f"{part}%", anchor=anchor))
    parts.append(_text(_LEFT + _INNER / 2, _HEIGHT - 6, x_label, "lab", "middle"))
    return _svg(_WIDTH, _HEIGHT, f"{y_label} by position in the corpus", parts)


def _bars(
    heights: Sequence[int], titles: Sequence[str], gap: float, ticks: Sequence[int], y_label: str
) -> list[str]:
    """A bar for each height that is not 0, in front of its axis; a small one is still seen."""
    step = _INNER / len(heights)
    parts = [_text(4, 14, y_label, "lab")]
    for tick in ticks:
        y = _BASE - _TALL * tick / ticks[-1]
        kind = "grid" if tick else "axis"
        parts.append(f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{_LEFT + _INNER}"/>')
        parts.append(_text(_LEFT - 6, y + 4, _short(tick, ticks[-1]), anchor="end"))
    for i, (height, title) in enumerate(zip(heights, titles, strict=True)):
        if height:
            high = max(_TALL * height / ticks[-1], 1.0)
            parts.append(
                f'<rect class="bar" x="{_LEFT + i * step + gap / 2:.1f}" y="{_BASE - high:.1f}" '
                f'width="{step - gap:.1f}" height="{high:.1f}">'
                f"<title>{escape(title)}: {number(height)} {escape(y_label)}</title></rect>"
            )
    return parts


def line_plot(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """recall over k (logarithmic), 480 x 300; the first series is dashed.

    The recall axis runs from 0 to 1, and is logarithmic where no line leaves the lowest tenth: the
    lines would lie on each other, and how they compare is all that there is to see.
    """
    ks = sorted({k for line in series for k, _ in line.points})
    values = [value for line in series for _, value in line.points]
    scale = _Recall(values)
    left = 16 + max(7 * len(label) for _, label in scale.ticks)
    right, top, bottom, width, height = 166, 26, 44, 480, 300
    inner, tall = width - left - right, height - top - bottom
    reach = math.log(ks[-1] / ks[0]) or 1.0

    def x(k: int) -> float:
        return left + (inner * math.log(k / ks[0]) / reach if len(ks) > 1 else inner / 2)

    def y(value: float) -> float:
        return top + tall * (1 - scale.share(value))

    parts = [_text(8, 14, y_label, "lab")]
    for value, label in scale.ticks:
        parts.append(f'<path class="grid" d="M{left} {y(value):.1f}H{width - right}"/>')
        parts.append(_text(left - 8, y(value) + 4, label, anchor="end"))
    free = -math.inf
    for k in ks:
        parts.append(f'<path class="axis" d="M{x(k):.1f} {top + tall}v5"/>')
        if x(k) - 4 * len(number(k)) >= free:
            parts.append(_text(x(k), top + tall + 18, number(k), anchor="middle"))
            free = x(k) + 4 * len(number(k)) + 4
    parts.append(_text(left + inner / 2, height - 6, x_label, "lab", "middle"))
    ends = [y(line.points[-1][1]) for line in series]
    for i, (line, label_y) in enumerate(
        zip(series, _apart(ends, 16, top + 4, top + tall), strict=True)
    ):
        # lines that coincide stay visible: each later one is thinner
        stroke = 1.6 if i == 0 else max(1.6, 5.4 - 0.9 * i)
        path = "L".join(f"{x(k):.1f} {y(value):.1f}" for k, value in line.points)
        dash = ' stroke-dasharray="5 4"' if i == 0 else ""
        parts.append(f'<path class="line s{i}" stroke-width="{stroke:.1f}"{dash} d="M{path}"/>')
        for k, value in line.points:
            parts.append(
                f'<circle class="dot s{i}" cx="{x(k):.1f}" cy="{y(value):.1f}" '
                f'r="{max(2.2, 4.6 - 0.5 * i):.1f}"><title>{escape(line.name)}: recall@{k} = '
                f"{score(value)}</title></circle>"
            )
        edge = x(ks[-1]) + 6
        parts.append(
            f'<path class="lead s{i}" d="M{edge:.1f} {ends[i]:.1f}L{edge + 12:.1f} {label_y:.1f}"/>'
        )
        parts.append(_text(edge + 16, label_y + 4, line.name, f"name s{i}"))
    return _svg(width, height, f"{y_label} of the query-blind rankings over {x_label}", parts)


def bracket(lower: int, upper: int) -> str:
    """The dimensions of an embedder: below `lower` none does it, from `upper` on some do, 480 wide.

    One box a dimension where they are few, else a band with a logarithmic scale.
    """
    last = upper + max(2, upper // 2)
    parts = _boxes(lower, upper, last) if last <= 16 else _band(lower, upper, 3 * upper)
    return _svg(480, 90, f"at least {number(lower)} and at most {number(upper)} dimensions", parts)


def _boxes(lower: int, upper: int, last: int) -> list[str]:
    parts = []
    step = 480 / last
    for d in range(1, last + 1):
        kind = "low" if d < lower else "enough" if d >= upper else "open"
        x = (d - 1) * step
        parts.append(_zone(kind, x, x + step))
        parts.append(_text(x + step / 2, 48, str(d), "inside", "middle"))
    for first, final, label in (
        (1, lower - 1, "proven too few"),
        (max(lower, 1), upper - 1, "open"),
        (max(upper, 1), last, "enough"),
    ):
        if final >= first:
            parts.append(_text((first - 1 + final) / 2 * step, 16, label, "lab", "middle"))
    parts.append(_text(240, 82, "dimensions of the embedder", "lab", "middle"))
    return parts


def _band(lower: int, upper: int, last: int) -> list[str]:
    parts = []
    low, high = (480 * math.log(max(d, 1)) / math.log(last) for d in (lower, upper))
    for kind, label, start, stop in (
        ("low", "proven too few", 0.0, low),
        ("open", "open", low, high),
        ("enough", "enough", high, 480.0),
    ):
        if stop - start >= 3:
            parts.append(_zone(kind, start, stop))
        if stop - start > 9 * len(label):
            parts.append(_text((start + stop) / 2, 48, label, "inside", "middle"))
    if lower == upper:
        parts.append(_text(high, 18, number(upper), "inside", "middle"))
    else:  # away from each other, so that they do not overlap where they are close
        parts.append(_text(low, 18, number(lower), "inside", "end" if low > 40 else "start"))
        parts.append(_text(high, 18, number(upper), "inside", "start" if high < 440 else "end"))
    parts.append(_text(240, 82, "dimensions of the embedder (logarithmic)", "lab", "middle"))
    return parts


def _zone(kind: str, start: float, stop: float) -> str:
    return (
        f'<rect class="{kind}" x="{start + 1:.1f}" y="26" width="{stop - start - 2:.1f}" '
        'height="34" rx="4"/>'
    )


def cells(rows: Sequence[str], x_label: str, y_label: str) -> str:
    """A picture of a matrix, 340 wide: each row a string of digits; the largest is drawn full."""
    left, top, bottom = 24, 4, 26
    across, down = max(1, 312 // len(rows[0])), max(1, 256 // len(rows))
    if abs(len(rows) - len(rows[0])) <= 1:
        across = down = min(across, down)
    wide, tall = across * len(rows[0]), down * len(rows)
    most = max(*map(max, rows), "1")
    runs: dict[int, list[str]] = {}
    for y, row in enumerate(rows):
        x = 0
        while x < len(row):
            stop = x + 1
            while stop < len(row) and row[stop] == row[x]:
                stop += 1
            if row[x] != "0":
                # a stroke of one cell's height, the shortest way to write a run
                level = -(-9 * int(row[x]) // int(most))
                runs.setdefault(level, []).append(f"M{x} {y}h{stop - x}")
            x = stop
    inner = "".join(
        f'<path class="k{level}" d="{"".join(result)}"/>' for level, result in sorted(runs.items())
    )
    parts = [
        f'<rect class="frame" x="{left - 0.5}" y="{top - 0.5}" width="{wide + 1}" '
        f'height="{tall + 1}"/>',
        f'<g class="cell" transform="translate({left} {top + down / 2:g}) scale({across} {down})">'
        f"{inner}</g>",
        _text(left + wide / 2, top + tall + 18, x_label, "lab", "middle"),
        f'<text class="lab" text-anchor="middle" transform="translate(14 {top + tall / 2:g}) '
        f'rotate(-90)">{escape(y_label)}</text>',
    ]
    return _svg(340, top + tall + bottom, f"{y_label} by {x_label}", parts)


# --- parts --------------------------------------------------------------------------------------


class _Recall:
    """The scale of a recall axis: `share` of the height (0 at the bottom), and its `ticks`."""

    def __init__(self, values: Sequence[float]) -> None:
        positive = [value for value in values if value > 0]
        self.log = bool(positive) and max(positive) < 0.1
        if not self.log:
            self.ticks = [(step / 4, f"{step / 4:g}") for step in range(5)]
            return
        self.low = math.floor(math.log10(min(positive)))
        self.high = max(math.ceil(math.log10(max(positive))), self.low + 1)
        self.ticks = [
            (10.0**power, f"{10.0**power:.{max(-power, 0)}f}")
            for power in range(self.low, self.high + 1)
        ]
        # zero has no logarithm: it gets a line of its own below the lowest decade
        self.zero = min(values) <= 0
        if self.zero:
            self.ticks.insert(0, (0.0, "0"))

    def share(self, value: float) -> float:
        if not self.log:
            return value
        base = 0.12 if self.zero else 0.0
        if value <= 0:
            return 0.0
        return base + (1 - base) * (math.log10(value) - self.low) / (self.high - self.low)


def _ticks(highest: int) -> list[int]:
    """0 up to at least `highest` in two to five steps of 1, 2 or 5 times a power of ten."""
    magnitude = 1
    while True:
        for step in (magnitude, 2 * magnitude, 5 * magnitude):
            if step * 4 >= highest:
                return list(range(0, step * max(1, -(-highest // step)) + 1, step))
        magnitude *= 10


def _short(value: int, largest: int) -> str:
    """The label of a tick, in the unit of the axis's largest: at most six characters."""
    for unit, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if largest >= 10 * unit or (largest >= unit > 10**3):
            return f"{value / unit:g}{sign}" if value else "0"
    return number(value)


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near `wanted`, at least `gap` apart, in low..high where they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    free = low
    for i in order:
        placed[i] = max(wanted[i], free)
        free = placed[i] + gap
    limit = high
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    return placed


def _text(x: float, y: float, text: str, kind: str = "tick", anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
