"""What the page of `gen eval` shows of ladders: sections with their tables, and the pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from retgen.evaluation import plots as draw
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import Reading
from retgen.evaluation.tasks.multiconir.tables import (
    averages,
    by_condition,
    by_place,
    by_style,
    by_violations,
    by_words,
    controls,
    has_violations,
    readings,
    tables,
)
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import Figure, Fold, Section, TableView
from retgen.statistics.clustered import too_few

_CURVES = 6  # systems in a picture


def sections(results: Sequence[SystemResult[Rates]], folder: Path) -> Iterable[Section]:
    """The sections of the page; pictures go to `folder`."""
    reads = readings(results)
    ladders = max(read.rates.ladders for read in reads.values())
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    view = tables(results)
    over = f" and {len(domains)} domains, which weigh the same" if len(domains) > 1 else ""
    yield Section(
        "Ladders",
        [
            f"Averages over {ladders:,} ladders{over}, in percent, the best of a column in bold. "
            "Below each stands its 95% interval over ladders. Decline is "
            "Q1 less the longest query; blind is under the query of another ladder.",
        ],
        [averages(reads)],
    )
    yield Section(
        "Task 1: more conditions",
        [
            "The share of ladders in which the positive scores strictly higher than HN1, which "
            "violates one of the conditions asked for; a tie is a loss. Qn asks for conditions 1 "
            "to n; decline is Q1 less the last. The table has the mean of the query styles.",
        ],
        [view["task1"]],
        [_by_length(reads, folder)],
        folded=_folds("Each query style by itself", by_style(reads, "task1")),
    )
    yield Section(
        "Task 2: down the ladder",
        [
            "Neighbours on the ladder under the longest query: HN1 violates one condition, HN2 two "
            "and so on. P is the positive. The paper's Table 13 runs the other way, from the "
            "documents that violate most.",
        ],
        [view["task2"]],
        [_down(reads, folder)],
        folded=_folds("Each query style by itself", by_style(reads, "task2")),
    )
    if "task3" in view:
        yield Section(
            "Task 3: the style of the query",
            [
                "Of the same neighbours, how many are won under one style of the query and not won "
                "under the other; by domain, and the unweighted mean.",
            ],
            [view["task3"]],
        )
    if "singles" in view:
        yield Section(
            "One condition violated, wherever it stands",
            [
                "Against the positive stands each document that violates one of the n conditions "
                "alone. Pair by pair a longer query changes little; that the positive beats all n "
                "of them, as whoever takes the first document needs, becomes rare.",
            ],
            [view[name] for name in ("singles", "wordings") if name in view],
        )
    notes = [
        "blind: under the query of another ladder, so from the documents alone. Chance is 50% less "
        "half of what ties, since a tie is lost; what is above or below is a trace of the rewriting"
    ]
    notes += filter(None, [too_few(ladders, f"{ladders} ladders")])
    folded = [
        *_folds("Task 4: longer documents", by_words(reads)),
        *_folds("The place of the violated condition in the query", by_place(reads)),
        *_folds("Which condition is violated", by_condition(reads)),
        *_folds("Win rates by conditions asked for and violated", list(by_violations(reads))),
    ]
    figures = [_violated(reads, folder)] if any(has_violations(r) for r in reads.values()) else []
    yield Section(
        "Controls",
        [
            "With n conditions a single violation is one n-th of the evidence, so a falling curve "
            "in Task 1 mixes two things: longer queries, and smaller differences. Held apart: the "
            "win rate by how many of the conditions asked for are violated, and the one where all "
            "of them are, whatever n.",
        ],
        [controls(reads, small=True)],
        figures,
        notes,
        folded,
    )


def _folds(title: str, views: Sequence[TableView]) -> list[Fold]:
    return [Fold(title, views)] if views else []


def _by_length(reads: dict[str, Reading], folder: Path) -> Figure:
    curves = [
        _curve(label, read, [read.query(n) for n in range(1, read.conditions + 1)])
        for label, read in list(reads.items())[:_CURVES]
    ]
    blind = [
        _curve(f"{label}, blind", read, [
            [("blind", s, n) for s in read.styles] for n in range(1, read.conditions + 1)
        ], like=label)
        for label, read in list(reads.items())[: _CURVES // 2]
        if read.rates.where("blind")
    ]  # fmt: skip
    svg = draw.lines(
        folder / "ladders_task1", [*curves, *blind], [draw.Level("chance", 0.5, True)],
        title="Task 1: win rate by conditions asked for", x="conditions in the query", y="win rate",
        fraction=True,
    )  # fmt: skip
    return Figure(
        svg,
        "The positive against HN1, with bands of 95%; dashed: under the query of another ladder.",
    )


def _down(reads: dict[str, Reading], folder: Path) -> Figure:
    curves = [
        _curve(label, read, [read.rung(i) for i in range(1, read.rungs + 1)])
        for label, read in list(reads.items())[:_CURVES]
    ]
    svg = draw.lines(
        folder / "ladders_task2", curves, [draw.Level("chance", 0.5, True)],
        title="Task 2: win rate of neighbours", x="HN(i-1) against HNi, at i", y="win rate",
        fraction=True,
    )  # fmt: skip
    return Figure(svg, "At 1 stands the positive against HN1. Bands are 95% intervals.")


def _violated(reads: dict[str, Reading], folder: Path) -> Figure:
    result = {label: read for label, read in reads.items() if has_violations(read)}
    curves, diagonal = [], []
    for label, read in list(result.items())[: _CURVES // 2 + 1]:
        steps = range(1, read.conditions + 1)
        n = read.conditions
        name = f"{label}, {n} conditions"
        curves.append(_curve(name, read, [read.query(n, violated=v) for v in steps]))
        all_of = [read.query(v, violated=v) for v in steps]
        diagonal.append(_curve(f"{label}, no other condition", read, all_of, like=name))
    svg = draw.lines(
        folder / "ladders_violations", [*curves, *diagonal], [draw.Level("chance", 0.5, True)],
        title="Win rate by violated conditions", x="violated conditions", y="win rate",
        fraction=True,
    )  # fmt: skip
    return Figure(
        svg,
        "The positive against documents that violate more and more of the longest query; dashed: "
        "of queries that ask for nothing else.",
    )


def _curve(name: str, read: Reading, cells: Sequence[Sequence[Cell]], like: str = "") -> draw.Line:
    """A point for each of `cells`, from 1; dashed and without a band beside the curve `like`."""
    result = [(x, e) for x, one in enumerate(cells, start=1) if (e := read(*one)) is not None]
    curve = draw.Line(name, [float(x) for x, _ in result], [e.value for _, e in result])
    if like:
        return curve._replace(dashed=True, like=like)
    spans = [span for _, e in result if (span := e.span)]
    if len(spans) < len(result):
        return curve
    return curve._replace(low=[low for low, _ in spans], high=[high for _, high in spans])
