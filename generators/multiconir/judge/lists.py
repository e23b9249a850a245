"""The word lists, read when first needed: what means the same, the opposite, a kind of it, a part.

Words are kept as stems. A group of synonyms is an id ("=12"), so that a word of two meanings can
belong to two groups; words of several parts ("motion picture") are found as rows of stems. The id
of a group of verbs is "~7": a noun that looks like one of them is not meant by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from retgen.generators.multiconir.judge.stems import stem

_HERE = Path(__file__).parent
# what may stand between the words of a row: "take her degree in", "let him go"
GAPS = frozenset("- a an the his her its their him them it".split())
_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
    thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split()


@dataclass(frozen=True)
class Lexicon:
    """What is known of words. Keys are stems, of words of several parts joined by spaces."""

    same: Mapping[str, frozenset[str]]  # ids of groups of synonyms
    above: Mapping[str, frozenset[str]]  # stems and groups of all that a word implies
    opposite: Mapping[str, frozenset[str]]  # stems and groups it excludes
    sets: Mapping[str, frozenset[str]]  # sets whose members exclude one another
    places: frozenset[str]
    verbs: frozenset[str]
    defined: Mapping[str, frozenset[str]]  # "appendectomy" -> "remove", "appendix"
    joined: Mapping[str, tuple[tuple[str, ...], ...]]  # first stem -> rows, the longest first


def _lines(name: str) -> Iterator[str]:
    for line in (_HERE / name).read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def _key(words_: str) -> str:
    first, *rest = words_.casefold().replace("-", " ").split()
    return " ".join(stem(word) for word in (first, *(word for word in rest if word not in GAPS)))


def _keys(row: str) -> list[str]:
    return [_key(word) for word in row.split(",") if word.strip()]


@cache
def words(name: str) -> frozenset[str]:
    """The stems of a plain list, words between spaces: `words("weak")` of weak.txt."""
    return frozenset(_key(word) for word in forms(name))


@cache
def forms(name: str) -> frozenset[str]:
    """As `words`, as they are written."""
    return frozenset(word for line in _lines(f"{name}.txt") for word in line.split())


@cache
def numbers() -> dict[str, float]:
    """Number words, and under "*third" the ordinals."""
    found: dict[str, float] = {word: n for n, word in enumerate(_SMALL) if n != 0}
    found |= {word: 20 + 10 * n for n, word in enumerate(_TENS)}
    found |= {"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}
    return found | {"*" + word: n + 1.0 for n, word in enumerate(_ORDINALS)} | {"*thirtieth": 30.0}


@cache
def units() -> dict[str, tuple[str, float]]:
    """Name of a unit -> its dimension and factor."""
    found: dict[str, tuple[str, float]] = {}
    for line in _lines("units.txt"):
        measure, names = line.split(": ")
        dimension, factor = measure.rsplit(" ", 1)
        found |= {name.replace("-", " "): (dimension, float(factor)) for name in names.split()}
    return found


@cache
def lexicon() -> Lexicon:
    """All lists together, read once."""
    same: dict[str, set[str]] = {}
    opposite: dict[str, set[str]] = {}
    sets: dict[str, set[str]] = {}
    up: dict[str, set[str]] = {}
    verbs = set(words("verbs"))
    groups = 0
    for name, mark in (("synonyms.txt", "="), ("synonym_verbs.txt", "~"), ("derived.txt", "=")):
        for line in _lines(name):
            groups += 1
            for key in _keys(line.replace(":", ",")):
                same.setdefault(key, set()).add(f"{mark}{groups}")
                if mark == "~":
                    verbs.add(key)
    for number, line in enumerate(_lines("sets.txt")):
        for key in _keys(line.partition(":")[2]):
            sets.setdefault(key, set()).add(f"set {number}")
    for line in _lines("kinds.txt"):
        general, _, special = line.partition(":")
        for key in _keys(special):
            up.setdefault(key, set()).update(_keys(general))
    places: set[str] = set()
    for line in _lines("places.txt"):
        names, _, inside = line.partition(":")
        whole = _keys(names)
        groups += 1
        for key in whole:
            same.setdefault(key, set()).add(f"={groups}")
        places.update(whole, _keys(inside))
        for key in _keys(inside):
            up.setdefault(key, set()).update(whole)
    for line in _lines("antonyms.txt"):
        one, _, other = line.partition("|")
        for left, right in ((_keys(one), _keys(other)), (_keys(other), _keys(one))):
            for key in left:
                opposite.setdefault(key, set()).update(right)

    def ids(key: str) -> set[str]:
        return {key, *same.get(key, ())}

    members: dict[str, set[str]] = {}  # of a group
    for key, of in same.items():
        for group in of:
            members.setdefault(group, set()).add(key)

    def implied(key: str) -> frozenset[str]:
        found, rest = set(), [key]
        while rest:
            now = rest.pop()
            for general in up.get(now, ()):
                if general not in found:
                    found.add(general)
                    rest.append(general)
                    rest += [twin for group in same.get(general, ()) for twin in members[group]]
        # one step through synonyms of the word itself: a "medical man" is what a physician is
        return frozenset().union(*(ids(general) for general in found))

    everything = set(up) | {m for key in up for g in same.get(key, ()) for m in members[g]}
    above = {}
    for key in everything:
        twins = {key, *(m for g in same.get(key, ()) for m in members[g])}
        above[key] = frozenset().union(*(implied(twin) for twin in twins))
    wide = {
        key: frozenset().union(*(ids(word) for word in others)) for key, others in opposite.items()
    }
    for key, of in same.items():  # an opposite of a word excludes its synonyms too
        for group in of:
            for twin in members[group]:
                if twin in opposite:
                    more = frozenset().union(*(ids(word) for word in opposite[twin]))
                    wide[key] = wide.get(key, frozenset()) | more
    defined = {
        _key(word): frozenset(_keys(parts))
        for word, _, parts in (line.partition(":") for line in _lines("defined.txt"))
    }
    joined: dict[str, list[tuple[str, ...]]] = {}
    wholes = set().union(*up.values())
    for key in {*same, *sets, *up, *wholes, *opposite, *places, *defined}:
        row = tuple(key.split())
        if len(row) > 1:
            joined.setdefault(row[0], []).append(row)
    return Lexicon(
        {key: frozenset(of) for key, of in same.items()},
        above,
        wide,
        {key: frozenset(of) for key, of in sets.items()},
        frozenset(places),
        frozenset(verbs),
        defined,
        {first: tuple(sorted(rows, key=len, reverse=True)) for first, rows in joined.items()},
    )
