"""Facts that are words of the lists: professions, colours, opposites, ..."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.generators.multiconir.alter.clauses import HELPERS, next_verb
from retgen.generators.multiconir.alter.lexicon import Swap, longest, places, swaps
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, Fact, Words

# after these an adjective stands for a clause: "as cheap as possible"
ELLIPTIC = frozenset("as than if when whenever where wherever once unless".split())
CLOSED = frozenset(
    "that who which whom whose where when while because although though if unless whereas so but "
    "and or not never also too then there here up out down away back off on he she it they we you "
    "his her its their this these those as than was were is are has have had will would can could "
    "may might must should did does do".split()
)

NOT_BEFORE_A_NOUN = frozenset(
    "to will would can could may might must should not i you he she it they we who did does do "
    "never".split()
)
OF_THE_LIVING = frozenset("young younger youngest".split())
OF_THINGS = frozenset("new newer newest".split())
PEOPLE = frozenset(
    "man woman men women people person couple member members of than half-brother half-sister "
    "twin colleague colleagues heir victim victims participant resident residents voter voters dog "
    "horse generation who lady gentleman players audience hermit".split()
)
HAVE = frozenset("has have had having".split())
BE = frozenset("was were is are be been being am got".split())
JOINS = frozenset(("and", "or"))
LATE = frozenset("not never also later soon just only already finally then first ever".split())
PREPOSITIONS = frozenset(
    "of in on at by for from to with into as and or than without under over about after "
    "before".split()
)


def lexical_facts(words: Words) -> Iterator[Fact]:
    """The facts of a sentence that `lexicon.swaps` knows; none in names and titles."""
    table, lengths, lower = swaps(), longest(), words.lower
    i = 0
    while i < len(lower):
        found = 0
        for n in range(lengths.get(lower[i], 0), 0, -1):
            phrase = " ".join(lower[i : i + n])
            if i + n > len(lower) or phrase not in table or not _plain(words, i, n):
                continue
            if not table[phrase]:
                found = n
            for swap in table[phrase]:
                if fact := _fact(words, i, n, swap):
                    yield fact
                    found = n
            if found:
                break
        i += max(found, 1)


def _plain(words: Words, i: int, n: int) -> bool:
    """Whether words i to i+n are no part of a name or title."""
    end = i + n
    if words.capital(i):
        first = i == 0 or words.words[i - 1] in ("_", '"')
        title = words.capital(end) and n == 1
        named = n == 1 and words.after(i) in HELPERS  # Rich is a library
        return first and not title and not named
    whole = words.whole(i, end)
    return whole and not any(words.capital(j) for j in range(i + 1, end))


def _fact(words: Words, i: int, n: int, swap: Swap) -> Fact | None:
    end = i + n
    before = words.before(i)
    if swap.form in ("singular", "plural", "mass"):
        if before in NOT_BEFORE_A_NOUN:
            return None
        if swap.checked and not _after_article(words, i, swap.form):
            return None
        if _compound(words, i, end, swap.form):
            return None
    elif swap.form.startswith("verb") and not _verb_stands(words, i, swap.form[5:]):
        return None
    if swap.form == "word" and before in ELLIPTIC:
        return None
    if swap.context or swap.never:
        around = (f"_{'_'.join(words.lower[end : end + 2])}", f"_{_at(words, end)}", f"{before}_")
        if swap.context and not any(mark in around for mark in swap.context):
            return None
        if any(mark in around for mark in swap.never):
            return None
    if (
        swap.kind == "class"
        and i > 1
        and words.capital(i - 1)
        and words.words[i - 1] not in places().of
    ):
        return None  # the Min river
    options = swap.options
    if options[0] in OF_THE_LIVING and not _living(words, end):
        return None
    if options[0] in OF_THINGS and _living(words, end):
        return None
    if before in DETERMINERS and before:
        options = tuple(
            o.removeprefix("the ").removeprefix("an ").removeprefix("a ") for o in options
        )
    weight = swap.weight - (15 if before in ("'s", "’s") else 0)
    stop = words.ends[end - 1]
    if swap.form == "plural" and _at(words, end) in ("'s", "’s"):  # fishermen's -> cobblers'
        own = words.words[end]
        options = tuple(o + (own[0] if o.endswith("s") else own) for o in options)
        stop = words.ends[end]
    return Fact(words.starts[i], stop, swap.kind, options, weight, swap.form, swap.sure)


def _compound(words: Words, i: int, end: int, form: str) -> bool:
    """Whether words i to end may be no noun of their own: "general purpose", "in general"."""
    following = _at(words, end)
    closed = (
        following in CLOSED | PREPOSITIONS | DETERMINERS
        or following in NUMBERS
        or following.endswith("ly")
    )
    if following.isalpha() and not closed and next_verb(words, end, end + 1) is None:
        return True
    return form == "singular" and words.before(i) in PREPOSITIONS - JOINS


def _living(words: Words, end: int) -> bool:
    """Whether the adjective before word `end` is said of a person or an animal."""
    near = words.lower[end : end + 2]
    return any(w in PEOPLE or any(s.kind == "profession" for s in swaps().get(w, ())) for w in near)


def _at(words: Words, i: int) -> str:
    return words.lower[i] if i < len(words) else ""


def _after_article(words: Words, i: int, form: str) -> bool:
    """Whether a word that may be a verb is a noun here."""
    before = words.before(i)
    if before in DETERMINERS or before in PREPOSITIONS - JOINS - {"to"}:
        return True
    if before in NUMBERS or before.isdecimal():
        return True
    return form == "singular" and words.before(i - 1) in DETERMINERS and not words.capital(i - 1)


def _verb_stands(words: Words, i: int, tag: str) -> bool:
    """Whether the words around allow a verb with this tag."""
    j = i - 1
    while j >= 0 and (words.lower[j] in LATE or words.lower[j].endswith("ly")):
        j -= 1
    helper = words.lower[j] if j >= 0 else ""
    if tag == "participle":
        return helper in HAVE or helper in BE or (i == 0 and words.words[0][0].isupper())
    if tag == "past":
        return helper not in HAVE | BE and helper not in DETERMINERS | PREPOSITIONS - JOINS
    if tag == "base":
        return helper in NOT_BEFORE_A_NOUN - {"he", "she", "it"}
    if tag == "s":
        return bool(helper) and helper not in DETERMINERS | PREPOSITIONS - JOINS | BE
    return helper in BE or helper in PREPOSITIONS  # ing
