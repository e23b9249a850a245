"""The report of a review: error rates with bounds, agreement, next steps.

Figures as a tree for `--json`, sentences and tables for a terminal, and a page beside the verdicts.
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from retgen.agents.judge import Calibration, CalibrationCase
from retgen.results.numbers import count_text, duration
from retgen.results.page import Page, Section
from retgen.results.tables import TableView
from retgen.review.records import MODEL, Consensus, Item, Settings, Verdict, consensus
from retgen.review.review import PARTS, Review
from retgen.statistics.agreement import agreement

PAGE = "review.html"
SECONDS, BY_QUESTION = 20, 4  # of one verdict, before anybody was timed
LEVEL = 0.95
STATES = ("settled", "wrong", "unsure", "open", "waiting")
_MEASURES = {
    "raw": "raw agreement",
    "positive": "positive agreement",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}


def grade_words(value: float | None, grades: int) -> str:
    """A relevance in words, as "partly relevant (1)"."""
    if value is None:
        return "can't tell"
    names = scale_words(grades)
    if value == int(value) and 0 <= value < len(names):
        return f"{names[int(value)]} ({int(value)})"
    return f"{'relevant' if value > 0 else 'not relevant'} ({value:g})"


def scale_words(grades: int) -> list[str]:
    """The grades of a scale in words, from 0."""
    return ["not relevant", *(["partly relevant"] if grades > 2 else []), "relevant"]


# --- figures --------------------------------------------------------------------------------------


def report(review: Review) -> dict[str, Any]:
    """All figures, as `gen review --report --json` prints them. Rates are fractions.

    They follow from the file of verdicts alone. A label is wrong if people call a positive not
    relevant, or a zero relevant.
    """
    settings, stands, by = review.settings, review.standing(), review.by_item()
    of: defaultdict[str, list[tuple[Item, Consensus]]] = defaultdict(list)
    for item in review.items:
        kind = "missing" if item.part == "missing" else f"{item.label:g}"
        of[kind].append((item, review.consensus(by.get(item.item_id, ()))))
    kinds = sorted(settings.labels.items(), key=lambda kind: -float(kind[0]))
    names = [*dict.fromkeys([*settings.annotators, *sorted({v.annotator for v in stands})])]
    people = [one for one in names if one not in _models_of(stands)]
    states = [one.state for items in of.values() for _, one in items]
    return {
        "dataset": str(review.path),
        "split": settings.split,
        "grades": settings.grades,
        "pool": list(settings.pool),
        "labels": [
            {"label": kind, "population": population, **_rate(of[kind], population)}
            for kind, population in kinds
        ],
        "missing": {"population": settings.candidates, **_counts(of["missing"])},
        "questions": _questions(of["missing"]) if settings.by_question else None,
        "annotators": {
            name: _annotator([v for v in stands if v.annotator == name]) for name in names
        },
        "agreement": _agreement(review, stands, people),
        "models": {
            name: {**one._asdict(), "measured": model_words(one)}
            for name, one in models(review.items, by, settings).items()
        },
        "left_out": settings.left_out,
        "changed": review.change_message(),
        "stale": [
            {"number": v.number, "item": v.item_id, "annotator": v.annotator, "reason": reason}
            for v, reason in review.stale()
        ],
        "next": {
            "adjudicate": states.count("open"),
            "left": {name: len(review.left(name)) for name in settings.annotators},
        },
    }


def _counts(states: Sequence[tuple[Item, Consensus]]) -> dict[str, int]:
    """Items of some kind, and how many are in each of `STATES`."""
    settled = [(item, one.relevance) for item, one in states if one.state == "settled"]
    told = [(item.positive, relevance > 0) for item, relevance in settled if relevance is not None]
    return {
        "size": len(states),
        "settled": len(settled),
        "wrong": sum(label != verdict for label, verdict in told),
        "unsure": len(settled) - len(told),
        "open": sum(one.state == "open" for _, one in states),
        "waiting": sum(one.state == "waiting" for _, one in states),
    }


def _questions(states: Sequence[tuple[Item, Consensus]]) -> dict[str, int]:
    """How many questions have candidates, how many of them are judged whole, and answered."""
    every, left, answered = set[str](), set[str](), set[str]()
    for item, one in states:
        every.add(item.query_id)
        if one.state != "settled":
            left.add(item.query_id)
        elif one.relevance:
            answered.add(item.query_id)
    return {"questions": len(every), "judged": len(every - left), "answered": len(answered)}


def _rate(states: Sequence[tuple[Item, Consensus]], population: int) -> dict[str, Any]:
    """Counts with the error rate of clear verdicts and its upper bound.

    `at_most`: Clopper and Pearson's one-sided 95% bound, where items without a clear verdict
    (nobody can tell, or people disagree) count as wrong; exact once all labels are judged.
    """
    counts = _counts(states)
    clear, unclear = counts["settled"] - counts["unsure"], counts["unsure"] + counts["open"]
    return {
        **counts,
        "rate": counts["wrong"] / clear if clear else None,
        "at_most": upper_bound(counts["wrong"] + unclear, clear + unclear, population),
    }


def upper_bound(wrong: int, judged: int, population: int) -> float | None:
    """Clopper-Pearson upper bound of an error rate at `LEVEL`; exact if all were judged."""
    from scipy.stats import binomtest

    if not judged:
        return None
    if judged == population:
        return wrong / judged
    test = binomtest(wrong, judged, alternative="less")
    return float(test.proportion_ci(LEVEL, method="exact").high)


def _annotator(mine: Sequence[Verdict]) -> dict[str, Any]:
    first = [v for v in mine if not v.settles]
    seconds = [v.seconds for v in mine if v.seconds is not None]
    return {
        "judged": len(first),
        "unsure": sum(v.relevance is None for v in first),
        "adjudicated": len(mine) - len(first),
        "seconds": median(seconds) if seconds else None,
    }


def _agreement(
    review: Review, stands: Sequence[Verdict], names: Sequence[str]
) -> dict[str, Any] | None:
    """Agreement between annotators, before disagreements were settled; None for one annotator."""
    if len(names) < 2:
        return None
    given = {(v.item_id, v.annotator): v.relevance for v in stands if not v.settles}
    rows = [[given.get((item.item_id, name)) for name in names] for item in review.items]
    twice = sum(sum(value is not None for value in row) > 1 for row in rows)
    measures = agreement(rows, grades=review.settings.grades)
    return {"items": twice, **{name: asdict(one) for name, one in measures.items()}}


def _models_of(verdicts: Iterable[Verdict]) -> list[str]:
    return sorted({one.annotator for one in verdicts if one.source == MODEL})


def models(
    items: Sequence[Item], by: Mapping[str, Sequence[Verdict]], settings: Settings
) -> dict[str, Calibration]:
    """How often each model gives the grade that people give, on the items that both have judged.

    `by`: standing verdicts of an item.
    """
    result = {}
    for name in _models_of(one for given in by.values() for one in given):
        cases, verdicts = list[CalibrationCase](), list[str]()
        for item in items:
            given = by.get(item.item_id, ())
            people = [one for one in given if one.source != MODEL]
            own = next((one.relevance for one in given if one.annotator == name), None)
            theirs = consensus(people, settings.annotators).relevance
            if own is not None and theirs is not None:
                cases.append(CalibrationCase(str(theirs), "pair"))
                verdicts.append(str(own))
        result[name] = Calibration.of(name, cases, verdicts)
    return result


def model_words(one: Calibration) -> str:
    """How far a model agrees with people, behind its name."""
    if not one.cases:
        return "agreement with people is not known, as nobody judged a pair that it judged"
    return one.sentence("pairs that people judged")


def forecast(review: Review) -> str:
    """Say what is asked of people, how long that takes, and what it can show."""
    settings = review.settings
    seconds = [v.seconds for v in review.standing() if v.seconds is not None]
    first = BY_QUESTION if settings.by_question else SECONDS
    each = median(seconds) if seconds else first
    lines = []
    for name in settings.annotators if settings.by_question else ():
        left = review.left(name)
        many = count_text(len({item.query_id for item in left}), "question")
        time = f"{many} with {len(left):,} candidates, about {duration(len(left) * each)}"
        lines.append(f"{name}: {time if left else 'everything is judged'}.")
    if settings.by_question:
        return "\n".join(lines)
    for name in settings.annotators:
        parts = [item.part for item in review.left(name)]
        asked = [
            f"{parts.count(part):,} {what}, about {duration(parts.count(part) * each)}"
            for part, what in zip(PARTS, ("labels", "that look like missing labels"), strict=True)
            if part in parts
        ]
        lines.append(f"{name}: {', then '.join(asked) or 'everything is judged'}.")
    sample = [item for item in review.items if item.part == "labels"]
    population = sum(settings.labels.values())
    if not sample:
        lines.append(f"Split {settings.split} has no labels.")
    elif len(sample) == population:
        lines.append(f"These are all labels of split {settings.split}: the error rate is exact.")
    else:
        positives = sum(item.positive for item in sample)
        of = sum(count for kind, count in settings.labels.items() if float(kind) > 0)
        lines.append(
            f"A random sample of the {population:,} labels of split {settings.split}: if none of "
            f"its {positives:,} positives is wrong, at most "
            f"{as_percent(upper_bound(0, positives, of))} of all positives are."
        )
    return "\n".join(lines)


def as_percent(rate: float | None) -> str:
    """An upper bound in percent, rounded up."""
    return "" if rate is None else f"{math.ceil(round(rate * 10_000, 6)) / 100:g}%"


# --- in words -------------------------------------------------------------------------------------


def findings(result: Mapping[str, Any]) -> list[str]:
    """What the verdicts show, in sentences without names. `result`: as `report` gives it."""
    lines = [f"Changed: {result['changed']}."] if result["changed"] else []
    for one in result["labels"]:
        if not one["size"]:
            continue
        clear, unclear = one["settled"] - one["unsure"], one["unsure"] + one["open"]
        line = f"Label {grade_words(float(one['label']), result['grades'])}: "
        if not one["settled"]:
            line += "no verdict is settled yet"
        elif clear == one["population"]:
            line += f"{one['wrong']:,} of all {clear:,} labels are wrong ({one['rate']:.1%})"
        else:
            line += f"{one['wrong']:,} of {clear:,} judged labels are wrong "
            line += f"({one['rate'] or 0:.1%}); at most {as_percent(one['at_most'])} of all "
            line += f"{one['population']:,} are, with 95% confidence"
            line += f", counting {unclear:,} without a clear verdict" * bool(unclear)
        lines.append(f"{line}.")
    missing, asked = result["missing"], result["questions"]
    if asked:
        lines.append(
            f"{asked['judged']:,} of {count_text(asked['questions'], 'question')} with "
            f"candidates are judged whole; {asked['answered']:,} of them got a relevant one. "
            f"Of {missing['settled']:,} judged candidates {missing['wrong']:,} are relevant; "
            f"{', '.join(result['pool'])} found {missing['population']:,}."
        )
    elif missing["settled"]:
        lines.append(
            f"Missing labels: {missing['wrong']:,} of the {missing['settled']:,} judged pairs that "
            f"look most like one are relevant; {', '.join(result['pool'])} found "
            f"{missing['population']:,} pairs without a positive label."
        )
    lines += [f"{name}: {one['measured']}." for name, one in result["models"].items()]
    if result["left_out"]:
        lines.append(
            f"{result['left_out']:,} judged documents are not in the corpus, and are left out."
        )
    return lines


def next_steps(result: Mapping[str, Any]) -> list[str]:
    """What to do next, in sentences."""
    ahead = result["next"]
    lines = []
    if result["stale"]:
        lines.append(
            f"{count_text(len(result['stale']), 'verdict')} no longer count: the text or label "
            "was changed"
        )
    if ahead["adjudicate"]:
        lines.append(
            f"settle {count_text(ahead['adjudicate'], 'item')} on which annotators disagree"
        )
    left = [f"{name} {count:,}" for name, count in ahead["left"].items() if count]
    if left:
        lines.append(f"items left to judge: {', '.join(left)} ({_command(result)} opens the page)")
    if result["changed"]:
        lines.append("put the old tables back, or begin a review with --out")
    elif not lines:
        command, what = ["gen", "run", result["dataset"], "--apply-review"], "applies it"
        if not (Path(result["dataset"]) / "recipe.yaml").is_file():
            command = ["gen", "review", result["dataset"], *("--export qrels --to FILE".split())]
            what = "writes its labels"
        lines.append(f"everything is judged and settled: `{shlex.join(command)}` {what}")
    return lines


def report_page(name: str, result: Mapping[str, Any]) -> Page:
    """The report as a page, which has a form for terminals too."""
    labels, *people = _tables(result)
    return Page(
        name,
        "review",
        f"Split {result['split']}.",
        findings(result),
        [
            *([] if result["questions"] else [Section("Labels", tables=[labels])]),
            Section("Annotators", tables=people),
            Section("What to do next", next_steps(result)),
            Section("How to read this", _NOTES),
        ],
        f"{_command(result)} --report",
    )


def report_text(page: Page, path: Path) -> str:
    """The report for a terminal."""
    ahead = ["Next:", *(f"- {line}" for line in page.sections[-2].text)]
    return page.terminal(path, before=["\n".join(page.summary), "\n".join(ahead)])


_NOTES = [
    "A label is wrong if people call a positive not relevant, or a judged zero relevant.",
    "The bound is Clopper and Pearson's upper end at 95% confidence. It takes settled verdicts for "
    "right, and pairs for wrong that people cannot tell or disagree on.",
    "Pairs that look like missing labels are the most suspicious ones, no random sample: their "
    "share says nothing of other pairs.",
    "Agreement is that of first verdicts, before anything was settled.",
]


def _command(result: Mapping[str, Any]) -> str:
    return shlex.join(["gen", "review", result["dataset"]])


def _tables(result: Mapping[str, Any]) -> Iterator[TableView]:
    rows = [(grade_words(float(one["label"]), result["grades"]), one) for one in result["labels"]]
    named = "candidate" if result["questions"] else "looks like a missing label"
    rows.append((named, result["missing"]))
    yield TableView(
        ["label", "pairs", "to judge", *STATES, "error rate", "at most"],
        [
            [
                name,
                *(f"{one[key]:,}" for key in ("population", "size", *STATES)),
                "" if one.get("rate") is None else f"{one['rate']:.1%}",
                as_percent(one.get("at_most")),
            ]
            for name, one in rows
        ],
    )
    yield TableView(
        ["annotator", "judged", "can't tell", "adjudicated", "seconds, median"],
        [
            [
                name,
                *(f"{one[key]:,}" for key in ("judged", "unsure", "adjudicated")),
                "" if one["seconds"] is None else f"{one['seconds']:.1f}",
            ]
            for name, one in result["annotators"].items()
        ],
    )
    if result["agreement"] and result["agreement"]["items"]:
        head = [f"agreement on {result['agreement']['items']:,} items", "value", "95% interval"]
        measured = [(label, result["agreement"][key]) for key, label in _MEASURES.items()]
        yield TableView(
            head,
            [
                [
                    label,
                    "" if one["value"] is None else f"{one['value']:.3f}",
                    one["reason"] or f"{one['low']:.3f} to {one['high']:.3f}",
                ]
                for label, one in measured
            ],
        )
