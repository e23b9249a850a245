"""What came out on ladders, in sentences: who wins, what more conditions do, the blind control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from retgen.evaluation.tasks.multiconir.summary import Reading
from retgen.statistics.clustered import Estimate

_NAMED = 3  # systems named in a sentence


def sentences(systems: Mapping[str, Reading]) -> list[str]:
    """The summary of a page, of systems by their labels."""
    result = [_winners(systems), _decline(systems), _others(systems), _blind(systems)]
    return [sentence for sentence in result if sentence]


def _of(
    systems: Mapping[str, Reading], measure: Callable[[Reading], Estimate | None]
) -> dict[str, Estimate]:
    return {label: one for label, read in systems.items() if (one := measure(read)) is not None}


def _winners(systems: Mapping[str, Reading]) -> str:
    rates = _of(systems, lambda read: read(*read.task1()))
    if not rates:
        return ""
    order = sorted(rates, key=lambda label: -rates[label].value)
    message = [f"{label} {_spanned(rates[label])}" for label in order[:_NAMED]]
    more = f", {len(order) - _NAMED} more below" if len(order) > _NAMED else ""
    return f"Average win rate of the positive over HN1 (Task 1): {', '.join(message)}{more}."


def _decline(systems: Mapping[str, Reading]) -> str:
    """Where the interval of Q1 less the longest query excludes 0."""
    conditions = max(read.conditions for read in systems.values())
    declines = _of(
        systems, lambda read: read.rates.difference(read.query(1), read.query(read.conditions))
    )
    if conditions < 2 or not declines:
        return ""
    falls = [f"{name} ({_points(d)})" for name, d in declines.items() if d.above(0)]
    rises = [f"{name} ({_points(d)})" for name, d in declines.items() if d.below(0)]
    parts = [f"falls for {', '.join(falls)}"] * bool(falls)
    parts += [f"rises for {', '.join(rises)}"] * bool(rises)
    same = len(declines) - len(falls) - len(rises)
    if same:
        which = "every system" if same == len(declines) else f"{same} of {len(declines)} systems"
        parts.append(f"shows no clear change for {which}")
    return f"From 1 to {conditions} conditions the win rate {_listed(parts)}."


def _others(systems: Mapping[str, Reading]) -> str:
    rates = _of(systems, lambda read: read(*read.task2()))
    flips = _of(systems, lambda read: read(*read.rates.where("flip")))
    parts = []
    if rates:
        best = max(rates, key=lambda label: rates[label].value)
        parts.append(f"Among neighbours down the ladder (Task 2) {best} wins most, "
                     f"{_spanned(rates[best])}")  # fmt: skip
    if flips:
        least = min(flips.values(), key=lambda one: one.value)
        equal = [label for label, one in flips.items() if _spanned(one) == _spanned(least)]
        begin = "between query styles" if parts else "Between query styles"
        who = f"{equal[0]} changes least" if len(equal) == 1 else f"{_listed(equal)} change least"
        parts.append(f"{begin} (Task 3) {who}, {_spanned(least)}")
    return "; ".join(parts) + "." if parts else ""


def _blind(systems: Mapping[str, Reading]) -> str:
    """Win rates from the documents alone, against chance, where ties are lost."""
    rates = _of(systems, lambda read: read(*read.blind()))
    if not rates:
        return ""
    apart = []
    for label, rate in rates.items():
        tied = systems[label](("tied", "blind task1"))
        chance = (1 - (tied.value if tied else 0.0)) / 2
        if rate.above(chance) or rate.below(chance):
            apart.append(f"{label} {100 * rate.value:.1f}% where chance is {100 * chance:.1f}%")
    if not apart:
        return "Blind control: under the query of another ladder every system is at chance."
    return (
        f"Blind control: under the query of another ladder {'; '.join(apart)}: the documents "
        "alone give some of the order away."
    )


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


def _spanned(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.value:.1f}%"
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.1f}% (95% interval {low:.1f} to {high:.1f})"


def _points(estimate: Estimate) -> str:
    return f"by {100 * abs(estimate.value):.1f} points"
