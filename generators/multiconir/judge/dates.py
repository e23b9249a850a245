"""Dates, decades, centuries and ordinals in a row of tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from retgen.generators.multiconir.judge.lists import numbers

_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DECADE = re.compile(r"(\d{3}0|\d0)['’]?s")
_MONTHS = """january february march april may june july august september october november december
    jan feb mar apr may jun jul aug sep oct nov dec""".split()
_MONTH = {name: 1 + i % 12 for i, name in enumerate(_MONTHS)} | {"sept": 9}
# "the sixties"
_TENS = "twenties thirties forties fifties sixties seventies eighties nineties".split()
_OWN = frozenset("his her their 's early late mid -".split())
TENS = {name: 20 + 10 * i for i, name in enumerate(_TENS)}


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


def is_year(tokens: Sequence[Token], i: int, j: int, amount: float) -> bool:
    text = tokens[i].text
    return j == i + 1 and len(text) == 4 and text.isdigit() and 1000 <= amount <= 2100


def read_ordinal(tokens: Sequence[Token], i: int) -> tuple[Value, int] | None:
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


def read_date(tokens: Sequence[Token], i: int) -> tuple[Value, int] | None:
    low = tokens[i].low
    decade = _DECADE.fullmatch(low)
    if decade:
        first = int(decade[1]) + (1900 if len(decade[1]) == 2 else 0)
        return Value("date", first, first + 9), i + 1
    if low in TENS and (i == 0 or tokens[i - 1].low not in _OWN):
        return Value("date", 1900 + TENS[low], 1909 + TENS[low]), i + 1
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
