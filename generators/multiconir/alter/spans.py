"""Where phrases and clauses end: heuristics on small words, without a parser."""

from __future__ import annotations

from retgen.generators.multiconir.alter.clauses import HELPERS, PREPOSITIONS
from retgen.generators.multiconir.alter.lexicon import verbs
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, ORDINAL_VALUES, Words

BREAKS = frozenset(
    "who which whose whom where when while because although though but if unless whereas so".split()
)
JOINS = frozenset("and or".split())
AFTER_A_TIME = frozenset(
    "after before later earlier ago old older younger long high deep wide".split()
)


def between(words: Words, start: int, end: int) -> str:
    return words.text[words.starts[start] : words.ends[end - 1]]


def retold(words: Words, start: int, end: int, left_out: set[int], instead: dict[int, str]) -> str:
    """Words start to end without some of them, and with others instead of some."""
    text = ""
    for i in range(start, end):
        if i not in left_out:
            gap = words.text[words.ends[i - 1] : words.starts[i]] if text else ""
            text += gap + instead.get(i, words.words[i])
    return text


def clause_end(words: Words, start: int) -> int:
    """The end of the clause that word `start` stands in."""
    for i in range(start + 1, len(words)):
        low = words.lower[i]
        if (low in BREAKS and words.before(i) != "nothing") or low in (",", "."):
            return i
        if low in JOINS and not _joins_nouns(words, i):
            return i
    return len(words)


def _joins_nouns(words: Words, i: int) -> bool:
    """Whether the "and" at i joins no clauses or predicates."""
    after = words.after(i)
    if "between" in words.lower[max(i - 4, 0) : i] or after in NUMBERS or after[:1].isdecimal():
        return True
    rest = words.lower[i + 1 : i + 4]
    return (after in DETERMINERS or words.capital(i + 1)) and not any(
        w in ("was", "were", "is", "had", "has") for w in rest
    )


def phrase_end(words: Words, verb: int, end: int) -> int:
    """The end of the phrase that the fact before word `end` belongs to: with its noun."""
    if words.lower[end - 1] in PREPOSITIONS | BREAKS:
        return clause_end(words, end)
    i = end
    while i < len(words):
        low = words.lower[i]
        if low in AFTER_A_TIME and i <= end + 1:
            return clause_end(words, i)
        base = verbs().forms.get(words.after(i), ("", ""))[1] == "base" or words.after(i) == "be"
        if low in ("of", "per") or (low == "to" and base):
            i += 2 + (low == "to" and words.after(i + 1) in DETERMINERS)
            continue
        if low == "to" and "from" in words.lower[verb:i] and words.after(i) in NUMBERS:
            i += 2
            continue
        if low in PREPOSITIONS or low in BREAKS or low in (",", ".", "that") or low.endswith("ly"):
            break
        if low in JOINS and not (
            ("between" in words.lower[verb:i] and i - end < 2) or words.after(i) in ORDINAL_VALUES
        ):
            break
        if low in JOINS:
            i += 1 + (words.after(i) in DETERMINERS)
            continue
        if low in DETERMINERS - {"'s", "’s"} and i > end:
            break
        i += 1
    while (
        i > end
        and verbs().forms.get(words.lower[i - 1], ("", ""))[1] in ("ed", "participle")
        and (words.lower[i - 2] not in HELPERS | {"be"})
    ):
        i -= 1  # "letters [discovered] in a cupboard"
    return i
