"""HTML pages: one file each, without scripts or requests; whatever is text is escaped.

`page.html` shows a `Page`: heading, what came out, sections, and the command that makes it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from retgen.highlights import Segment
from retgen.markdown import code_spans, escape_markdown
from retgen.results.tables import TableView
from retgen.write import write_file

if TYPE_CHECKING:
    import jinja2

    from retgen.results.measurements import Measurement
    from retgen.results.pictures import Picture

_TEMPLATES = Path(__file__).parent.parent
_CODE = re.compile(r"`([^`]+)`")


class Table(Protocol):
    """A panel of measurements, or a table of texts as it stands."""

    @property
    def title(self) -> str: ...
    @property
    def measurements(self) -> Sequence[Measurement]: ...

    def table(self, *, terminal: bool = False) -> TableView:
        """The texts; `terminal`: as a terminal shows them, without small print."""


@dataclass(frozen=True)
class Fold:
    """Tables, or code, that a page shows on request. `printed`: a terminal shows them too."""

    title: str
    tables: Sequence[Table] = ()
    printed: bool = False
    code: str = ""


@dataclass(frozen=True)
class MarkedRecord:
    """A record and its texts: (what it is, whether it is one before a change, text)."""

    title: str | Sequence[Segment]
    texts: Sequence[tuple[str, bool, Sequence[Segment]]]


@dataclass(frozen=True)
class Section:
    """A part of a page of results.

    In `text`, code stands between backticks. `code`: blocks of it. `small`: pictures stand closer.
    `printed`: a terminal shows its tables, under `terminal_title` if there is one.
    """

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = ()
    folded: Sequence[Fold] = ()
    changes: Sequence[MarkedRecord] = ()
    printed: bool = True
    terminal_title: str = ""
    code: Sequence[str] = ()
    small: bool = False

    def views(self) -> list[TableView]:
        """Its tables of texts."""
        return [one.table() for one in self.tables]

    def printed_texts(self) -> Iterator[str]:
        """Its tables for a terminal, the first one under a title, and whatever has its own."""
        title = self.terminal_title or self.title
        printed = [(one, title) for one in self.tables if self.printed]
        printed += [
            (one, self.terminal_title or fold.title)
            for fold in self.folded
            for one in fold.tables
            if fold.printed
        ]
        for at, (one, other) in enumerate(printed):
            heading = one.title or (other if at == 0 or other != title else "")
            yield "\n".join(filter(None, [heading, one.table(terminal=True).text()]))

    def markdown(self) -> str:
        """Title, text, tables with what is folded, notes."""
        parts = [f"## {escape_markdown(self.title)}"]
        parts += map(code_spans, self.text)
        parts += [view.markdown(but=self.title) for view in self.views()]
        for fold in self.folded:
            for view in (one.table() for one in fold.tables):
                parts.append(replace(view, title=view.title or fold.title).markdown())
        parts += (
            ["\n".join(f"- {escape_markdown(note)}" for note in self.notes)] if self.notes else []
        )
        return "\n\n".join(parts)


class Verdict(NamedTuple):
    """What came out, in a word and a sentence. `kind`: its colour, "good", "fair" or "bad"."""

    kind: str
    word: str
    text: str
    counts: str = ""


class Tile(NamedTuple):
    """A number, what it counts, and its small print."""

    value: str
    what: str
    small: str = ""


class Box(NamedTuple):
    """Statements under a title, each a bold beginning and the rest, where code stands between
    backticks. `kind`: as of `Verdict`.
    """

    title: str
    kind: str
    statements: Sequence[tuple[str, str]]


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
    verdicts: Sequence[Verdict] = ()
    tiles: Sequence[Tile] = ()
    boxes: Sequence[Box] = ()
    footer: str = ""

    def html(self, figures: Path | None = None) -> str:
        """The whole file; its pictures are written to `figures` too, where that is given."""
        values = {key: getattr(self, key) for key in self.__dataclass_fields__}

        def svg(picture: Picture) -> str:
            if figures is not None:
                picture.write(figures)
            return picture.draw()

        return _render({**values, "svg": svg})

    def markdown(self) -> str:
        """What came out, and every section with its tables."""
        parts = [f"# {escape_markdown(self.name)}"]
        parts += [code_spans(self.lede)] if self.lede else []
        for one in self.verdicts:
            text = f"{one.text} ({one.counts})" if one.counts else one.text
            parts.append(f"**{escape_markdown(one.word)}**: {escape_markdown(text)}")
        if tiles := self.tiles:
            rows = [[one.value for one in tiles], [one.small for one in tiles]]
            parts.append(TableView([one.what for one in tiles], rows, len(tiles)).markdown())
        for box in self.boxes:
            lines = (f"- **{escape_markdown(a)}** {code_spans(b)}" for a, b in box.statements)
            parts += [f"## {escape_markdown(box.title)}", "\n".join(lines)]
        parts += [escape_markdown(" ".join(self.summary))] if self.summary else []
        return "\n\n".join([*parts, *(one.markdown() for one in self.sections)]) + "\n"

    def write(self, folder: Path, stem: str) -> None:
        """Write STEM.md, STEM.html and figures/ to the folder."""
        write_file(folder / f"{stem}.md", self.markdown())
        write_file(folder / f"{stem}.html", self.html(folder / "figures"))

    def measurements(self) -> Iterator[Measurement]:
        """What its tables are made of."""
        for section in self.sections:
            for one in (*section.tables, *(one for fold in section.folded for one in fold.tables)):
                yield from one.measurements

    def terminal(self, path: Path, notes: Iterable[str] = (), before: Sequence[str] = ()) -> str:
        """For a terminal: texts, tables, what must be known of them, where the page is."""
        tables = [text for section in self.sections for text in section.printed_texts()]
        lines = [f"note: {note}" for note in dict.fromkeys(notes)]
        return "\n\n".join([*before, *tables]) + "\n" + "\n".join([*lines, f"page: {path}"])


def _render(values: Mapping[str, Any]) -> str:
    from markupsafe import Markup

    style = Markup((_TEMPLATES / "page.css").read_text("utf-8"))
    return str(_template().render({**values, "style": style}))


@cache
def _template() -> jinja2.Template:
    import jinja2  # 40 ms, and only pages need it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code_cut"] = code_cut
    return environment.get_template("page.html")


def code_cut(text: str) -> list[Segment]:
    """A text cut at its `code`, which is marked."""
    return [Segment(one, "code" * (i % 2)) for i, one in enumerate(_CODE.split(text)) if one]
