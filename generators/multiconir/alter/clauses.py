"""Where the main verb of a sentence stands: heuristics on verb forms, without a parser."""

from __future__ import annotations

from retgen.generators.multiconir.alter.lexicon import swaps, verbs
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, Words

HELPERS = frozenset(
    "was were is are has have had will would can could may might must should did does do".split()
)
PREPOSITIONS = frozenset(
    "of in on at by for from to with into as about after before during until since over under "
    "through against between among near than without towards toward across around despite "
    "along beside behind beyond within throughout via because although above below inside outside "
    "except including aboard off onto upon".split()
)
POSSESSIVE = frozenset(("'s", "’s"))
NO_VERB_AFTER = (DETERMINERS - POSSESSIVE) | frozenset(
    "of in on at by from with into to very more most be been being newly".split()
)
OPENS_A_CLAUSE = frozenset(
    "who which that whose whom when where while because after before since although as".split()
)
OPENS_A_SENTENCE = frozenset(
    "in on at after before during by when although for from since between over under of with as "
    "because until within off despite through near".split()
)
SUBJECTS = frozenset("he she it one".split())
FOLLOWS_AN_S = DETERMINERS | frozenset(NUMBERS) | frozenset("that how to him her them away".split())
FOLLOWS_A_VERB = (
    DETERMINERS
    | PREPOSITIONS
    | frozenset(
        "place part up out down away back that it them him her how what why together again still "
        ". ,".split()
    )
)


def finite_verb(words: Words) -> int | None:
    """The index of the main clause's finite verb, None if it is not found."""
    low, n = words.lower, len(words)
    i = 1
    if low[0] in OPENS_A_SENTENCE and "," in low and _clause_between(words, 0, low.index(",")):
        i = low.index(",") + 1  # a subordinate clause stands first
    skipped = False  # inside a relative clause of the subject that no comma closes
    while i < n:
        word = low[i]
        if word == "," and "," in low[i + 1 :] and words.after(i) not in ("and", "but", "or"):
            closing = low.index(",", i + 1)
            if (
                any(_finite(words, j) for j in range(closing + 1, n))
                and low[0] not in OPENS_A_SENTENCE
            ):
                i = closing + 1  # an apposition
                continue
        if word in ("who", "which", "that") and i > 1:
            skipped = not skipped or word != "that"
        elif _finite(words, i):
            if not skipped:
                return i
            skipped = False
            while i + 1 < n and (low[i] in HELPERS) and verbs().forms.get(low[i + 1]):
                i += 1
        i += 1
    return None


def next_verb(words: Words, start: int, stop: int) -> int | None:
    """The first finite verb among the words start to stop."""
    return next((i for i in range(start, stop) if _finite(words, i)), None)


def _clause_between(words: Words, start: int, stop: int) -> bool:
    return words.lower[start] in OPENS_A_CLAUSE and any(
        _finite(words, i) for i in range(start + 1, stop)
    )


def _finite(words: Words, i: int) -> bool:
    """Whether word i can be a finite verb where it stands."""
    word, before, after = words.lower[i], words.before(i), words.after(i)
    if i == 0 or words.capital(i) or not words.whole(i):
        return False
    if word in HELPERS:
        return True
    if before in NO_VERB_AFTER or before in NUMBERS:
        return False
    entry = verbs().forms.get(word)
    if entry is None:
        return (
            word.endswith("ed")
            and (after in FOLLOWS_A_VERB or after in NUMBERS)
            and (before not in POSSESSIVE)
        )
    tag = entry[1]
    if tag in ("ing", "participle") or before in POSSESSIVE:
        return False
    if tag == "base":
        return before in ("they", "we", "i", "you") or _after_a_plural(words, i, after)
    if (tag == "s" and after in HELPERS) or (tag in ("ed", "past") and before in PREPOSITIONS):
        return False
    unsure = tag == "s" and i == 1 and before not in SUBJECTS and after not in FOLLOWS_AN_S
    if unsure and any(_finite(words, j) for j in range(2, len(words))):
        return False  # Mercury levels downstream proved ...
    if tag == "s":
        noun = any(s.form == "plural" for s in swaps().get(word, ()))
        return not (noun and after in ("of", "and", ",", ".", "in", "from", "for", "at", "with"))
    described = before.endswith("ly") and words.before(i - 1) in DETERMINERS | HELPERS
    return not (described or (before in HELPERS and before not in ("had",)))


def _after_a_plural(words: Words, i: int, after: str) -> bool:
    """Whether a base form follows a plural subject: "wolves kill", "the women open a shop"."""
    follows = (
        after in FOLLOWS_A_VERB
        or after in NUMBERS
        or after[:1].isdecimal()
        or after.endswith("ly")
        or words.capital(i + 1)
    )
    before = words.before(i)
    if before in ("women", "men", "children", "people", "police"):
        return True
    plural = before.endswith("s") and before not in (
        "his",
        "its",
        "as",
        "this",
        "us",
        "was",
        "is",
        "has",
    )
    if plural and not _nounish(words.lower[i]):
        return True
    some = words.lower[:i]
    return follows and (
        plural or "and" in some or any(w.endswith("s") and len(w) > 3 for w in some)
    )


def _nounish(word: str) -> bool:
    """Whether a noun is likelier than anything that follows a verb."""
    return any(s.form in ("singular", "plural", "mass") for s in swaps().get(word, ()))
