"""Years, days and numbers of queries, and words that compare them: "before 1950" is a range."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from retgen.validators.world.automaton import Automaton
from retgen.validators.world.definitions import Definition
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
        "[from] (#t|#n) or under",
        "[from] #t or (earlier|before)",
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
}
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


End = int | str | None


class _Quantity(NamedTuple):
    """A year, day or number, or a range of them.

    `kind`: year, date or number; `ends`: by slot the lowest and the highest value, both of which
    belong to it, None where it is open; `bound`: whether the words that compare it, and take its
    preposition, belong to it.
    """

    kind: str
    text: str
    ends: Mapping[str, tuple[End, End]]
    bound: bool = False

    def mention(self) -> Mention:
        """It with conditions as the values of its slots."""
        held = {
            slot: ["is", slot, low] if low == high else ["between", slot, low, high]
            for slot, (low, high) in self.ends.items()
        }
        return Mention.of(self.kind, self.text, held, bound=self.bound)

    def bounded(self, how: str) -> _Quantity:
        """What is below or above it."""
        ends = {slot: _BOUNDED[how](*both) for slot, both in self.ends.items()}
        return _Quantity(self.kind, f"{how} {self.text}", ends, bound=True)


_BOUNDED: dict[str, Callable[[Any, Any], tuple[End, End]]] = {
    "<": lambda low, high: (None, _beside(low, -1)),
    "<=": lambda low, high: (None, high),
    ">": lambda low, high: (_beside(high, 1), None),
    ">=": lambda low, high: (low, None),
}


def _beside(end: int | str, step: int) -> int | str:
    if isinstance(end, int):
        return end + step
    return (datetime.date.fromisoformat(end) + datetime.timedelta(step)).isoformat()


def conditions(items: Sequence[Item], domain: Definition) -> list[Item]:
    """The items of a query, the slots of each mention being conditions.

    Raises `ValueError` or `OverflowError` for days that there are not.
    """
    result: list[Item] = []
    for one in _compared(_figures(items, domain)):
        if isinstance(one, _Quantity):
            result.append(one.mention())
        elif isinstance(one, Mention) and one.kind != "value":  # a name
            result.append(one._replace(slots={x: ["is", x, one.text] for x in one.slots}))
        else:
            result.append(one)
    return result


def _figures(items: Sequence[Item], domain: Definition) -> list[Item | _Quantity]:
    """The items with decades, months, years, days and numbers as quantities."""
    days, years = domain.of_type("date"), domain.of_type("year")

    def of_years(text: str, first: int, last: int) -> _Quantity:
        ends: dict[str, tuple[End, End]] = dict.fromkeys(years, (first, last))
        ends |= dict.fromkeys(days, (f"{first:04}-01-01", f"{last:04}-12-31"))
        return _Quantity("year", text, ends)

    result: list[Item | _Quantity] = []
    i = 0
    while i < len(items):
        item = items[i]
        i += 1
        if isinstance(item, str):
            behind = i + (items[i : i + 1] == ["of"])
            after = items[behind] if behind < len(items) else ""
            if match := re.fullmatch(r"(\d{3}0)['\u2019]?s", item):
                result.append(of_years(item, int(match[1]), int(match[1]) + 9))
            elif item in _DECADES and result and result[-1] in ("the", "or", "and", "to"):
                result.append(of_years(item, _DECADES[item], _DECADES[item] + 9))
            elif (month := MONTHS.get(item.capitalize())) and (
                isinstance(after, Mention) and after.kind == "year"
            ):
                last = calendar.monthrange(int(after.text), month)[1]
                both = f"{after.text}-{month:02}-01", f"{after.text}-{month:02}-{last}"
                result.append(_Quantity("date", f"{item} {after.text}", dict.fromkeys(days, both)))
                i = behind + 1
            else:
                result.append(item)
        elif item.kind == "year":
            year = of_years(item.text, int(item.text), int(item.text))
            result.append(year._replace(ends={**year.ends, **_points(item)}))
        elif item.kind in ("date", "number", "figure"):
            kind = "date" if item.kind == "date" else "number"
            result.append(_Quantity(kind, item.text, _points(item)))
        else:
            result.append(item)
    return result


def _points(item: Mention) -> dict[str, tuple[End, End]]:
    return {slot: (value, value) for slot, value in item.slots.items()}


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
        compared: _Quantity | None = None
        if quantities and how:
            compared = _joined(*quantities) if how == "-" else quantities[0].bounded(str(how))
        result.append(compared or items[i])
        i = end if compared else i + 1
    return result


def _joined(low: _Quantity, high: _Quantity) -> _Quantity | None:
    """What stands from one figure to another: "between 1950 and 1960"."""
    starts = {slot: start for slot, (start, _) in low.ends.items()}
    if high.kind == "number" and (low.kind == "number" or low.text.isdecimal()):
        first = int(low.text) if low.text.isdecimal() else next(iter(starts.values()), None)
        starts = dict.fromkeys(high.ends, first)  # the unit follows the second
    elif low.kind != high.kind:
        return None
    ends = {slot: (starts[slot], end) for slot, (_, end) in high.ends.items() if slot in starts}
    return _Quantity(high.kind, f"{low.text} to {high.text}", ends, bound=True)
