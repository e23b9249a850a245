"""How a concept of a text stands to one of a condition."""

from __future__ import annotations

from retgen.generators.multiconir.judge.dates import Value
from retgen.generators.multiconir.judge.tokens import Concept

# roles that cannot stand for one another though the words agree
_APART = {
    frozenset(pair)
    for pair in [("from", "to"), ("before", "after"), ("since", "until"), ("until", "in"),
             ("over", "under"), ("before", "since"), ("after", "until"), ("from", "until"),
             ("before", "in"), ("after", "in"), ("for", "against"), ("against", "with")]
}  # fmt: skip


def implies(text: Concept, condition: Concept) -> bool:
    """Whether what the text says is what the condition asks, or a kind of it."""
    if text.value is not None or condition.value is not None:
        if text.value is None or condition.value is None:
            return False
        return _within(text.value, condition.value)
    return not text.implies.isdisjoint(condition.ids)


def _within(text: Value, condition: Value) -> bool:
    if text.unit != condition.unit:
        return False
    if condition.month and condition.month != text.month:
        return False
    if condition.day and condition.day != text.day:
        return False
    if condition.unit == "date":
        if condition.low == -float("inf"):
            return True
        return condition.low <= text.low and text.high <= condition.high
    slack = 0.02 * abs(condition.middle) if condition.unit in ("time", "length", "mass") else 1e-9
    if abs(text.middle - condition.middle) <= slack:
        return _open(text) * _open(condition) >= 0
    return condition.low <= text.low and text.high <= condition.high


def _open(value: Value) -> int:
    return (value.high == float("inf")) - (value.low == -float("inf"))


def opposes(text: Concept, condition: Concept) -> bool:
    """Whether the two are antonyms."""
    if text.opposite.isdisjoint(condition.ids) and condition.opposite.isdisjoint(text.ids):
        short, long = sorted((text.key, condition.key), key=len)
        return len(short) > 4 and long == "un" + short
    return True


def excludes(text: Concept, condition: Concept) -> bool:
    """Whether both cannot hold of the same slot: other values, other members of a set."""
    if text.value is not None and condition.value is not None:
        return _apart(text.value, condition.value)
    if text.value is not None or condition.value is not None:
        return False
    if implies(text, condition) or implies(condition, text):
        return False
    if opposes(text, condition) or not text.sets.isdisjoint(condition.sets):
        return True
    if text.place and condition.place:
        return True
    return text.kind == condition.kind == "name"


def _apart(text: Value, condition: Value) -> bool:
    if text.unit.split()[0] != condition.unit.split()[0]:
        return {text.unit, condition.unit} == {"age", "time"}
    if text.unit != condition.unit:  # another currency
        return True
    if text.unit == "date":
        if text.month and condition.month and text.month != condition.month:
            return True
        if text.day and condition.day and text.day != condition.day:
            return True
    if text.unit != "date" and _open(text) * _open(condition) < 0:
        return True
    slack = 0.02 * abs(condition.middle) if condition.unit in ("time", "length", "mass") else 0
    return text.low > condition.high + slack or text.high < condition.low - slack


def apart(text: str, condition: str) -> bool:
    """Whether two roles exclude one another: from Lisbon, to Lisbon."""
    return frozenset((text, condition)) in _APART


def same_slot(text: str, condition: str) -> bool:
    """Whether concepts of these two roles answer the same question."""
    if text == condition:
        return True
    return {text, condition} in (
        {"in", "of"},
        {"o", "of"},
        {"for", "o"},
        {"o", "as"},
        {"in", "o"},
        {"of", "as"},
    )
