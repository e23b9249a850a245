"""Words of queries: what ranks, counts, joins and excludes; and items told apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from retgen.validators.world.mentions import NUMBER_WORDS, Mention
from retgen.validators.world.quantities import Item, Quantity

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


def joined(word: str, parts: list[Any]) -> list[Any]:
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
