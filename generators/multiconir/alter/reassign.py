"""The fact said of something else: "He went to ACCA, but his sister went to RISD" (appendix B).

The rewritten sentence gets a clause that says the old words of another subject ("her sister",
"another surgeon", "his brother's manual"), or, where the fact stands in the subject or the subject
is one of a kind, of another setting: "whereas in another film the boat chase took nine days".
"""

from __future__ import annotations

from retgen.generators.multiconir.alter.clauses import finite_verb, next_verb
from retgen.generators.multiconir.alter.lexicon import verbs
from retgen.generators.multiconir.alter.others import (
    PERSONS,
    Subject,
    is_name,
    other_than,
    scene_of,
    subject_of,
)
from retgen.generators.multiconir.alter.spans import BREAKS, between, clause_end, phrase_end
from retgen.generators.multiconir.alter.words import Fact, Words, pick

__all__ = ["reassigned"]

LINKS = ("but", "while", "whereas")
WHOLE, LONGEST = 11, 15  # words of a predicate: said again wholly up to, said again at all up to
TELLS = frozenset("that how why what".split())


def reassigned(words: Words, fact: Fact, verb: int | None) -> str | None:
    """The clause that says the fact of another, from its comma to the full stop.

    `verb`: the main verb's index. None where no clause would read well.
    """
    if verb is None or words.lower[-1] != ".":
        return None
    at = next(i for i, stop in enumerate(words.ends) if stop > fact.start)
    end = next(i + 1 for i, stop in enumerate(words.ends) if stop >= fact.end)
    seed = f"{words.text}\n{fact.start}"
    subject = subject_of(words, verb)
    clause = (
        _of_an_apposition(words, subject, at, seed)
        or _of_a_predicate(words, fact, subject, at, end, seed)
        or _of_a_part(words, fact, at, seed)
        or _of_the_whole(words, subject)
    )
    if clause is None:
        return None
    links = tuple(
        link
        for link in LINKS
        if link not in words.lower and not (link == "but" and clause.startswith("in "))
    )
    link = pick(links or LINKS, seed)[0]
    return f", {link} {clause}."


def _of_a_part(words: Words, fact: Fact, at: int, seed: str) -> str | None:
    """The same for the part between commas that the fact stands in, if it is a clause."""
    commas = [i for i, low in enumerate(words.lower) if low == ","]
    start = max((i + 1 for i in commas if i < at), default=0)
    if words.lower[start] in ("and", "but", "so", "while", "although"):
        start += 1
    stop = min((i for i in commas if i > at), default=len(words) - 1)
    if (start, stop) == (0, len(words) - 1) or words.lower[start] in BREAKS:
        return None
    part = Words(f"{between(words, start, stop)}.")
    verb, shift = finite_verb(part), words.starts[start]
    if verb is None or at - start >= stop - start:
        return None
    moved = fact._replace(start=fact.start - shift, end=fact.end - shift)
    end = next(i + 1 for i, stop in enumerate(part.ends) if stop >= moved.end)
    return _of_a_predicate(part, moved, subject_of(part, verb), at - start, end, seed)


def _of_the_whole(words: Words, subject: Subject) -> str | None:
    """The whole sentence in another setting, if its subject is no one in particular."""
    low = words.lower[subject.start]
    if len(words) > LONGEST + 5 or low in PERSONS or low == "it" or low in BREAKS:
        return None
    if is_name(words, 0) or subject.front:
        return None
    text = words.text.rstrip(".")
    return f"{scene_of(words, subject)} {text[0].lower()}{text[1:]}"


def _of_a_predicate(
    words: Words, fact: Fact, subject: Subject, at: int, end: int, seed: str
) -> str | None:
    """ "her sister went to RISD" or "in another film the crew slept in tents"."""
    predicate = _predicate(words, fact, subject, at, end)
    if predicate is None or subject.end <= subject.start:
        return None
    inside = subject.start <= at < subject.end
    other = None if inside else other_than(words, subject, seed)
    if other is not None:
        return f"{other} {predicate}"
    noun = between(words, subject.start, subject.end)
    if noun.count(",") % 2:
        return None
    if not is_name(words, subject.start) and noun[1:2] != "-":
        noun = noun[0].lower() + noun[1:]
    return f"{scene_of(words, subject)} {noun} {predicate}"


def _of_an_apposition(words: Words, subject: Subject, at: int, seed: str) -> str | None:
    """ "her sister had lived in Turin" for "Ada, who had lived in Turin, ..."."""
    low = words.lower
    commas = [i for i in range(subject.start, subject.end) if low[i] == ","]
    if len(commas) != 2 or not commas[0] < at < commas[1]:
        return None
    first = low[commas[0] + 1]
    head = Subject(subject.start, commas[0], subject.verb, subject.front)
    other = other_than(words, head, seed)
    if other is None and low[head.start] == "the" and not words.capital(head.start + 1):
        other = f"another {between(words, head.start + 1, head.end)}"
    if other is None:
        return None
    rest = between(words, commas[0] + 1, commas[1])
    if first in ("who", "which"):
        verb = next_verb(words, commas[0] + 2, commas[1])
        return f"{other} {between(words, verb, commas[1])}" if verb == commas[0] + 2 else None
    entry = verbs().forms.get(first, ("", ""))
    if first in ("a", "an", "the", "once", "himself", "herself") or entry[1] in (
        "ed",
        "participle",
    ):
        present = low[subject.verb] in ("is", "has") or (
            verbs().forms.get(low[subject.verb], ("", ""))[1] == "s")  # fmt: skip
        many = other.startswith(("other", "some", "their"))
        be = ("are" if many else "is") if present else ("were" if many else "was")
        return f"{other} {be} {rest}"
    return None


def _predicate(words: Words, fact: Fact, subject: Subject, at: int, end: int) -> str | None:
    """The predicate with the old fact, as far as it must be said again."""
    stop = clause_end(words, subject.verb)
    if subject.start <= at < subject.end:
        return between(words, subject.end, stop) if stop - subject.start <= LONGEST + 4 else None
    if at < subject.start:
        if not subject.front or at >= subject.start:
            return None
        front_end = subject.start - (words.before(subject.start) == ",")
        front = between(words, 0, front_end)
        if (
            next_verb(words, 1, front_end) is not None
            or stop - subject.end + front_end > LONGEST + 4
        ):
            return None
        return f"{between(words, subject.end, stop)} {front[0].lower()}{front[1:]}"
    amid = words.lower[subject.verb : at]
    told = TELLS & set(amid)
    if BREAKS & set(amid):
        stop = clause_end(words, end - 1)
    elif end > stop or (stop - subject.verb > WHOLE and not told and fact.form[:4] != "verb"):
        stop = phrase_end(words, subject.verb, end)
    if "," in words.lower[subject.verb : stop] or stop - subject.verb > LONGEST:
        return None
    return between(words, subject.end, stop)
