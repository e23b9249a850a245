"""The page of an audit: what to mend, what to trust, what to judge next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retgen.audits.pool import DEPTH
from retgen.audits.result import NEXT, POOL, Audit
from retgen.results.measurements import PERCENT, Measure, Measurement, write_measurements
from retgen.results.numbers import count_text, listed
from retgen.results.page import Box, Page, Section, Verdict
from retgen.results.panel import Column, Panel
from retgen.results.tables import TableView
from retgen.statistics.clustered import FEWEST, Estimate

_POINTS = Measure("difference", digits=1, percent=True, signed=True, better="", small_digits=1)
_LONGEST = 300  # characters of a finding


def write_page(result: Audit) -> None:
    """audit.md, audit.html and measurements.jsonl."""
    page = page_of(result)
    page.write(result.folder, "audit")
    write_measurements(result.folder / "measurements.jsonl", page.measurements())


def terminal_text(result: Audit) -> str:
    """For a terminal."""
    page = page_of(result)
    lines = [f"{one.word}: {one.text}" for one in page.verdicts]
    lines += [f"{a} {b}" for box in page.boxes for a, b in box.statements]
    return page.terminal(result.folder / "audit.html", result.notes, ["\n".join(lines)])


def page_of(result: Audit) -> Page:
    """All that is shown."""
    name, pool = result.scored.name, result.pool
    lede = (
        f"{result.scored.collection.documents:,} documents, {pool.queries:,} queries with a "
        f"relevant document, {count_text(len(result.systems), 'run')}. {_pool(result)} Intervals "
        "are 95%, over labels; the queries are as they are."
    )
    sections = [_runs(result)]
    if result.labelled and len(result.systems) > 1:
        sections.append(_pairs(result))
    findings = [
        [one.severity, one.rule, f"{len(one.ids):,}", one.message[:_LONGEST]]
        for one in result.validation.findings
    ]
    table = [TableView(["severity", "rule", "records", "finding"], findings, 4)] * bool(findings)
    sections.append(Section("Structure", ["As `gen validate` finds it."], table, printed=False))
    statements = [*_next(result)]
    return Page(
        name,
        "retgen audit",
        lede,
        [],
        sections,
        result.command,
        verdicts=[_structure(result), _labels(result), *_judge(result)],
        boxes=[Box("What to do", "fair", statements)],
    )


def _pool(result: Audit) -> str:
    count = len(result.pool)
    if result.complete:
        return (
            "The set says that it is complete: a pair without a qrel is not relevant. So no pair "
            f"is unjudged, and the pool is its {count:,} positives."
        )
    return (
        f"The pool: judged positives, and what a run has among its first {POOL} and nobody judged; "
        f"{count:,} pairs."
    )


def _structure(result: Audit) -> Verdict:
    found = result.validation
    if not found.findings:
        return Verdict("good", "Structure", "no defects found.")
    first = [f"{one.rule} ({len(one.ids):,} records)" for one in found.findings]
    kind = "bad" if found.errors else "fair"
    counts = count_text(found.errors, "error"), count_text(found.warnings, "warning")
    text = f"{', '.join(counts)}: {listed(first)}."
    return Verdict(kind, "Structure", text)


def _labels(result: Audit) -> Verdict:
    found = result.errors
    complete = "the set says that it is complete, so no pair is unjudged; " * result.complete
    if found is None:
        return Verdict(
            "fair", "Labels", f"{complete}not known if right: nobody has looked at a pair yet."
        )
    parts = [complete[:-2]] if complete else []
    if found.missing is not None:
        parts.append(
            f"{PERCENT.spanned(found.missing)} of the relevant pairs in the pool have no "
            "positive label"
        )
    if found.wrong is not None:
        parts.append(f"{PERCENT.spanned(found.wrong)} of the positives are not relevant")
    text = "; ".join(parts)
    if not result.labelled:
        return Verdict(
            "bad",
            "Labels",
            f"the judge's word, which nobody has checked, so no interval would hold: {text}.",
        )
    few = f", too few for intervals ({FEWEST} needed)" if result.labelled < FEWEST else ""
    worst = max(one.low or 0.0 for one in (found.missing, found.wrong) if one is not None)
    kind = "bad" if worst > 0.1 else "fair"
    return Verdict(kind, "Labels", f"{text}. By {count_text(result.labelled, 'look')}{few}.")


def _judge(result: Audit) -> Iterator[Verdict]:
    judge = result.judge
    if judge is None:
        return
    text = f"{judge.name} labelled {int((~np.isnan(judge.labels)).sum()):,} pairs"
    if not result.labelled:
        yield Verdict("fair", "Judge", f"{text}; how often it is right is not known.")
        return
    yield Verdict(
        "good",
        "Judge",
        f"{text}. By {judge.compared:,} that people labelled too, {judge.accuracy()}. What it "
        "misses is corrected by theirs.",
    )


def _next(result: Audit) -> Iterator[tuple[str, str]]:
    file = result.questions
    if not result.labelled:
        also = " and the same `--judge`: its labels are kept, and cost nothing" * bool(result.judge)
        yield (
            "Label.",
            f"Fill the first column of {file} from the top ({min(NEXT, len(result.pool)):,} pairs),"
            f" then call again with `--labels {file}`{also}.",
        )
        return
    needed = result.labels_needed() or 0
    if needed > result.labelled:
        yield (
            "Label more.",
            f"About {needed:,} labels in all bring every run's P@{DEPTH} to 2 points; the next "
            f"stand in {file}.",
        )
    apart = [pair for pair in result.differences() if not pair[2].above(0)]
    if apart:
        pairs = listed([f"{a} / {b}" for a, b, _ in apart])
        yield "Do not order.", f"{pairs}: these labels do not tell which is better."


def _runs(result: Audit) -> Section:
    plain = Measure(f"P@{DEPTH}", digits=1, percent=True, small_digits=1)
    recall = Measure(f"recall@{DEPTH}", digits=1, percent=True, small_digits=1)
    judged = Measure("judged", digits=1, percent=True, better="")
    rows: list[Measurement] = []
    scores = {score.label: score for score in result.scored.scores}
    for i, name in enumerate(result.systems):
        rows.append(Measurement(name, plain.name, {"by": "labels"}, result.as_labelled(i)))
        if not result.complete:
            share = scores[name].judged.get(f"Judged@{DEPTH}")
            rows.append(Measurement(name, judged.name, {}, share))
        if result.errors is not None:
            by = {"by": result.by}
            rows += [
                Measurement.of(name, plain.name, result.errors.precision[i], by),
                Measurement.of(name, recall.name, result.errors.recall[i], by),
            ]
    columns = [] if result.complete else [Column(f"Judged@{DEPTH}", judged)]
    columns.append(Column(plain.name, plain, {"by": "labels"}))
    if result.errors is not None:
        columns += [
            Column(f"{result.by} {one.name}", one, {"by": result.by}) for one in (plain, recall)
        ]
    best = result.scored.baselines.get("best") or {}
    text = [
        f"Judged@{DEPTH}: of a run's first {DEPTH} documents, how many of 100 have a label. "
        * (not result.complete)
        + f"P@{DEPTH}: how many are relevant; recall@{DEPTH}: of all relevant pairs in the pool, "
        "how many are among these. nDCG is not corrected: it is not a sum over pairs."
    ]
    if best.get("ranking"):
        text.append(f"The best query-blind ranking is {best['ranking']}: scores/eval.html.")
    return Section(
        "Runs",
        text,
        [Panel("", rows, columns, interval="inside", terminal_interval="inside", best=False)],
    )


def _pairs(result: Audit) -> Section:
    rows = [
        [
            f"{a} − {b}",
            _POINTS.text(one.value) + _inside(one),
            "certain" if one.above(0) else "not certain",
        ]
        for a, b, one in result.differences()
    ]
    head = ["pair", f"corrected P@{DEPTH}, points", "order"]
    return Section("Pairs of runs", [], [TableView(head, rows, 1)])


def _inside(one: Estimate) -> str:
    return f" ({_POINTS.interval_text(one.span)})" if one.span else ""
