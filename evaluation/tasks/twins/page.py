"""What `gen eval` shows of twins: shares and changes over all, by wording, slot type and length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from retgen.evaluation import plots as draw
from retgen.evaluation.tasks.task import SystemResult
from retgen.evaluation.tasks.twins.changes import SHARES, Changes
from retgen.pages import Figure, Fold, Section, TableView
from retgen.statistics.clustered import Estimate

TITLES = {
    "all": "Twins: shares of queries (%), and changes in gaps",
    "base": "Base above twin (%)",
    "control": "Control above twin (%)",
    "sensitivity": "Sensitivity: control less twin, in gaps",
}
_FACTORS = {"slot_type": "type of the changed fact", "length": "facts a document"}
_HEADS = {
    "base": "base > twin",
    "control": "control > twin",
    "last": "twin last",
    "fact": "change of a fact",
    "rewording": "change of words",
    "sensitivity": "sensitivity",
}
_SERIES = 6  # systems in a picture
_CHANCE = {"base": "50.0", "control": "50.0", "last": "33.3"}
_NAMED = 4  # systems that get a sentence of their own

Reads = dict[str, Changes]


def readings(results: Sequence[SystemResult[Changes]]) -> Reads:
    """The changes of each system by its label; where there are several data sets, on each."""
    several = any(len(one.domains) > 1 for one in results)
    return {
        f"{one.label}: {domain}" if several else one.label: changes
        for one in results
        for domain, changes in one.domains.items()
    }


def tables(results: Sequence[SystemResult[Changes]]) -> dict[str, TableView]:
    """All of them by their titles."""
    reads = readings(results)
    result = {TITLES["all"]: _over_all(reads)}
    for measure in ("base", "control", "sensitivity"):
        for factor, words in _FACTORS.items():
            result[f"{TITLES[measure]}, by {words}"] = _by(reads, measure, factor)
    return result


def sections(results: Sequence[SystemResult[Changes]], folder: Path) -> Iterable[Section]:
    """The sections of the page; pictures go to `folder`."""
    reads = readings(results)
    first = next(iter(reads.values()))
    yield Section(
        "Twins: facts or words",
        [
            f"{first.count:,} triples: a base; its twin, the same words with one fact changed; and "
            "its control, the same facts in other words and another order. Queries ask for facts "
            "of the base, the changed one among them, so base and control are right and the twin "
            "is not. A system that goes by facts scores both above the twin.",
            "base > twin, control > twin: shares of queries, a tie half; twin last: it is strictly "
            "below both. Changes are counted in gaps: 1 is how far a system scores base and "
            "control above documents about something else, on average. Change of a fact: base "
            "less twin. Change of words: the size of base less control. Sensitivity: the change "
            "under the twin less that under the control, so the score of the control less that of "
            "the twin. Intervals are over triples.",
        ],
        [_over_all(reads)],
        [_picture(reads, "wording", "", folder)],
    )
    for factor, words in _FACTORS.items():
        yield Section(
            f"By {words}",
            ["By wording too, since names of persons and of other entities are never entailed: how "
             "often the control scores above the twin."],
            [_by(reads, "control", factor)],
            [
                _picture(reads, factor, wording, folder)
                for wording in first.levels("wording")
            ],
            folded=[
                Fold(TITLES[measure], [_by(reads, measure, factor)])
                for measure in ("base", "sensitivity")
            ],
        )  # fmt: skip


def sentences(results: Sequence[SystemResult[Changes]]) -> list[str]:
    """The summary of a page."""
    reads = readings(results)
    result = []
    for label, one in list(reads.items())[:_NAMED]:
        shares = {w: one.estimate("control", wording=w) for w in one.levels("wording")}
        said = ", ".join(f"{e.value:.0%} ({wording})" for wording, e in shares.items() if e)
        result.append(
            f"{label}: the right facts in other words score above the same words with a wrong fact "
            f"in {said} of queries; chance is 50%."
        )
    if len(reads) > _NAMED:
        result.append(f"{len(reads) - _NAMED} more systems stand in the tables.")
    return result


def _over_all(reads: Reads) -> TableView:
    lines: list[list[str]] = []
    beside: dict[tuple[int, int], str] = {}
    for label, one in reads.items():
        for wording in ("", *one.levels("wording")):
            only = {"wording": wording} if wording else {}
            found = [one.estimate(measure, **only) for measure in _HEADS]
            for column, (measure, estimate) in enumerate(zip(_HEADS, found, strict=True), start=2):
                if span := _span(estimate, measure):
                    beside[len(lines), column] = span
            texts = [_text(e, m) for m, e in zip(_HEADS, found, strict=True)]
            lines.append([label, wording or "all", *texts])
    faint = [len(lines)]
    lines.append(["chance", "", *(_CHANCE.get(measure, "") for measure in _HEADS)])
    return TableView(
        ["system", "wording", *_HEADS.values()], lines, names=2, faint=faint, beside=beside
    )


def _by(reads: Reads, measure: str, factor: str) -> TableView:
    """A row a system and wording, a column a value of the factor."""
    levels = list(dict.fromkeys(v for one in reads.values() for v in one.levels(factor)))
    lines: list[list[str]] = []
    beside: dict[tuple[int, int], str] = {}
    for label, one in reads.items():
        for wording in one.levels("wording"):
            found = [one.estimate(measure, wording=wording, **{factor: v}) for v in levels]
            for column, estimate in enumerate(found, start=2):
                if span := _span(estimate, measure):
                    beside[len(lines), column] = span
            lines.append([label, wording, *(_text(one, measure) for one in found)])
    return TableView(["system", "wording", *levels], lines, names=2, beside=beside)


def _text(estimate: Estimate | None, measure: str) -> str:
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f}" if measure in SHARES else f"{estimate.value:.3f}"


def _span(estimate: Estimate | None, measure: str) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    if measure in SHARES:
        return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def _picture(reads: Reads, factor: str, wording: str, folder: Path) -> Figure:
    """Shares of queries whose control is above the twin."""
    shown = dict(list(reads.items())[:_SERIES])
    only = {"wording": wording} if wording else {}
    levels = [
        level
        for level in next(iter(shown.values())).levels(factor)
        if any(one.estimate("control", **only, **{factor: level}) for one in shown.values())
    ]
    series: dict[str, list[float | None]] = {}
    spans: dict[str, list[tuple[float, float] | None]] = {}
    for label, one in shown.items():
        found = [one.estimate("control", **only, **{factor: level}) for level in levels]
        series[label] = [e.value if e else None for e in found]
        spans[label] = [
            (e.low, e.high) if e and e.low is not None and e.high is not None else None
            for e in found
        ]
    name = "_".join(filter(None, ("twins", factor, wording)))
    words = {"wording": "wording of the query"}.get(factor) or _FACTORS[factor]
    of = f", {wording} queries" if wording else ""
    svg = draw.bars(
        folder / name, levels, series, spans, [draw.Level("chance", 0.5, True)],
        title=f"Control above twin, by {words}{of}", y="share of queries",
    )  # fmt: skip
    return Figure(svg, f"A tie is half. figures/{name}.png.")
