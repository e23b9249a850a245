"""The report of a review in words and tables: for a terminal, and as a page beside the verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from retgen.results.page import Fold, Page, Section
from retgen.results.tables import TableView
from retgen.review.certificates import in_words
from retgen.write import write_file

PAGE = "review.html"
_LABELS = {"positives": "positives", "others": "without a positive label"}
_PAIRS = {"positives": "positives", "others": "pairs without a positive label"}
_MEASURES = {
    "raw": "raw agreement",
    "positive": "positive agreement",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "krippendorff": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}


def report_text(result: Mapping[str, Any], page: Path) -> str:
    """The report for a terminal."""
    parts = ["\n".join(summary(result)), _populations(result)[0].text()]
    parts += _controls(result)
    parts.append(_annotators(result).text())
    if result["agreement"] is not None:
        parts.append(_agreement(result).text())
    parts.append("\n".join(["Next:", *(f"- {line}" for line in next_looks(result))]))
    return "\n\n".join(parts) + f"\n\npage: {page}"


def write_page(folder: Path, name: str, result: Mapping[str, Any]) -> Path:
    """Write review.html; its path."""
    path = folder / PAGE
    write_file(path, _page(name, result).html())
    return path


def summary(result: Mapping[str, Any]) -> list[str]:
    """What stands first: a changed data set, certificates, stale verdicts."""
    lines = [f"Changed: {result['changed']}."] if result["changed"] else []
    lines += [in_words(one) for one in result["certificates"]]
    if not result["certificates"]:
        lines.append("No goal was set, so nothing is certified; --goal sets one.")
    if stale := result["stale"]:
        lines.append(f"{len(stale):,} verdicts no longer stand: what they judged was changed.")
    if result["left_out"]:
        lines.append(
            f"{result['left_out']:,} judged documents are not in the corpus, and are left out."
        )
    return lines


def next_looks(result: Mapping[str, Any]) -> list[str]:
    """What to look at next, in words."""
    ahead = result["next"]
    lines = []
    if ahead["adjudicate"]:
        lines.append(
            f"{ahead['adjudicate']:,} {_items(ahead['adjudicate'])} on which annotators disagree: "
            "adjudicate first, until then each may be an error"
        )
    lines += [
        f"{count:,} {_items(count)} judged by others wait{'s' if count == 1 else ''} for {name}"
        for name, count in ahead["waiting_for"].items()
    ]
    for one in result["certificates"]:
        needed = one["more"] or {}
        parts = [f"{count:,} more {_PAIRS[name]}" for name, count in needed.items() if count]
        if one["holds"] is None and not one["reason"] and parts:
            lines.append(f"{' and '.join(parts)} show {one['goal']} if no error is found")
    lines += [
        f"look at more {_PAIRS[one['population']]} whose {one['stratum']} is {one['value']}: "
        f"{_interval(one)} of them may be wrong, with {one['looked']:,} of "
        f"{one['population_size']:,} looked at"
        for one in ahead["least_known"][:3]
    ]
    if not any(ahead["items"].values()):
        lines.append("all that was planned is judged")
    return lines or [f"begin: no verdicts yet; {_begin(result)} opens the page"]


def _begin(result: Mapping[str, Any]) -> str:
    return shlex.join(["gen", "review", result["dataset"]])


def _populations(result: Mapping[str, Any]) -> list[TableView]:
    head = [
        "population",
        "pairs",
        "settled",
        "wrong",
        "unsure",
        "open",
        "waiting",
        "rate",
        "95% interval",
        "corrected, at this look",
    ]
    rows = []
    for name, one in result["populations"].items():
        rate = result["rates"][name]
        corrected = rate and rate["corrected"]
        rows.append(
            [
                _LABELS[name],
                *(
                    f"{one[key]:,}"
                    for key in ("size", "looked_at", "wrong", "unsure", "open", "waiting")
                ),
                _percent(rate and rate["estimate"]),
                _interval(rate),
                f"{_percent(corrected['estimate'])} {_interval(corrected)}" if corrected else "",
            ]
        )
    return [TableView(head, rows)]


def _controls(result: Mapping[str, Any]) -> list[str]:
    """What is not in the table of populations, and why; [] where there is no control item."""
    wrong, right = result["planted"]["not_relevant"], result["planted"]["relevant"]
    if not wrong + right:
        return []
    return [
        f"Control items that measure annotators, in neither population: {right:,} pairs known to "
        f"be relevant, {wrong:,} known not to be."
    ]


def _annotators(result: Mapping[str, Any]) -> TableView:
    head = [
        "annotator",
        "judged",
        "unsure",
        "fixed",
        "second looks",
        "adjudicated",
        "seconds, median",
        "controls caught: not relevant",
        "relevant",
    ]
    rows = [
        [
            name,
            *(f"{one[key]:,}" for key in ("judged", "unsure", "fixed", "second", "adjudicated")),
            "" if one["seconds"] is None else f"{one['seconds']:.1f}",
            _caught(one["wrong"]),
            _caught(one["missed"]),
        ]
        for name, one in result["annotators"].items()
    ]
    return TableView(head, rows)


def _caught(one: Mapping[str, Any]) -> str:
    if not one["planted"]:
        return "none"
    return f"{one['caught']} of {one['planted']} {_interval(one)}"


def _agreement(result: Mapping[str, Any]) -> TableView:
    rows = [[label, *_measure(result["agreement"][name])] for name, label in _MEASURES.items()]
    rows += [
        [f"{name} with themselves, {_MEASURES[key]}", *_measure(one[key])]
        for name, one in result["with_oneself"].items()
        for key in ("raw", "ac1")
    ]
    items = result["agreement"]["items"]
    return TableView([f"agreement on {items:,} items", "value", "95% interval"], rows)


def _measure(one: Mapping[str, Any]) -> tuple[str, str]:
    if one["value"] is None:
        return "", one["reason"]
    if one["low"] is None:
        return f"{one['value']:.3f}", one["reason"]
    return f"{one['value']:.3f}", f"[{one['low']:.3f}, {one['high']:.3f}]"


def _strata(result: Mapping[str, Any]) -> Iterator[Fold]:
    head = ["value", "pairs", "looked at", "wrong", "rate", "95% interval"]
    for population, names in result["strata"].items():
        tables = [
            TableView(
                [name, *head[1:]],
                [
                    [
                        value,
                        f"{one['population']:,}",
                        f"{one['looked']:,}",
                        f"{one['errors']:g}",
                        _percent(one["estimate"]),
                        _interval(one),
                    ]
                    for value, one in values.items()
                ],
            )
            for name, values in names.items()
        ]
        if tables:
            yield Fold(f"Wrong labels among pairs: {_LABELS[population]}", tables)


def _plans(result: Mapping[str, Any]) -> list[TableView]:
    tables = []
    for goal, one in result["plans"].items():
        rows = [
            ["any time (ours)", "as many as the certificate still needs", "stop when you like"],
            ["single sample", *_single(one["single"])],
            ["single sample of this data set", *_single(one["single_of_lot"])],
        ]
        if "n" in one["double"]:
            plan = one["double"]
            rows.append(
                [
                    "double sample",
                    f"{plan['n']:,}, then perhaps as many again",
                    f"accept with at most {plan['c1']}, refuse above {plan['c2']}",
                ]
            )
        wald = one["sequential"]
        rows.append(
            [
                "sequential",
                f"{wald['average']:,.0f} on average",
                f"accept at {wald['slope']:.4f} n - {wald['h1']:.2f}, refuse at "
                f"{wald['slope']:.4f} n + {wald['h2']:.2f} errors",
            ]
        )
        tables.append(TableView([f"plan for {goal}", "looks", "rule"], rows, names=3))
    return tables


def _single(plan: Mapping[str, Any]) -> tuple[str, str]:
    if "n" not in plan:
        return "", plan["reason"]
    return f"{plan['n']:,}", f"accept with at most {plan['c']} errors"


def _judge(result: Mapping[str, Any]) -> list[str]:
    one = result["judge"]
    if one is None:
        return []
    lines = [
        f"{', '.join(one['judges']) or 'The judge'} against people: right in "
        f"{_percent(one['accuracy'])} {_interval(one)} of the pairs, each population weighted by "
        f"its size; {_percent(one['precision'])} of what it calls relevant is."
    ]
    for name, powered in one["prediction_powered"].items():
        if powered.get("low") is not None:
            lines.append(
                f"Relevant among pairs {_LABELS[name]}, people's labels and the judge's grades "
                f"together (PPI++): {_percent(powered['value'])} {_interval(powered)}."
            )
        else:
            lines.append(f"PPI++ for pairs {_LABELS[name]}: none; {powered['reason']}.")
    return lines


def _page(name: str, result: Mapping[str, Any]) -> Page:
    tables: list[TableView] = [_annotators(result)]
    if result["agreement"] is not None:
        tables.append(_agreement(result))
    assumed = dict.fromkeys(line for one in result["certificates"] for line in one["assumes"])
    sections = [
        Section(
            "Labels",
            [*_controls(result), *_judge(result)],
            _populations(result),
            folded=list(_strata(result)),
        ),
        Section("Annotators", tables=tables),
        Section("What to look at next", next_looks(result)),
    ]
    if result["plans"]:
        first = next(iter(result["plans"].values()))
        sections.append(
            Section(
                "Acceptance plans",
                [
                    f"Each accepts a rate of {_percent(first['p1'])} with 95%, and refuses the "
                    "rate of the goal as often as its confidence says. A plan is chosen before the "
                    "first look and followed to its end; the certificate is not."
                ],
                _plans(result),
            )
        )
    sections.append(Section("What certificates assume", list(assumed)))
    pool = result["pool"]
    return Page(
        name,
        "review",
        f"Split {result['split']}; pool of the first {pool['depth']} of "
        f"{', '.join(pool['retrievers'])}.",
        summary(result),
        sections,
        f"{_begin(result)} --report",
    )


def _items(count: int) -> str:
    return "item" if count == 1 else "items"


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.1f}%"


def _interval(one: Mapping[str, Any] | None) -> str:
    if one is None or one["low"] is None:
        return ""
    return f"[{100 * one['low']:.1f}%, {100 * one['high']:.1f}%]"
