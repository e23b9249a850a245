"""Ladders of one's own documents without a model: a demonstration that alters figures only.

A sentence that holds one figure, a date, a year, a number or a number in words, is a condition; its
rewrite has another figure in its place. Whether a text meets the condition follows from the words:
all others are the same. Whatever else a text says takes a model to alter and another to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import xxhash

from retgen.generators.multiconir.checks import check_condition, check_sentence, split

N = TypeVar("N")

FIGURES = "figures"  # in place of a judge
WITH_A_MODEL = (
    "without a model only sentences with one date, year or number are altered; a model alters "
    "others: --model openai:gpt-5-mini --max-usd 5"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_WORDS = tuple(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty".split()
)
_FIGURE = re.compile(
    rf"(?P<date>\b\d{{1,2}} (?:{_MONTHS}) \d{{4}}\b|\b(?:{_MONTHS}) \d{{1,2}}, \d{{4}}\b)"
    r"|(?P<year>\b1[5-9]\d\d\b|\b20\d\d\b)"
    r"|(?P<number>\b\d{1,3}(?:,\d{3})+\b|\b\d+(?:\.\d+)?\b)"
    rf"|(?P<word>\b(?:{'|'.join(_WORDS)})\b)",
    re.IGNORECASE,
)
# a figure beside one of these is no quantity: No. 5, 3rd, 5-4, 3:15, F16, version 2.0.1
_BESIDE = re.compile(r"[\w.,:/#&+'’°§-]")
_NAMING = re.compile(
    r"\b(?:nos?\.|numbers?|version|page|pages|chapter|part|act|section|§|one) $", re.I
)
_CODE = re.compile(r"[\\<>{}\[\]()|@#^~*=`]|://|^[\"'“‘]|\d[.)] ?[A-Z]|--")
# a sentence that begins with one of these leans on another
_LEANING = frozenset(
    """this these that those such however therefore thus hence also so but and or then otherwise
    instead moreover furthermore nevertheless please note""".split()
)
# where these stand, the figure may not be what makes the sentence true
_SCOPE = re.compile(
    r"\b(?:not|never|no|nor|neither|without|only|except|unless|if|between|either|more|less|fewer"
    r"|than|least|most|or|both)\b|n't\b",
    re.IGNORECASE,
)


class _Cut(NamedTuple):
    """A text around its only figure, in lower case, and the figure."""

    before: str
    figure: str
    after: str


def extract(document: str, count: int, known: Sequence[str]) -> list[tuple[str, str]]:
    """At most `count` sentences that are not `known`, each with the condition that it states."""
    taken: list[tuple[str, str]] = []
    for sentence in split(document):
        stated = sentence.rstrip(".")
        others = [*known, *(one for one, _ in taken)]
        if (
            len(taken) < count
            and any(rewrites(sentence))
            and check_condition(sentence, stated, ()) is None
            and check_sentence(document, sentence, others) is None
        ):
            taken.append((sentence, stated))
    return taken


def rewrites(sentence: str) -> Iterator[str]:
    """The sentence with other figures; none where it is not plain that they make it untrue."""
    found = list(_FIGURE.finditer(sentence))
    if len(found) != 1 or not _plain(sentence, found[0]):
        return
    one = found[0]
    for figure in _others(one):
        yield sentence[: one.start()] + figure + sentence[one.end() :]


def _plain(sentence: str, figure: re.Match[str]) -> bool:
    begin, end = figure.span()
    first = sentence.partition(" ")[0].casefold().rstrip(",")
    beside = sentence[begin - 1 : begin] + sentence[end : end + 1].rstrip(".,")
    rest = sentence[:begin] + sentence[end:]
    return (
        sentence.endswith(".")
        and first not in _LEANING
        and not _BESIDE.search(beside)
        and not _NAMING.search(sentence[:begin])
        and not any(c.isdigit() for c in rest)
        and not _CODE.search(sentence)
        and not _SCOPE.search(rest)
    )


def _others(figure: re.Match[str]) -> Iterator[str]:
    """Other figures of the kind, in an order that follows from the text."""
    text = figure[0]
    turn = xxhash.xxh3_64_intdigest(figure.string.encode())
    if figure["date"] or figure["year"]:
        year = re.search(r"\d{4}", text)
        assert year is not None
        for step in _rotate((-23, -14, -9, -6, 6, 9, 14, 23), turn):
            yield text.replace(year[0], str(int(year[0]) + step))
    elif figure["word"]:
        known = _WORDS.index(text.casefold())
        for shift in _rotate((-5, -3, -2, 2, 3, 5), turn):
            if 0 <= known + shift < len(_WORDS):
                other = _WORDS[known + shift]
                yield other.capitalize() if text[0].isupper() else other
    else:
        plain = text.replace(",", "")
        decimals = len(plain.partition(".")[2])
        for factor in _rotate((0.4, 0.6, 1.5, 1.8, 2.4), turn):
            value = round(float(plain) * factor, decimals)
            if value >= 2 and value != float(plain):  # one of something has a singular
                yield f"{value:{',' if ',' in text else ''}.{decimals}f}"


def _rotate(steps: Sequence[N], turn: int) -> Sequence[N]:
    at = turn % len(steps)
    return [*steps[at:], *steps[:at]]


def verdict(text: str, condition: str) -> tuple[Literal["satisfied", "violated"], str] | None:
    """Whether a text meets a condition that its words state, and its figure; None for others."""
    said, wanted = _cut(text), _cut(condition)
    if said is None or wanted is None:
        return None
    if not (said.before.endswith(wanted.before) and said.after.startswith(wanted.after)):
        return None
    return ("satisfied" if said.figure == wanted.figure else "violated"), said.figure


def _cut(text: str) -> _Cut | None:
    lower = text.casefold().rstrip(".")
    found = list(_FIGURE.finditer(lower))
    if len(found) != 1:
        return None
    begin, end = found[0].span()
    return _Cut(lower[:begin], lower[begin:end], lower[end:])
