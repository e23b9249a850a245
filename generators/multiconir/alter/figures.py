"""Facts that are figures: numbers, years, dates, durations, quantities, ordinals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.generators.multiconir.alter.lexicon import Kind, swaps
from retgen.generators.multiconir.alter.words import (
    DETERMINERS,
    NUMBERS,
    ORDINAL_VALUES,
    ORDINALS,
    Fact,
    Words,
    number_value,
)

__all__ = ["figure_facts"]

MONTHS = (
    "January February March April May June July August September October November December".split()
)
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
TIME = frozenset(
    "second minute hour day night week weekend fortnight month year decade century season "
    "summer winter evening morning term".split()
)
MEASURES = frozenset(
    "percent per-cent milligram microgram gram kilogram kilo tonne ton litre liter millilitre "
    "milliliter metre meter centimetre centimeter millimetre kilometre kilometer mile foot feet inch "
    "acre hectare degree dollar euro pound franc peso rupee yen yuan rand naira lira real crown krona "
    "dinar shilling mg ml kg km g cm mm mcg unit gallon barrel bushel volt watt mmhg % knot".split()
)
SCALES = ("dozen", "hundred", "thousand", "million", "billion")
YEAR_BEFORE = frozenset(
    "in of since by until till from to and between after before during early late around about "
    "spring summer autumn fall winter year mid than through , ( circa".split()
) | {month.lower() for month in MONTHS}  # fmt: skip
NOT_ONE = frozenset(
    "no every any some another this that each the which at day evening morning night afternoon of "
    "foggy rainy stormy cold by".split()
)
LOWER_BOUNDS = frozenset("over exceeding beyond above".split())
AGE_CHILD, AGE_TOP, THIS_YEAR = 18, 94, 2026


def figure_facts(words: Words) -> Iterator[Fact]:
    """All facts of a sentence that are figures."""
    years = [i for i in range(len(words)) if _is_year(words, i)]
    for i, word in enumerate(words.lower):
        if i in years:
            yield _year(words, i, years)
        elif re.fullmatch(r"1\d\d0s|20[0-2]0s|(twen|thir|for|fif|six|seven|eigh|nine)ties", word):
            yield from _decade(words, i)
        elif words.words[i] in MONTHS or words.words[i] in WEEKDAYS:
            yield from _calendar(words, i)
        elif word in ORDINAL_VALUES or re.fullmatch(r"\d+(st|nd|rd|th)", word):
            yield from _ordinal(words, i)
        elif re.fullmatch(r"[\w.,]+-(year|month|week|day|hour|minute|page|part|room|storey|seat)"
                          r"(-old|-long)?", word):  # fmt: skip
            yield from _compound(words, i)
        elif number_value(word) is not None or re.fullmatch(r"\d+(,\d{3})*\.\d+", word):
            yield from _number(words, i)
        elif word in ("a", "an"):
            yield from _a_unit(words, i)
        elif word in ("half", "twice", "once", "tens"):
            yield from _multiple(words, i)


def _is_year(words: Words, i: int) -> bool:
    word = words.words[i]
    if not (len(word) == 4 and word.isdecimal() and "1000" <= word < "2100"):
        return False
    following = words.after(i)
    noun = _singular(following)
    if (
        noun in MEASURES
        or noun in TIME
        or any(s.form == "plural" for s in swaps().get(following, ()))
    ):
        return False
    return words.before(i) in YEAR_BEFORE or not following.isalpha()


def _year(words: Words, i: int, years: list[int]) -> Fact:
    value, values = int(words.words[i]), [int(words.words[j]) for j in years]
    steps = [4, 7, 11, 6, 9, 5, 13, -4, -7, -11, -6, -9, -5, -13]
    if len(values) > 1:  # the order of events stays
        steps = [s for s in steps if (s < 0) == (value == min(values))]
    top = THIS_YEAR if value <= THIS_YEAR else 2100
    options = tuple(str(value + s) for s in steps if value + s <= top - (value <= 2018) * 3)
    options = options or (str(value - 6),)
    weight = 97 if len(values) == 1 or value in (min(values), max(values)) else 40
    return Fact(words.starts[i], words.ends[i], "year", options, weight)


def _decade(words: Words, i: int) -> Iterator[Fact]:
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


def _calendar(words: Words, i: int) -> Iterator[Fact]:
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
    yield Fact(words.starts[i], words.ends[i], "date", options, 92)


def _ordinal(words: Words, i: int) -> Iterator[Fact]:
    word, before, following = words.lower[i], words.before(i), words.after(i)
    if words.capital(i) and i > 0 or words.capital(i + 1) and following not in ("of",):
        return
    value = ORDINAL_VALUES.get(word) or int(word[:-2])
    if following == "time" and before == "the":
        options: tuple[int, ...] = tuple(v for v in (2, 3, 4, 1) if v != value)
    elif following in ("century", "centuries", "-century"):
        options = tuple(value + s for s in (-2, -1, 1, 2) if 10 < value + s <= min(21, value + 2))
    elif before == "a" and following == "of":
        options = tuple(v for v in (5, 3, 8) if v != value)
    elif before not in DETERMINERS and not words.after(i) == "place":
        return
    elif value == 2 and following in ("later", "long"):
        return
    elif value <= 6:
        options = tuple(v for v in (2, 3, 5, 4, 6) if abs(v - value) >= (1 if value < 3 else 2))
    else:
        options = _moved(value, low=2)
    as_word = word in ORDINAL_VALUES
    texts = tuple(
        ORDINALS[v - 1] if as_word and v <= len(ORDINALS) else _nth(v)
        for v in options
        if v > 0 and (v <= len(ORDINALS) or not as_word)
    )
    if words.words[i][0].isupper():
        texts = tuple(t.capitalize() for t in texts)
    if texts:
        yield Fact(words.starts[i], words.ends[i], "ordinal", texts, 88)


def _nth(value: int) -> str:
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def _moved(
    value: int, low: int = 0, high: int | None = None, direction: int = 0
) -> tuple[int, ...]:
    """Clearly different numbers of about the size and the roundness of `value`."""
    if value < 13:
        steps: tuple[int, ...] = (2, 3, -2, 4, -3, 5) if value > 3 else (2, 3, 4, 1, -1)
        found = [value + s for s in steps]
    else:
        unit = 10 ** max(len(str(value)) - len(str(value).rstrip("0")), len(str(value)) - 3, 0)
        step = 5 if unit == 1 and value % 5 == 0 else 1
        found = []
        for factor in (1.3, 0.7, 1.45, 0.6, 1.6, 0.5, 1.8):
            new = round(value * factor / unit / step) * unit * step
            if abs(new - value) * 5 >= value:
                found.append(new)
    found = [
        n for n in found if n >= max(low, 1 if value == 2 else 2) and (high is None or n <= high)
    ]
    return tuple(n for n in found if direction == 0 or (n - value) * direction > 0)


def _written(value: int, like: str) -> str:
    """The number written as `like` is: in words, with separators, or plainly."""
    if not like[0].isdecimal():
        text = next((word for word, n in NUMBERS.items() if n == value), None) or f"{value:,}"
        return text.capitalize() if like[0].isupper() else text
    return f"{value:,}" if "," in like or value >= 10_000 else str(value)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _kind(noun: str) -> Kind:
    if noun in TIME:
        return "duration"
    return "quantity" if noun in MEASURES else "number"


def _number(words: Words, i: int) -> Iterator[Fact]:
    word, lower = words.words[i], words.lower
    before, following = words.before(i), words.after(i)
    if (words.capital(i) and i > 0) or (i == 0 and words.capital(1)):
        return
    if (before in ("/", "-", "–") and words.before(i - 1)[:1].isdecimal()) or following == "/":
        return
    if "." in word:
        yield from _decimal(words, i)
        return
    value = number_value(lower[i])
    assert value is not None
    noun = _singular(following)
    if following in MONTHS_LOWER or before in MONTHS_LOWER:
        if value <= 31:
            days = tuple(
                str(d) for d in (_wrap(value + s) for s in (9, 13, 5, 17)) if abs(d - value) > 3
            )
            yield Fact(words.starts[i], words.ends[i], "date", days, 86)
        return
    if value == 1:
        if before in NOT_ONE or (
            noun not in TIME and following not in ("child", "son", "daughter")
        ):
            return
        if noun in ("day", "evening", "morning", "night", "afternoon", "summer", "winter"):
            return
        nouns = "children" if following == "child" else following + "s"
        options = tuple(f"{_written(n, word)} {nouns}" for n in (3, 4, 5))
        yield Fact(words.starts[i], words.ends[i + 1], _kind(noun), options, 85)
        return
    if value == 0:
        return
    direction, high, low = 0, None, 2
    if value < 1000 and noun in SCALES:
        noun, high = _singular(_at(lower, i + 2)), 999
    if before == "at" and (following in ("in", "o'clock", ".", ",", "and") or noun == ""):
        high = 12 if value <= 12 else 23  # an hour of the day
    if (
        before in ("aged", "age", "turned")
        or words.before(i - 1) + before == "ageof"
        or noun == "year"
        and _at(lower, i + 2) == "old"
    ):
        low, high = (4, 17) if value < AGE_CHILD else (19, AGE_TOP)
    if noun in ("percent", "per-cent", "%") or following == "per":
        high = 98
    if following in ("degree", "degrees") and 34 < value < 43:
        low, high = 35, 42
    bound = (
        before in LOWER_BOUNDS
        or (
            before == "than"
            and words.before(i - 1) in ("more", "longer", "older", "greater", "higher")
        )
        or (before == "least")
    )
    if bound:
        direction = -1
    if (
        before == "than"
        and words.before(i - 1) in ("fewer", "less", "under", "younger")
        or before in ("under", "below")
        or before == "most"
        and words.before(i - 1) == "at"
    ):
        direction = 1
    direction = _away(words, i, float(value)) or direction
    if high is not None and low != 2 and value >= 35 and value < 43 and noun == "degree":
        options: tuple[int, ...] = tuple(n for n in (36, 38, 40, 41, 35) if abs(n - value) > 1)
    else:
        options = _moved(value, low, high, direction)
    if word[0].isalpha():
        options = tuple(n for n in options if n in NUMBERS.values())
    if before in ("the", "these", "those", "other", "all") and value < 4:
        weight = 60
    else:
        weight = 95
    if bound:
        weight = 70
    texts = tuple(_written(n, word) for n in options)
    if texts:
        yield Fact(words.starts[i], words.ends[i], _kind(noun), texts, weight)


MONTHS_LOWER = frozenset(month.lower() for month in MONTHS)


def _away(words: Words, i: int, value: float) -> int:
    """1 or -1 where another number stands beside ("from 3.8 to 1.3"): away from it; 0 elsewhere."""
    for joint, j in ((words.after(i), i + 2), (words.before(i), i - 2)):
        if joint in ("to", "and", "or", "-", "–") and 0 <= j < len(words):
            text = words.lower[j].replace(",", "")
            beside = float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else number_value(text)
            if beside is not None:
                return 1 if value > beside else -1
    return 0


def _wrap(day: int) -> int:
    return day if day <= 28 else day - 27


def _at(items: list[str], i: int) -> str:
    return items[i] if i < len(items) else ""


def _decimal(words: Words, i: int) -> Iterator[Fact]:
    word = words.words[i]
    if not re.fullmatch(r"\d+\.\d+", word):
        return
    value, places = float(word), len(word.partition(".")[2])
    noun = _singular(words.after(i))
    factors: tuple[float, ...] = (1.4, 0.6, 1.7, 0.5)
    if noun == "degree" and 34 < value < 43:
        moved = [v for v in (value + 1.8, value - 1.7, value + 1.2) if 35 <= v <= 41.5]
    else:
        away = _away(words, i, value)
        moved = [value * f for f in factors if away == 0 or (f > 1) == (away > 0)]
    options = tuple(f"{v:.{places}f}" for v in moved)
    yield Fact(
        words.starts[i], words.ends[i], _kind(noun), tuple(o for o in options if o != word), 94
    )


def _compound(words: Words, i: int) -> Iterator[Fact]:
    """58-year-old, nine-month, three-part, twenty-three-year-old."""
    word = words.words[i]
    match = re.fullmatch(
        r"(.+?)(-(?:year|month|week|day|hour|minute|page|part|room|storey|seat)(?:-old|-long)?)",
        word,
    )
    assert match
    head, tail = match[1], match[2]
    value = number_value(head.lower())
    if value is None:
        return
    low, high = 2, None
    if tail == "-year-old":
        low, high = (4, 17) if value < AGE_CHILD else (19, AGE_TOP)
    options = tuple(f"{_written(n, head)}{tail}" for n in _moved(value, low, high))
    options = tuple(o for o in options if head[0].isdecimal() or not o[0].isdecimal())
    kind: Kind = (
        "number" if tail.split("-")[1] in ("page", "part", "room", "storey", "seat") else "duration"
    )
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
    if word == "half" and following == "of":
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
