"""Which facts of a sentence its condition states, and the sentences that falsify them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from retgen.generators.multiconir.alter.clauses import HELPERS, finite_verb
from retgen.generators.multiconir.alter.figures import figure_facts
from retgen.generators.multiconir.alter.lexical import lexical_facts
from retgen.generators.multiconir.alter.lexicon import Kind
from retgen.generators.multiconir.alter.naming import naming_facts
from retgen.generators.multiconir.alter.negation import negations
from retgen.generators.multiconir.alter.reassign import reassigned
from retgen.generators.multiconir.alter.words import ARTICLES, DENIALS, Fact, Words, key, pick

CHOICES = 3  # replacements tried a fact
THINGS = ("class", "profession", "person", "antonym")  # no baker and no tailor may both be true
ENDS_A_DENIAL = frozenset(", . and but because so while when until before after".split())
VOWELS = "aeiou"
LIKE_YOU = ("uni", "use", "usu", "eu", "one", "once", "ur", "ute")
SILENT_H = ("hour", "honest", "heir", "honou")


class Alteration(NamedTuple):
    """A sentence that falsifies a condition.

    `old` and `new`: what was replaced, as it stood (with its article where a became an), and what
    stands there now. Under "reassign", `text` says `old` of something else as well.
    """

    text: str
    kind: Kind
    old: str
    new: str


def alterations(
    sentence: str, condition: str, strategy: Literal["modify", "reassign"], *, sure: bool = False
) -> list[Alteration]:
    """All alterations of `sentence` that falsify `condition`, best first, each text once.

    "modify" changes one fact that the condition states, and no other byte. "reassign" lets every
    word of the condition stand, but says the fact of something else (MultiConIR, appendix B,
    People). A sentence without a full stop is never reassigned. Choices among replacements follow
    a hash of the sentence. Empty if nothing was found. `sure`: only what holds whatever the text is
    about: figures, names, words that are opposites both ways.
    """
    words, stated = Words(sentence), Words(condition)
    denied = _denied(words)
    facts = [
        fact
        for fact in _facts(words)
        if (fact.sure or not sure)
        and _states(stated, words, fact)
        and not (fact.kind in THINGS and any(a < fact.start < b for a, b in denied))
    ]
    facts.sort(key=lambda fact: (-fact.weight, fact.start))
    taken = set(words.lower) | set(stated.lower)
    verb = finite_verb(words)
    ranks: list[list[Alteration]] = [[] for _ in range(CHOICES)]
    for fact in facts:
        tail = _tail(words, fact, verb, strategy)
        if tail is None:
            continue
        old = sentence[fact.start : fact.end]
        options = (
            option
            for option in pick(fact.options, f"{sentence}\n{fact.start}")
            if option != old and not _among(option, taken)
        )
        for rank, option in zip(ranks, options, strict=False):
            rank.append(_made(words, fact, option, tail))
    found = [made for rank in ranks for made in rank]
    for negation in negations(words, verb) if _says(stated, words, verb) else ():
        fact = Fact(negation.start, negation.end, "negation", (), 0, "verb")
        tail = _tail(words, fact, verb, strategy)
        if tail is not None:
            found.append(_made(words, fact, negation.new, tail))
    first: dict[str, Alteration] = {}
    for made in found:
        if made.text != sentence:
            first.setdefault(made.text, made)
    return list(first.values())


def _says(stated: Words, words: Words, verb: int | None) -> bool:
    """Whether what is said with this verb is what the condition states, as far as can be told."""
    if verb is None:
        return False
    more = any(low in ENDS_A_DENIAL - {"."} or low == "and" for low in words.lower[verb:])
    return not more or words.lower[verb] in HELPERS or key(words.lower[verb]) in stated.keys


def _tail(
    words: Words, fact: Fact, verb: int | None, strategy: Literal["modify", "reassign"]
) -> str | None:
    """What follows the sentence's last word: its end, or a clause that reassigns the fact."""
    return "" if strategy == "modify" else reassigned(words, fact, verb)


def _facts(words: Words) -> Iterator[Fact]:
    yield from figure_facts(words)
    yield from naming_facts(words)
    yield from lexical_facts(words)


def _denied(words: Words) -> list[tuple[int, int]]:
    """The spans that a "no" or "not" reaches: to the end of its clause, in characters."""
    found = []
    for i, low in enumerate(words.lower):
        if low in DENIALS:
            ends = (j for j in range(i, len(words)) if words.lower[j] in ENDS_A_DENIAL)
            found.append((words.starts[i], words.starts[next(ends, len(words) - 1)]))
    return found


def _states(stated: Words, words: Words, fact: Fact) -> bool:
    """Whether the condition states the fact: it has its words, as often as the sentence."""
    keys = [key(w) for w in Words(words.text[fact.start : fact.end]).lower if w not in ARTICLES]
    return all(0 < words.keys[k] <= stated.keys[k] for k in keys)


def _among(option: str, taken: set[str]) -> bool:
    """Whether the option, or a name of it, stands in the sentence or the condition already."""
    return option.lower() in taken or any(
        word.lower() in taken for word in option.split() if word[0].isupper() or word.isdecimal()
    )


def _made(words: Words, fact: Fact, option: str, tail: str) -> Alteration:
    """The alteration with this replacement; `tail`, if any, stands instead of the full stop."""
    if words.text[fact.start].isupper() and option[0].islower():
        option = option[0].upper() + option[1:]
    start, new = _article(words.text, fact.start, option)
    text = words.text[:start] + new + words.text[fact.end :]
    text = text[: text.rindex(".")] + tail if tail else text
    return Alteration(text, fact.kind, words.text[start : fact.end], new)


def _article(text: str, start: int, option: str) -> tuple[int, str]:
    """Where the replacement begins, and the replacement: with "a" or "an" if that changes."""
    for article in ("a ", "an ", "A ", "An "):
        if text[:start].endswith(article) and not text[: start - len(article)][-1:].isalnum():
            right = "an " if _vowel(option) else "a "
            right = right.capitalize() if article[0] == "A" else right
            if right != article:
                return start - len(article), right + option
    return start, option


def _vowel(word: str) -> bool:
    """Whether "an" stands before the word."""
    low = word.lower()
    if low[0].isdecimal():
        return low[0] == "8" or low.split("-")[0] in ("11", "18")
    return low.startswith(SILENT_H) or (low[0] in VOWELS and not low.startswith(LIKE_YOU))
