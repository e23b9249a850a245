"""What `gen eval` shows: tables for the terminal and for Markdown, the page, its pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from retgen.evaluation import plots as draw
from retgen.evaluation.scoring.scores import Score
from retgen.evaluation.scoring.summary import sentences
from retgen.evaluation.scoring.tables import (
    differences,
    in_order,
    of_systems,
    over_seeds,
    primary,
    table,
)
from retgen.markdown import escape_markdown, markdown_table
from retgen.pages import Figure, Fold, Page, Section, TableView, terminal, text_table
from retgen.plots import score as shown
from retgen.validators.baselines import best_at
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation, Scored


_COMPARISONS = 30  # rows of the table of comparisons on the page
_PANELS = 3  # pictures by dimension a data set


def text(result: Evaluation) -> str:
    """The tables, for a terminal."""
    ranked = [d for d in result.datasets if d.scores]
    if result.seeds:
        texts, last = [text_table(over_seeds(result.datasets))], []
    else:
        texts = [f"{d.collection.path}\n{text_table(table(d))}" for d in ranked if not d.aside]
        last = [f"{d.aside}\n{text_table(table(d))}" for d in ranked if d.aside]
        texts += [
            "\n\n".join([_titled(result, scored, part.title), *map(text_table, part.tables)])
            for scored in ranked
            for part in _beside(scored)
        ]
    for task, results in result.of_tasks():
        views = task.tables(results).items() if results else ()
        texts += [f"{title}\n{text_table(view)}" for title, view in views]
    notes = dict.fromkeys(
        note for d in result.datasets for note in (*d.all_notes, *model_notes(d.scores))
    )
    notes |= dict.fromkeys(note for d in ranked for part in _beside(d) for note in part.notes)
    notes |= dict.fromkeys(d.units.note for d in ranked if d.units.note)
    return terminal([*texts, *last], list(notes), result.folder / "eval.html")


def write_pages(result: Evaluation) -> None:
    """figures/, eval.md and eval.html."""
    summary = sentences(result)
    parts = [escape_markdown(" ".join(summary)) + "\n"]
    last: list[str] = []
    any_scores = any(d.scores for d in result.datasets)
    for scored in result.datasets if any_scores else ():
        view = table(scored)
        title = f"{scored.name} ({scored.collection.split})"
        of = last if scored.aside else parts
        of.append(f"## {escape_markdown(title)}\n")
        of += [f"{escape_markdown(scored.aside)}\n"] if scored.aside else []
        of.append(markdown_table(view.head, view.rows))
        if spans := view.small_print():
            of.append(f"95% intervals:\n\n{markdown_table(spans.head, spans.rows)}")
        of += [_as_markdown(part) for part in _beside(scored)]
    of_tasks = [(task, results) for task, results in result.of_tasks() if results]
    for task, results in of_tasks:
        views = task.tables(results).items()
        tables = [f"### {title}\n\n{markdown_table(v.head, v.rows, v.names)}" for title, v in views]
        parts.append(f"## {task.title}\n\n" + "\n".join(tables))
    write_file(result.folder / "eval.md", "\n".join(parts + last))
    several = len(result.datasets) > 1 and any_scores
    # what a data set with candidate sets is for comes first
    figures = result.folder / "figures"
    sections = [s for task, results in of_tasks for s in task.sections(results, figures)]
    sections += [_overview(result)] if several else []
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
    page = Page(name, eyebrow, lede, summary, sections, result.command)
    write_file(result.folder / "eval.html", page.html())


def _beside(scored: Scored) -> Iterable[Section]:
    """What was looked at beside means over all queries."""
    return (section for part in scored.parts for section in part.sections)


def _titled(result: Evaluation, scored: Scored, title: str) -> str:
    return f"{scored.name}: {title}" if len(result.datasets) > 1 else title


def _as_markdown(section: Section) -> str:
    parts = [f"### {escape_markdown(section.title)}", escape_markdown(" ".join(section.text))]
    for view in section.tables:
        parts.append(markdown_table(view.head, view.rows, view.names).rstrip())
        if spans := view.small_print():
            parts.append("95% intervals:")
            parts.append(markdown_table(spans.head, spans.rows, spans.names).rstrip())
    parts += map(escape_markdown, section.notes)
    return "\n\n".join(parts) + "\n"


def _sections(result: Evaluation, scored: Scored) -> Iterable[Section]:
    collection = scored.collection
    several = len(result.datasets) > 1
    if scored.scores and scored.aside:
        title = f"{collection.name}: rankings of the whole corpus"
        yield Section(
            title if several else "Rankings of the whole corpus",
            [scored.aside],
            notes=[*scored.all_notes, *_remarks(scored.scores)],
            folded=[Fold("Scores", [table(scored)])],
        )
        for part in _beside(scored):
            yield replace(part, title=_titled(result, scored, part.title))
        return
    title = f"{collection.name}: scores" if several else "Scores"
    yield Section(
        title,
        [_summary_of(scored)] if scored.scores else [],
        [table(scored)] if scored.scores else [],
        _pictures(result, scored),
        [*scored.all_notes, *_remarks(scored.scores)],
    )
    for part in _beside(scored):
        yield replace(part, title=_titled(result, scored, part.title))
    if scored.comparisons:
        name = primary(scored)
        view = differences(scored, name)
        several_rows = len(view.rows) > _COMPARISONS
        yield Section(
            f"{collection.name}: which differences hold" if several else "Which differences hold",
            [
                f"Paired differences in {name}, with 95% intervals over "
                f"{scored.units.name}; p two-sided, after Holm's correction over "
                "these pairs. A model with several dimensions stands for its largest; other "
                "measures are in eval.json."
            ],
            [TableView(view.head, view.rows[:_COMPARISONS])],
            notes=[f"all {len(view.rows)} are in eval.json"] if several_rows else [],
        )


def _summary_of(scored: Scored) -> str:
    text = (
        "Means over the queries, between 0 and 1, the best of a column in bold; ties are broken as "
        "trec_eval does. "
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
    cut: list[str] = []
    stars: list[str] = []
    plain: list[str] = []
    for score in scores:
        result = score.details.get("truncated")
        if result and (result["documents"] or result["queries"]):
            cut.append(
                f"{score.model} reads {score.details['max_length']} tokens: "
                f"{result['documents']:,} documents and {result['queries']:,} queries are cut"
            )
        if not score.details.get("full_dimension", True):
            trained = score.details.get("trained_for_truncation")
            (stars if trained else plain).append(score.model)
    yield from dict.fromkeys(cut)
    yield from model_notes(scores)
    for name in dict.fromkeys(stars):
        yield f"{name} (*) was trained to be cut to fewer dimensions"
    for name in dict.fromkeys(plain):
        yield f"{name} was not trained to be cut to fewer dimensions, as far as its card says"


def _pictures(result: Evaluation, scored: Scored) -> list[Figure]:
    folder = result.folder / "figures"
    name = scored.name
    baselines = scored.baselines
    swept = [m for m in dict.fromkeys(s.model for s in scored.scores)
             if sum(s.model == m for s in scored.scores) > 1]  # fmt: skip
    if not swept:
        measure = primary(scored)
        return [_bars(result, scored, measure)] if scored.scores else []
    panels = [n for n in scored.measures.names if re.fullmatch(r"(recall|R)@\d+", n)]
    wanted = primary(scored)
    panels = [wanted, *(n for n in panels if n != wanted and not n.endswith("@1"))][:_PANELS]
    figures = []
    for measure in panels:
        curves = []
        for model in swept:
            results = [s for s in scored.scores if s.model == model]
            results.sort(key=lambda s: s.dim or 0)
            bounds = [span for s in results if (span := s.interval(measure).span)]
            low, high = zip(*bounds, strict=True) if len(bounds) == len(results) else (None, None)
            curves.append(
                draw.Line(
                    model,
                    [float(s.dim or 0) for s in results],
                    [s.metrics[measure] for s in results],
                    low,
                    high,
                    star=bool(results[0].details.get("trained_for_truncation")),
                )
            )
        levels = [
            draw.Level(s.label, s.metrics[measure]) for s in scored.scores if s.model not in swept
        ]
        levels += baseline_levels(baselines, measure)
        svg = draw.lines(
            folder / f"{_file(name)}_{_file(measure)}_by_dimension", curves, levels,
            title=f"{measure} by dimension: {name}", x="dimensions kept of the embedding",
            y=measure, log_x=True, fraction=True,
        )  # fmt: skip
        figures.append(Figure(svg, f"{measure} on {name}; bands are 95% intervals."))
    return figures


def _bars(result: Evaluation, scored: Scored, measure: str) -> Figure:
    scores = in_order(scored.scores, measure)
    labels = [score.label for score in scores]
    svg = draw.bars(
        result.folder / "figures" / f"{_file(scored.name)}_{_file(measure)}",
        labels,
        {measure: [score.metrics[measure] for score in scores]},
        {measure: [score.interval(measure).span for score in scores]},
        baseline_levels(scored.baselines, measure),
        title=f"{measure}: {scored.name}",
        y=measure,
    )
    return Figure(svg, f"{measure} on {scored.name}, with 95% intervals and baselines.")


def baseline_levels(baselines: Mapping[str, Any], measure: str) -> list[draw.Level]:
    """The same two as lines of a picture."""
    levels = []
    if baselines["best"]:
        name, value = best_at(baselines["rankings"], measure)
        levels.append(draw.Level(f"query-blind: {name}", value, True))
    if baselines["random"][measure] is not None:
        levels.append(draw.Level("random order", baselines["random"][measure], True))
    return levels


def _overview(result: Evaluation) -> Section:
    measure = primary(result.datasets[0])
    sets = [scored for scored in result.datasets if measure in scored.measures.names]
    of_first = in_order(sets[0].scores, measure)
    labels = list(dict.fromkeys(s.label for s in [*of_first, *(s for d in sets for s in d.scores)]))
    results = {(i, s.label): s for i, scored in enumerate(sets) for s in scored.scores}
    values: dict[str, list[float | None]] = {}
    spans: dict[str, list[tuple[float, float] | None]] = {}
    for label in labels:
        of = [results.get((i, label)) for i in range(len(sets))]
        values[label] = [score.metrics[measure] if score else None for score in of]
        spans[label] = [score.interval(measure).span if score else None for score in of]
    names = [scored.name for scored in sets]
    folder = result.folder / "figures"
    figures = [
        Figure(
            draw.bars(folder / f"overview_{_file(measure)}", names, values, spans, [],
                      title=f"{measure} by data set", y=measure),
            f"{measure}, with 95% intervals.",
        )
    ]  # fmt: skip
    density = [d.densities["query_graph_density"] for d in sets]
    if len(sets) >= 3 and all(value is not None for value in density):
        points = {
            label: [(x, y) for x, y in zip(density, ys, strict=True) if y is not None]
            for label, ys in values.items()
            if None not in ys
        }
        if points:
            svg = draw.scatter(
                folder / "density", points, names, title=f"{measure} by density of the qrels",
                x="density of the query graph (pairs of queries that share a document)", y=measure,
            )  # fmt: skip
            figures.append(Figure(svg, "Denser qrel matrices against scores (LIMIT, Table 2)."))
    head, rows, best = of_systems(measure, values, names)
    graph = [
        [what, *(shown(d.densities[key]) if d.densities[key] is not None else "–" for d in sets)]
        for what, key in (
            ("density of the query graph", "query_graph_density"),
            ("density of the document graph", "document_graph_density"),
            ("average query strength", "average_query_strength"),
        )
    ]
    view = TableView(head, rows + graph, faint=range(len(rows), len(rows) + len(graph)), best=best)
    tables = [view]
    text = []
    if result.seeds:
        tables.insert(0, over_seeds(result.datasets))
        text.append(
            f"The same recipe under {len(sets)} seeds: mean and standard deviation over the seeds."
        )
    return Section("All data sets", text, tables, figures)


def _file(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z.]+", "-", name)
