"""The page of a diagnosis: what a system can and cannot do, beside others; examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retgen.diagnosis.abilities import LONG, Ability
from retgen.diagnosis.scores import CHANCE, SMALL, AbilityScores, Diagnosis, Verdict
from retgen.evaluation.retrievers import table
from retgen.highlights import both_sides
from retgen.results.measurements import Measure, Measurement, write_measurements
from retgen.results.page import Box, Fold, MarkedRecord, Page, Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Dots, Level
from retgen.statistics.clustered import Estimate

_EXAMPLES = 2  # of an ability
_LONGEST = 700  # characters of a document in an example

_TEST = Measure("test", digits=1, percent=True, chance=CHANCE, small_digits=0)
_CONTROL = Measure("control", digits=1, percent=True, chance=CHANCE, small_digits=0)
_LOSS = Measure("loss", digits=1, percent=True, signed=True, better="lower", small_digits=0)
_APART = Measure("difference", digits=1, percent=True, signed=True, small_digits=0)

_BOXES: Sequence[tuple[Verdict, str, str]] = (
    ("no", "What {} cannot do", "bad"),
    ("partly", "What it can do in part", "fair"),
    ("yes", "What it can do", "good"),
)


def terminal_text(result: Diagnosis) -> str:
    """For a terminal."""
    return page_of(result).terminal(
        result.folder / "diagnosis.html", _notes(result), [_text(result)]
    )


def _text(result: Diagnosis) -> str:
    lines = []
    for kind, title, _ in _BOXES:
        if found := list(_statements(result, kind)):
            lines += [title.format(result.systems[0]), *(f"  {a} {b}" for a, b in found)]
    return "\n".join([*lines, *_comparisons(result)])


def write_page(result: Diagnosis) -> None:
    """figures/, diagnosis.md, diagnosis.html and measurements.jsonl."""
    page = page_of(result)
    page.write(result.folder, "diagnosis")
    write_measurements(result.folder / "measurements.jsonl", page.measurements())


def page_of(result: Diagnosis) -> Page:
    """All that is shown."""
    boxes = [
        Box(title.format(result.systems[0]), kind, list(_statements(result, verdict)))
        for verdict, title, kind in _BOXES
    ]
    rows = _measurements(result)
    sections = [_overview(result, rows)]
    if len(result.scores) > 1:
        sections.append(_beside(result, rows))
    sections += [_breakdown(result), _what_may_help(result), _examples(result)]
    lede = (
        f"{len(result.abilities)} abilities, each on data made for this page with seed "
        f"{result.seed}{' (--quick: a quarter of it)' * result.quick}. A choice is a query, a "
        "document that answers it and one that does not; the labels are proven. Chance is 50 of "
        "100. Cannot: not surely above chance. Can: 80 of 100 or more, and at most 5 below the "
        "control, or 95 or more."
    )
    return Page(
        result.systems[0],
        "retgen diagnosis",
        lede,
        list(_comparisons(result)),
        sections,
        result.command,
        boxes=[one for one in boxes if one.statements],
    )


def _statements(result: Diagnosis, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Title and sentence of the abilities of a verdict."""
    of = result.scores.get(result.systems[0], {})
    for ability in result.abilities:
        one = of.get(ability.name)
        if one is not None and one.verdict == verdict:
            text = (
                f"Where {ability.test}, the right document ranks higher in {_of_100(one.test)} of "
                f"100 choices; where {ability.control}, in {_of_100(one.control)}."
            )
            yield f"{ability.title}.", text + _reason(result, ability, one)


def _reason(result: Diagnosis, ability: Ability, one: AbilityScores) -> str:
    """What else explains a low score."""
    limit = result.details.get(result.systems[0], {}).get("max_length")
    if ability.name == "length" and limit is not None and limit < LONG:
        return f" It reads {limit:,} tokens; an answer after them is a coin flip."
    if one.test.below(CHANCE):
        return " So it prefers the wrong document."
    if one.verdict != "yes" and one.loss.value <= SMALL:
        return " Its control is as weak, so the cause is something else."
    return ""


def _comparisons(result: Diagnosis) -> Iterator[str]:
    """On how many abilities the first system is surely better or worse than each other one."""
    first, *others = result.scores or [""]
    for other in others:
        better, worse, count = [], [], 0
        for ability in result.abilities:
            mine, theirs = (result.scores[one].get(ability.name) for one in (first, other))
            if mine is not None and theirs is not None:
                count += 1
                apart = mine.less(theirs)
                if apart.above(0):
                    better.append(ability.title)
                elif apart.below(0):
                    worse.append(ability.title)
        if count > 1:
            text = f"{first} is surely better than {other} on {len(better)} of {count} abilities"
            text += f" ({', '.join(better)})" if better else ""
            yield f"{text}, and surely worse on {len(worse)}."


def _of_100(one: Estimate) -> str:
    return f"{100 * one.value:.0f}"


def _measurements(result: Diagnosis) -> list[Measurement]:
    """Test, control and loss of every system and ability, and the differences to the first one."""
    names = {one.name: one.title for one in result.abilities}
    first, rows = next(iter(result.scores), ""), []
    for system, of in result.scores.items():
        for name, one in of.items():
            by = {"ability": names[name], "of": system}
            found = [(_TEST, one.test), (_CONTROL, one.control), (_LOSS, one.loss)]
            mine = result.scores[first].get(name)
            if system != first and mine is not None:
                found.append((_APART, mine.less(one)))
            rows += [
                Measurement.of(system, measure.name, value, by)._replace(n=len(one.choices))
                for measure, value in found
            ]
    return rows


