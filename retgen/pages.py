"""HTML pages: one file each, without scripts or requests; whatever is text is escaped.

`page.html` is what all of them share: head, style, heading, summary, sections, and the command that
makes the page again. Results fill it from a `Page`, the report of a run from report.json.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen import plots

if TYPE_CHECKING:
    import jinja2

Place = tuple[int, int]  # row and column of a cell
Pieces = list[tuple[str, bool]]  # a text cut up: (piece, whether it is highlighted)


@dataclass(frozen=True)
class TableView:
    """A table of texts: `head`, `rows` of as many cells; the first `names` columns are text.

    `faint`: indices of rows that are there to compare with (baselines). `best`: cells that are the
    best of their column. `beside`: what a page prints small in a cell, as the interval of a score.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    faint: Sequence[int] = ()
    best: Collection[Place] = ()
    beside: Mapping[Place, str] = field(default_factory=dict)

    def small_print(self) -> TableView | None:
        """What a page prints small, as a table of its own; None where there is none."""
        columns = sorted({column for _, column in self.beside})
        if not columns:
            return None
        named = range(columns[0])
        rows = [
            [row[i] for i in named] + [self.beside.get((at, column), "") for column in columns]
            for at, row in enumerate(self.rows)
            if any((at, column) in self.beside for column in columns)
        ]
        return TableView([self.head[i] for i in (*named, *columns)], rows, self.names)


def best_places(
    columns: Mapping[int, Sequence[float | None]], lowest: Collection[int] = ()
) -> set[Place]:
    """The cells with the best value of each column, as it is printed: ties are all best.

    Of fewer than two values none is best. `lowest`: columns in which less is better.
    """
    result: set[Place] = set()
    for column, values in columns.items():
        there = [round(value, 4) for value in values if value is not None]
        if len(there) > 1:
            top = min(there) if column in lowest else max(there)
            result |= {
                (row, column)
                for row, value in enumerate(values)
                if value is not None and round(value, 4) == top
            }
    return result


@dataclass(frozen=True)
class Figure:
    """An SVG drawn by us (it is set as it stands), and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Fold:
    """Tables that a page shows when its reader asks for them."""

    title: str
    tables: Sequence[TableView]


@dataclass(frozen=True)
class Change:
    """A record and its texts before and after: (what it is, whether it is the one before, text)."""

    title: str
    texts: Sequence[tuple[str, bool, Pieces]]


@dataclass(frozen=True)
class Section:
    """A part of a page of results."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[TableView] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    folded: Sequence[Fold] = ()
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class Page:
    """A page of results. `lede`: what was measured. `summary`: what came out, in sentences.

    `again`: the command that makes it.
    """

    name: str
    eyebrow: str
    lede: str
    summary: Sequence[str]
    sections: Sequence[Section]
    again: str

    def html(self) -> str:
        """The whole file."""
        values = {key: getattr(self, key) for key in self.__dataclass_fields__}
        return render("result_page.html", values)


def terminal(parts: Sequence[str], notes: Sequence[str], page: Path) -> str:
    """What a command prints of its results: tables, what must be known of them, the page."""
    return "\n\n".join(parts) + "\n" + "".join(f"note: {n}\n" for n in notes) + f"page: {page}"


def text_table(view: TableView) -> str:
    """A table for a terminal: texts left, numbers right."""
    lines = [list(view.head), *map(list, view.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(view.head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < view.names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def render(template: str, values: Mapping[str, Any]) -> str:
    """A template of this folder with the style that all pages share."""
    from markupsafe import Markup

    style = Markup((Path(__file__).parent / "page.css").read_text("utf-8"))
    return str(_compiled(template).render({**values, "style": style}))


@cache
def _compiled(template: str) -> jinja2.Template:
    import jinja2  # 40 ms, and only pages need it

    from retgen.templates import CompiledTemplates

    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=CompiledTemplates(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": plots.number, "score": plots.score, "size": plots.size}
    return environment.get_template(template)
