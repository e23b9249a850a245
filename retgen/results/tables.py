"""Tables of texts: what a panel becomes, and what has no measurements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from retgen.markdown import escape_markdown, markdown_table
from retgen.results.measurements import Measurement

Place = tuple[int, int]  # row and column of a cell


@dataclass(frozen=True)
class TableView:
    """A table of texts: `head`, `rows` of as many cells; the first `names` columns are text.

    `faint`: indices of rows to compare with (baselines). `best`: cells with the best value of
    their column. `beside`: what a page prints small in a cell, as the interval of a score.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    faint: Sequence[int] = ()
    best: Collection[Place] = ()
    beside: Mapping[Place, str] = field(default_factory=dict)
    title: str = ""
    measurements: Sequence[Measurement] = ()  # it has none: it is texts

    def table(self, *, terminal: bool = False) -> TableView:
        """Itself, as a panel gives its table."""
        return self

    def text(self) -> str:
        """For a terminal: texts left, numbers right."""
        lines = [list(self.head), *map(list, self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < self.names else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def markdown(self, but: str = "") -> str:
        """Under its title, if that is not `but`, with its small print in brackets."""
        parts = [f"### {escape_markdown(self.title)}"] if self.title not in ("", but) else []
        rows = [
            [
                f"{cell} ({self.beside[at, i]})" if (at, i) in self.beside else cell
                for i, cell in enumerate(row)
            ]
            for at, row in enumerate(self.rows)
        ]
        parts.append(markdown_table(self.head, rows, self.names).rstrip())
        return "\n\n".join(parts)