def _overview(result: Diagnosis, rows: Sequence[Measurement]) -> Section:
    first = {"of": result.systems[0]}
    columns = [Column(one.name, one, first) for one in (_TEST, _CONTROL, _LOSS)]
    columns.append(Column("choices", _TEST, first, count=True))
    text = [
        "Test: in how many of 100 choices the right document has the higher score, a tie half. The "
        "control removes the difficulty, mostly with the same documents, as the sentences above "
        "say. Loss: control minus test, so what the difficulty costs; below 0, the control is the "
        "harder one. With 95% intervals."
    ]
    panel = Panel("", rows, columns, rows=["ability"], best=False, terminal_interval="inside")
    return Section("All abilities", text, [panel], [_picture(result, rows)], _notes(result))


def _picture(result: Diagnosis, rows: Sequence[Measurement]) -> Dots:
    """The systems' tests, and the first one's control."""
    names = [one.title for one in result.abilities]
    known = {(one.system, one.measure, one.by["ability"]): one for one in rows}
    first = result.systems[0]
    control = f"{first}, control"
    shown = {system: (system, _TEST.name) for system in result.scores}
    shown[control] = (first, _CONTROL.name)
    return Dots(
        file="abilities",
        caption="Test of each system with its 95% interval; hollow: the control. "
        "figures/abilities.svg.",
        title=f"What {first} can do{', beside others' * (len(result.scores) > 1)}",
        x="choices in which the right document ranks higher, of 100",
        rows=names,
        series={label: [known.get((*key, name)) for name in names] for label, key in shown.items()},
        hollow=frozenset({control}),
        at=Level("chance", CHANCE),
    )


def _beside(result: Diagnosis, rows: Sequence[Measurement]) -> Section:
    """Every system, and which differences to the first one are sure."""
    first, *others = result.scores
    apart = [Column(one, _APART, {"of": one}) for one in others]
    tests = [Column(one, _TEST, {"of": one}) for one in result.scores]
    title = "Test of every system"
    return Section(
        "Compared with other systems",
        [
            f"Test of {first} minus that of the other, on the same choices. An interval that holds "
            "0 means: these two cannot be told apart. There is no mean over abilities."
        ],
        [
            Panel(
                f"{first} minus the other",
                rows,
                apart,
                rows=["ability"],
                interval="inside",
                terminal_interval="inside",
                best=False,
            ),
        ],
        folded=[
            Fold(title, [Panel(title, rows, tests, rows=["ability"], best=False)], printed=True)
        ],
    )


def _breakdown(result: Diagnosis) -> Section:
    """Levels and groups of the first system's abilities; what stands where, unfolded."""
    of = result.scores.get(result.systems[0], {})
    folded, shown = [], []
    for ability in result.abilities:
        one = of.get(ability.name)
        parts = _parts(one) if one else {}
        if len(parts) > 1:
            rows = [
                Measurement.of(result.systems[0], _TEST.name, value, {"part": part})
                for part, value in parts.items()
            ]
            panel = Panel(
                ability.title,
                rows,
                [Column("test", _TEST)],
                rows=["part"],
                interval="inside",
                best=False,
            )
            if ability.name == "length":
                shown.append(panel)
            else:
                folded.append(Fold(ability.title, [panel]))
    text = ["Test by what is asked for, or where it stands."] if folded or shown else []
    return Section("Breakdown", text, shown, folded=folded, printed=False)


def _parts(one: AbilityScores) -> Mapping[str, Estimate | None]:
    levels = {level: one.share([level]) for level in one.levels}
    groups = {group: one.share(one.levels, group) for group in one.groups()}
    return groups if groups else levels


def _what_may_help(result: Diagnosis) -> Section:
    """Recipes whose data train what the first system lacks."""
    of = result.scores.get(result.systems[0], {})
    recipes: dict[str, list[str]] = {}
    for ability in result.abilities:
        one = of.get(ability.name)
        if ability.train and one and one.verdict != "yes" and one.loss.value > SMALL:
            recipes.setdefault(ability.train, []).append(ability.title)
    if not recipes:
        return Section("What may help", ["No recipe targets its weaknesses."])
    return Section(
        "What may help",
        [
            "Recipes whose data target its weaknesses, with another seed or other words than this "
            "page's data, to be tried with `gen train` and a second diagnosis. docs/diagnose.md "
            "says what they did to minilm, and what it cost."
        ],
        notes=[f"`gen run {recipe}`: {', '.join(titles)}" for recipe, titles in recipes.items()],
    )


def _examples(result: Diagnosis) -> Section:
    """Choices that were lost, of each ability."""
    of = result.scores.get(result.systems[0], {})
    records = []
    for ability in result.abilities:
        one = of.get(ability.name)
        for choice in one.worst(_EXAMPLES) if one else ():
            texts = choice.right[:_LONGEST], choice.wrong[0][:_LONGEST]
            right, wrong = both_sides(*texts)
            title = f"{ability.title}: {choice.query[:_LONGEST]}"
            records.append(
                MarkedRecord(
                    title,
                    [("right, ranked lower", False, right), ("wrong, ranked higher", True, wrong)],
                )
            )
    return Section(
        "Failures",
        [
            "The first ones of each ability, not chosen by hand. What differs is marked; of "
            "several wrong documents the first is shown."
        ]
        if records
        else [],
        changes=records,
    )


def _notes(result: Diagnosis) -> list[str]:
    lines = [f"not scored: {name}: {message}" for name, message in result.failures.items()]
    about = dict(table())
    lines += [f"{name}: {about[name]}" for name in result.scores if name in about]
    for system, details in result.details.items():
        if limit := details.get("max_length"):
            lines.append(f"{system} reads {limit:,} tokens of a text")
    return lines
