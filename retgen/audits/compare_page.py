"""The page of a comparison with a real set: what to trust, scores, pairs, words in common."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.audits.order import SystemPair, SystemScores, is_certain
from retgen.audits.result import OrderComparison
from retgen.results.measurements import Measure, Measurement, write_measurements
from retgen.results.numbers import listed
from retgen.results.page import Box, Page, Section, Verdict
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Dots
from retgen.results.tables import TableView
from retgen.statistics.clustered import Estimate

_TAU = Measure("tau", digits=2, signed=False, better="")
_SHARE = Measure("share", digits=1, percent=True, better="", small_digits=0)
_GAP = Measure("gap", digits=1, percent=True, signed=True, better="", small_digits=0)
_FEW = 6  # systems below which tau tells little, whatever it is
_GOOD = 0.8  # tau from which two test collections are called equivalent (Voorhees, SIGIR 1998: .9)


def write_page(result: OrderComparison) -> None:
    """figures/, audit.md, audit.html and measurements.jsonl."""
    page = page_of(result)
    page.write(result.folder, "audit")
    write_measurements(result.folder / "measurements.jsonl", page.measurements())


def terminal_text(result: OrderComparison) -> str:
    """For a terminal."""
    page = page_of(result)
    verdict = page.verdicts[0]
    lines = [f"{verdict.word}: {verdict.text}"]
    lines += [f"{a} {b}" for box in page.boxes for a, b in box.statements]
    return page.terminal(result.folder / "audit.html", _notes(result), ["\n".join(lines)])


def page_of(result: OrderComparison) -> Page:
    """All that is shown."""
    lede = (
        f"{len(result.real.systems)} systems, scored by {result.measure} on "
        f"{result.synthetic.name} (synthetic, {len(result.synthetic.values):,} queries) and on "
        f"{result.real.name} (real, {len(result.real.values):,} queries). Intervals are "
        "95%, over the queries of both sets."
    )
    statements = [*_what_it_says(result)]
    return Page(
        result.synthetic.name,
        "retgen audit",
        lede,
        [],
        [_scores(result), _pairs(result), _words(result)],
        result.command,
        verdicts=[_verdict(result)],
        boxes=[Box("What follows", _verdict(result).kind, statements)],
    )


def _verdict(result: OrderComparison) -> Verdict:
    """Whether one may choose systems by the synthetic set."""
    of, names = result.agreement, (result.synthetic.name, result.real.name)
    if of.tau is None:
        text = f"on {names[0]} or {names[1]} all systems have the same score, so there is no order."
        return Verdict("bad", "No order", text)
    tau = f"Kendall's tau of the two orders is {_TAU.spanned(of.tau)}"
    certain = [one for one in of.pairs if one.certain]
    same = sum(one.same for one in certain)
    counted = (
        f"of {len(of.pairs):,} pairs of systems {len(certain):,} "
        f"{'has a certain order' if len(certain) == 1 else 'have a certain order'} on {names[1]}, "
        f"and {names[0]} has {same:,} of them the same way"
    )
    if any(one.reversed_for_certain for one in of.pairs):
        kind, word, end = "bad", "Another order", "Do not choose systems by it."
    elif same < len(certain) or of.tau.value < _GOOD:
        kind, word = "fair", "Not the same order"
        end = "Trust it for the pairs that are the same on both, below, and for no others."
    elif not certain or of.tau.low is None or of.tau.low <= 0:
        kind, word, end = "fair", "Cannot be told", "More systems or queries would tell."
    else:
        kind, word, end = "good", "The same order", "For systems like these it may stand in."
    return Verdict(kind, word, f"{tau}; {counted}. {end}")


def _what_it_says(result: OrderComparison) -> Iterator[tuple[str, str]]:
    of, synthetic, real = result.agreement, result.synthetic.name, result.real.name
    if turned := [one for one in of.pairs if one.certain and not one.same]:
        pairs = listed([f"{one.first} is better than {one.second}" for one in turned])
        yield "Turned around.", f"On {real}, {pairs} for certain; on {synthetic} not."
    if open_pairs := [one for one in of.pairs if not one.certain]:
        pairs = listed([f"{one.first} / {one.second}" for one in open_pairs])
        yield "Not certain on the real set.", f"{pairs}: only more queries of {real} would tell."
    count = of.systems
    if of.tau is not None and of.chance is not None and (count < _FEW or of.chance > 0.05):
        chance = f"{100 * of.chance:.3g} of 100 random orders of {count} agree as well"
        about = "so this may be chance" if of.chance > 0.05 else "so chance is unlikely"
        yield (
            "Few systems.",
            f"{chance}, {about}. The interval is of these systems; of others it says nothing.",
        )
    gap = result.overlap.gap
    if gap is not None and (gap.above(0) or gap.below(0)):
        sign = "more" if gap.value > 0 else "fewer"
        favours = (
            "Systems that match words look better"
            if gap.value > 0
            else ("Systems that match words look worse")
        )
        yield (
            "Words in common.",
            f"Queries of {synthetic} share {sign} words with their answers than those of {real}: "
            f"{_GAP.spanned(gap)} points. {favours} on it than they are.",
        )
    if result.bias is not None:
        yield "Writer's family.", _bias_text(result)


def _bias_text(result: OrderComparison) -> str:
    bias = result.bias
    assert bias is not None
    whose = f"{listed(bias.own)} {'is' if len(bias.own) == 1 else 'are'} {bias.maker}'s, as the "
    whose += f"writer {bias.writer} is. Against the other systems, {result.synthetic.name} gives "
    amount = f"{_GAP.spanned(bias.bias)} points of {result.measure} beside {result.real.name}"
    if bias.bias.above(0):
        return f"{whose}them {amount}: it favours them."
    if bias.bias.below(0):
        return f"{whose}them {amount}: it does not favour them."
    return f"{whose}them {amount}: no bias can be told."


def _scores(result: OrderComparison) -> Section:
    measure = Measure(result.measure)
    sets = [("synthetic", result.synthetic), ("real", result.real)]
    rows = [
        Measurement.of(name, measure.name, estimate, {"set": which})
        for which, one in sets
        for name, estimate in zip(one.systems, _estimates(one), strict=True)
    ]
    order = [result.real.systems[i] for i in (-result.real.means).argsort(kind="stable")]
    rows.sort(key=lambda one: order.index(one.system))
    series: dict[str, list[Measurement | None]] = {
        which: [one for one in rows if one.by["set"] == which] for which, _ in sets
    }
    columns = [Column(which, measure, {"set": which}) for which, _ in sets]
    return Section(
        "Scores",
        [f"{result.measure}, the best on the real set first."],
        [Panel("", rows, columns, interval="inside", terminal_interval="inside")],
        [
            Dots(
                file="order",
                caption="Scores on both sets. figures/order.svg.",
                title="The order of systems",
                x=result.measure,
                rows=order,
                series=series,
                hollow=frozenset({"real"}),
            )
        ],
        _notes(result),
    )


def _estimates(one: SystemScores) -> list[Estimate]:
    spans = one.units.interval(one.values)
    return [Estimate.of(mean, span) for mean, span in zip(one.means.tolist(), spans, strict=True)]


def _pairs(result: OrderComparison) -> Section:
    rows = [
        [
            f"{one.first} − {one.second}",
            _difference(one, "real"),
            _difference(one, "synthetic"),
            _says(one),
        ]
        for one in result.agreement.pairs
    ]
    text = [
        "Differences with 95% intervals, the first better on the real set. Certain: the difference "
        "holds after Holm's correction over all pairs of its set."
    ]
    table = TableView(["pair", "real", "synthetic", "order"], rows, 1)
    return Section("Pairs of systems", text, [table])


def _difference(pair: SystemPair, which: str) -> str:
    one = pair.real if which == "real" else pair.synthetic
    measure = Measure("difference", digits=4, signed=True, small_digits=3)
    span = None if one.low is None or one.high is None else (one.low, one.high)
    inside = f" ({measure.interval_text(span)})" if span else ""
    return measure.text(one.difference) + inside


def _says(pair: SystemPair) -> str:
    if not pair.certain:
        return "not certain on real"
    if pair.same:
        return "same, certain" if is_certain(pair.synthetic) else "same, not certain"
    return "reversed, certain" if pair.reversed_for_certain else "not the same"


def _words(result: OrderComparison) -> Section:
    overlap = result.overlap
    rows = [
        Measurement.of(name, one.name, value)
        for name, one, value in (
            ("synthetic", _SHARE, overlap.synthetic),
            ("real", _SHARE, overlap.real),
        )
    ]
    text = [
        "The share of a query's content words (as stems) that stand in its relevant documents, of "
        "100."
    ]
    if overlap.gap is not None:
        text.append(f"Synthetic minus real: {_GAP.spanned(overlap.gap)}.")
    return Section(
        "Words of queries in their answers",
        text,
        [
            Panel(
                "",
                rows,
                [Column("words in common", _SHARE)],
                heads=["set"],
                interval="inside",
                terminal_interval="inside",
                best=False,
            )
        ],
    )


def _notes(result: OrderComparison) -> list[str]:
    return [*result.notes, *(f"not scored: {n}: {why}" for n, why in result.failures.items())]
