"""`gen capacity` without a data set: all pairs of n documents in d dimensions.

Three things that are easily taken for one another, all written to capacity.json as they come:

- `paper`: the critical n of a loss and an optimiser, as the paper measures it (Table 6);
- `best`: the largest n that our best optimiser embeds from random starts;
- `construct`: the closed form, which embeds any n; what number formats carry of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from retgen.errors import UsageError
from retgen.evaluation.capacity import best, construct, paper
from retgen.evaluation.capacity.construct import PRECISIONS, FormatCapacity
from retgen.evaluation.capacity.paper import TABLE_6, Critical, Fit, cubic_fit
from retgen.progress import Progress, no_progress
from retgen.results.page import Page, Section
from retgen.results.pictures import Line, Lines
from retgen.results.tables import TableView
from retgen.search.embedders.loading import choose_device
from retgen.write import dump_json, make_folder, write_file

DIMENSIONS = {"paper": range(4, 46), "best": range(4, 9), "construct": (4, 6, 8, 16, 32, 64)}
HIGHEST = 4096  # dimensions; beyond, nothing here ends within a day
_PROTOCOLS: dict[str, Callable[..., Iterator[Critical]]] = {
    "paper": paper.critical,
    "best": best.critical,
}
_FIT = 8  # dimensions; a cubic through fewer says nothing
_WHAT = (
    "A query asks for two of n documents, and every pair is asked for: how large may n be in d "
    "dimensions? From four dimensions on there is no limit. The closed form puts any number of "
    "documents on a curve in four dimensions and has a query for each pair that ranks it first; "
    "what shrinks is the margin, and so how many of them a number format can tell apart.",
    "What Table 6 of the paper measures is a loss and an optimiser: the largest n at which "
    "InfoNCE, started at random, puts every pair in order. It says how much such training "
    "finds, not how much can be embedded. A better optimiser finds several times as many.",
)


@dataclass(frozen=True)
class Capacity:
    """What was measured: critical n by protocol and dimension; what formats carry of the form."""

    folder: Path
    critical: dict[str, dict[int, Critical]]
    carried: list[FormatCapacity]
    command: str

    def fit(self, protocol: str) -> Fit | None:
        """The cubic through the complete dimensions, where there are enough."""
        points = {d: c.documents for d, c in self.critical.get(protocol, {}).items() if c.complete}
        return cubic_fit(points) if len(points) >= _FIT else None

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity --json` prints."""
        fits = {"table_6": cubic_fit(TABLE_6)}
        fits |= {name: fit for name in self.critical if (fit := self.fit(name)) is not None}
        return {
            "protocols": {
                name: [of[d]._asdict() for d in sorted(of)] for name, of in self.critical.items()
            },
            "construct": [one._asdict() for one in self.carried],
            "table_6": {str(d): n for d, n in TABLE_6.items()},
            "cubic_fit": {name: fit._asdict() for name, fit in fits.items()},
        }


def capacity(
    *,
    protocols: Sequence[str] = ("paper",),
    closed_form: bool = False,
    dims: Sequence[int] = (),
    seeds: int = 3,
    minutes: float = 10.0,
    device: str | None = None,
    out: str | Path | None = None,
    command: str = "gen capacity",
    progress: Progress = no_progress,
) -> Capacity:
    """Measure how many documents fit, all pairs of them asked for, and write `out`.

    `dims` default to those of DIMENSIONS. `minutes` are for each protocol; what they leave
    unfinished is marked. Raises UsageError for what makes no sense.
    """
    for name in protocols:
        if name not in _PROTOCOLS:
            raise UsageError(f"--protocol {name}: is none of {', '.join(_PROTOCOLS)}")
    if not minutes > 0:
        raise UsageError("--minutes: give a positive number")
    if seeds < 1:
        raise UsageError("--seeds: at least 1")
    if any(d > HIGHEST for d in dims):
        raise UsageError(f"--dims: at most {HIGHEST:,} dimensions")
    even = [d for d in dims if d % 2 == 0 and d >= 4]
    # of dimensions given for a protocol too, the closed form has the even ones
    carried = sorted({*(even if protocols and even else dims or DIMENSIONS["construct"])})
    if closed_form:
        construct.check_dimensions(carried)
    if protocols and min(dims, default=1) < 1:
        raise UsageError(f"the dimension must be at least 1, not {min(dims)}")
    folder = Path(out) if out is not None else Path("outputs") / "capacity"
    options = {"seeds": seeds, "device": choose_device(device), "progress": progress}
    result = Capacity(folder, {name: {} for name in protocols}, [], command)
    make_folder(folder)
    for name in protocols:
        wanted = sorted({*(dims or DIMENSIONS[name])})
        for one in _PROTOCOLS[name](wanted, deadline=60 * minutes, **options):
            result.critical[name][one.dimension] = one
            write_file(folder / "capacity.json", dump_json(result.to_json()))
    for d in carried if closed_form else ():
        for precision in PRECISIONS:
            result.carried.append(construct.largest(d, precision, progress=progress))
            write_file(folder / "capacity.json", dump_json(result.to_json()))
    _page(result).write(folder, "capacity")
    return result


