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

from retgen.generators.multiconir.judge.dates import (
    TENS,
    Token,
    Value,
    is_year,
    read_date,
    read_ordinal,
)
from retgen.generators.multiconir.judge.lists import numbers, units
from retgen.generators.multiconir.judge.stems import stem

_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_RATIO = re.compile(r"(\d{2,3})/(\d{2,3})")  # a blood pressure
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
# words after which "a week" is one week
_LASTING = frozenset("for after within lasting lasted than almost nearly about over half".split())
_PERSONS = frozenset("he she who they i you".split())
_PEOPLE = frozenset(
    stem(word)
    for word in """man woman boy girl lad lass child patient person lady male female gentleman youth
    widow widower teenager infant son daughter friend""".split()
)
_ENDS = frozenset(", . ; : and or when while but at by with in after before his her the".split())
# words after which a Roman numeral or a letter is a number or grade
_GRADED = frozenset("stage grade type class phase part volume chapter article section war".split())


def read_value(tokens: Sequence[Token], i: int) -> tuple[Value, int, int] | None:
    """The value that begins at token `i`: itself, the first token it takes and the one after it."""
    found = read_date(tokens, i)
    if found:
        return found[0], i, found[1]
    ordinal = read_ordinal(tokens, i)
    if ordinal:
        return ordinal[0], i, ordinal[1]
    low = tokens[i].low
    if low == "one" and tokens[i + 1 : i + 2] and tokens[i + 1].low == "of":
        return None
    ratio = _RATIO.fullmatch(low)
    if ratio:
        both = int(ratio[1]) * 1000.0 + int(ratio[2])
        return Value("ratio", both, both), i, i + 1
    currency = _MONEY.get(low, "")
    decade = _in_decade(tokens, i)
    if decade is not None:
        return decade
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
    if unit == "count" and is_year(tokens, i, j, amount):
        return Value("date", amount, amount), i, j
    if unit == "count" and _tells_age(tokens, i, j):
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


def _in_decade(tokens: Sequence[Token], i: int) -> tuple[Value, int, int] | None:
    """ "in her thirties" """
    low, ten = tokens[i].low, TENS.get(tokens[i].low)
    if ten is None and re.fullmatch(r"[2-9]0['’]?s", low):
        ten = int(low[:2])
    if ten is None or not i:
        return None
    for k in (i - 1, i - 2):
        if k >= 0 and tokens[k].low in ("his", "her", "their", "'s"):
            first = ten + (6 if tokens[i - 1].low == "late" else 0)
            last = ten + (3 if tokens[i - 1].low == "early" else 9)
            return Value("age", first, last), i, i + 1
    return None


def _tells_age(tokens: Sequence[Token], i: int, j: int) -> bool:
    """Whether the bare number `tokens[i:j]` is of years of age: "a man of 54", "at nineteen,"."""
    before = [token.low for token in tokens[max(0, i - 2) : i]]
    after = tokens[j].low if j < len(tokens) else "."
    if before[-1:] in (["aged"], ["age"]) or before == ["age", "of"]:
        return True
    if before[1:] == ["of"] and stem(before[0]) in _PEOPLE:
        return True
    if before[-1:] in (["was"], ["is"], ["turned"], ["were"], ["be"]):
        person = len(before) == 1 or before[0] in _PERSONS or stem(before[0]) in _PEOPLE
        person = person or tokens[max(0, i - 2)].text[0].isupper() or before[1] == "turned"
        return person and after in _ENDS
    opens = before[-1:] == ["at"] and (i == 1 or not before[0][0].isdigit())
    return opens and (after in _ENDS or after in _PERSONS)


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
    if low in ("a", "an") and i and tokens[i - 1].low in _LASTING and i + 1 < len(tokens):
        named = units().get(tokens[i + 1].low)
        if named and named[0] == "time":
            return 1.0, i + 1
    if low in ("pair", "couple") and i + 1 < len(tokens) and tokens[i + 1].low == "of":
        return 2.0, i + 2
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
