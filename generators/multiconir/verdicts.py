"""The judge's answers, entry by entry."""

from __future__ import annotations

from retgen.generators.multiconir.checks import check_quote
from retgen.generators.multiconir.questions import Judged, Verdicts, Verify


def read_verdicts(question: Verify, answer: Verdicts) -> tuple[list[Judged], dict[int, str]]:
    """The entries that can be taken, satisfied or violated; what is wrong, by condition (from 1).

    Wrong is a condition that was asked for and has no verdict, two for the same text, or one
    without a quote of the text that it names. An entry for a condition that is not there is left
    out.
    """
    taken: dict[tuple[int, int], Judged] = {}
    faults: dict[int, str] = {}
    open_ = set()
    for one in answer.verdicts:
        if not 1 <= one.condition <= len(question.conditions):
            continue
        where = one.condition, one.text
        if one.verdict == "cannot_tell":
            open_.add(one.condition)
        elif not 1 <= one.text <= len(question.texts):
            faults.setdefault(one.condition, f"there is no text {one.text}")
        elif fault := check_quote(one.quote, question.texts[one.text - 1]):
            faults.setdefault(one.condition, f"{fault} {one.text}")
        elif where in taken and taken[where].verdict != one.verdict:
            faults.setdefault(one.condition, f"there are two verdicts on text {one.text}")
        else:
            taken.setdefault(where, one)
    for number in question.asked:
        if number not in open_ and all(number != c for c, _ in taken):
            faults.setdefault(number, "there is no verdict")
    asked = set(question.asked)
    return (
        [one for (number, _), one in taken.items() if number not in faults],
        {n: f"condition {n}: {why}" for n, why in sorted(faults.items()) if n in asked},
    )
