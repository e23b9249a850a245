"""Numbers written out, and numbers that are clearly different from them."""

from __future__ import annotations

from retgen.generators.multiconir.alter.lexicon import Kind
from retgen.generators.multiconir.alter.words import NUMBERS

TIME = frozenset(
    "second minute hour day night week weekend fortnight month year decade century season "
    "summer winter evening morning term".split()
)
MEASURES = frozenset(
    "percent milligram microgram gram kilogram kilo tonne ton litre liter millilitre milliliter "
    "metre meter centimetre centimeter millimetre kilometre kilometer mile foot feet inch acre "
    "hectare degree dollar euro pound franc peso rupee yen yuan rand naira lira real crown krona "
    "dinar shilling mg ml kg km g cm mm mcg unit gallon barrel bushel volt watt knot %".split()
)
SCALES = ("dozen", "hundred", "thousand", "million", "billion")
IN_WORDS = frozenset(NUMBERS.values())


def moved(value: int, low: int = 0, high: int | None = None, direction: int = 0) -> tuple[int, ...]:
    """Clearly different numbers of about the size and the roundness of `value`."""
    if value < 13:
        steps: tuple[int, ...] = (2, 3, -2, 4, -3, 5) if value > 3 else (2, 3, 4, 1, -1)
        found = [value + s for s in steps]
    else:
        unit = 10 ** max(len(str(value)) - len(str(value).rstrip("0")), len(str(value)) - 3, 0)
        step = 5 if unit == 1 and value % 5 == 0 else 1
        found = []
        for factor in (1.3, 0.7, 1.45, 0.6, 1.6, 0.55):
            new = round(value * factor / unit / step) * unit * step
            if abs(new - value) * 5 >= value:
                found.append(new)
    found = [
        n for n in found if n >= max(low, 1 if value == 2 else 2) and (high is None or n <= high)
    ]
    return tuple(n for n in found if direction == 0 or (n - value) * direction > 0)


def written(value: int, like: str) -> str:
    """The number written as `like` is: in words, with separators, or plainly."""
    if not like[0].isdecimal():
        text = next((word for word, n in NUMBERS.items() if n == value), None) or f"{value:,}"
        return text.capitalize() if like[0].isupper() else text
    plain = "," not in like and len(like) > 3 and value < 10_000
    return str(value) if plain else f"{value:,}"


def nth(value: int) -> str:
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def kind_of(noun: str) -> Kind:
    if noun in TIME:
        return "duration"
    return "quantity" if noun in MEASURES else "number"
