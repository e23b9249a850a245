"""Numbers, dates and measures in a row of tokens, as intervals that can be compared.

"twenty-three years"  time      [8400.6, 8400.6]   days
"aged 54"             age       [54, 54]           years
"more than 40 miles"  length    [64374, inf)       metres
"the early 1980s"     date      [1980, 1989]       years
"14 May 1987"         date      [1987, 1987], month 5, day 14
"$25 million"         money $   [25e6, 25e6]
"third"               ordinal   [3, 3]
"six"                 count     [6, 6]
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from retgen.generators.multiconir.judge.lists import numbers, units

__all__ = ["Token", "Value", "read_value"]

_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_RATIO = re.compile(r"(\d{2,3})/(\d{2,3})")  # a blood pressure
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DECADE = re.compile(r"(\d{3}0|\d0)['’]?s")
_ROMAN = {
    "i": 1,
    "ii": 2,
    "iii": 3,
    "iv": 4,
    "v": 5,
    "vi": 6,
    "vii": 7,
    "viii": 8,
    "ix": 9,
    "x": 10,
}
_MONTHS = """january february march april may june july august september october november december
    jan feb mar apr may jun jul aug sep oct nov dec""".split()
_MONTH = {name: 1 + i % 12 for i, name in enumerate(_MONTHS)} | {"sept": 9}
_MONEY = {"$": "$", "€": "€", "£": "£", "¥": "¥"}
_ABOUT = frozenset("about around approximately roughly nearly almost circa some".split())
_AT_LEAST = frozenset(
    ["more than", "at least", "over", "above", "exceeding", "no fewer than", "no less than",
     "not less than", "upwards of", "greater than", "minimum of"]
)  # fmt: skip
_AT_MOST = frozenset(
    ["less than", "fewer than", "under", "below", "at most", "up to", "no more than",
     "not more than", "maximum of", "not exceeding"]
)  # fmt: skip
# words after which a Roman numeral or a letter is a number or grade
_GRADED = frozenset("stage grade type class phase part volume chapter article section war".split())


class Token(NamedTuple):
    """A word, number or mark of a text. `start`, `end`: offsets in characters."""

    text: str
    low: str
    start: int
    end: int


class Value(NamedTuple):
    """An interval of a unit; of a date, the years, with month and day where told (else 0)."""

    unit: str
    low: float
    high: float
    about: bool = False
    month: int = 0
    day: int = 0

    @property
    def middle(self) -> float:
        """What the text names: of an open interval its one end."""
        if math.isinf(self.low):
            return self.high
        return self.low if math.isinf(self.high) else (self.low + self.high) / 2


def read_value(tokens: Sequence[Token], i: int) -> tuple[Value, int, int] | None:
    """The value that begins at token `i`: itself, the first token it takes and the one after it."""
    found = _date(tokens, i)
    if found:
        return found[0], i, found[1]
    ordinal = _ordinal(tokens, i)
    if ordinal:
        return ordinal[0], i, ordinal[1]
    low = tokens[i].low
    ratio = _RATIO.fullmatch(low)
    if ratio:
        both = int(ratio[1]) * 1000.0 + int(ratio[2])
        return Value("ratio", both, both), i, i + 1
    currency = _MONEY.get(low, "")
    number = _number(tokens, i + 1 if currency else i)
    if number is None:
        return None
    amount, j = number
    unit, factor = "count", 1.0
    if currency:
        unit = "money " + currency
    else:
        named = _unit(tokens, j)
        if named:
            unit, factor, j = named
    if unit == "count" and _year(tokens, i, j, amount):
        return Value("date", amount, amount), i, j
    if (
        unit == "count"
        and i
        and (
            tokens[i - 1].low == "aged"
            or (tokens[i - 1].low == "of" and i > 1 and tokens[i - 2].low == "age")
        )
    ):
        unit = "age"
    if unit == "time" and j < len(tokens) and factor > 300:
        after = tokens[j].low if tokens[j].low != "-" or j + 1 == len(tokens) else tokens[j + 1].low
        if after == "old" or (after == "of" and j + 1 < len(tokens) and tokens[j + 1].low == "age"):
            unit, factor, j = "age", 1.0, j + (1 if tokens[j].low == after else 2)
            j += after == "of"
        elif i and tokens[i - 1].low in ("aged", "age"):
            unit, factor = "age", 1.0
    begin, low_end, high_end, about = _compared(tokens, i, amount * factor)
    return Value(unit, low_end, high_end, about), begin, j


def _compared(tokens: Sequence[Token], i: int, amount: float) -> tuple[int, float, float, bool]:
    """The interval that the words before a number make of it, and where they begin."""
    for length in (3, 2, 1):
        if i >= length:
            words = " ".join(token.low for token in tokens[i - length : i])
            if words in _AT_LEAST:
                return i - length, amount, math.inf, False
            if words in _AT_MOST:
                return i - length, -math.inf, amount, False
    if i and tokens[i - 1].low in _ABOUT:
        return i - 1, amount * 0.93, amount * 1.07, True
    return i, amount, amount, False


def _number(tokens: Sequence[Token], i: int) -> tuple[float, int] | None:
    if i >= len(tokens):
        return None
    words = numbers()
    low = tokens[i].low
    if _NUMBER.fullmatch(low):
        amount, j = float(low.replace(",", "")), i + 1
        while j < len(tokens) and words.get(tokens[j].low, 0) >= 1000:
            amount, j = amount * words[tokens[j].low], j + 1
        return amount, j
    if i and low in _ROMAN and tokens[i - 1].low in _GRADED:
        return float(_ROMAN[low]), i + 1
    if low not in words and not (
        low == "a" and i + 1 < len(tokens) and words.get(tokens[i + 1].low, 0) >= 12
    ):
        return None
    total, part, j, seen = 0.0, 0.0, i, False
    while j < len(tokens):
        low = tokens[j].low
        if low in words:
            amount = words[low]
            if amount in (12, 20) and low in ("dozen", "score"):
                part = max(part, 1) * amount
            elif amount >= 1000:
                total, part = total + max(part, 1) * amount, 0.0
            elif amount == 100:
                part = max(part, 1) * 100
            elif seen and part % 100 and not (part % 100 >= 20 and part % 10 == 0 and amount < 10):
                break
            else:
                part += amount
            seen = True
        elif not (
            ((low in ("-", "and") and seen) or (low == "a" and not seen))
            and j + 1 < len(tokens)
            and tokens[j + 1].low in words
            and (low != "and" or total or part >= 100)
        ):
            break
        j += 1
    return total + part, j


def _unit(tokens: Sequence[Token], j: int) -> tuple[str, float, int] | None:
    k = j + 1 if j < len(tokens) and tokens[j].low == "-" else j
    if k >= len(tokens):
        return None
    named = units().get(tokens[k].low)
    if named is None and k + 1 < len(tokens):
        named = units().get(f"{tokens[k].low} {tokens[k + 1].low}")
        k += 1
    return (*named, k + 1) if named else None


def _year(tokens: Sequence[Token], i: int, j: int, amount: float) -> bool:
    text = tokens[i].text
    return j == i + 1 and len(text) == 4 and text.isdigit() and 1000 <= amount <= 2100


def _ordinal(tokens: Sequence[Token], i: int) -> tuple[Value, int] | None:
    words = numbers()
    low = tokens[i].low
    found = _ORDINAL.fullmatch(low)
    n, j = float(found[1]) if found else words.get("*" + low, 0.0), i + 1
    if not n and words.get(low, 0) in range(20, 100, 10) and i + 2 < len(tokens):
        k = i + 2 if tokens[i + 1].low == "-" else i + 1
        rest = words.get("*" + tokens[k].low, 0.0)
        if 0 < rest < 10:
            n, j = words[low] + rest, k + 1
    if not n:
        return None
    k = j + 1 if j + 1 < len(tokens) and tokens[j].low == "-" else j
    if k < len(tokens) and tokens[k].low in ("century", "centuries"):
        return Value("date", n * 100 - 99, n * 100), k + 1
    return Value("ordinal", n, n), j


def _date(tokens: Sequence[Token], i: int) -> tuple[Value, int] | None:
    low = tokens[i].low
    decade = _DECADE.fullmatch(low)
    if decade:
        first = int(decade[1]) + (1900 if len(decade[1]) == 2 else 0)
        return Value("date", first, first + 9), i + 1
    texts = [token.low for token in tokens[i : i + 6]] + [""] * 6
    if len(texts[0]) == 4 and texts[0].isdigit() and texts[1] == texts[3] == "-":
        month, day = (int(t) if t.isdigit() else 0 for t in (texts[2], texts[4]))
        if 1 <= month <= 12 and 1 <= day <= 31:
            return Value("date", int(low), int(low), month=month, day=day), i + 5
    day, at = _day(texts[0]), 1
    if day:
        at += texts[at] in ("of",)
    month = _MONTH.get(texts[0 if not day else at], 0)
    if not month or not tokens[i if not day else i + at].text[0].isupper():
        return None
    at = at + 1 if day else 1
    at += texts[at] == "." and texts[at + 1].isdigit()
    if not day and _day(texts[at]) and len(texts[at]) != 4:
        day, at = _day(texts[at]), at + 1
    skip = at + (texts[at] == ",") + (texts[at] == "of")
    year = int(texts[skip]) if texts[skip].isdigit() and len(texts[skip]) == 4 else 0
    if year:
        return Value("date", year, year, month=month, day=day), i + skip + 1
    ambiguous = texts[0] in ("may", "march") and not day
    before = tokens[i - 1].low if i else ""
    if ambiguous and before not in ("in", "since", "last", "of", "by", "early", "late", "until"):
        return None
    return Value("date", -math.inf, math.inf, month=month, day=day), i + at


def _day(text: str) -> int:
    found = _ORDINAL.fullmatch(text)
    digits = found[1] if found else text
    return int(digits) if digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 31 else 0
