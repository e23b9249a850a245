"""Grades, decisions and labels in words: what buttons, strips and tables say."""

from __future__ import annotations

from typing import NamedTuple

from retgen.review.records import Mode, Verdict

REASONS = (
    "holds the words, not the answer",
    "answers in part",
    "is about something else",
    "the query is unclear",
    "the document is damaged",
    "needs knowledge from elsewhere",
    "other (see comment)",
)


class DecisionButton(NamedTuple):
    """A button: the decision it sends, its key, and what stands on it."""

    value: str
    key: str
    text: str


def grades(number: int) -> list[str]:
    """The scale in words, from 0."""
    return ["not relevant", "partly relevant", "relevant"] if number > 2 else [
        "not relevant", "relevant",
    ]  # fmt: skip


def choices(mode: Mode, number: int) -> list[DecisionButton]:
    """The buttons of an item."""
    if mode == "check":
        first = [DecisionButton("accept", "a", "Accept"), DecisionButton("reject", "r", "Reject")]
    else:
        first = [
            DecisionButton(str(grade), str(grade), text.capitalize())
            for grade, text in enumerate(grades(number))
        ]
    return [*first, DecisionButton("fix", "f", "Fix"), DecisionButton("unsure", "x", "Can't tell")]


def relevance(value: float | None, number: int) -> str:
    """A relevance in words."""
    names = grades(number)
    if value is None:
        return "can't tell"
    if value == int(value) and 0 <= value < len(names):
        return f"{names[int(value)]} ({int(value)})"
    return f"{'relevant' if value > 0 else 'not relevant'} ({value:g})"


def label(value: float | None, number: int) -> str:
    """What a data set says of a pair; None: nothing."""
    return "not judged, so taken as not relevant" if value is None else relevance(value, number)


def verdict_words(verdict: Verdict, number: int) -> str:
    """What a verdict says."""
    if verdict.decision == "unsure":
        return "can't tell"
    text = relevance(verdict.relevance, number)
    if verdict.decision == "fix":
        fields = list(verdict.edits)
        return (
            f"{text}, with a fix of the {' and the '.join(fields)}" if fields else f"{text}, fixed"
        )
    return {"accept": f"accepted: {text}", "reject": f"rejected: {text}"}.get(
        verdict.decision, text
    )


def scale(mode: Mode, number: int) -> str:
    """What the buttons stand for, below every guideline. Markdown."""
    not_relevant = "- **0, not relevant**: it does not answer the query, whatever words it shares."
    above = [
        "- **1, relevant**: it answers the query; all of its conditions, if there are several."
    ]
    if number > 2:
        above = [
            "- **1, partly relevant**: it answers a part of the query, or all but a detail.",
            "- **2, relevant**: it answers the whole query.",
        ]
    lines = "\n".join([not_relevant, *above])
    claim = (
        "**Accept** a label that is right, **reject** one that is not.\n\n"
        if mode == "check"
        else ""
    )
    return f"""{claim}{lines}

**Can't tell** is an answer: use it where the query can be read in several ways, or where the
document does not say enough. **Fix** where a text or the label should be another one.
"""
