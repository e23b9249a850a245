"""What `gen train` shows: tables for the terminal, the page, its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from retgen.evaluation.scoring.page import (
    bound_rows,
    differences_panel,
)
from retgen.evaluation.scoring.result import score_measure
from retgen.evaluation.scoring.significance import p_value, signed_interval
from retgen.evaluation.scoring.summary import LEVEL, against
from retgen.evaluation.training.scored_set import AFTER, BEFORE, BM25, IDF, fused, label
from retgen.results.measurements import Measurement
from retgen.results.page import Page, Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Line, Lines
from retgen.results.tables import TableView

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training
    from retgen.evaluation.training.scored_set import ScoredSet

_LOSS = (
    "The training loss, a mean over the steps between two points. Without duplicates the last "
    "batches of an epoch are small, and the loss of a small batch is low."
)

_READ = {"training": "in training", "saved": "as saved and scored"}


def _scores(result: Training, scored: ScoredSet) -> list[Panel]:
    """A row a model, a column a measure, then what changed; below what can be reached."""
    names = scored.measures.names
    systems = {BEFORE: scored.scores(result.trained, BEFORE)}
    if idf := scored.scores(result.trained, IDF):
        systems[IDF] = idf
    systems[AFTER] = scored.scores(result.trained, AFTER)
    deployed = [BM25, *(fused(name) for name in (BEFORE, IDF, AFTER))]
    systems |= {name: scored.beside[name] for name in deployed if name in scored.beside}
    rows = [
        Measurement(label(system), name, {}, of[name])
        for system, of in systems.items()
        for name in names
    ]
    pairs = [(AFTER, other) for other in (BEFORE, IDF)]
    pairs += [(fused(AFTER), other) for other in (fused(BEFORE), BM25)]
    changes = [
        Measurement(f"{label(one)} − {label(other)}", name, {"of": "change"}, *change)
        for one, other in pairs
        for name in names
        if (change := scored.difference(one, other, name)) is not None
    ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    heads = [f"{scored.role}: {scored.collection.name}"]
    columns = [Column(name, score_measure(name)) for name in names]
    beside = {label(name) for name in deployed}
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
    page = page_of(result).terminal(result.folder / "train.html", result.notes(), before)
    shown, _, last = page.rpartition("\n")
    return f"{shown}\nmodel: {result.trained.path}\n{last}"


def sentences(result: Training) -> list[str]:
    """The summary of the page: what the training changed, against what, and what to know of it."""
    message = [f"{one[0].upper()}{one[1:]}." for one in result.warnings()]
    message += result.findings()
    message += [_change(result, scored) for scored in result.scored_sets]
    scored = result.scored_sets[0]
    measure = scored.primary
    after = scored.scores(result.trained, AFTER)[measure]
    message.append(
        f"After training it is {against(scored.baselines, scored.ceiling, measure, after)}."
    )
    note = result.notes()[0]
    return [*message, f"{note[0].upper()}{note[1:]}."]


def _change(result: Training, scored: ScoredSet) -> str:
    measure = scored.primary
    before, after = (
        scored.scores(result.trained, BEFORE)[measure],
        scored.scores(result.trained, AFTER)[measure],
    )
    where = "the test set" if scored.role == "test" else "the data set outside"
    text = (
        f"{measure} on {where} {scored.collection.name} is {before:.4f} before and {after:.4f} "
        "after training"
    )
    for c in scored.comparisons:
        of = (c.first, c.second, c.measure)
        if of == (AFTER, BEFORE, measure) and c.adjusted is not None:
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
    return (
        f"{start}; {adapters}{negatives}; {prompts or 'no prompts'}; tokens read per text: "
        f"{read}; weights {run.weights_dtype}, products {result.config.dtype}"
    )


def _trained(result: Training) -> str:
    run = result.trained
    held = f", {run.held_out_pairs:,} held out" if run.held_out_pairs else ""
    best = f", saved is step {run.best_step:,}" if run.best_step != run.steps else ""
    took = "finished before: nothing to do" if run.repeated else f"{run.seconds:.1f} s"
    return (
        f"{result.model}: trained on {run.pairs_seen()} pairs{held}, {run.steps:,} steps{best} on "
        f"{run.devices()}; {took}"
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
    yield Section(
        "Before and after",
        [
            f"{_trained(result)}. {_how(result)[0].upper()}{_how(result)[1:]}.",
            "The best of a column is in bold; below stands what training changed, with 95% "
            "intervals.",
        ],
        [panel for scored in scored_sets for panel in _scores(result, scored)],
        notes=result.notes(),
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


def _losses(result: Training) -> Lines:
    losses = result.trained.losses
    curves = [Line("training loss", [float(s) for s, _ in losses], [v for _, v in losses])]
    if held := result.trained.held_out:
        curves.append(Line("held-out loss", [float(s) for s, _ in held], [v for _, v in held]))
    return Lines(
        file="loss",
        title="Loss",
        curves=curves,
        x="training steps",
        y="loss",
        small=len(losses) > 40,
        caption=_LOSS,
    )
