"""Years, days and numbers of queries, and words that compare them: "before 1950" is a range."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retgen.validators.world.definitions import Definition, SlotDefinition
from retgen.validators.world.mentions import MONTHS, Item, Mention

# of time and of numbers; of time alone; of numbers alone
_BEFORE = {
    "<": (("less than", "under", "below"),
          ("before", "prior to", "earlier than", "ahead of", "not yet"),
          ("fewer than", "smaller than", "shorter than", "lower than", "cheaper than",
           "younger than", "thinner than", "briefer than", "not as many as")),
    "<=": (("at most", "no more than", "not more than", "up to", "not above", "not over"),
           ("until", "till", "no later than", "not later than", "not after", "by", "up until",
            "in or before", "on or before"),
           ("a maximum of", "no longer than", "not longer than", "no older than", "no taller than",
            "not taller than", "not older than", "not exceeding")),
    ">": (("more than", "over", "above", "past", "beyond"),
          ("after", "later than", "following", "subsequent to"),
          ("greater than", "longer than", "larger than", "exceeding", "higher than",
           "in excess of", "bigger than", "taller than", "older than", "thicker than")),
    ">=": (("at least", "no less than", "not less than"),
           ("since", "not before", "no earlier than", "not earlier than", "in or after",
            "on or after"),
           ("no fewer than", "not fewer than", "a minimum of", "not under", "not below",
            "no shorter than", "not shorter than", "no younger than")),
}  # fmt: skip
_BEHIND = {
    "<=": (("or under",), ("or earlier", "or before"), ("or less", "or fewer", "or shorter")),
    ">=": (("or over", "and upwards"), ("or later", "or after", "onwards", "onward", "and later"),
           ("or more", "or longer", "and more")),
}  # fmt: skip
_DECADES = {
    name: 1900 + 10 * number
    for number, name in enumerate(
        "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2
    )
}
_FROM_TO = (
    ("between", ("and", "to")),
    ("from", ("to", "until", "till", "through", "up to")),
    ("", ("to",)),
)
# "30-40", no day such as 1987-05-03; "two or more years"
FIGURES = re.compile(r"(?<![-\w])(\d[\d,]*)\s?[-\u2013\u2014]\s?(\d[\d,]*)(?![-\w])")
OR_MORE = re.compile(r"\b([\d,]+|[a-z]+) or (more|fewer|less) (?!of\b)(?=\w)")


@dataclass(frozen=True)
class _Quantity:
    """A year, day or number, or a range of them. An open end is None; both ends belong to it.

    `kind`: year, date (ISO) or number; `slots`: those that the figures can belong to; `bound`:
    whether the words that compare it, and take its preposition, belong to it.
    """

    kind: str
    low: int | str | None
    high: int | str | None
    slots: frozenset[str]
    text: str
    bound: bool = False

    def condition(self, slot: SlotDefinition) -> list[object] | None:
        """The canonical condition on a slot, None where it cannot have such values."""
        low, high = self.low, self.high
        if slot.type == "date":
            if self.kind == "year":
                low = None if low is None else f"{low:04}-01-01"
                high = None if high is None else f"{high:04}-12-31"
            elif self.kind != "date":
                return None
        elif self.kind == "date" or (slot.type == "year" and self.kind != "year"):
            return None
        if low == high:
            return ["is", slot.name, low]
        return ["between", slot.name, low, high]

    def bounded(self, how: str) -> _Quantity:
        low, high = self.low, self.high
        if how == "<":
            low, high = None, _beside(low, -1)
        elif how == "<=":
            low = None
        elif how == ">":
            low, high = _beside(high, 1), None
        else:
            high = None
        return _Quantity(self.kind, low, high, self.slots, f"{how} {self.text}", bound=True)


def _beside(bound: int | str | None, step: int) -> int | str | None:
    if isinstance(bound, str):
        day = datetime.date.fromisoformat(bound) + datetime.timedelta(days=step)
        return day.isoformat()
    return None if bound is None else bound + step


def conditions(items: Sequence[Item], domain: Definition) -> list[Item]:
    """The items of a query, the slots of each mention being conditions."""
    slots = domain.slots
    result: list[Item] = []
    for one in _compared(_figures(items, domain)):
        if isinstance(one, str):
            result.append(one)
        elif isinstance(one, Mention):
            held: dict[str, list[object]] = {
                name: ["within", name, parent] for name, parent in one.parents.items()
            }
            held |= {name: ["is", name, value] for name, value in one.slots.items()}
            result.append(Mention.of(one.kind, one.text, held))
        else:
            held = {
                name: condition for name in slots
                if name in one.slots and (condition := one.condition(slots[name])) is not None
            }  # fmt: skip
            result.append(Mention.of(one.kind, one.text, held, bound=one.bound))
    return result


def _figures(items: Sequence[Item], domain: Definition) -> list[Item | _Quantity]:
    """The items with decades, months, years, days and numbers as quantities."""
    days = frozenset(domain.of_type("date"))
    years = days | frozenset(domain.of_type("year"))
    result: list[Item | _Quantity] = []
    i = 0
    while i < len(items):
        item = items[i]
        i += 1
        if isinstance(item, str):
            after = items[i + (items[i : i + 1] == ["of"]) :][:1]
            if match := re.fullmatch(r"(\d{3}0)['\u2019]?s", item):
                result.append(_Quantity("year", int(match[1]), int(match[1]) + 9, years, item))
            elif item in _DECADES and result and result[-1] in ("the", "or", "and", "to"):
                result.append(_Quantity("year", _DECADES[item], _DECADES[item] + 9, years, item))
            elif (month := MONTHS.get(item.capitalize())) and after and _is_year(after[0]):
                year = int(after[0].text)  # type: ignore[union-attr]
                last = calendar.monthrange(year, month)[1]
                first = f"{year:04}-{month:02}"
                text = f"{item} {year}"
                result.append(_Quantity("date", f"{first}-01", f"{first}-{last}", days, text))
                i = items.index(after[0], i) + 1
            else:
                result.append(item)
        elif item.kind == "year":
            year = int(item.text)
            result.append(_Quantity("year", year, year, years | frozenset(item.slots), item.text))
        elif item.kind == "date":
            result.append(_Quantity("date", item.text, item.text, days, item.text))
        elif item.kind in ("number", "figure"):
            number = next(iter(item.slots.values()), None)
            if number is None:
                number = int(item.text.replace(",", ""))
            result.append(_Quantity("number", number, number, frozenset(item.slots), item.text))
        else:
            result.append(item)
    return result


def _is_year(item: Item) -> bool:
    return isinstance(item, Mention) and item.kind == "year"


def _compared(items: list[Item | _Quantity]) -> list[Item | _Quantity]:
    """The quantities with the words that compare them."""
    result: list[Item | _Quantity] = []
    i = 0
    while i < len(items):
        one = items[i]
        if not isinstance(one, _Quantity):
            result.append(one)
            i += 1
            continue
        other = next((j for j in range(i + 2, i + 4) if j < len(items)
                      and isinstance(items[j], _Quantity)), None)  # fmt: skip
        if other is not None and (joined := _range(result, items[i : other + 1])):
            result.append(joined)
            i = other + 1
            continue
        how, words = _comparison(result, _BEFORE, one.kind, behind=False)
        i += 1
        if one.text.isdecimal() and items[i : i + 1] == ["of"]:  # "at least 2 of these"
            how = ""
        if how:
            del result[len(result) - words :]
        else:
            how, words = _comparison(items[i:], _BEHIND, one.kind, behind=True)
            i += words
            if how and result[-1:] == ["from"]:
                result.pop()
        result.append(one.bounded(how) if how else one)
    return result


def _range(before: list[Item | _Quantity], items: Sequence[Item | _Quantity]) -> _Quantity | None:
    """What stands from one figure to another: "between 1950 and 1960"; `before` loses its word."""
    low, *words, high = items
    assert isinstance(low, _Quantity)
    assert isinstance(high, _Quantity)
    said = [str(word) for word in words if word not in ("the",)]
    first = before[-1] if before else ""
    article = first == "the" and low.kind == "year"
    if article:
        first = before[-2] if len(before) > 1 else ""
    for start, middles in _FROM_TO:
        if (first == start or not start) and " ".join(said) in middles:
            slots = low.slots & high.slots
            if (
                high.kind == "number"
                and low.kind in ("year", "number")
                and low.text.isdecimal() | (low.kind == "number")
            ):
                slots = high.slots  # the unit follows the second
            elif low.kind != high.kind:
                return None
            if start:
                del before[-2 if article else -1 :]
            text = f"{low.text} to {high.text}"
            return _Quantity(high.kind, low.low, high.high, slots, text, bound=True)
    return None


def _comparison(
    items: Sequence[Item | _Quantity],
    listed: Mapping[str, Sequence[Sequence[str]]],
    kind: str,
    *,
    behind: bool,
) -> tuple[str, int]:
    """The comparison whose words end (or begin) some items, and how many words; "" for none."""
    for length in (3, 2, 1):
        some = items[:length] if behind else items[-length:]
        if len(some) == length and all(isinstance(item, str) for item in some):
            phrase = " ".join(map(str, some))
            for how, (both, of_time, of_numbers) in listed.items():
                if phrase in both or phrase in (of_numbers if kind == "number" else of_time):
                    return how, length
    return "", 0
