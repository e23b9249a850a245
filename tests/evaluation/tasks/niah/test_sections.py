"""Tables and sentences of haystacks, from values made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retgen.evaluation.tasks.niah import NeedlesInHaystacks
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant, too_few
from retgen.evaluation.tasks.niah.sections import sentences
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.rows import Results

ARM = HaystackVariant("one_hop", "shuffled", True, 0)
OTHER = HaystackVariant("literal", "shuffled", True, 1)
COUNT = 20
DIFFERENCES = "Difference in AUC within the question"
Values = dict[tuple[str, HaystackVariant, int], np.ndarray]


def made(values: Values, truncated: dict[int, float] | None = None, name: str = "set") -> Results:
    """Results with an AUC or ratio a question; all haystacks are read whole but for `truncated`."""
    count = len(next(iter(values.values())))

    def rows() -> Any:
        yield 0, {"measure": "controls", "control": "none"}, 1.0
        for (measure, variant, length), of in values.items():
            at = {"variant": variant, "length": length}
            for unit, value in enumerate(of):
                yield unit, {"measure": measure, "query": QUESTION, **at}, value
                yield unit, {"measure": "haystacks", **at}, 1.0
                yield unit, {"measure": "truncated", **at}, (truncated or {}).get(length, 0.0)
                yield unit, {"measure": "needle read", **at}, 0.5

    return Results.of([f"{name}: g{i}" for i in range(count)], rows())


def flat(value: float) -> np.ndarray:
    """Questions that are nearly alike."""
    return value + 0.01 * np.resize([1, -1], COUNT)


def tables(**systems: Results) -> dict[str, Any]:
    results = [SystemResult(name, None, {"set": one}) for name, one in systems.items()]
    sections = NeedlesInHaystacks().sections(results)
    return {one.title: one.table() for section in sections for one in section.tables}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            (0.9, 0.8),
            "(95% interval 0.895 to 0.905) at 256 tokens and falls: 0.800 (95% interval "
            "0.795 to 0.805) at 1,024.",
        ),
        (
            (0.3, 0.2),
            "(95% interval 0.295 to 0.305) at 256 tokens and falls: 0.200 (95% interval "
            "0.195 to 0.205) at 1,024, not clearly above chance.",
        ),
        (
            (0.5, 0.5),
            "(95% interval 0.495 to 0.505) at 256 tokens and does not clearly change: "
            "0.500 (95% interval 0.495 to 0.505) at 1,024, not clearly above chance.",
        ),
    ],
)
def test_the_summary_says_where_chance_is(values: tuple[float, float], said: str) -> None:
    one = made({("auc", ARM, 256): flat(values[0]), ("auc", ARM, 1024): flat(values[1])[::-1]})
    (sentence, *_) = sentences({"one": one})
    assert sentence == f"one: the AUC within the question is {values[0]:.3f} " + said


def test_few_questions_claim_nothing() -> None:
    values = np.full(4, 0.9)
    one = made({("auc", ARM, 256): values, ("auc", ARM, 1024): values - 0.3})
    assert sentences({"one": one}) == [
        f"{too_few(4)}.",
        "one: the AUC within the question is 0.900 at 256 tokens, and 0.600 at 1,024.",
    ]
    assert too_few(12) == ""
    assert too_few(2) == (
        "no intervals: too few independent units: 2 questions, 12 needed; "
        "no difference from chance is claimed"
    )


def test_what_is_not_read_whole_is_no_fall() -> None:
    one = made({("auc", ARM, n): flat(0.8) for n in (256, 512, 1024)}, {1024: 0.5})
    course, unread = sentences({"one": one})
    assert " at 512" in course
    assert unread.startswith("From 1,024 tokens on one does not read haystacks whole")


def test_systems_are_compared_question_by_question() -> None:
    values = np.linspace(0.2, 0.8, COUNT)
    before, after = (made({("auc", ARM, 128): v}) for v in (values, values + flat(0.1)))
    elsewhere = made({("auc", ARM, 128): values}, name="other")
    view = tables(before=before, after=after, elsewhere=elsewhere)[DIFFERENCES]
    assert view.head == ["AUC", "128"]
    assert view.rows == [["after less before", "+0.100 (+0.095 to +0.105)"]]
    assert DIFFERENCES not in tables(before=before)


def test_variants_are_compared_with_the_first() -> None:
    """Paired: 0.1 of every question."""
    values = np.linspace(0.2, 0.8, COUNT)
    more = np.where(np.arange(COUNT) % 2, 0.05, 0.15)
    both = tables(one=made({("auc", ARM, 128): values, ("auc", OTHER, 128): values + more}))
    (row,) = both[DIFFERENCES].rows
    name = "one · literal · 1 near-answer less one-hop · 0 near-answers"
    assert row == [name, "+0.100 (+0.076 to +0.124)"]
