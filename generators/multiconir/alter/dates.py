"""Facts that are years, months, days of the week and ordinals."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.generators.multiconir.alter.lexicon import swaps
from retgen.generators.multiconir.alter.numerals import MEASURES, TIME, moved, nth, singular
from retgen.generators.multiconir.alter.words import (
    DETERMINERS,
    ORDINAL_VALUES,
    ORDINALS,
    Fact,
    Words,
)

MONTHS = (
    "January February March April May June July August September October November December".split()
)
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS_LOWER = frozenset(month.lower() for month in MONTHS)
YEAR_BEFORE = frozenset(
    "in of since by until till from to and between after before during early late around about "
    "spring summer autumn fall winter year years mid than through , ( circa".split()
) | {month.lower() for month in MONTHS}  # fmt: skip
OPEN = frozenset("before after by".split())  # what came after 1945 may have come after 1950
THIS_YEAR = 2026


def is_year(words: Words, i: int) -> bool:
    word = words.words[i]
    if not (len(word) == 4 and word.isdecimal() and "1000" <= word < "2100"):
        return False
    following = words.after(i)
    noun = singular(following)
    if (
        noun in MEASURES
        or noun in TIME
        or any(s.form == "plural" for s in swaps().get(following, ()))
        or (len(following) > 4 and following.isalpha() and following.endswith("s"))  # 2048 entries
    ):
        return False
    return words.before(i) in YEAR_BEFORE or not following.isalpha()


def year_fact(words: Words, i: int, years: list[int]) -> Fact:
    value, values = int(words.words[i]), [int(words.words[j]) for j in years]
    steps = [4, 7, 11, 6, 9, 5, 13, -4, -7, -11, -6, -9, -5, -13]
    if len(values) > 1:  # the order of events stays
        steps = [s for s in steps if (s < 0) == (value == min(values))]
    top = THIS_YEAR if value <= THIS_YEAR else 2100
    options = tuple(str(value + s) for s in steps if value + s <= top - (value <= 2018) * 3)
    options = options or (str(value - 6),)
    weight = 97 if len(values) == 1 or value in (min(values), max(values)) else 40
    if words.before(i) in OPEN:
        weight = min(weight, 58)
    return Fact(words.starts[i], words.ends[i], "year", options, weight)


def decade_facts(words: Words, i: int) -> Iterator[Fact]:
    word = words.words[i]
    if word[0].isdecimal():
        options = tuple(f"{int(word[:4]) + s}s" for s in (-20, 20, -10, 10, 30, -30))
        options = tuple(o for o in options if o <= "2020s")
    else:
        tens = "twenties thirties forties fifties sixties seventies eighties nineties".split()
        at = tens.index(word.lower())
        options = tuple(tens[j] for j in range(len(tens)) if 2 <= abs(j - at) <= 3)
        if words.words[i][0].isupper():
            options = tuple(o.capitalize() for o in options)
    yield Fact(words.starts[i], words.ends[i], "year", options, 94)


def calendar_facts(words: Words, i: int) -> Iterator[Fact]:
    word = words.words[i]
    names = MONTHS if word in MONTHS else WEEKDAYS
    if word in ("May", "March", "August") and not (
        words.before(i)
        in (
            "in",
            "of",
            "on",
            "late",
            "early",
            "since",
            "until",
            "by",
            "from",
            "to",
            "last",
            "mid",
            "and",
            "every",
            "each",
            "during",
            "between",
        )
        or words.before(i)[:1].isdecimal()
        or words.before(i) in ORDINAL_VALUES
        or words.after(i)[:1].isdecimal()
    ):
        return
    if words.capital(i + 1) and words.words[i + 1] not in MONTHS + WEEKDAYS:
        return
    at, far = names.index(word), 2
    options = tuple(
        n for j, n in enumerate(names) if min(abs(j - at), len(names) - abs(j - at)) >= far
    )
    if any(w.isdecimal() and int(w) > 28 for w in words.words[max(i - 1, 0) : i + 2] if len(w) < 3):
        options = tuple(o for o in options if o != "February")
    weight = 58 if words.before(i) in OPEN else 92
    yield Fact(words.starts[i], words.ends[i], "date", options, weight)


def ordinal_facts(words: Words, i: int) -> Iterator[Fact]:
    word, before, following = words.lower[i], words.before(i), words.after(i)
    if (words.capital(i) and i > 0) or words.capital(i + 1):
        return
    value = ORDINAL_VALUES.get(word) or int(word[:-2])
    if following == "half" and value <= 2:
        options: tuple[int, ...] = (3 - value,)
    elif following == "time" and before == "the":
        options = tuple(v for v in (2, 3, 4, 1) if v != value)
    elif following in ("century", "centuries", "-century"):
        options = tuple(value + s for s in (-2, -1, 1, 2) if 10 < value + s <= min(21, value + 2))
    elif before == "a" and following == "of":
        options = tuple(v for v in (5, 3, 8) if v != value)
    elif before not in DETERMINERS and following != "place":
        return
    elif value <= 6:
        options = tuple(v for v in (2, 3, 4, 6)[: 3 + value // 4] if abs(v - value) > (value > 3))
    else:
        options = moved(value, low=2)
    as_word = word in ORDINAL_VALUES
    texts = tuple(
        ORDINALS[v - 1] if as_word and v <= len(ORDINALS) else nth(v)
        for v in options
        if v > 0 and (v <= len(ORDINALS) or not as_word)
    )
    if words.words[i][0].isupper():
        texts = tuple(t.capitalize() for t in texts)
    if texts:
        yield Fact(words.starts[i], words.ends[i], "ordinal", texts, 88)
