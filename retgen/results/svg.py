"""Drawing in SVG: scales, a plot with axes and a legend, texts and marks. Lengths are pixels.

Colours are variables of the page's style, so that a drawing on a page is light or dark as its
reader likes; a file has the light ones, on white.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from retgen.results.numbers import number

INK, SOFT, GREY, GRID, PAPER = (f"var(--{name})" for name in ("ink", "soft", "s0", "faint", "card"))
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
_LINE = 15  # from one line of text to the next
_TURN = 35  # degrees, of names that have no room side by side
_LONGEST = 170  # of such a name
Style = dict[str, Any]  # attributes of an element
_SHAPES = ((12, 0), (4, 45), (3, 180), (4, 0), (3, 0), (5, 0))  # corners, degrees it is turned by


def colour(index: int) -> str:
    """The colour of a series."""
    return f"var(--s{1 + index % 8})"


def element(tag: str, content: str = "", *, hint: str = "", **attributes: str | float) -> str:
    """An element around markup; in names of attributes `_` stands for `-`.

    `hint`: what a reader sees who points at it.
    """
    written = "".join(
        f' {name.replace("_", "-")}="{escape(value if isinstance(value, str) else short(value))}"'
        for name, value in attributes.items()
    )
    content += f"<title>{escape(hint)}</title>" if hint else ""
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def short(value: float) -> str:
    """A length, to hundredths."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def path(points: Iterable[tuple[float, float]]) -> str:
    """The commands of a line through points."""
    return "M" + "L".join(f"{short(x)} {short(y)}" for x, y in points)


def text(
    x: float,
    y: float,
    words: str,
    *,
    room: float = math.inf,
    fill: str = SOFT,
    text_anchor: str = "middle",
    **style: str | float,
) -> str:
    """A line of text on the base line `y`, cut where it is wider than `room`."""
    shown = words
    while width_of(shown) > room and len(shown) > 2:
        shown = shown[:-2] + "…"
    hint = "" if shown == words else words
    place: Style = {"x": x, "y": y, "fill": fill, "text_anchor": text_anchor}
    return element("text", escape(shown), hint=hint, **place, **style)


def width_of(words: str, size: float = 12) -> float:
    """About how wide a text is, in a wide font."""
    wide = sum(east_asian_width(letter) in "WF" for letter in words)
    return size * (0.58 * (len(words) - wide) + wide)


def marker(
    index: int, x: float, y: float, radius: float, *, star: bool = False, **style: str
) -> str:
    """The mark of a point: a shape a series, or a star."""
    corners, turn = (5, 0) if star else _SHAPES[index % len(_SHAPES)]
    inner = radius * (0.45 if star else math.cos(math.pi / corners))
    points = []
    for i in range(2 * corners):
        angle, reach = math.radians(turn + 180 * i / corners), inner if i % 2 else radius
        points.append((x + reach * math.sin(angle), y - reach * math.cos(angle)))
    return element("path", d=f"{path(points)}Z", **style)


# --- scales -------------------------------------------------------------------------------------


class Scale(NamedTuple):
    """An axis from `low` to `high`, in units of what `of` makes of a value. `ticks`: its labels.

    `names`: the labels are names, of which none is left out.
    """

    ticks: Sequence[tuple[float, str]]
    low: float
    high: float
    of: Callable[[float], float] = float
    names: bool = False

    def share(self, value: float) -> float:
        """Where a value stands: 0 at the low end, 1 at the high one."""
        return (self.of(value) - self.low) / (self.high - self.low)


FRACTION = Scale([(i / 5, f"{i / 5:g}") for i in range(6)], -0.02, 1.04)


def names_scale(names: Sequence[str]) -> Scale:
    """Names side by side, at 0, 1, 2, ..."""
    return Scale([*enumerate(names)], -0.5, max(len(names), 1) - 0.5, names=True)


