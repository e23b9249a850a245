"""What `gen train` shows: tables for the terminal, the page, its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.scoring.page import baseline_levels
from retgen.evaluation.scoring.summary import LEVEL, against
from retgen.evaluation.scoring.tables import bound_rows, p_value, primary_of, signed_interval
from retgen.evaluation.training.arms import AFTER, BEFORE
from retgen.evaluation.training.compared import compared_section, compared_table
from retgen.evaluation.training.sides_page import side_tables, sides_section
from retgen.markdown import escape_markdown, markdown_table
from retgen.pages import Figure, Page, Section, TableView, best_places, terminal, text_table
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.evaluation.training.result import ScoredSet, Training

_LOSS = (
    "The training loss, a mean over the steps between two points. Without duplicates the last "
    "batches of an epoch are small, and the loss of a small batch is low."
)


def scores_table(result: Training, scored: ScoredSet) -> TableView:
    """A row a model, a column a measure; below the best reachable and the baselines."""
    names = scored.measures.names
    models = [
        (BEFORE, scored.scores(result.trained, BEFORE)),
        *((arm.label, arm.scores(scored)) for arm in result.arms),
    ]
    rows = [[label, *(f"{scores[name]:.4f}" for name in names)] for label, scores in models]
    begin = len(rows)
    rows += [
        [label, *cells] for label, cells in bound_rows(scored.ceiling, scored.baselines, names)
    ]
    columns = {i: [of[name] for _, of in models] for i, name in enumerate(names, start=1)}
    return TableView(
        [f"{scored.role}: {scored.collection.name}", *names], rows, faint=range(begin, len(rows)),
        best=best_places(columns),
        beside={
            (row, i): f"{change[1]:+.3f} to {change[2]:+.3f}"
            for row, arm in enumerate(result.arms, start=1)
            for i, name in enumerate(names, start=1)
            if (change := scored.difference(arm.name, BEFORE, name)) is not None
        },
    )  # fmt: skip


def text(result: Training) -> str:
    """For a terminal."""
    warnings = [f"warning: {one}." for one in result.warnings()]
    parts = ["\n".join([_what_was_done(result), *warnings])]
    parts += [text_table(scores_table(result, scored)) for scored in result.scored_sets]
    if result.compared:
        parts.append(f"{text_table(compared_table(result))}\n{result.conclusion()}")
    if (dilemma := result.dilemma()) is not None:
        tables = "\n\n".join(map(text_table, side_tables(result)))
        parts.append(f"{tables}\n{dilemma}")
    shown, _, page = terminal(parts, result.notes(), result.folder / "train.html").rpartition("\n")
    return f"{shown}\nmodel: {result.trained.path}\n{page}"


def sentences(result: Training) -> list[str]:
    """The summary of the page: what the training changed, against what, and what to know of it."""
    message = [f"{one[0].upper()}{one[1:]}." for one in result.warnings()]
    message += [text for text in (result.dilemma(), result.conclusion()) if text is not None]
    message += [_change(result, scored) for scored in result.scored_sets]
    scored = result.scored_sets[0]
    measure = primary_of(scored.measures.names, scored.collection)
    after = result.arms[0].scores(scored)[measure]
    message.append(
        f"After training it is {against(scored.baselines, scored.ceiling, measure, after)}."
    )
    note = result.notes()[0]
    return [*message, f"{note[0].upper()}{note[1:]}."]


def _change(result: Training, scored: ScoredSet) -> str:
    measure = primary_of(scored.measures.names, scored.collection)
    first = result.arms[0]
    before, after = scored.scores(result.trained, BEFORE)[measure], first.scores(scored)[measure]
    where = "the test set" if scored.role == "test" else "the data set outside"
    arm = "" if first.name == AFTER else f" with {first.words}"
    text = (
        f"{measure} on {where} {scored.collection.name} is {before:.4f} before and {after:.4f} "
        f"after training{arm}"
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
    """What was used of the negatives, the prompts, and what weights and products were in."""
    run = result.trained
    negatives = result.pairs.negatives_in_words(result.config.hard_negatives)
    prompts = "; ".join(f"{kind} prompt {text!r}" for kind, text in run.prompts.items() if text)
    return (
        f"{negatives}; {prompts or 'no prompts'}; weights {run.weights_dtype}, products {run.dtype}"
    )


def _trained(result: Training) -> str:
    run = result.trained
    held = f", {run.held_out_pairs:,} held out" if run.held_out_pairs else ""
    best = f", saved is step {run.best_step:,}" if run.best_step != run.steps else ""
    took = "finished before: nothing to do" if run.repeated else f"{run.seconds:.1f} s"
    return (
        f"{result.model}: trained on {run.pairs:,} pairs{held}, {run.steps:,} steps of "
        f"{run.planned:,}{best} on {run.device}; {took}"
    )


def write_page(result: Training) -> None:
    """figures/, train.md and train.html."""
    sections, summary = list(_sections(result)), sentences(result)
    tables = [table for section in sections for table in section.tables]
    parts = [escape_markdown(" ".join(summary)) + "\n"]
    parts += [markdown_table(table.head, table.rows, table.names) for table in tables]
    write_file(result.folder / "train.md", "\n".join(parts))
    page = Page(
        f"{result.model}, fine-tuned", "retgen training",
        f"{result.pairs.origin}.".replace("..", "."), summary, sections, result.command,
    )  # fmt: skip
    write_file(result.folder / "train.html", page.html())


def _sections(result: Training) -> Iterator[Section]:
    scored_sets = result.scored_sets
    if result.compared:
        yield compared_section(result)
    if any(scored.sides for scored in scored_sets):
        yield sides_section(result)
    yield Section(
        "Before and after",
        [
            f"{_trained(result)}. {_how(result)[0].upper()}{_how(result)[1:]}.",
            "The best of a column is in bold; below a score after training stands the 95% "
            "interval of its difference to the one before.",
        ],
        [scores_table(result, scored) for scored in scored_sets],
        [Figure(_by_step(result, scored_sets[0]), "Scores of the test set on the way.")],
        result.notes(),
    )  # fmt: skip
    tables = [
        TableView(
            [f"{scored.collection.name}: difference", "measure", "mean", "95% interval", "p"],
            [
                [
                    f"{c.first} − {c.second}", c.measure, f"{c.difference:+.4f}",
                    signed_interval(c.low, c.high), p_value(c.adjusted),
                ]
                for c in scored.comparisons
            ],
            names=2,
        )
        for scored in scored_sets
        if scored.comparisons
    ]  # fmt: skip
    if tables:
        yield Section(
            "Which differences hold",
            [
                "Paired differences over the same draws of what queries share; p is two-sided, "
                "for each measure by itself (of several models, after Holm's correction)."
            ],
            tables,
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
        [Figure(_losses(result), _LOSS)],
    )


def _by_step(result: Training, scored: ScoredSet) -> str:
    """Test scores at every evaluation; the last planned step is scored as saved."""
    chosen = primary_of(scored.measures.names, scored.collection)
    names = [chosen, *(name for name in scored.measures.names if name != chosen)][:4]
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for entry in result.trained.history:
        for name in names:
            value = entry["scores"].get(f"test {name}")
            if value is not None:
                points[name].append((float(entry["step"]), value))
    curves = [
        draw.Line(name, [x for x, _ in of], [y for _, y in of]) for name, of in points.items()
    ]
    levels = [
        level._replace(name=f"{chosen}, {level.name}")
        for level in baseline_levels(scored.baselines, chosen)
    ]
    return draw.lines(
        result.folder / "figures" / "scores", curves, levels,
        title=f"Scores by step: {scored.collection.name}", x="training steps", y="score",
        fraction=True,
    )  # fmt: skip


def _losses(result: Training) -> str:
    losses = result.trained.losses
    curves = [draw.Line("training loss", [float(s) for s, _ in losses], [v for _, v in losses])]
    held = [
        (float(entry["step"]), entry["held_out_loss"])
        for entry in result.trained.evaluated()
        if entry["held_out_loss"] is not None
    ]
    if held:
        curves.append(draw.Line("held-out loss", [s for s, _ in held], [v for _, v in held]))
    for arm in result.arms[1:]:
        other = arm.runs[0].losses
        curves.append(
            draw.Line(f"training loss, {arm.words}", [float(s) for s, _ in other],
                      [v for _, v in other])
        )  # fmt: skip
    return draw.lines(
        result.folder / "figures" / "loss", curves, [], title="Loss", x="training steps", y="loss",
        small=len(losses) > 40,
    )  # fmt: skip
