"""What `gen eval` shows: tables for the terminal and for Markdown, the page, its pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.evaluation import plots as draw
from retgen.evaluation.scoring.scores import Score
from retgen.markdown import escaped, markdown_table
from retgen.pages import Figure, Section, TableView, result_page, text_table
from retgen.plots import score as shown
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.evaluation.collection import Collection
    from retgen.evaluation.scoring.result import Evaluation, Scored


_COMPARISONS = 30  # rows of the table of comparisons on the page
_PANELS = 3  # pictures by dimension a data set
BEST = "best reachable"


def text(result: Evaluation) -> str:
    """The tables, for a terminal."""
    ranked = [d for d in result.datasets if d.scores]
    parts = [over_seeds(result.datasets)] if result.seeds else [table(d) for d in ranked]
    names = ["" if result.seeds else f"{d.collection.path}\n" for d in ranked]
    texts = [name + text_table(part) for name, part in zip(names, parts, strict=False)]
    for task, results in result.of_tasks():
        views = task.tables(results).items() if results else ()
        texts += [f"{title}\n{text_table(view)}" for title, view in views]
    notes = dict.fromkeys(
        note for d in result.datasets for note in (*d.told, *model_notes(d.scores))
    )
    told = "".join(f"note: {note}\n" for note in notes)
    return "\n\n".join(texts) + f"\n{told}page: {result.folder / 'eval.html'}"


def primary(scored: Scored) -> str:
    """The measure of the pictures: recall at the number of relevant documents, else the first."""
    return primary_of(scored.measures.names, scored.collection)


def primary_of(names: Sequence[str], collection: Collection) -> str:
    """The same, of some measures of a collection."""
    relevant = max(sum(r > 0 for r in q.values()) for q in collection.qrels.values())
    return next((n for n in names if re.fullmatch(rf"(recall|R)@{relevant}", n)), names[0])


def table(scored: Scored) -> TableView:
    """A row a system, a column a measure; below the best reachable and the floors."""
    names = scored.measures.names
    judged = sorted({name for score in scored.scores for name in score.judged})
    judged.sort(key=lambda name: int(name.partition("@")[2]))
    counted = any("truncated" in score.details for score in scored.scores)
    rows = []
    for score in scored.scores:
        star = " *" if score.details.get("trained_for_truncation") else ""
        row = [score.model + star, str(score.dim or "")]
        row += [f"{score.metrics[name]:.4f}" for name in names]
        row += [f"{score.judged[name]:.2f}" for name in judged]
        if counted:
            cut = score.details.get("truncated")
            row += [f"{cut[what]:,}" if cut else "" for what in ("documents", "queries")]
        rows.append(row)
    begin = len(rows)
    for label, cells in bound_rows(scored.ceiling, scored.floors, names):
        beside = [f"{scored.ceiling[n]:.2f}" if label == BEST else "" for n in judged]
        rows.append([label, "", *cells, *beside, *[""] * (2 * counted)])
    head = ["system", "dim", *names, *judged, *(["docs cut", "queries cut"] if counted else [])]
    return TableView(head, rows, names=1, faint=range(begin, len(rows)))


def intervals_table(scored: Scored) -> TableView:
    """The same rows and measures, with the 95% interval of each mean."""
    names = scored.measures.names
    rows = []
    for score in scored.scores:
        spans = [score.interval(name) for name in names]
        cells = [f"{low:.3f} to {high:.3f}" for low, high in spans]
        rows.append([score.model, str(score.dim or ""), *cells])
    return TableView(["95% intervals", "dim", *names], rows)


def bound_rows(
    ceiling: Mapping[str, float | None], floors: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Label and cells of the best that can be reached, of the best ranking that never reads the
    query, and of a random order.
    """
    rows = [(BEST, [shown(ceiling[name]) for name in names])]
    if best := floors["best"]:
        rows.append((f"floor: {best['ranking']}", [shown(best[name]) for name in names]))
    rows.append(("floor: random order", [shown(floors["random"][name]) for name in names]))
    return rows


