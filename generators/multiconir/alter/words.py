"""A sentence as words, and what it shares with a condition."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from retgen.generators.multiconir.alter.lexicon import Kind, verbs

TOKEN = re.compile(
    r"\d+/\d+|\d+(?:[.,]\d+)*(?:-[^\W\d_]+)+|\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?(?![^\W\d_])|\d+(?:[.,]\d+)*"
    r"|[^\W\d_]+(?:-[^\W\d_]+)*|['’]s\b|\S"
)
DETERMINERS = frozenset(
    "the a an his her its their my our your this that these those each every any some no another "
    "'s ’s".split()
)
DENIALS = frozenset("no not never neither nor none nobody nothing without".split())
ARTICLES = frozenset(("a", "an", "the"))
UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = {word: i for i, word in enumerate(UNITS)}
NUMBERS |= {ten: 10 * (i + 2) for i, ten in enumerate(TENS)}
NUMBERS |= {f"{t}-{UNITS[u]}": 10 * (i + 2) + u for i, t in enumerate(TENS) for u in range(1, 10)}
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"
).split()
ORDINAL_VALUES = {word: i + 1 for i, word in enumerate(ORDINALS)}


# what may stand at the sides of a word that is no part of another: of "won't" or "kind="
LEFT = re.compile(r"(?:^|[\s(\"'“‘—–]|(?:^|\s)_)$")
RIGHT = re.compile(r"$|[\s,.;:!?)\"”—–]|_(?!\w)|['’](?![^\W\d_])|['’]s\b")


class Fact(NamedTuple):
    """A span of a sentence that can be replaced.

    `start`, `end`: characters. `options`: what may stand there, best first. `weight`: how surely
    the replacement reads well and is false, 0 to 100. `form`, `sure`: as in `lexicon.Swap`.
    """

    start: int
    end: int
    kind: Kind
    options: tuple[str, ...]
    weight: int
    form: str = "word"
    sure: bool = True


class Words:
    """The words of a text, side by side: as they stand, in lower case, and where they stand."""

    __slots__ = ("ends", "keys", "lower", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        for match in TOKEN.finditer(text):
            self.words.append(match[0])
            self.starts.append(match.start())
            self.ends.append(match.end())
        self.lower = [word.lower() for word in self.words]
        self.keys = Counter(map(key, self.lower))

    def __len__(self) -> int:
        return len(self.words)

    def before(self, i: int) -> str:
        """The word before word i in lower case, "" at the beginning."""
        return self.lower[i - 1] if i > 0 else ""

    def after(self, i: int) -> str:
        """The word after word i in lower case, "" at the end."""
        return self.lower[i + 1] if i + 1 < len(self.lower) else ""

    def whole(self, i: int, end: int | None = None) -> bool:
        """Whether words i to end (default: word i) stand apart, and are no part of others."""
        start, stop = self.starts[i], self.ends[(end or i + 1) - 1]
        return bool(LEFT.search(self.text[:start]) and RIGHT.match(self.text[stop:]))

    def capital(self, i: int) -> bool:
        """Whether word i exists and begins with a capital letter."""
        return 0 <= i < len(self.words) and self.words[i][0].isupper()


def number_value(word: str) -> int | None:
    """12 of "twelve", "12" and "12,000" -> 12000; None for anything else."""
    if word in NUMBERS:
        return NUMBERS[word]
    digits = word.replace(",", "")
    return int(digits) if digits.isdecimal() and digits.isascii() else None


@lru_cache(maxsize=1 << 16)
def key(word: str) -> str:
    """What a lower-case word is compared by: numbers as digits, verbs as their base, nouns as their
    singular."""
    if (value := number_value(word)) is not None:
        return str(value)
    if word in ORDINAL_VALUES:
        word = f"{ORDINAL_VALUES[word]}th"
    if re.fullmatch(r"\d+(st|nd|rd|th)", word):
        return word[:-2] + "th"
    if "-" in word:
        return "-".join(key(part) for part in word.split("-"))
    if word in verbs().forms:
        return verbs().forms[word][0]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def pick(options: tuple[str, ...], seed: str) -> tuple[str, ...]:
    """The options, beginning with one that the seed's SHA-256 chooses."""
    if len(options) < 2:
        return options
    at = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big") % len(options)
    return options[at:] + options[:at]
