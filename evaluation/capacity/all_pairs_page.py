"""What `gen capacity` keeps of all pairs in its folder, and shows: tables, the page, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import OutputError
from retgen.evaluation.capacity.construct import PRECISIONS, FormatCapacity
from retgen.evaluation.capacity.free import TABLE_6, Critical, Fit, cubic_fit
from retgen.results.page import Page, Section
from retgen.results.pictures import Level, Line, Lines
from retgen.results.tables import TableView
from retgen.write import write_file

_FIT = 8  # dimensions; a cubic through fewer says nothing


@dataclass(frozen=True)
class Capacity:
    """Everything that the folder holds: critical n by protocol and dimension, the closed form."""

    folder: Path
    critical: dict[str, dict[int, Critical]]
    carried: list[FormatCapacity]
    command: str

    def fit(self, protocol: str) -> Fit | None:
        """The cubic through the complete dimensions, where there are enough."""
        points = {d: c.documents for d, c in self.critical[protocol].items() if c.complete}
        return cubic_fit(points) if len(points) >= _FIT else None

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity --json` prints."""
        fits = {"table_6": cubic_fit(TABLE_6)}
        fits |= {name: fit for name in self.critical if (fit := self.fit(name)) is not None}
        return {
            "protocols": {
                name: [row_of(one) for one in result.values()]
                for name, result in self.critical.items()
            },
            "construct": [row_of(one) for one in self.carried],
            "table_6": {str(d): n for d, n in TABLE_6.items()},
            "cubic_fit": {name: fit._asdict() for name, fit in fits.items()},
        }


def kept(folder: Path, name: str) -> dict[int, Critical]:
    rows = _read(folder / f"{name}.jsonl", Critical._fields)
    return {row["dimension"]: Critical(**row) for row in rows}


def carried_before(folder: Path) -> list[FormatCapacity]:
    rows = _read(folder / "construct.jsonl", FormatCapacity._fields)
    return [FormatCapacity(**row) for row in rows]


def keep(path: Path, rows: Iterable[Critical | FormatCapacity]) -> None:
    """Write what a later call reads with `kept` or `carried_before`."""
    write_file(path, b"".join(orjson.dumps(row_of(one)) + b"\n" for one in rows))


def _read(path: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a file that we wrote."""
    if not path.is_file():
        return []
    try:
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        result = [{name: row[name] for name in fields} for row in rows]
        for row in result:
            if "by_seed" in row:
                row["by_seed"] = tuple(map(int, row["by_seed"]))
            row["dimension"], row["documents"] = int(row["dimension"]), int(row["documents"])
            # JSON has no infinity
            row["margin"] = float("inf") if row["margin"] is None else float(row["margin"])
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path}: not written by gen capacity. Give another --out, or move the file away."
        ) from error
    return result


def row_of(one: Critical | FormatCapacity) -> dict[str, Any]:
    row = one._asdict()
    if row["margin"] == float("inf"):
        row["margin"] = None
    return row


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
    return page_of(result).terminal(result.folder / "capacity.html", list(_fits(result)))


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
    page_of(result).write(result.folder, "capacity")


def page_of(result: Capacity) -> Page:
    """All that is shown."""
    sections = [
        *_critical(result),
        *_carried(result),
        Section("What is measured, and what is known", _WHAT),
    ]
    lede = "Documents that fit in d dimensions when all pairs of them are asked for."
    return Page("All pairs", "retgen capacity", lede, sentences(result), sections, result.command)


def _critical(result: Capacity) -> Iterator[Section]:
    if not any(result.critical.values()):
        return
    top = max(d for by in result.critical.values() for d in by)
    curves = []
    names = {"paper": "paper's protocol, measured here", "best": "best optimiser, random starts"}
    for protocol, of in result.critical.items():
        if of:
            curves.append(
                Line(
                    names[protocol],
                    [*map(float, sorted(of))],
                    [float(of[d].documents) for d in sorted(of)],
                    hollow=[i for i, d in enumerate(sorted(of)) if not of[d].complete],
                )
            )
    shown = [d for d in TABLE_6 if d <= max(top, 12)]
    curves.append(
        Line(
            "Table 6 of the paper",
            [*map(float, shown)],
            [float(TABLE_6[d]) for d in shown],
            dashed=True,
        )
    )
    picture = Lines(
        file="critical_n",
        title="Critical n by dimension",
        curves=curves,
        x="dimensions",
        y="documents, all pairs of which are solved",
        log_y=True,
        caption="Documents at which each method ends; hollow points were cut short.",
    )
    notes = [
        "a number with ≥ was cut short by --minutes; the others ended by failing",
        "an n counts when every query ranks its two documents strictly first, in float32 and "
        "again in float64",
    ]
    notes += list(_fits(result))
    yield Section(
        "Critical n",
        [],
        [critical_table(result)],
        [picture],
        notes,
    )


def _fits(result: Capacity) -> Iterator[str]:
    for name, fit in (
        ("Table 6", cubic_fit(TABLE_6)),
        ("the paper's protocol here", result.fit("paper")),
    ):
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
            curves.append(Line(precision, x, [float(one.single) for one in of]))
    limit = max(one.limit for one in result.carried)
    picture = Lines(
        file="closed_form",
        title="The closed form in number formats",
        curves=curves,
        levels=[Level(f"largest n tried ({limit:,})", float(limit), True)],
        x="dimensions",
        y="documents told apart",
        log_x=True,
        log_y=True,
        caption="Largest number of documents found that each format carries.",
    )
    yield Section(
        "The closed form in number formats",
        [
            "Checked by brute force: every pair against every document, after rounding. Every "
            f"number of documents up to the first column is carried (tried one by one to "
            f"{max(one.scanned_to for one in result.carried):,}); the second is the largest single "
            "number found, as rounding is kinder to some than to others.",
        ],
        [carried_table(result)],
        [picture],
        [f"{name}: {what}" for name, what in PRECISIONS.items()]
        + ["these vectors come from a formula; they are not a result of optimisation"],
    )
