"""What `gen eval` shows: the sections of its page, of eval.md and of the terminal; pictures.

Panels of scores have the best system first, beside what reads no query and what can be reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from retgen.evaluation.scoring.result import (
    DatasetScores,
    Evaluation,
    Score,
    in_order,
    score_measure,
)
from retgen.evaluation.scoring.significance import PairedDifference, p_value
from retgen.evaluation.scoring.summary import cut_texts, sentences
from retgen.results.measurements import Measure, Measurement, write_measurements
from retgen.results.page import Fold, Page, Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import Bars, Level, Line, Lines, Picture
from retgen.validators.baselines import best_at

_COMPARISONS = 30  # rows of the table of comparisons on the page
_PANELS = 3  # pictures by dimension a data set


def text(result: Evaluation) -> str:
    """The tables, for a terminal."""
    ranked = [d for d in result.datasets if d.scores]
    notes = [n for d in result.datasets for n in (*d.all_notes, *model_notes(d.scores))]
    notes += [note for d in ranked for part in _analyses(d) for note in part.notes]
    notes += [d.units.note for d in ranked if d.units.note]
    return page_of(result).terminal(result.folder / "eval.html", notes)


def write_pages(result: Evaluation) -> None:
    """figures/, eval.md, eval.html and measurements.jsonl."""
    page = page_of(result)
    page.write(result.folder, "eval")
    write_measurements(result.folder / "measurements.jsonl", page.measurements())


def page_of(result: Evaluation) -> Page:
    """All that is shown; what a data set with candidate sets is for comes first."""
    sections = [s for task, results in result.of_tasks() if results for s in task.sections(results)]
    if len(result.datasets) > 1 and any(d.scores for d in result.datasets):
        sections += _overview(result)
    for scored in result.datasets:
        sections += _sections(result, scored)
    if result.failures:
        sections.append(Section("Not scored", notes=list(result.failures.values())))
    first = result.datasets[0]
    name, lede = f"{len(result.datasets)} data sets", ""
    if len(result.datasets) == 1:
        queries = len(first.collection.queries)
        name = first.collection.name
        lede = f"{first.collection.documents:,} documents, {queries:,} queries with a relevant one."
    eyebrow = "retgen study" if result.title else "retgen evaluation"
    name, lede = result.title or name, f"{result.about} {lede}".strip()
    return Page(name, eyebrow, lede, sentences(result), sections, result.command)


def _analyses(scored: DatasetScores) -> Iterable[Section]:
    """What was looked at beside means over all queries."""
    return (section for _, sections in scored.parts for section in sections)


def _sections(result: Evaluation, scored: DatasetScores) -> Iterator[Section]:
    """One data set: its scores, what was looked at beside them, and which differences hold."""

    def titled(text: str) -> str:
        return f"{scored.name}: {text[0].lower()}{text[1:]}" if several else text

    several = len(result.datasets) > 1
    path, notes = scored.collection.path, [*scored.all_notes, *_remarks(scored.scores)]
    if scored.scores and scored.aside:
        yield Section(
            titled("Rankings of the whole corpus"),
            [scored.aside],
            notes=notes,
            folded=[Fold("Scores", [scores_panel(scored)], printed=True)],
            terminal_title=f"{path}: {scored.aside}",
        )
    else:
        yield Section(
            titled("Scores"),
            [_summary_of(scored)] if scored.scores else [],
            [scores_panel(scored)] if scored.scores else [],
            _pictures(scored),
            notes,
            terminal_title=str(path),
        )
    for part in _analyses(scored):
        title = f"{scored.name}: {part.title}" if several else part.title
        yield replace(part, title=title)
    if scored.comparisons and not scored.aside:
        name = scored.primary
        every = sum(c.measure == name for c in scored.comparisons)
        yield Section(
            titled("Which differences hold"),
            [
                f"Paired differences in {name}, with 95% intervals over "
                f"{scored.units.name}; p two-sided, after Holm's correction over "
                "these pairs. A model with several dimensions stands for its largest; other "
                "measures are in eval.json."
            ],
            [differences_panel(scored.comparisons, [name], _COMPARISONS)],
            notes=[f"all {every} are in eval.json"] if every > _COMPARISONS else [],
            printed=False,
        )


def _summary_of(scored: DatasetScores) -> str:
    text = (
        f"Means over the queries of the split {scored.collection.split}, between 0 and 1, the best "
        "of a column in bold; ties are broken as trec_eval does. "
        + (
            f"There are {scored.units.note}."
            if scored.units.note
            else "Below each score stands its 95% interval, which reckons with "
            f"{scored.units.name}, since queries that share documents do not vary by themselves."
        )
    )
    if not scored.collection.complete:
        text += " Not every pair is judged: Judged@k is the share of the first k that is."
    return text


def model_notes(scores: Iterable[Score]) -> list[str]:
    """What happened on the way of a model: batches halved, dimensions that it has not."""
    return list(
        dict.fromkeys(
            f"{score.model}: {note}"
            for score in scores
            if "run" not in score.details
            for note in score.details.get("notes") or ()
        )
    )


def _remarks(scores: Sequence[Score]) -> Iterable[str]:
    """What of the texts was cut, what happened on the way, and what cut dimensions mean."""
    trained = [
        f"{score.model} (*) was trained to be cut to fewer dimensions"
        if score.details.get("trained_for_truncation")
        else f"{score.model} was not trained to be cut to fewer dimensions, as far as its card says"
        for score in scores
        if not score.details.get("full_dimension", True)
    ]
    return dict.fromkeys([*cut_texts(scores), *model_notes(scores), *trained])


def _pictures(scored: DatasetScores) -> Sequence[Picture]:
    name, measure = scored.name, scored.primary
    models = [score.model for score in scored.scores]
    swept = [model for model in dict.fromkeys(models) if models.count(model) > 1]
    if not scored.scores:
        return []
    if not swept:
        scores = in_order(scored.scores, measure)
        return [
            Bars(
                file=f"{_file(name)}_{_file(measure)}",
                title=f"{measure}: {name}",
                y=measure,
                groups=[score.label for score in scores],
                series={measure: [score.measured(measure) for score in scores]},
                levels=baseline_levels(scored.baselines, measure),
                caption=f"{measure} on {name}, with 95% intervals and baselines.",
            )
        ]
    recalls = [n for n in scored.measures.names if re.fullmatch(r"(recall|R)@\d+", n)]
    shown = [measure, *(n for n in recalls if n != measure and not n.endswith("@1"))][:_PANELS]
    return [_by_dimension(scored, swept, measure) for measure in shown]


def _by_dimension(scored: DatasetScores, swept: Sequence[str], measure: str) -> Lines:
    """A curve a model that was cut to several dimensions, a level for any other."""
    curves = []
    for model in swept:
        scores = sorted((s for s in scored.scores if s.model == model), key=lambda s: s.dim or 0)
        points = ((float(s.dim or 0), s.measured(measure)) for s in scores)
        star = bool(scores[0].details.get("trained_for_truncation"))
        curves.append(Line.of(model, points, star=star))
    levels = [Level(s.label, s.metrics[measure]) for s in scored.scores if s.model not in swept]
    return Lines(
        file=f"{_file(scored.name)}_{_file(measure)}_by_dimension",
        title=f"{measure} by dimension: {scored.name}",
        curves=curves,
        levels=[*levels, *baseline_levels(scored.baselines, measure)],
        x="dimensions kept of the embedding",
        y=measure,
        log_x=True,
        fraction=True,
        caption=f"{measure} on {scored.name}; bands are 95% intervals.",
    )


def _overview(result: Evaluation) -> Iterator[Section]:
    measure = result.datasets[0].primary
    sets = [scored for scored in result.datasets if measure in scored.measures.names]
    of_first = in_order(sets[0].scores, measure)
    labels = list(dict.fromkeys(s.label for s in [*of_first, *(s for d in sets for s in d.scores)]))
    results = {(i, s.label): s.measured(measure) for i, d in enumerate(sets) for s in d.scores}
    values = {label: [results.get((i, label)) for i in range(len(sets))] for label in labels}
    names = [scored.name for scored in sets]
    pictures: list[Picture] = [
        Bars(
            file=f"overview_{_file(measure)}",
            title=f"{measure} by data set",
            y=measure,
            groups=names,
            series=values,
            caption=f"{measure}, with 95% intervals.",
        )
    ]
    density = [d.densities["query_graph_density"] for d in sets]
    curves = [
        Line.of(label, [(x, one) for x, one in zip(density, of, strict=True) if one])
        for label, of in values.items()
        if None not in of and None not in density
    ]
    if len(sets) >= 3 and curves:
        pictures.append(
            Lines(
                file="density",
                title=f"{measure} by density of the qrels",
                curves=curves,
                names=[*zip(density, names, strict=True)],
                y=measure,
                joined=False,
                log_x=True,
                fraction=True,
                x="density of the query graph (pairs of queries that share a document)",
                caption="Denser qrel matrices against scores (LIMIT, Table 2).",
            )
        )
    yield Section(
        "All data sets",
        tables=[data_sets_panel(sets, measure, labels)],
        pictures=pictures,
        printed=False,
    )


def _file(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z.]+", "-", name)


# --- panels of scores -----------------------------------------------------------------------------


BEST, RANDOM = "best reachable", "random order"
_JUDGED, _CUT, _P = (
    Measure(name, digits, better="") for name, digits in (("judged", 2), ("cut", 0), ("p", 3))
)


def scores_panel(scored: DatasetScores) -> Panel:
    """A row a system, a column a measure; below the best reachable and the baselines.

    Judged@k stands beside them where labels are incomplete, what was cut where anything was.
    """
    names = scored.measures.names
    scores = in_order(scored.scores, scored.primary)
    judged = sorted({name for score in scores for name in score.judged})
    judged.sort(key=lambda name: int(name.partition("@")[2]))
    counted = any(any(cut.values()) for score in scores if (cut := score.details.get("truncated")))
    rows = []
    for score in scores:
        star = " *" if score.details.get("trained_for_truncation") else ""
        label, by = score.model + star, {"dim": str(score.dim or "")}
        rows += [Measurement.of(label, name, score.interval(name), by) for name in names]
        rows += [
            Measurement(label, "judged", {**by, "at": name}, score.judged[name]) for name in judged
        ]
        cut = score.details.get("truncated") or {} if counted else {}
        rows += [
            Measurement(label, "cut", {**by, "of": what}, count) for what, count in cut.items()
        ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    rows += bounds
    rows += [Measurement(BEST, "judged", {"at": name}, scored.ceiling[name]) for name in judged]
    heads = {"docs cut": "documents", "queries cut": "queries"} if counted else {}
    cuts = [Column(head, _CUT, {"of": what}) for head, what in heads.items()]
    return Panel(
        "",
        rows,
        [
            *(Column(name, score_measure(name)) for name in names),
            *columns_by(_JUDGED, "at", judged),
            *cuts,
        ],
        rows=["system", "dim"],
        whole="",
        missing="",
        between="–",
        baselines=frozenset(one.system for one in bounds),
    )


def bound_rows(
    ceiling: Mapping[str, float | None], baselines: Mapping[str, Any], names: Sequence[str]
) -> list[Measurement]:
    """The best that can be reached, the best ranking that never reads the query, a random order."""
    values = {BEST: ceiling}
    if best := baselines["best"]:
        highest = (
            name
            for name, of in baselines["rankings"].items()
            if all(of[measure] == best[measure] for measure in names)
        )
        values[f"query-blind: {next(highest, 'best of each column')}"] = best
    values[RANDOM] = baselines["random"]
    return [Measurement(one, name, {}, of[name]) for one, of in values.items() for name in names]


def baseline_levels(baselines: Mapping[str, Any], measure: str) -> list[Level]:
    """The last two as lines of a picture."""
    levels = []
    if baselines["best"]:
        name, value = best_at(baselines["rankings"], measure)
        levels.append(Level(f"query-blind: {name}", value, True))
    if baselines["random"][measure] is not None:
        levels.append(Level(RANDOM, baselines["random"][measure], True))
    return levels


def data_sets_panel(sets: Sequence[DatasetScores], measure: str, labels: Sequence[str]) -> Panel:
    """A row a system, a column a data set; below the densities of the qrels."""
    rows = [
        score.measured(measure, {"data set": scored.name})
        for label in labels
        for scored in sets
        for score in scored.scores
        if score.label == label
    ]
    graph = {
        "density of the query graph": "query_graph_density",
        "density of the document graph": "document_graph_density",
        "average query strength": "average_query_strength",
    }
    rows += [
        Measurement(what, measure, {"data set": scored.name}, scored.densities[key])
        for what, key in graph.items()
        for scored in sets
    ]
    columns = columns_by(score_measure(measure), "data set", [scored.name for scored in sets])
    return Panel("", rows, columns, heads=[measure], baselines=frozenset(graph))


def differences_panel(
    comparisons: Iterable[PairedDifference], measures: Sequence[str], most: int | None = None
) -> Panel:
    """Paired differences, a row a pair of systems and measure, with p."""
    rows = []
    for c in [c for c in comparisons if c.measure in measures][:most]:
        pair, by = f"{c.first} − {c.second}", {"of": c.measure}
        rows.append(Measurement(pair, "difference", by, c.difference, c.low, c.high))
        rows.append(Measurement(pair, "p", by, None, note=p_value(c.adjusted) or " "))
    columns = [Column("mean", Measure("difference", signed=True), interval=True), Column("p", _P)]
    return Panel(
        "", rows, columns, rows=["system", "of"], heads=["difference", "measure"], best=False
    )
