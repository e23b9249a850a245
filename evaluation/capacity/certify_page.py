"""What `gen capacity PATH` found, and shows of it: words, tables, the page, its picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.qrels.certificate import DimensionCertificate, brackets
from retgen.qrels.margins import MarginCaps
from retgen.results.page import Page, Section
from retgen.results.pictures import Level, Line, Lines, Picture
from retgen.results.tables import TableView
from retgen.search.collection import Collection

if TYPE_CHECKING:  # they import torch
    from retgen.evaluation.capacity.embedding import Embedding


class Margin(NamedTuple):
    """The widest margin `found` at a dimension (None: no embedding was found), and its cap."""

    dimension: int
    found: float | None
    cap: float


@dataclass(frozen=True)
class CertificateResult:
    """The bracket with what searches added, the witness, and margins.

    `wanted`: the margin asked for; `reached`: the fewest dimensions found to reach it.
    """

    folder: Path
    collection: Collection
    certificate: DimensionCertificate
    witness: Embedding | None
    caps: MarginCaps | None
    margins: list[Margin]
    wanted: float | None
    reached: int | None
    notes: list[str]
    command: str

    def lowest(self) -> int | None:
        """No fewer dimensions reach the margin asked for; None where no number does."""
        assert self.caps is not None
        assert self.wanted is not None
        packed = self.caps.lowest(self.wanted)
        return None if packed is None else max(packed, self.certificate.lower)

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity PATH --json` prints."""
        shown = self.certificate.to_json()
        shown["brackets"] = [bracket._asdict() for bracket in brackets(self.certificate)]
        result: dict[str, Any] = {
            "dataset": str(self.collection.path),
            "split": self.collection.split,
            "certificate": shown,
            "margins": [margin._asdict() for margin in self.margins],
            "notes": self.notes,
        }
        if self.wanted is not None:
            result["margin"] = {
                "wanted": self.wanted,
                "lowest_possible": self.lowest() if self.caps else None,
                "reachable": self.caps is None or self.caps.lowest(self.wanted) is not None,
                "lowest_found": self.reached,
            }
        if self.witness is not None:
            result["embedding"] = {
                "file": str(self.folder / "embedding.npz"),
                "dimension": self.witness.dimension,
                "smallest_gap": self.witness.gap,
            }
        return result


def brackets_table(result: CertificateResult) -> TableView:
    """A row a notion."""
    rows = [
        [bracket.notion, str(bracket.lower), str(bracket.upper)]
        for bracket in brackets(result.certificate)
    ]
    return TableView(["notion", "at least", "at most"], rows)


def bounds_table(result: CertificateResult) -> TableView:
    """A row a bound, the best first."""
    rows = [
        [f"{sign} {bound.dimension}", bound.notion, bound.theorem, bound.reference]
        for sign, bounds in (
            ("≥", result.certificate.lower_bounds),
            ("≤", result.certificate.upper_bounds),
        )
        for bound in bounds
    ]
    return TableView(["dimensions", "notion", "because", "reference"], rows, names=4)


def margins_table(result: CertificateResult) -> TableView:
    """A row a dimension."""
    rows = [
        [str(dimension), "none" if found is None else f"{found:.4f}", f"{cap:.4f}"]
        for dimension, found, cap in result.margins
    ]
    return TableView(["d", "margin found", "none above"], rows, names=0)


def sentences(result: CertificateResult) -> list[str]:
    """The results in words."""
    certificate = result.certificate
    if not certificate.lower_bounds:
        return ["Every query has all documents relevant: nothing is to be told apart."]
    message = [
        f"The qrels of {certificate.densities.queries:,} queries over "
        f"{certificate.densities.documents:,} relevant documents: a single-vector embedder "
        f"{certificate.sentence()}."
    ]
    if result.witness is not None:
        message.append(
            f"From random starts an embedding was found in {result.witness.dimension} dimensions "
            "and checked in exact arithmetic."
        )
    if result.caps is not None and result.caps.norm is not None:
        message.append(
            f"With unit vectors no embedder, of however many dimensions, has a margin above "
            f"{result.caps.norm:.4f}."
        )
    if result.wanted is not None and result.caps is not None:
        low = result.lowest()
        if low is None:
            message.append(f"So a margin of {result.wanted:g} is out of reach.")
        else:
            reached = (
                f"{result.reached} were found to be enough"
                if result.reached is not None
                else "no embedding that has it was found"
            )
            wanted = f"A margin of {result.wanted:g}"
            message.append(f"{wanted} takes at least {low} dimensions; {reached}.")
    return message


def text(result: CertificateResult) -> str:
    """For a terminal."""
    certificate = result.certificate
    before = ["\n".join(sentences(result))]
    if certificate.lower_bounds:
        best = (">=", certificate.lower_bounds[0]), ("<=", certificate.upper_bounds[0])
        before.append(
            "\n".join(
                f"{sign} {bound.dimension}: {bound.theorem} ({bound.reference})"
                for sign, bound in best
            )
        )
    return page_of(result).terminal(result.folder / "certificate.html", result.notes, before)


def write_page(result: CertificateResult) -> None:
    """figures/, certificate.md and certificate.html."""
    page_of(result).write(result.folder, "certificate")


def page_of(result: CertificateResult) -> Page:
    """All that is shown."""
    return Page(
        result.collection.name,
        "retgen capacity",
        "What is known of the dimension that any single-vector embedder needs for these qrels.",
        sentences(result),
        list(_sections(result)),
        result.command,
    )


def _sections(result: CertificateResult) -> Iterator[Section]:
    yield Section(
        "The bracket",
        ["How many dimensions are needed at least, and how many are enough, by what is asked."],
        [brackets_table(result)] if result.certificate.lower_bounds else [],
        notes=result.notes,
    )
    if result.margins:
        yield Section(
            "Margins of unit vectors",
            [
                "The margin is the least difference, over all queries, between the score of the "
                "worst relevant document and that of the best other one. Noise, and rounding to "
                "bf16 or int8, must stay below it. Found by optimisation, so more may be possible, "
                "but never more than the last column."
            ],
            [margins_table(result)],
            _pictures(result),
        )
    certificate = result.certificate
    yield Section(
        "Every bound",
        [],
        [bounds_table(result)] if certificate.lower_bounds else [],
        printed=False,
        notes=[f"{one['theorem']}: not computed, {one['reason']}" for one in certificate.skipped],
    )
    graph = certificate.densities
    rows = [
        [what, f"{value:.6f}" if value is not None else "not computed"]
        for what, value in (
            ("density of the query graph", graph.query_graph_density),
            ("density of the document graph", graph.document_graph_density),
            ("average query strength", graph.average_query_strength),
        )
    ]
    yield Section("Densities", [], [TableView(["of the qrels", ""], rows)], printed=False)


def _pictures(result: CertificateResult) -> list[Picture]:
    shown = [one for one in result.margins if one.found is not None]
    if len(shown) < 2:
        return []
    x = [float(one.dimension) for one in shown]
    curves = [
        Line("widest margin found", x, [one.found or 0.0 for one in shown]),
        Line("no embedding is above", x, [one.cap for one in shown], dashed=True),
    ]
    levels = [] if result.wanted is None else [Level("margin asked for", result.wanted, True)]
    return [
        Lines(
            file="margins",
            title="Margin by dimension",
            curves=curves,
            levels=levels,
            x="dimensions",
            y="margin of unit vectors",
            log_x=True,
            caption="Found by optimisation, below what is proven to be out of reach.",
        )
    ]
