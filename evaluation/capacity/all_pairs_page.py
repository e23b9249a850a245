"""What `gen capacity` shows of all pairs: tables for the terminal, the page, its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.capacity.construct import PRECISIONS
from retgen.evaluation.capacity.free import TABLE_6, Critical, cubic_fit
from retgen.markdown import escape_markdown, markdown_table
from retgen.pages import Figure, Page, Section, TableView, terminal, text_table
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.evaluation.capacity.all_pairs_result import Capacity


_WHAT = (
    "A query asks for two of n documents, and every pair is asked for: how large may n be in d "
    "dimensions? From four dimensions on there is no limit. The closed form puts any number of "
    "documents on a curve in four dimensions and has a query for each pair that ranks it first; "
    "what shrinks is the margin, and so how many of them a number format can tell apart.",
    "What Table 6 of the paper measures is a loss and an optimiser: the largest n at which "
    "InfoNCE, started at random, puts every pair in order. It says how much such training "
    "finds, not how much can be embedded. A better optimiser finds several times as many.",
)


def critical_table(result: Capacity) -> TableView:
    """A row a dimension: Table 6, and the critical n of each protocol."""
    paper, best = (result.critical.get(name, {}) for name in ("paper", "best"))
    measured = [
        (name, by) for name, by in (("paper's protocol", paper), ("best optimiser", best)) if by
    ]
    rows = []
    for d in sorted({*paper, *best}):
        row = [str(d), str(TABLE_6.get(d, ""))]
        for _, by in measured:
            row += _cells(by[d]) if d in by else ["", "", ""]
        rows.append(row)
    head = ["d", "Table 6"]
    for name, _ in measured:
        head += [name, "by seed", "seconds"]
    return TableView(head, rows, names=0)


def _cells(one: Critical) -> list[str]:
    number = f"{one.documents:,}" if one.complete else f"≥ {one.documents:,}"
    return [number, " ".join(map(str, one.by_seed)), f"{one.seconds:.1f}"]


def carried_table(result: Capacity) -> TableView:
    """A row a dimension, a column a number format."""
    dims = sorted({one.dimension for one in result.carried})
    cell = {(one.dimension, one.precision): one for one in result.carried}
    rows = []
    for d in dims:
        row = [str(d)]
        for precision in PRECISIONS:
            one = cell.get((d, precision))
            if one is None:
                row += ["", ""]
                continue
            open_end = "≥ " if one.documents >= one.scanned_to else ""
            row.append(f"{open_end}{one.documents:,}")
            row.append(f"{'≥ ' if one.single >= one.limit else ''}{one.single:,}")
        rows.append(row)
    head = ["d", *(name for p in PRECISIONS for name in (f"{p}: every n to", "one n"))]
    return TableView(head, rows, names=0)


def text(result: Capacity) -> str:
    """For a terminal."""
    parts = []
    if any(result.critical.values()):
        parts.append(text_table(critical_table(result)))
        parts += _fits(result)
    if result.carried:
        parts.append(text_table(carried_table(result)))
    return terminal(parts, [], result.folder / "capacity.html")


def sentences(result: Capacity) -> list[str]:
    """The summary of the page: how far each method came in the largest dimension that it tried."""
    message = []
    names = {"paper": "The paper's protocol", "best": "The best optimiser from random starts"}
    for protocol, of in result.critical.items():
        if of:
            d = max(of)
            end = "" if of[d].complete else " before it was cut short"
            of_paper = f" (Table 6 has {TABLE_6[d]:,})" if d in TABLE_6 else ""
            message.append(
                f"{names[protocol]} puts all pairs of {of[d].documents:,} documents in order in "
                f"{d} dimensions{end}{of_paper}."
            )
    if result.carried:
        widest = max(result.carried, key=lambda one: (one.single, -one.dimension))
        message.append(
            f"The closed form carries all pairs of {widest.single:,} documents in "
            f"{widest.dimension} dimensions in {widest.precision}"
            f"{', the largest number tried' if widest.single >= widest.limit else ''}."
        )
    message.append(
        "From four dimensions on any number of documents can be embedded: where a method ends "
        "tells of its loss, its optimiser or its number format, not of a limit of vectors."
    )
    return message


def write_page(result: Capacity) -> None:
    """figures/, capacity.md and capacity.html."""
    sections = [
        *_critical(result), *_carried(result),
        Section("What is measured, and what is known", _WHAT),
    ]  # fmt: skip
    tables = [table for section in sections for table in section.tables]
    summary = sentences(result)
    parts = [escape_markdown(" ".join(summary)) + "\n"]
    parts += [markdown_table(table.head, table.rows) for table in tables]
    write_file(result.folder / "capacity.md", "\n".join(parts))
    lede = "Documents that fit in d dimensions when all pairs of them are asked for."
    page = Page("All pairs", "retgen capacity", lede, summary, sections, result.command)
    write_file(result.folder / "capacity.html", page.html())


def _critical(result: Capacity) -> Iterator[Section]:
    if not any(result.critical.values()):
        return
    top = max(d for by in result.critical.values() for d in by)
    curves = []
    names = {"paper": "paper's protocol, measured here", "best": "best optimiser, random starts"}
    for protocol, of in result.critical.items():
        if of:
            curves.append(
                draw.Line(names[protocol], [*map(float, sorted(of))],
                          [float(of[d].documents) for d in sorted(of)],
                          hollow=[i for i, d in enumerate(sorted(of)) if not of[d].complete])
            )  # fmt: skip
    shown = [d for d in TABLE_6 if d <= max(top, 12)]
    curves.append(
        draw.Line("Table 6 of the paper", [*map(float, shown)], [float(TABLE_6[d]) for d in shown],
                  dashed=True)
    )  # fmt: skip
    svg = draw.lines(
        result.folder / "figures" / "critical_n", curves, [], title="Critical n by dimension",
        x="dimensions", y="documents, all pairs of which are solved", log_y=True,
    )  # fmt: skip
    notes = [
        "a number with ≥ was cut short by --minutes; the others ended by failing",
        "an n counts when every query ranks its two documents strictly first, in float32 and "
        "again in float64",
    ]
    notes += list(_fits(result))
    yield Section(
        "Critical n", [], [critical_table(result)],
        [Figure(svg, "Documents at which each method ends; hollow points were cut short.")], notes,
    )  # fmt: skip


def _fits(result: Capacity) -> Iterator[str]:
    for name, fit in (("Table 6", cubic_fit(TABLE_6)), ("the paper's protocol here",
                                                        result.fit("paper"))):  # fmt: skip
        if fit is not None:
            constant, linear, square, cube = fit.coefficients
            yield (
                f"cubic through {name}: {constant:.4f} {linear:+.4f} d {square:+.4f} d² "
                f"{cube:+.4f} d³, r² {fit.r2:.4f}"
            )


def _carried(result: Capacity) -> Iterator[Section]:
    if not result.carried:
        return
    curves = []
    for precision in PRECISIONS:
        of = [one for one in result.carried if one.precision == precision]
        if of:
            of.sort(key=lambda one: one.dimension)
            x = [float(one.dimension) for one in of]
            curves.append(draw.Line(precision, x, [float(one.single) for one in of]))
    limit = max(one.limit for one in result.carried)
    svg = draw.lines(
        result.folder / "figures" / "closed_form", curves,
        [draw.Level(f"largest n tried ({limit:,})", float(limit), True)],
        title="The closed form in number formats", x="dimensions",
        y="documents told apart", log_x=True, log_y=True,
    )  # fmt: skip
    yield Section(
        "The closed form in number formats",
        [
            "Checked by brute force: every pair against every document, after rounding. Every "
            f"number of documents up to the first column is carried (tried one by one to "
            f"{max(one.scanned_to for one in result.carried):,}); the second is the largest single "
            "number found, as rounding is kinder to some than to others.",
        ],
        [carried_table(result)],
        [Figure(svg, "Largest number of documents found that each format carries.")],
        [f"{name}: {what}" for name, what in PRECISIONS.items()]
        + ["these vectors come from a formula; they are not a result of optimisation"],
    )