def over_seeds(datasets: Sequence[Scored]) -> TableView:
    """Mean and standard deviation of every score over data sets of one recipe."""
    names = datasets[0].measures.names
    rows = []
    for score in datasets[0].scores:
        of = [s for d in datasets for s in d.scores if s.label == score.label]
        spread = [np.array([s.metrics[name] for s in of]) for name in names]
        cells = [f"{v.mean():.4f} ± {v.std(ddof=1) if len(v) > 1 else 0:.4f}" for v in spread]
        rows.append([score.model, str(score.dim or ""), *cells])
    return TableView(["system", "dim", *names], rows)


def write_pages(result: Evaluation) -> None:
    """figures/, eval.md and eval.html."""
    parts = []
    for scored in result.datasets if any(d.scores for d in result.datasets) else ():
        view = table(scored)
        title = f"{scored.name} ({scored.collection.split})"
        spans = intervals_table(scored)
        parts.append(f"## {escaped(title)}\n\n{markdown_table(view.head, view.rows)}")
        parts.append(f"95% intervals:\n\n{markdown_table(spans.head, spans.rows)}")
    of_tasks = [(task, results) for task, results in result.of_tasks() if results]
    for task, results in of_tasks:
        views = task.tables(results).items()
        tables = [f"### {title}\n\n{markdown_table(v.head, v.rows, v.names)}" for title, v in views]
        parts.append(f"## {task.title}\n\n" + "\n".join(tables))
    write_file(result.folder / "eval.md", "\n".join(parts))
    several = len(result.datasets) > 1 and any(d.scores for d in result.datasets)
    # what a data set with candidate sets is for comes first
    figures = result.folder / "figures"
    sections = [s for task, results in of_tasks for s in task.sections(results, figures)]
    sections += [_overview(result)] if several else []
    for scored in result.datasets:
        sections += _sections(result, scored)
    if result.failures:
        sections.append(Section("Not scored", notes=list(result.failures.values())))
    first = result.datasets[0]
    title, lede = f"{len(result.datasets)} data sets", ""
    if len(result.datasets) == 1:
        queries = len(first.collection.queries)
        title = first.collection.name
        lede = f"{first.collection.documents:,} documents, {queries:,} queries. "
    lede += "Scores are means over the queries, between 0 and 1; ties are broken as trec_eval does."
    eyebrow = "retgen study" if result.title else "retgen evaluation"
    title, lede = result.title or title, f"{result.about} {lede}".strip()
    page = result_page(title, eyebrow, lede, sections, result.command)
    write_file(result.folder / "eval.html", page)


def _sections(result: Evaluation, scored: Scored) -> Iterable[Section]:
    collection = scored.collection
    several = len(result.datasets) > 1
    title = f"{collection.name}: scores" if several else "Scores"
    tables = [table(scored), intervals_table(scored)] if scored.scores else []
    yield Section(
        title,
        [_what_is_said(scored)],
        tables,
        _pictures(result, scored),
        [*scored.told, *_remarks(scored.scores)],
    )
    if scored.comparisons:
        name = primary(scored)
        rows = [
            [
                f"{c.first} − {c.second}",
                f"{c.difference:+.4f}",
                f"{c.low:+.4f} to {c.high:+.4f}",
                p_value(c.adjusted),
            ]
            for c in scored.comparisons
            if c.measure == name
        ]
        yield Section(
            f"{collection.name}: which differences hold" if several else "Which differences hold",
            [
                f"Paired differences in {name} over the same {scored.replicates:,} draws of "
                f"{scored.clusters}, with 95% intervals; p two-sided, after Holm's correction over "
                "these pairs. A model with several dimensions stands for its largest; other "
                "measures are in eval.json."
            ],
            [TableView(["difference", name, "95% interval", "p"], rows[:_COMPARISONS])],
            notes=[f"all {len(rows)} are in eval.json"] if len(rows) > _COMPARISONS else [],
        )


