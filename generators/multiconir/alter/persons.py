"""Who is meant by "she" and "his", and who may be meant instead: "sentenced [his brother]"."""

from __future__ import annotations

from retgen.generators.multiconir.alter.clauses import PREPOSITIONS
from retgen.generators.multiconir.alter.lexicon import swaps, verbs
from retgen.generators.multiconir.alter.spans import BREAKS, JOINS
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, Words, pick

KIN = 78  # the weight of the kinship terms in classes.txt

PERSONS = {
    "she": ("her sister", "her cousin", "her closest friend", "a colleague of hers"),
    "he": ("his brother", "his cousin", "his closest friend", "a colleague of his"),
    "they": ("their neighbours", "their rivals", "some of their friends"),
    "we": ("our neighbours",),
}
RELATED = {"she": PERSONS["she"][:3], "he": PERSONS["he"][:3]}
PRONOUNS = {"she": "she", "her": "she", "he": "he", "him": "he", "his": "he"}
NAMED = frozenset("named called".split())
CALLS = frozenset("appoint elect name make call declare hire".split())
AFTER_AN_OBJECT = frozenset(
    "out up down away back off again twice once unable free alone guilty , .".split()
)


def stand_in(words: Words, start: int, stop: int, seed: str) -> tuple[int, str] | None:
    """Where words start to stop first speak of him or her, and who may stand there instead.

    "... sentenced him to nine months" -> (of "him", "his brother").
    """
    for i in range(start, stop):
        who = PRONOUNS.get(words.lower[i])
        if who is None or words.after(i) == "own":
            continue
        close = words.after(i) in ("closest", "old") or is_kin(words.after(i))
        other = "a neighbour" if close and _owns(words, i) else pick(RELATED[who], seed)[0]
        return i, other if not _owns(words, i) else f"{other}'s"
    return None


def _owns(words: Words, i: int) -> bool:
    """Whether the pronoun at i is a possessive: her house, but "admitted her to lectures"."""
    if words.lower[i] != "her":
        return words.lower[i] == "his"
    after, entry = words.after(i), verbs().forms.get(words.before(i), ("", ""))
    return not (
        after in PREPOSITIONS | DETERMINERS | AFTER_AN_OBJECT | BREAKS | JOINS
        or after in NUMBERS
        or after.endswith("ly")
        or entry[0] in CALLS
    )


def is_object(words: Words, i: int) -> bool:
    """Whether the pronoun at i is an object, so that the subject is someone or something else."""
    return words.lower[i] == "him" or (words.lower[i] == "her" and not _owns(words, i))


def unnamed(words: Words, start: int, stop: int) -> set[int]:
    """The names among words start to stop that no one else would bear.

    "a lawyer [named Ann Lee]", "her brother [Lucien]".
    """
    found: set[int] = set()
    for i in range(start, stop):
        kin = is_kin(words.lower[i])
        if words.lower[i] in NAMED or (kin and words.capital(i + 1)):
            end = i + 1
            while end < stop and words.capital(end):
                end += 1
            if end > i + 1:
                found |= set(range(i + (kin and words.lower[i] not in NAMED), end))
    return found


def is_kin(word: str) -> bool:
    """Whether the word says what someone is to another: sister, friend, tenant."""
    return any(s.kind == "profession" and s.weight == KIN for s in swaps().get(word, ()))


def is_many(words: Words, start: int, end: int) -> bool:
    """Whether words start to end are a bare plural of people: soldiers, spies in London."""
    small = (i for i in range(start, end) if words.lower[i] in PREPOSITIONS | BREAKS)
    noun = words.lower[next(small, end) - 1]
    people = noun.endswith(("men", "ers", "ors")) or any(
        s.kind == "profession" and s.form == "plural" for s in swaps().get(noun, ())
    )
    first = words.lower[start]
    counted = first in DETERMINERS or first in NUMBERS or first[0].isdecimal()
    return people and not counted and noun not in ("women", "men")


def is_human(words: Words, start: int, end: int) -> bool:
    """Whether the noun of words start to end is a person's: a herder and his granddaughter."""
    for i in range(start, end):
        if words.lower[i] in PREPOSITIONS | BREAKS | JOINS:
            break
        if any(s.kind == "profession" for s in swaps().get(words.lower[i], ())):
            return True
    return False