def linear(values: Sequence[float]) -> Scale:
    """Round ticks around the values; between whole numbers none."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    whole = all(float(value).is_integer() for value in values)
    reach = high - low or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(reach / 5))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m * 5 >= reach * 0.999)
    step = max(step, 1.0) if whole and values else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = first - 1, last + 1
    ticks = [round(i * step, 12) for i in range(first, last + 1)]
    return Scale([(at, _tick_text(at, ticks[-1])) for at in ticks], ticks[0], ticks[-1])


def logarithmic(values: Sequence[float], *, at_values: bool = False) -> Scale:
    """Ticks at powers of ten, or at the values themselves; 0 stands a step below the others."""
    positive = sorted({value for value in values if value > 0})
    if not positive:
        return linear(values)
    low, high = math.log10(positive[0]), math.log10(positive[-1])
    if at_values:
        pad = 0.04 * (high - low) or 0.5
        low, high, ticks = low - pad, high + pad, [(value, number(value)) for value in positive]
    else:
        low, high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        steps = (1, 2, 5) if high - low == 1 else (1,)
        powers = [m * 10.0**power for power in range(int(low), int(high) + 1) for m in steps]
        ticks = [(at, _tick_text(at, at)) for at in powers if at <= 10.0**high]
    below = low - (high - low) / 8
    if min(values) <= 0:
        ticks, low = [(0.0, "0"), *ticks], below
    return Scale(ticks, low, high, lambda value: math.log10(value) if value > 0 else below)


def _tick_text(value: float, largest: float) -> str:
    """A label in the unit of the axis's largest: at most six characters."""
    for unit, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if largest >= 10 * unit or largest >= unit > 10**3:
            return f"{value / unit:g}{sign}" if value else "0"
    return number(value, 6)


# --- a plot -------------------------------------------------------------------------------------


