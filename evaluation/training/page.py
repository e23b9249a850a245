"""What `gen train` shows: tables for the terminal, the page, its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from retgen.evaluation.scoring.panels import (
    baseline_levels,
    bound_rows,
    differences_panel,
    p_value,
    score_measure,
    signed_interval,
)
from retgen.evaluation.scoring.significance import difference_between
from retgen.evaluation.scoring.summary import LEVEL, against
from retgen.evaluation.training.variants import AFTER, BEFORE, BM25, IDF, fused, label
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Page, Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars, Line, Lines
from retgen.results.tables import TableView
from retgen.search.base import slug

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training
    from retgen.evaluation.training.scored_set import ScoredSet
    from retgen.evaluation.training.subgroups import Subgroups

_CHANGE = Measure("change", signed=True)
_LOSS = (
    "The training loss, a mean over the steps between two points. Without duplicates the last "
    "batches of an epoch are small, and the loss of a small batch is low."
)

_READ = {"training": "in training", "saved": "as saved and scored"}


def _panel(result: Training) -> Panel:
    """A row a variant on each data set: its score, its differences to reference and untrained."""
    reference = result.variants[0].name
    others = {reference: f"against {reference}", BEFORE: "against untrained"}
    rows = []
    for scored in result.scored_sets:
        for variant in result.variants:
            by = {"data set": scored.label, "of": scored.primary}
            rows.append(
                Measurement(variant.name, "score", by, variant.scores(scored)[scored.primary])
            )
            for other in others:
                change = scored.difference(variant.name, other, scored.primary)
                if variant.name != other and change is not None:
                    rows.append(
                        Measurement(variant.name, "change", {**by, "against": other}, *change)
                    )
    columns = [Column("score", Measure("score"))]
    columns += [Column(head, _CHANGE, {"against": one}) for one, head in others.items()]
    heads = ["data set", result.noun, "measure"]
    return Panel(
        "",
        rows,
        columns,
        ["data set", "system", "of"],
        heads,
        missing="",
        interval="inside",
        terminal_interval="inside",
        best=False,
    )


def compared_section(result: Training) -> Section:
    """The part of the page."""
    scored_sets = result.scored_sets
    series: dict[str, list[Measurement | None]] = {}
    for name in (BEFORE, *(variant.name for variant in result.variants)):
        variant = next((variant for variant in result.variants if variant.name == name), None)
        for scored in scored_sets:
            scores = variant.scores(scored) if variant else scored.scores(result.trained, BEFORE)
            low, high = scored.intervals.get(name, {}).get(scored.primary, (None, None))
            by = {"data set": scored.label}
            one = Measurement(name, scored.primary, by, scores[scored.primary], low, high)
            series.setdefault(name, []).append(one)
    if result.noun == "negatives":
        text = "pairs, steps and seeds ({})."
        parts = [f"{variant.name}: {variant.words}" for variant in result.variants]
    else:
        text = "steps, batch and seeds on other pairs ({})."
        parts = [f"{variant.name}: {len(variant.pairs):,}" for variant in result.variants]
    return Section(
        f"Which {result.noun} win",
        [
            f"The same model, {text.format(', '.join(parts))}",
            "Differences are paired, with 95% intervals that reckon with what queries share.",
        ],
        [_panel(result)],
        [
            Bars(
                file="compared",
                title=f"Scores by the {result.noun} trained on",
                y="score",
                groups=[f"{scored.label}\n{scored.primary}" for scored in scored_sets],
                series=series,
                caption=f"Before training, and after it with each of these {result.noun}.",
            )
        ],
    )


def _scores(result: Training, scored: ScoredSet) -> list[Panel]:
    """A row a model, a column a measure, then what changed; below what can be reached."""
    names, first = scored.measures.names, result.variants[0].name
    systems = {BEFORE: scored.scores(result.trained, BEFORE)}
    if idf := scored.scores(result.trained, IDF):
        systems[IDF] = idf
    systems |= {variant.name: variant.scores(scored) for variant in result.variants}
    named = {variant.name: variant.label for variant in result.variants}
    named |= {fused(variant.name): f"BM25 + {variant.label}" for variant in result.variants}
    deployed = [BM25, *(fused(name) for name in (BEFORE, IDF, first))]
    systems |= {name: scored.beside[name] for name in deployed if name in scored.beside}
    rows = [
        Measurement(named.get(system, label(system)), name, {}, of[name])
        for system, of in systems.items()
        for name in names
    ]
    pairs = [(one.name, other) for one in result.variants for other in (BEFORE, IDF)]
    pairs += [(fused(first), other) for other in (fused(BEFORE), BM25)]
    changes = [
        Measurement(
            f"{named.get(one, label(one))} − {label(other)}", name, {"of": "change"}, *change
        )
        for one, other in pairs
        for name in names
        if (change := scored.difference(one, other, name)) is not None
    ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    heads = [f"{scored.role}: {scored.collection.name}"]
    columns = [Column(name, score_measure(name)) for name in names]
    beside = {named.get(name, label(name)) for name in deployed}
    panel = Panel(
        "",
        [*rows, *bounds],
        columns,
        heads=heads,
        baselines=frozenset({*beside, *(one.system for one in bounds)}),
    )
    if not changes:
        return [panel]
    columns = [
        Column(name, replace(score_measure(name), signed=True), {"of": "change"}) for name in names
    ]
    less = Panel("", changes, columns, heads=heads, interval="inside", best=False)
    return [panel, less]


def text(result: Training) -> str:
    """For a terminal."""
    warnings = [f"warning: {one}." for one in result.warnings()]
    before = ["\n".join([_what_was_done(result), *warnings])]
    before += ["\n".join(found)] if (found := result.findings()) else []
    before += [text for text in (result.conclusion(), result.dilemma()) if text]
    page = page_of(result).terminal(result.folder / "train.html", result.notes(), before)
    shown, _, last = page.rpartition("\n")
    return f"{shown}\nmodel: {result.trained.path}\n{last}"


def sentences(result: Training) -> list[str]:
    """The summary of the page: what the training changed, against what, and what to know of it."""
    message = [f"{one[0].upper()}{one[1:]}." for one in result.warnings()]
    message += [text for text in (result.dilemma(), result.conclusion()) if text is not None]
    message += result.findings()
    message += [_change(result, scored) for scored in result.scored_sets]
    scored = result.scored_sets[0]
    measure = scored.primary
    after = result.variants[0].scores(scored)[measure]
    message.append(
        f"After training it is {against(scored.baselines, scored.ceiling, measure, after)}."
    )
    note = result.notes()[0]
    return [*message, f"{note[0].upper()}{note[1:]}."]


def _change(result: Training, scored: ScoredSet) -> str:
    measure = scored.primary
    first = result.variants[0]
    before, after = scored.scores(result.trained, BEFORE)[measure], first.scores(scored)[measure]
    where = "the test set" if scored.role == "test" else "the data set outside"
    variant = "" if first.name == AFTER else f" with {first.words}"
    text = (
        f"{measure} on {where} {scored.collection.name} is {before:.4f} before and {after:.4f} "
        f"after training{variant}"
    )
    for c in scored.comparisons:
        of = (c.first, c.second, c.measure)
        if of == (first.name, BEFORE, measure) and c.adjusted is not None:
            held = "holds" if c.adjusted < LEVEL else "does not hold"
            p = p_value(c.adjusted)
            span = signed_interval(c.low, c.high)
            text += (
                f": a difference of {c.difference:+.4f}{f' (95% interval {span})' if span else ''} "
                f"that {held} (p {p if p.startswith('<') else f'= {p}'})"
            )
    return f"{text}."


def _what_was_done(result: Training) -> str:
    return f"{_trained(result)}\n{_how(result)}"


def _how(result: Training) -> str:
    """Where it began, what was used of negatives and prompts, what is read, and in what numbers."""
    run = result.trained
    negatives = result.pairs.negatives_in_words(result.config.hard_negatives)
    start = "from idf" if run.start else "from the model as it is"
    tokens = {when: "all" if n is None else f"{n:,}" for when, n in run.max_length.items()}
    read = " and ".join(f"{tokens[when]} {where}" for when, where in _READ.items())
    prompts = "; ".join(f"{kind} prompt {text!r}" for kind, text in run.prompts.items() if text)
    adapters = "" if (rank := result.config.lora) is None else f"adapters of rank {rank}, merged; "
    cached = "" if run.loss == result.config.loss else f"{run.loss}, as a batch did not fit; "
    if (scale := run.teacher_temperature) is not None:
        cached = f"taught by {result.config.teacher}, its scores divided by {scale:.4g}; "
    return (
        f"{start}; {adapters}{cached}{negatives}; {prompts or 'no prompts'}; tokens read per text: "
        f"{read}; weights {run.weights_dtype}, products {run.dtype}"
    )


def _trained(result: Training) -> str:
    run = result.trained
    held = f", {run.held_out_pairs:,} held out" if run.held_out_pairs else ""
    best = f", saved is step {run.best_step:,}" if run.best_step != run.steps else ""
    took = "finished before: nothing to do" if run.repeated else f"{run.seconds:.1f} s"
    return (
        f"{result.model}: trained on {run.pairs_seen()} pairs{held}, {run.steps:,} steps of "
        f"{run.planned:,}{best} on {run.devices()}; {took}"
    )


def write_page(result: Training) -> None:
    """figures/, train.md and train.html."""
    page_of(result).write(result.folder, "train")


def page_of(result: Training) -> Page:
    """All that is shown."""
    return Page(
        f"{result.model}, fine-tuned",
        "retgen training",
        f"{result.pairs.origin}.".replace("..", "."),
        sentences(result),
        list(_sections(result)),
        result.command,
    )


def _sections(result: Training) -> Iterator[Section]:
    scored_sets = result.scored_sets
    if result.compared:
        yield compared_section(result)
    if any(scored.subgroups for scored in scored_sets):
        yield subgroups_section(result)
    yield Section(
        "Before and after",
        [
            f"{_trained(result)}. {_how(result)[0].upper()}{_how(result)[1:]}.",
            "The best of a column is in bold; below stands what training changed, with 95% "
            "intervals.",
        ],
        [panel for scored in scored_sets for panel in _scores(result, scored)],
        [_by_step(result, scored_sets[0])],
        result.notes(),
    )
    tables = [
        differences_panel(
            (
                one._replace(first=label(one.first), second=label(one.second))
                for one in scored.comparisons
            ),
            scored.measures.names,
        )
        for scored in scored_sets
        if scored.comparisons
    ]
    if tables:
        yield Section(
            "Which differences hold",
            [
                "Paired differences over the same draws of what queries share; p is two-sided, "
                "for each measure by itself (of several models, after Holm's correction)."
            ],
            tables,
            printed=False,
        )
    yield Section(
        "The training",
        [],
        [
            TableView(
                ["hyper-parameter", "value"],
                [
                    [key, ", ".join(map(str, v)) if isinstance(v, list) else str(v)]
                    for key, v in result.config.model_dump(mode="json").items()
                    if v is not None and v != []
                ],
                names=2,
            )
        ],
        [_losses(result)],
        printed=False,
    )


def _by_step(result: Training, scored: ScoredSet) -> Lines:
    """Test scores at every evaluation; the last planned step is scored as saved."""
    chosen = scored.primary
    names = [chosen, *(name for name in scored.measures.names if name != chosen)][:4]
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for entry in result.trained.history:
        for name in names:
            value = entry["scores"].get(f"test {name}")
            if value is not None:
                points[name].append((float(entry["step"]), value))
    curves = [Line(name, [x for x, _ in of], [y for _, y in of]) for name, of in points.items()]
    levels = [
        level._replace(name=f"{chosen}, {level.name}")
        for level in baseline_levels(scored.baselines, chosen)
    ]
    return Lines(
        file="scores",
        title=f"Scores by step: {scored.collection.name}",
        curves=curves,
        levels=levels,
        x="training steps",
        y="score",
        fraction=True,
        caption="Scores of the test set on the way.",
    )


def _losses(result: Training) -> Lines:
    losses = result.trained.losses
    curves = [Line("training loss", [float(s) for s, _ in losses], [v for _, v in losses])]
    held = [
        (float(entry["step"]), entry["held_out_loss"])
        for entry in result.trained.evaluated()
        if entry["held_out_loss"] is not None
    ]
    if held:
        curves.append(Line("held-out loss", [s for s, _ in held], [v for _, v in held]))
    for variant in result.variants[1:]:
        other = variant.runs[0].losses
        curves.append(
            Line(
                f"training loss, {variant.words}",
                [float(s) for s, _ in other],
                [v for _, v in other],
            )
        )
    return Lines(
        file="loss",
        title="Loss",
        curves=curves,
        x="training steps",
        y="loss",
        small=len(losses) > 40,
        caption=_LOSS,
    )


# --- `--by`: the subgroups of queries ---

_DRAWN = 8  # values of the column, those of the most queries
_CHARACTERS = 63  # that fit below the plot


def subgroups_section(result: Training) -> Section:
    """The part of the page."""
    split = [(scored, scored.subgroups) for scored in result.scored_sets if scored.subgroups]
    column = split[0][1].column
    return Section(
        f"What each subgroup gains and loses, by {column}",
        [
            f"The queries of each value of {column} are scored as a set of their own. Differences "
            "are paired, with 95% intervals that reckon with what its queries share; BM25 is for "
            "comparison.",
        ],
        [_subgroups_panel(result, scored, subgroups) for scored, subgroups in split],
        [_subgroups_picture(result, scored, subgroups) for scored, subgroups in split],
    )


def _subgroups_panel(result: Training, scored: ScoredSet, subgroups: Subgroups) -> Panel:
    """A row a system on each subgroup: its score, and its differences to others."""
    measure, reference = subgroups.measure, result.variants[0].name
    systems = {
        name: label(name)
        for name in (BEFORE, IDF, *(variant.name for variant in result.variants), BM25)
        if name in subgroups.subgroups[0].means
    }
    others = {name: label(name) for name in (BEFORE, IDF) if name in systems}
    others |= {reference: reference} if len(result.variants) > 1 else {}
    rows = []
    for subgroup in subgroups.subgroups:
        for name, system in systems.items():
            by = {"side": subgroup.value, "queries": f"{subgroup.queries:,}"}
            rows.append(Measurement(system, measure, by, subgroup.means[name][measure]))
            for other, words in others.items():
                change = difference_between(subgroup.comparisons, name, other, measure)
                shown = name not in (BM25, BEFORE, other) and (name, other) != (IDF, reference)
                if shown and change is not None:
                    rows.append(Measurement(system, "change", {**by, "against": words}, *change))
    changed = Measure("change", signed=True, better="")
    changes = [Column(f"against {words}", changed, {"against": words}) for words in others.values()]
    return Panel(
        "",
        rows,
        [Column(measure, Measure(measure)), *changes],
        ["side", "queries", "system"],
        [f"{scored.label}: {subgroups.column}", "queries", "model"],
        missing="",
        interval="inside",
        terminal_interval="inside",
        baselines=frozenset({"BM25"}),
        best_within="side",
    )


def _broken(value: str, width: int) -> str:
    """In two lines at most; what is not ASCII may be as wide as two letters."""
    width = width if value.isascii() else width // 2
    return "\n".join(wrap(value, max(width, 2), max_lines=2, placeholder="…"))


def _subgroups_picture(result: Training, scored: ScoredSet, subgroups: Subgroups) -> Bars:
    measure = subgroups.measure
    words = {variant.name: variant.words for variant in result.variants}
    labels = {
        name: words.get(name, label(name))
        for name in (BEFORE, IDF, *words, BM25)
        if name in subgroups.subgroups[0].means
    }
    shown = [*subgroups.subgroups[:-1][:_DRAWN], subgroups.subgroups[-1]]
    width = _CHARACTERS // len(shown)
    part = f"; the {_DRAWN} largest of its values" if len(subgroups.subgroups) > _DRAWN + 1 else ""
    series: dict[str, list[Measurement | None]] = {}
    for name, system in labels.items():
        for subgroup in shown:
            low, high = subgroup.intervals.get(name, {}).get(measure, (None, None))
            value = subgroup.means[name][measure]
            one = Measurement(system, measure, {"side": subgroup.value}, value, low, high)
            series.setdefault(system, []).append(one)
    return Bars(
        file=f"sides_{slug(scored.label)}",
        y=measure,
        series=series,
        groups=[f"{_broken(subgroup.value, width)}\n{subgroup.queries:,}" for subgroup in shown],
        title=f"{scored.label}: {measure} by {subgroups.column} (and number of queries)",
        caption=f"{scored.label}, with 95% intervals{part}.",
    )
