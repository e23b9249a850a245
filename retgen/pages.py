"""HTML pages: one file each, without scripts or requests; whatever is text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen import plots

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True)
class TableView:
    """A table of texts: `head`, `rows` of as many cells; the first `names` columns are text.

    `faint`: indices of rows that are there to compare with (floors).
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    faint: Sequence[int] = ()


@dataclass(frozen=True)
class Figure:
    """An SVG drawn by us (it is set as it stands), and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of a page of results."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[TableView] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()


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


def result_page(
    title: str, eyebrow: str, lede: str, sections: Sequence[Section], again: str
) -> str:
    """A page of results. `again`: the command that makes it."""
    return render(
        "result_page.html",
        {
            "title": title,
            "eyebrow": eyebrow,
            "lede": lede,
            "sections": sections,
            "again": again,
        },
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
