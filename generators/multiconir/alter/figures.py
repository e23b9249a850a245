"""Facts that are figures: numbers, years, dates, durations, quantities, ordinals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.generators.multiconir.alter.dates import (
    MONTHS,
    MONTHS_LOWER,
    WEEKDAYS,
    calendar_facts,
    decade_facts,
    is_year,
    ordinal_facts,
    year_fact,
)
from retgen.generators.multiconir.alter.lexicon import Kind, plural
from retgen.generators.multiconir.alter.numerals import (
    IN_WORDS,
    SCALES,
    TIME,
    kind_of,
    moved,
    singular,
    written,
)
from retgen.generators.multiconir.alter.words import (
    NUMBERS,
    ORDINAL_VALUES,
    Fact,
    Words,
    number_value,
)

PARTS = frozenset(
    "half halves third thirds quarter quarters fifth fifths sixths tenth tenths".split()
)
NOT_ONE = frozenset(
    "no every any some another this that each the which at day evening morning night afternoon of "
    "foggy rainy stormy cold by".split()
)
PARTS_OF_A_DAY = frozenset("second day night summer winter evening morning term season".split())
HOURS = {"morning": (4, 11), "afternoon": (2, 5), "evening": (6, 11)}
ADULT, OLDEST = 18, 94  # years of age
MORE = ("more", "longer", "older", "greater", "higher", "deeper", "larger")
FEWER = ("fewer", "less", "younger", "shorter", "lower", "smaller")


# what may stand at the sides of a figure that is no part of a code
LEFT = re.compile(r"(?:^|[\s\"'“‘—–$£€]|(?:^|\s)\(|(?<=\d)-)$")
RIGHT = re.compile(r"(?:$|[\s)\"'”’—–,;:?!%°]|\.(?:\s|$|\D)|[-/](?=\d)|-[a-z])")
NEAR = 24  # characters between a figure and the same in another unit
DECADE = re.compile(r"1\d\d0s|20[0-2]0s|(twen|thir|for|fif|six|seven|eigh|nine)ties")
COMPOUND = re.compile(
    r"([\w.,-]+?)(-(year|month|week|day|hour|minute|page|part|room|storey|seat)(?:-old|-long)?)"
)


def figure_facts(words: Words) -> Iterator[Fact]:
    """All facts of a sentence that are figures."""
    years = [i for i in range(len(words)) if is_year(words, i)]
    for i, word in enumerate(words.lower):
        if (word in NUMBERS or any(c.isdigit() for c in word)) and _of_a_code(words, i):
            continue
        if i in years:
            yield year_fact(words, i, years)
        elif DECADE.fullmatch(word):
            yield from decade_facts(words, i)
        elif words.words[i] in MONTHS or words.words[i] in WEEKDAYS:
            yield from calendar_facts(words, i)
        elif word in ORDINAL_VALUES or re.fullmatch(r"\d+(st|nd|rd|th)", word):
            yield from ordinal_facts(words, i)
        elif "-" in word and COMPOUND.fullmatch(word):
            yield from _compound(words, i)
        elif number_value(word) is not None or re.fullmatch(r"\d+(,\d{3})*\.\d+", word):
            yield from _number(words, i)
        elif re.fullmatch(r"\d+/\d+", word):
            yield _pressure(words, i)
        elif word in ("a", "an"):
            yield from _a_unit(words, i)
        elif word in ("half", "twice", "once", "tens"):
            yield from _multiple(words, i)


def _of_a_code(words: Words, i: int) -> bool:
    """Whether a figure is part of a name or code (UTF-8, RFC 3339), or is stated twice.

    "51 miles (82 km)", "two buffers: front and back": one of the two cannot change alone.
    """
    text, start, end = words.text, words.starts[i], words.ends[i]
    left, right = text[:start], text[end:]
    if not LEFT.search(left) or not RIGHT.match(right):
        return True
    month = words.words[i - 1] in MONTHS
    numeral = text[start].isdigit()
    if numeral and i > 1 and words.capital(i - 1) and not month and text[start - 1] == " ":
        return True
    if ": " in right:
        return True
    opened = left.rfind("(") > left.rfind(")")
    if opened:
        return any(c.isdigit() for c in left[: left.rfind("(")][-NEAR:])
    bracket = re.match(r"[^(),;.]{0,24}\(([^)]*)", right)
    return bracket is not None and any(c.isdigit() or c.isupper() for c in bracket[1])


def _number(words: Words, i: int) -> Iterator[Fact]:
    word, before, following = words.words[i], words.before(i), words.after(i)
    named = words.capital(i) if i > 0 else words.capital(1)
    fraction = before in ("/", "-", "–") and words.before(i - 1)[:1].isdecimal()
    value = number_value(words.lower[i])
    if named or fraction or following in PARTS or following == "/":
        return
    if value is None:
        yield from _decimal(words, i)
    elif following in MONTHS_LOWER or before in MONTHS_LOWER:
        days = tuple(str(d) for d in (_day(value + s) for s in (9, 13, 5)) if abs(d - value) > 3)
        if value <= 31:
            yield Fact(words.starts[i], words.ends[i], "date", days, 86)
    elif value == 1:
        yield from _one(words, i)
    elif value > 1:
        noun = singular(following)
        if noun in SCALES:
            noun = singular(_at(words.lower, i + 2))
        low, high, direction, weight = _bounds(words, i, value, noun)
        changed = moved(value, low, high, direction)
        if noun == "degree" and 34 < value < 43:  # of a fever
            changed = tuple(n for n in (36, 38, 40, 41, 35) if abs(n - value) > 1)
        texts = tuple(written(n, word) for n in changed if word[0].isdecimal() or n in IN_WORDS)
        if texts:
            yield Fact(words.starts[i], words.ends[i], kind_of(noun), texts, weight)


def _one(words: Words, i: int) -> Iterator[Fact]:
    """One year -> three years: only before what can be counted and is not an indefinite time."""
    following, before = words.after(i), words.before(i)
    counted = following in TIME - PARTS_OF_A_DAY or following in ("child", "son", "daughter")
    if counted and before not in NOT_ONE:
        nouns = plural(following)
        options = tuple(f"{written(n, words.words[i])} {nouns}" for n in (3, 4, 5))
        yield Fact(words.starts[i], words.ends[i + 1], kind_of(following), options, 85)


def _bounds(words: Words, i: int, value: int, noun: str) -> tuple[int, int | None, int, int]:
    """(least, greatest, direction or 0, weight) of the numbers that may stand for word i."""
    before, second, following = words.before(i), words.before(i - 1), words.after(i)
    low, high, direction, weight = 2, None, 0, 95
    hour = before == "at" and following in ("in", "o'clock", ".", ",", "and")
    part = next((w for w in words.lower[i + 1 : i + 5] if w in HOURS), "")
    whole = _whole(words, i)
    age = before in ("aged", "age", "turned") or (second, before) == ("age", "of")
    age = age or (before == following == "," and value < 100)  # Perla Zumarra, 66, runs ...
    if following in SCALES:
        high = 999
    elif hour and part and value <= 12:
        low, high = HOURS[part]
    elif hour:
        high = 12 if value <= 12 else 80  # or an age
    elif whole is not None and value <= whole:
        high = whole - 1
    elif age or (noun == "year" and _at(words.lower, i + 2) == "old"):
        low, high = (4, 17) if value < ADULT else (19, OLDEST)
    elif noun in ("percent", "%") or following == "per":
        high = 98
    if before in ("over", "exceeding", "above", "least") or (before == "than" and second in MORE):
        direction, weight = -1, 70  # 600 is more than 400, too
    elif before in ("under", "below", "most") or (before == "than" and second in FEWER):
        direction, weight = 1, 70
    elif before in ("the", "these", "those", "other", "all") and (value < 4 or second == "of"):
        weight = 60
    elder = {before, second} & {"of"} and any(w.endswith("er") for w in words.lower[i - 3 : i - 1])
    if value == 2 and elder:
        weight = 40  # the larger of his two quadrants
    if before == "between" and following != "and":
        weight = 40  # between two floors
    return low, high, _away(words, i, value) or direction, weight


def _whole(words: Words, i: int) -> int | None:
    """6 for "four of six antigens", 50 for "25 of her first 50 cases"."""
    if words.after(i) != "of":
        return None
    found = (number_value(word) for word in words.lower[i + 2 : i + 5])
    return next((value for value in found if value is not None), None)


def _away(words: Words, i: int, value: float) -> int:
    """1 or -1 where another number stands beside ("from 3.8 to 1.3"): away from it; 0 elsewhere."""
    for joint, j in ((words.after(i), i + 2), (words.before(i), i - 2)):
        if joint in ("to", "and", "or", "over", "-", "–") and 0 <= j < len(words):
            text = words.lower[j].replace(",", "")
            beside = float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else number_value(text)
            if beside is not None:
                return 1 if value > beside else -1
    return 0


def _pressure(words: Words, i: int) -> Fact:
    """150/95, as blood pressure is written."""
    high, low = (int(part) for part in words.words[i].split("/"))
    options = (f"{high + 35}/{low + 20}", f"{max(high - 35, 2)}/{max(low - 20, 1)}")
    return Fact(words.starts[i], words.ends[i], "quantity", options, 90)


def _day(day: int) -> int:
    """A day of any month."""
    return day if day <= 28 else day - 27


def _at(items: list[str], i: int) -> str:
    return items[i] if i < len(items) else ""


def _decimal(words: Words, i: int) -> Iterator[Fact]:
    """3.8, with as many places; the temperature of a patient stays one."""
    word = words.words[i]
    value, places = float(word), len(word.partition(".")[2])
    noun = singular(words.after(i))
    factors: tuple[float, ...] = (1.4, 0.6, 1.7, 0.5)
    if "ph" in words.lower[max(i - 3, 0) : i]:
        changed = [value + s for s in (0.16, -0.16)]
    elif noun == "degree" and 34 < value < 43:
        changed = [v for v in (value + 1.8, value - 1.7, value + 1.2) if 35 <= v <= 41.5]
    else:
        away = _away(words, i, value)
        changed = [value * f for f in factors if away == 0 or (f > 1) == (away > 0)]
    options = tuple(f"{v:.{places}f}" for v in changed)
    yield Fact(
        words.starts[i], words.ends[i], kind_of(noun), tuple(o for o in options if o != word), 94
    )


def _compound(words: Words, i: int) -> Iterator[Fact]:
    """58-year-old, nine-month, three-part, twenty-three-year-old."""
    word = words.words[i]
    match = COMPOUND.fullmatch(words.lower[i])
    assert match
    head, tail = word[: len(match[1])], match[2]
    value = number_value(match[1])
    if value is None:
        return
    low, high = 2, None
    if tail == "-year-old":
        low, high = (4, 17) if value < ADULT else (19, OLDEST)
    options = tuple(f"{written(n, head)}{tail}" for n in moved(value, low, high))
    options = tuple(o for o in options if head[0].isdecimal() or not o[0].isdecimal())
    kind: Kind = "number" if match[3] in ("page", "part", "room", "storey", "seat") else "duration"
    if options:
        yield Fact(words.starts[i], words.ends[i], kind, options, 95)


def _a_unit(words: Words, i: int) -> Iterator[Fact]:
    """A decade later, for a year, a hundred guests, a dozen."""
    noun, then = words.after(i), _at(words.lower, i + 2)
    if noun in SCALES:
        options = tuple(f"{n} {noun}" for n in ("three", "five", "four"))
        yield Fact(words.starts[i], words.ends[i + 1], "number", options, 90)
    elif noun in TIME - {"second", "term", "season"} and (
        then in ("later", "earlier", "before", "after", "ago")
        or (
            words.before(i)
            in ("for", "lasted", "within", "about", "almost", "nearly", "after", "spent", "took")
            and not then[:1].isalpha()
        )
        or (
            words.before(i) in ("for", "lasted", "spent")
            and then in ("in", "at", "and", "with", "to")
        )
    ):
        nouns = "centuries" if noun == "century" else noun + "s"
        options = tuple(f"{n} {nouns}" for n in ("three", "four", "five"))
        if noun == "fortnight":
            options = ("four weeks", "six weeks", "five weeks")
        yield Fact(words.starts[i], words.ends[i + 1], "duration", options, 90)


def _multiple(words: Words, i: int) -> Iterator[Fact]:
    word, before, following = words.lower[i], words.before(i), words.after(i)
    if word == "half" and following == "of" and before not in ORDINAL_VALUES:
        yield Fact(words.starts[i], words.ends[i], "quantity", ("a quarter", "a third"), 84)
    elif word == "half" and following == "a" and _at(words.lower, i + 2) in SCALES:
        options = (
            ("three dozen", "two dozen")
            if _at(words.lower, i + 2) == "dozen"
            else ("three million",)
        )
        if _at(words.lower, i + 2) in ("dozen", "million"):
            yield Fact(words.starts[i], words.ends[i + 2], "number", options, 88)
    elif word == "twice" and before not in ("as",):
        yield Fact(words.starts[i], words.ends[i], "number", ("five times", "four times"), 84)
    elif word == "once" and following in ("a", "every"):
        yield Fact(words.starts[i], words.ends[i], "number", ("four times", "three times"), 80)