# --- what is shown ---

_NAMES = {"paper": "paper's protocol", "best": "best optimiser"}


def text(result: Capacity) -> str:
    """For a terminal."""
    return _page(result).terminal(result.folder / "capacity.html", list(_fits(result)))


def _page(result: Capacity) -> Page:
    """capacity.html and capacity.md."""
    sections = []
    if any(result.critical.values()):
        sections.append(_critical_section(result))
    if result.carried:
        sections.append(_carried_section(result))
    sections.append(Section("What is measured, and what is known", _WHAT))
    lede = "Documents that fit in d dimensions when all pairs of them are asked for."
    message = [*_sentences(result)]
    return Page("All pairs", "retgen capacity", lede, message, sections, result.command)


def _sentences(result: Capacity) -> Iterator[str]:
    """How far each method came in the largest dimension that it tried."""
    for protocol, of in result.critical.items():
        if of:
            d = max(of)
            end = "" if of[d].complete else " before it was cut short"
            of_paper = f" (Table 6 has {TABLE_6[d]:,})" if d in TABLE_6 else ""
            yield (
                f"The {_NAMES[protocol]} puts all pairs of {of[d].documents:,} documents in order "
                f"in {d} dimensions{end}{of_paper}."
            )
    if result.carried:
        widest = max(result.carried, key=lambda one: (one.documents, -one.dimension))
        yield (
            f"The closed form carries all pairs of {widest.documents:,} documents in "
            f"{widest.dimension} dimensions in {widest.precision}"
            f"{', the largest number tried' if widest.documents >= widest.limit else ''}."
        )
    yield (
        "From four dimensions on any number of documents can be embedded: where a method ends "
        "tells of its loss, its optimiser or its number format, not of a limit of vectors."
    )


def _critical_section(result: Capacity) -> Section:
    measured = {name: of for name, of in result.critical.items() if of}
    dims = sorted({d for of in measured.values() for d in of})
    heads, rows = ["d", "Table 6"], [[str(d), str(TABLE_6.get(d, ""))] for d in dims]
    curves = []
    for name, of in measured.items():
        heads += [_NAMES[name], "by seed", "seconds"]
        for d, row in zip(dims, rows, strict=True):
            row += _cells(of[d]) if d in of else ["", "", ""]
        cut = [i for i, d in enumerate(sorted(of)) if not of[d].complete]
        found = [float(of[d].documents) for d in sorted(of)]
        curves.append(Line(_NAMES[name], [*map(float, sorted(of))], found, hollow=cut))
    shown = {d: n for d, n in TABLE_6.items() if d <= max(*dims, 12)}
    x, y = map(float, shown), map(float, shown.values())
    curves.append(Line("Table 6 of the paper", [*x], [*y], dashed=True))
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
        *_fits(result),
    ]
    return Section("Critical n", [], [TableView(heads, rows, names=0)], [picture], notes)


def _cells(one: Critical) -> list[str]:
    number = f"{'' if one.complete else '≥ '}{one.documents:,}"
    return [number, " ".join(map(str, one.by_seed)), f"{one.seconds:.1f}"]


def _fits(result: Capacity) -> Iterator[str]:
    fits = {"Table 6": cubic_fit(TABLE_6), "the paper's protocol here": result.fit("paper")}
    for name, fit in fits.items():
        if fit is not None:
            constant, linear, square, cube = fit.coefficients
            yield (
                f"cubic through {name}: {constant:.4f} {linear:+.4f} d {square:+.4f} d² "
                f"{cube:+.4f} d³, r² {fit.r2:.4f}"
            )


def _carried_section(result: Capacity) -> Section:
    rows = []
    for d, of in groupby(result.carried, key=lambda one: one.dimension):
        cells = [f"{'≥ ' * (one.documents >= one.limit)}{one.documents:,}" for one in of]
        rows.append([str(d), *cells])
    return Section(
        "The closed form in number formats",
        [
            "Every number of documents up to this is carried: after rounding every pair is checked "
            "against every document. ≥: the largest number tried."
        ],
        [TableView(["d", *PRECISIONS], rows, names=0)],
        notes=[f"{name}: {what}" for name, what in PRECISIONS.items()]
        + ["these vectors come from a formula; they are not a result of optimisation"],
    )
