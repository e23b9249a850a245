"""Years, days and numbers of queries, and words that compare them: "before 1950" is a range."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

from retgen.validators.world.automaton import Automaton
from retgen.validators.world.definitions import Definition, SlotDefinition
from retgen.validators.world.lexicon import phrase_nodes
from retgen.validators.world.mentions import MONTHS, Item, Mention

# what compares, before figures and behind them: #t is a year or day, #n a number
_PHRASES = {
    "<": (
        "(less than|under|below) (#t|#n)",
        "(before|prior to|earlier than|ahead of|not yet) #t",
        "(fewer|smaller|shorter|lower|cheaper|younger|thinner|briefer) than #n",
        "not as many as #n",
    ),
    "<=": (
        "(at most|no more than|not more than|up to|not above|not over) (#t|#n)",
        "(until|till|[up] until|by|in or before|on or before|not after|(no|not) later than) #t",
        "(a maximum of|not exceeding|(no|not) (longer|older|taller) than) #n",
        "[from] (#t|#n) or under", "[from] #t or (earlier|before)",
        "[from] #n or (less|fewer|shorter)",
    ),
    ">": (
        "(more than|over|above|past|beyond) (#t|#n)",
        "(after|later than|following|subsequent to) #t",
        "(greater|longer|larger|higher|bigger|taller|older|thicker) than #n",
        "(exceeding|in excess of) #n",
    ),
    ">=": (
        "(at least|no less than|not less than) (#t|#n)",
        "(since|not before|(no|not) earlier than|in or after|on or after) #t",
        "(a minimum of|not under|not below|(no|not) (fewer|shorter|younger) than) #n",
        "[from] (#t|#n) (or over|and upwards)",
        "[from] #t (or later|or after|onwards|onward|and later)",
        "[from] #n (or more|or longer|and more)",
    ),
    "-": (
        "between [the] (#t|#n) (and|to) [the] (#t|#n)",
        "from [the] (#t|#n) (to|until|till|through|up to) [the] (#t|#n)",
        "(#t|#n) to [the] (#t|#n)",
    ),
}  # fmt: skip
_COMPARISONS = Automaton()
for _how, _phrases in _PHRASES.items():
    for _phrase in _phrases:
        _COMPARISONS.add(phrase_nodes(_phrase, {}), _how)
_DECADES = {
    name: 1900 + 10 * number
    for number, name in enumerate(
        "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2
    )
}
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
    kinds: list[Item] = []
    for i, one in enumerate(items):
        if not isinstance(one, _Quantity):
            kinds.append(one)
        elif one.text.isdecimal() and items[i + 1 : i + 2] == ["of"]:  # "at least 2 of these"
            kinds.append("#")
        else:
            kinds.append("#n" if one.kind == "number" else "#t")
    result: list[Item | _Quantity] = []
    i = 0
    while i < len(items):
        end, how = _COMPARISONS.longest(kinds, i)
        quantities = [one for one in items[i:end] if isinstance(one, _Quantity)]
        compared = None
        if quantities and how:
            compared = _joined(*quantities) if how == "-" else quantities[0].bounded(str(how))
        result.append(compared or items[i])
        i = end if compared else i + 1
    return result


def _joined(low: _Quantity, high: _Quantity) -> _Quantity | None:
    """What stands from one figure to another: "between 1950 and 1960"."""
    slots = low.slots & high.slots
    if high.kind == "number" and (low.kind == "number" or low.text.isdecimal()):
        slots = high.slots  # the unit follows the second
    elif low.kind != high.kind:
        return None
    text = f"{low.text} to {high.text}"
    return _Quantity(high.kind, low.low, high.high, slots, text, bound=True)