class Plot:
    """Axes, between which `parts` are drawn, the plot's top at 0; title above, legend below."""

    def __init__(
        self,
        x: Scale,
        y: Scale,
        x_label: str,
        y_label: str,
        *,
        width: float = 560,
        height: float = 230,
        grid: bool = True,
    ) -> None:
        self._x, self._y, self._y_label, self._width = x, y, y_label, width
        self.left = 10 + min(max((width_of(label) for _, label in y.ticks), default=0), width * 0.4)
        self.right, self.bottom = width - 14, height
        longest = max(
            (width_of(line) for _, label in x.ticks for line in label.split("\n")), default=0
        )
        step = (self.right - self.left) / max(len(x.ticks), 1)
        self._turned = x.names and longest > step - 6
        if self._turned:  # the first name begins left of the plot
            reach = min(longest, _LONGEST) * math.cos(math.radians(_TURN))
            self.left = max(self.left, reach - step / 2)
        self.parts: list[str] = []
        self._legend: list[tuple[str, str]] = []
        self._labels: list[tuple[float, float, float]] = []  # left, right, base line
        for value, label in y.ticks:
            if grid:
                self.rule(self.y(value), stroke=GRID)
            at = (self.left - 7, self.y(value) + 4)
            self.parts.append(text(*at, label, room=width * 0.4, text_anchor="end"))
        if grid:
            self.rule(height, stroke=SOFT)
        self._end = height + (self._names() if x.names else self._numbers())
        if x_label:
            self._end += _LINE
            centre, room = (self.left + self.right) / 2, self.right - self.left
            self.parts.append(text(centre, self._end, x_label, room=room))

    def x(self, value: float) -> float:
        """The pixel of a value."""
        return self.left + (self.right - self.left) * self._x.share(value)

    def y(self, value: float) -> float:
        """The pixel of a value."""
        return self.bottom * (1 - self._y.share(value))

    def rule(self, at: float, **style: Any) -> None:
        """A horizontal line over the width of the plot."""
        self.parts.append(element("path", d=path([(self.left, at), (self.right, at)]), **style))

    def _numbers(self) -> float:
        """Labels of the x axis that have room; how high they are."""
        free = -math.inf
        for value, label in self._x.ticks:
            at, half = self.x(value), width_of(label) / 2
            if at - half >= free:
                self.parts.append(text(at, self.bottom + 17, label))
                free = at + half + 8
        return 22

    def _names(self) -> float:
        """All labels of the x axis, turned where they have no room; how high they are."""
        labels = [(self.x(at), label.split("\n")) for at, label in self._x.ticks]
        if not self._turned:
            for at, lines in labels:
                for i, line in enumerate(lines):
                    self.parts.append(text(at, self.bottom + 17 + _LINE * i, line))
            return 7 + _LINE * max((len(lines) for _, lines in labels), default=1)
        # hundreds of names have no room, turned or not
        every = math.ceil(_LINE / (self.x(1) - self.x(0)))
        longest = max(width_of(", ".join(lines)) for _, lines in labels)
        for at, lines in labels[::every]:
            turn = f"translate({short(at + 4)} {short(self.bottom + 15)}) rotate(-{_TURN})"
            style: Style = {"room": _LONGEST, "transform": turn}
            self.parts.append(text(0, 0, ", ".join(lines), text_anchor="end", **style))
        return 20 + min(longest, _LONGEST) * math.sin(math.radians(_TURN))

    def label(
        self, x: float, y: float, words: str, fill: str = SOFT, *, name: bool = False
    ) -> None:
        """A text where no other label stands: beside a point, or above the plot if it is a name."""
        half = width_of(words, 10) / 2
        x = min(max(x, half), self._width - half)
        beside = (base for base in (y - 7, y + 15, y - 19, y + 27) if 0 < base < self.bottom)
        for base in (-5 - 12 * i for i in count()) if name else beside:
            if all(
                x + half <= left or right <= x - half or abs(base - other) >= 11
                for left, right, other in self._labels
            ):
                self._labels.append((x - half, x + half, base))
                self.parts.append(text(x, base, words, fill=fill, font_size=10))
                return

    def entry(self, name: str, sign: str) -> None:
        """An entry of the legend; `sign`: drawn at the right of (0, 0), 22 wide and 12 high."""
        self._legend.append((name, sign))

    def svg(self, title: str, about: str) -> str:
        """The drawing with title and legend. `about`: what it shows, if it is not seen."""
        x, y = self.left, self._end + 22
        for name, sign in self._legend:
            room = self._width - self.left - 32
            wide = 46 + min(width_of(name), room)
            if x > self.left and x + wide > self._width + 18:
                x, y = self.left, y + 17
            words = text(28, 4, name, room=room, text_anchor="start", fill=INK)
            self.parts.append(
                element("g", sign + words, transform=f"translate({short(x)} {short(y - 4)})")
            )
            x += wide
        bottom = y if self._legend else self._end
        top = min([0.0, *(base - 6 for _, _, base in self._labels)]) - 12
        if self._y_label:
            label = text(2, top, self._y_label, room=self._width, text_anchor="start")
            self.parts.append(label)
            top -= 18
        bold: Style = {"text_anchor": "start", "font_size": 14, "font_weight": 600, "fill": INK}
        letters = int(len(title) * self._width / (width_of(title, 15) or 1))  # bold ones of a line
        for line in reversed(textwrap.wrap(title, max(letters, 1))):
            self.parts.append(text(2, top, line, **bold))
            top -= 17
        height = math.ceil(bottom + 6 - top)
        return element(
            "svg",
            "".join(self.parts),
            width=self._width,
            height=height,
            viewBox=f"0 {top:g} {self._width:g} {height}",
            role="img",
            aria_label=about,
            font_family=_FONT,
            font_size=12,
            fill="none",
        )


def standalone(svg: str) -> str:
    """The drawing for a file, in colours of its own."""
    top = svg.partition('viewBox="0 ')[2].partition(" ")[0]
    paper = element("rect", y=top, width="100%", height="100%", fill=PAPER)
    svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    svg = svg.replace(">", f">{paper}", 1)
    return re.sub(r"var\((--[\w-]+)\)", lambda match: _light_colours()[match[1]], svg)


@cache
def _light_colours() -> dict[str, str]:
    light = (Path(__file__).parent.parent / "page.css").read_text("utf-8").partition("@media")[0]
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]+)", light))