def _what_is_said(scored: Scored) -> str:
    collection = scored.collection
    text = (
        f"{collection.documents:,} documents, {len(collection.queries):,} queries with a relevant "
        f"document. Intervals in the pictures are 95% bootstrap intervals; what is drawn are "
        f"{scored.clusters}, since queries that share documents do not vary by themselves."
    )
    if not collection.complete:
        text += " Not every pair is judged: Judged@k is the share of the first k that is."
    return text


def p_value(p: float) -> str:
    """Three digits, and no more certainty than they hold."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


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
        found = score.details.get("truncated")
        if found and (found["documents"] or found["queries"]):
            cut.append(
                f"{score.model} reads {score.details['max_length']} tokens: "
                f"{found['documents']:,} documents and {found['queries']:,} queries are cut"
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
    floors = scored.floors
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
            found = sorted((s for s in scored.scores if s.model == model), key=lambda s: s.dim or 0)
            curves.append(
                draw.Line(
                    model,
                    [float(s.dim or 0) for s in found],
                    [s.metrics[measure] for s in found],
                    [s.interval(measure)[0] for s in found],
                    [s.interval(measure)[1] for s in found],
                    star=bool(found[0].details.get("trained_for_truncation")),
                )
            )
        levels = [
            draw.Level(s.label, s.metrics[measure]) for s in scored.scores if s.model not in swept
        ]
        levels += floor_levels(floors, measure)
        svg = draw.lines(
            folder / f"{_file(name)}_{_file(measure)}_by_dimension", curves, levels,
            title=f"{measure} by dimension: {name}", x="dimensions kept of the embedding",
            y=measure, log_x=True, fraction=True,
        )  # fmt: skip
        figures.append(Figure(svg, f"{measure} on {name}; bands are 95% intervals."))
    return figures


def _bars(result: Evaluation, scored: Scored, measure: str) -> Figure:
    labels = [score.label for score in scored.scores]
    svg = draw.bars(
        result.folder / "figures" / f"{_file(scored.name)}_{_file(measure)}",
        labels,
        {measure: [score.metrics[measure] for score in scored.scores]},
        {measure: [score.interval(measure) for score in scored.scores]},
        floor_levels(scored.floors, measure),
        title=f"{measure}: {scored.name}",
        y=measure,
    )
    return Figure(svg, f"{measure} on {scored.name}, with 95% intervals and floors.")


def floor_levels(floors: Mapping[str, Any], measure: str) -> list[draw.Level]:
    """The same two as lines of a picture."""
    levels = []
    best = floors["best"]
    if best:
        levels.append(draw.Level(f"floor: {best['ranking']}", best[measure], True))
    if floors["random"][measure] is not None:
        levels.append(draw.Level("floor: random order", floors["random"][measure], True))
    return levels


def _overview(result: Evaluation) -> Section:
    measure = primary(result.datasets[0])
    sets = [scored for scored in result.datasets if measure in scored.measures.names]
    labels = list(dict.fromkeys(score.label for scored in sets for score in scored.scores))
    found = {(i, s.label): s for i, scored in enumerate(sets) for s in scored.scores}
    values: dict[str, list[float | None]] = {}
    spans: dict[str, list[tuple[float, float] | None]] = {}
    for label in labels:
        of = [found.get((i, label)) for i in range(len(sets))]
        values[label] = [score.metrics[measure] if score else None for score in of]
        spans[label] = [score.interval(measure) if score else None for score in of]
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
    rows = [[label, *(shown(value) for value in values[label])] for label in labels]
    graph = [
        [what, *(shown(d.densities[key]) if d.densities[key] is not None else "–" for d in sets)]
        for what, key in (
            ("density of the query graph", "query_graph_density"),
            ("density of the document graph", "document_graph_density"),
            ("average query strength", "average_query_strength"),
        )
    ]
    view = TableView(
        [measure, *names], rows + graph, faint=range(len(rows), len(rows) + len(graph))
    )
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
