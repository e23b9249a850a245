"""Words of queries: what ranks, counts, joins and excludes, and what compares quantities.

Years, days and numbers are read with the words around them: "before 1950" is a range.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from retgen.validators.world.definitions import SlotDefinition
from retgen.validators.world.mentions import MONTHS, NUMBER_WORDS, Mention

# the longest that fits counts; > and < leave their number out
_BEFORE = {
    "<": ("before", "prior to", "earlier than", "ahead of", "less than", "fewer than", "under",
          "below", "smaller than", "shorter than", "lower than", "cheaper than", "short of",
          "not as many as", "not yet", "younger than", "thinner than", "slimmer than",
          "briefer than"),
    "<=": ("at most", "no more than", "not more than", "up to", "until", "till", "no later than",
           "not later than", "not after", "by", "a maximum of", "maximum", "not over", "not above",
           "no longer than", "not longer than", "no older than", "not older than", "no taller than",
           "not taller than", "in or before", "on or before", "not exceeding", "up until"),
    ">": ("after", "later than", "more than", "over", "above", "greater than", "longer than",
          "larger than", "exceeding", "past", "beyond", "higher than", "in excess of", "following",
          "bigger than", "taller than", "older than", "thicker than", "costlier than",
          "dearer than", "subsequent to"),
    ">=": ("at least", "no less than", "not less than", "no fewer than", "not fewer than", "since",
           "not before", "no earlier than", "not earlier than", "a minimum of", "minimum",
           "not under", "not below", "not shorter than", "no shorter than", "no younger than",
           "in or after", "on or after"),
}  # fmt: skip
_BEHIND = {
    "<=": ("or less", "or fewer", "or earlier", "or before", "or shorter", "at most", "or under"),
    ">=": ("or more", "or later", "or after", "or longer", "at least", "onwards", "onward",
           "or over",
           "and later", "and more", "upwards"),
}  # fmt: skip
# of time alone: "after 86 days" is no comparison
_OF_TIME = frozenset(
    ("before", "prior to", "earlier than", "ahead of", "until", "till", "no later than", "by",
     "not later than", "not after", "after", "later than", "past", "following", "subsequent to",
     "since", "not before", "no earlier than", "not earlier than", "up until", "or earlier",
     "or before", "or later", "or after", "and later", "not yet")
)  # fmt: skip
_DECADES = {
    name: 10 * number
    for number, name in enumerate(
        "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2
    )
}
_FROM_TO = (
    ("between", ("and", "to")),
    ("from", ("to", "until", "till", "through", "up")),
    ("", ("to", "through")),
)


class Quantity(NamedTuple):
    """A year, day or number, or a range of them. An open end is None; both ends belong to it.

    `kind`: year, date (ISO) or number; `slots`: those that the figures can belong to.
    """

    kind: str
    low: int | str | None
    high: int | str | None
    slots: frozenset[str]
    text: str

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


Item = str | Mention | Quantity


def quantities(items: Sequence[str | Mention], slots: Mapping[str, SlotDefinition]) -> list[Item]:
    """The items with figures and the words that compare them put together."""
    of = {
        "year": frozenset(n for n, s in slots.items() if s.type in ("year", "date")),
        "date": frozenset(n for n, s in slots.items() if s.type == "date"),
    }
    single: list[Item] = []
    i = 0
    while i < len(items):
        stop, one = _single(items, i, of)
        single.append(one)
        i = stop
    return _compared(single)


def _single(
    items: Sequence[str | Mention], i: int, of: Mapping[str, frozenset[str]]
) -> tuple[int, Item]:
    """A figure: a decade, a month, a year, a day, a number; else the item itself."""
    item = items[i]
    if isinstance(item, str):
        if match := re.fullmatch(r"(\d{3}0)['\u2019]?s", item):
            return i + 1, _years(int(match[1]), int(match[1]) + 9, of, item)
        if item in _DECADES and i and items[i - 1] in ("the", "or", "and", "to"):
            return i + 1, _years(1900 + _DECADES[item], 1909 + _DECADES[item], of, item)
        month = MONTHS.get(item.capitalize())
        step = 2 if i + 2 < len(items) and items[i + 1] == "of" else 1
        after = items[i + step] if i + step < len(items) else None
        if month and isinstance(after, Mention) and after.kind == "year":
            year = int(after.text)
            last = calendar.monthrange(year, month)[1]
            first = f"{year:04}-{month:02}"
            text = f"{item} {year}"
            return i + step + 1, Quantity(
                "date", f"{first}-01", f"{first}-{last}", of["date"], text
            )
        return i + 1, item
    if item.kind == "year":
        year = int(item.text)
        slots = of["year"] | frozenset(item.slots)
        return i + 1, Quantity("year", year, year, slots, item.text)
    if item.kind == "date":
        return i + 1, Quantity("date", item.text, item.text, of["date"], item.text)
    if item.kind == "number":
        number = next(iter(item.slots.values()))
        return i + 1, Quantity("number", number, number, frozenset(item.slots), item.text)
    return i + 1, item


def _years(low: int, high: int, of: Mapping[str, frozenset[str]], text: str) -> Quantity:
    return Quantity("year", low, high, of["year"], text)


def _compared(items: list[Item]) -> list[Item]:
    result: list[Item] = []
    i = 0
    while i < len(items):
        one = items[i]
        if not isinstance(one, Quantity):
            result.append(one)
            i += 1
            continue
        other = next((j for j in (i + 2, i + 3) if j < len(items)
                      and isinstance(items[j], Quantity)), None)  # fmt: skip
        if other is not None and (joined := _range(result, items[i : other + 1])):
            result.append(joined)
            i = other + 1
            continue
        how = _taken(result, _BEFORE, one.kind, behind=False)
        i += 1
        if not how:
            rest: list[Item] = list(items[i : i + 2])
            how = _taken(rest, _BEHIND, one.kind, behind=True)
            i += min(2, len(items) - i) - len(rest)
            if how and result[-1:] == ["from"]:
                result.pop()
        result.append(_bounded(one, how) if how else one)
    return result


def _range(before: list[Item], items: Sequence[Item]) -> Quantity | None:
    """What stands from one figure to another: "between 1950 and 1960"; `before` loses its word."""
    low, *words, high = items
    assert isinstance(low, Quantity)
    assert isinstance(high, Quantity)
    if not words or not all(isinstance(word, str) for word in words):
        return None
    first = before[-1] if before else ""
    for start, middles in _FROM_TO:
        if (
            (first == start or not start)
            and words[0] in middles
            and set(words[1:]) <= {"to", "the", "and"}
        ):
            if start:
                before.pop()
            slots = low.slots & high.slots
            if low.kind == "year" and high.kind == "number":  # its unit follows the second
                slots = high.slots
            elif low.kind != high.kind:
                return None
            return Quantity(high.kind, low.low, high.high, slots, f"{low.text} to {high.text}")
    return None


def _taken(items: list[Item], listed: Mapping[str, Sequence[str]], kind: str, behind: bool) -> str:
    """The comparison whose words end (or begin) some items, which lose them; "" for none."""
    for length in (3, 2, 1):
        some = items[:length] if behind else items[-length:]
        if len(some) == length and all(isinstance(item, str) for item in some):
            phrase = " ".join(map(str, some))
            for how, phrases in listed.items():
                if phrase in phrases and (kind != "number" or phrase not in _OF_TIME):
                    del items[slice(length) if behind else slice(len(items) - length, None)]
                    return how
    return ""


def _bounded(one: Quantity, how: str) -> Quantity:
    low, high = one.low, one.high
    if how == "<":
        low, high = None, _beside(low, -1)
    elif how == "<=":
        low = None
    elif how == ">":
        low, high = _beside(high, 1), None
    else:
        high = None
    return Quantity(one.kind, low, high, one.slots, f"{how} {one.text}")


def _beside(bound: int | str | None, step: int) -> int | str | None:
    if isinstance(bound, str):
        day = datetime.date.fromisoformat(bound) + datetime.timedelta(days=step)
        return day.isoformat()
    return None if bound is None else bound + step


MOST = (
    "most recent", "most", "latest", "newest", "highest", "longest", "largest", "greatest",
    "biggest", "youngest", "tallest", "last", "heaviest", "costliest", "dearest", "thickest",
    "maximum", "furthest",
)  # fmt: skip
LEAST = (
    "least recent", "least", "earliest", "oldest", "lowest", "shortest", "smallest", "fewest",
    "first", "cheapest", "thinnest", "lightest", "minimum", "eldest", "briefest", "slimmest",
    "slightest",
)  # fmt: skip
EXTREMES = [
    (kind, phrase.split())
    for kind, phrases in (("most", MOST), ("least", LEAST))
    for phrase in phrases
]
ADVERBS = [
    (kind, phrase.split())
    for kind, phrases in (
        ("most", ("most recently", "latest", "last", "least long ago", "longest")),
        (
            "least",
            (
                "longest ago",
                "furthest back",
                "furthest ago",
                "least recently",
                "earliest",
                "first",
                "shortest",
            ),
        ),
    )
    for phrase in phrases
]
HAVE = frozenset("with has have having shows show boasts boast".split())
INTRO = re.compile(
    r"^(?:please )?(?:(?:i|we)(?:['\u2019](?:m|re|d like)| am| are| would like)? )?"
    r"(?:looking for|after|searching for|interested in|seeking|seek|want|need|wish to find|to find|"
    r"show me|find me|find|list|name|give me|tell me)\b ",
    re.I,
)
# "30-40", no day such as 1987-05-03
FIGURES = re.compile(r"(?<![-\w])(\d[\d,]*)\s?[-\u2013\u2014]\s?(\d[\d,]*)(?![-\w])")
_NUMBERS = "|".join(NUMBER_WORDS)
OR_MORE = re.compile(rf"\b([\d,]+|{_NUMBERS}) or (more|fewer|less) (?!of\b)(?=\w)")
KIND_OF = re.compile(r"\b(?:any|some|whatever) (?:kind|sort|type|form) of ")
HINT = 0.5  # weight of a superlative that suits a slot
STOPS = frozenset((".", ";", ":", ","))
BOUNDS = frozenset(("and", "or", "but", "nor", "plus", "though", "although", "yet", *STOPS))
RELATIVES = frozenset(("that", "who", "whose", "which", "whom"))
THE = frozenset(("the", "which", "what", "whose"))
ANY = frozenset(("a", "an", "another", "some"))
SOMEBODY = frozenset(("somebody", "someone", "something", "anybody", "anyone"))
AMONG = frozenset(("among", "amongst", "out", "from"))
# in front of what is not wanted
WITHOUT = (
    "not", "except", "excepting", "excluding", "exclude", "leaving out", "leave out", "unless",
    "without", "minus", "apart from", "other than", "save for", "save", "bar", "barring",
    "omitting",
    "omit", "ignoring", "ignore", "skipping", "skip", "rather than", "instead of", "neither", "nor",
    "no", "never", "not counting", "exception", "exempt", "discount", "disregarding", "disregard",
)  # fmt: skip


# may stand before a condition that is joined to another one
NEUTRAL = frozenset(
    "a all also an any anything are be being both each either else every if is it must of one "
    "ones other others should so some such the then these they this those too well what as in "
    "addition furthermore moreover likewise equally again same was were do does did there only "
    "just merely simply even who whose which whom people person anybody anyone somebody someone "
    "everybody everyone everything titles".split()
)
# all that stands beside a value where the words before are not said again: "set in Oslo or Turin"
ELLIPTIC = frozenset(
    "a an the in on at of to into by for with either neither nor not as else also even".split()
)


def join_expression(word: str, parts: list[Any]) -> list[Any]:
    return [word, *parts] if len(parts) > 1 else parts[0]


def split_at(items: Sequence[Item], at: str) -> list[list[Item]]:
    result: list[list[Item]] = [[]]
    for item in items:
        if item == at:
            result.append([])
        else:
            result[-1].append(item)
    return result


def superlatives(
    items: Sequence[Item], own: Sequence[tuple[str, list[str]]]
) -> Iterable[tuple[int, str, int]]:
    """(where, most or least, words) of each superlative behind "the", or at an end.

    `own`: those of a domain beside the general ones.
    """
    for start in range(1, len(items)):
        for kind, phrase in ADVERBS:
            stop = start + len(phrase)
            if list(items[start:stop]) == phrase and has_word(items[:start], "the") and (
                stop == len(items) or is_in(items[stop], STOPS)
            ):  # fmt: skip
                yield start, kind, len(phrase)
                break
        the = start - 2 if start > 1 and count_of(items[start - 1]) else start - 1
        if not is_in(items[the], THE):
            continue
        for kind, phrase in (*own, *EXTREMES):
            if list(items[start : start + len(phrase)]) == phrase:
                yield start, kind, len(phrase)
                break


def count_of(item: Item) -> int:
    """A number of results or conditions; 0 for what is none."""
    if isinstance(item, str):
        return int(NUMBER_WORDS.get(item, 0))
    if isinstance(item, Quantity) and isinstance(item.low, int) and item.low == item.high:
        round_year = item.kind == "year" and item.low <= 1000
        return item.low if round_year or item.text.replace(",", "").isdigit() else 0
    return 0


def is_in(item: Item, words: frozenset[str]) -> bool:
    return isinstance(item, str) and item in words


def has_word(items: Sequence[Item], word: str) -> bool:
    return any(isinstance(item, str) and item == word for item in items)


def is_word(item: Item, but: frozenset[str]) -> bool:
    return isinstance(item, str) and item not in but


def is_value(item: Item) -> bool:
    return not isinstance(item, str) and not (isinstance(item, Mention) and item.kind == "capital")


def values_of(part: Iterable[Item]) -> list[Mention | Quantity]:
    return [item for item in part if not isinstance(item, str) and is_value(item)]


def wording_of(part: Iterable[Item]) -> str:
    return " ".join(
        item if isinstance(item, str)
        else item.text.lower() if isinstance(item, Mention) and item.kind == "capital" else "{v}"
        for item in part
    )  # fmt: skip
