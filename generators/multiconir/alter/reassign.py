"""The fact said of something else: "He went to ACCA, but his sister went to RISD" (appendix B).

The rewritten sentence gets a clause that says the old words of another subject ("her sister",
"another surgeon", "his brother's manual"), or of another object ("another judge sentenced his
brother", see `persons`), or, where the fact stands in the subject or the subject
is one of a kind, of another setting: "whereas in another film the boat chase took nine days".
"""

from __future__ import annotations

from itertools import takewhile

from retgen.generators.multiconir.alter.clauses import PREPOSITIONS, finite_verb, next_verb
from retgen.generators.multiconir.alter.lexicon import places, swaps, verbs
from retgen.generators.multiconir.alter.others import (
    NO_SUBJECT,
    Subject,
    is_name,
    other_than,
    scene_of,
    subject_of,
)
from retgen.generators.multiconir.alter.persons import (
    PERSONS,
    is_human,
    is_many,
    is_object,
    stand_in,
    unnamed,
)
from retgen.generators.multiconir.alter.spans import (
    BREAKS,
    JOINS,
    between,
    clause_end,
    phrase_end,
    retold,
)
from retgen.generators.multiconir.alter.words import Fact, Words, pick

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
        or _of_another_person(words, fact, subject, at, end, seed)
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
    if {"whom", "which", "whose"} & set(words.lower[start:stop]):
        return None
    part = Words(f"{between(words, start, stop)}.")
    verb, shift = finite_verb(part), words.starts[start]
    if verb is None or at - start >= stop - start:
        return None
    moved = fact._replace(start=fact.start - shift, end=fact.end - shift)
    end = next(i + 1 for i, stop in enumerate(part.ends) if stop >= moved.end)
    subject, at = subject_of(part, verb), at - start
    return _of_another_person(part, moved, subject, at, end, seed) or _of_a_predicate(
        part, moved, subject, at, end, seed
    )


def _of_the_whole(words: Words, subject: Subject) -> str | None:
    """The whole sentence in another setting, if its subject is no one in particular."""
    low = words.lower[subject.start]
    if len(words) > LONGEST + 5 or low in PERSONS or low == "it" or low in BREAKS:
        return None
    if is_name(words, 0) or subject.front:
        return None
    text = words.text.rstrip(".")
    return f"{scene_of(words, subject)} {text[0].lower()}{text[1:]}"


def _of_another_person(
    words: Words, fact: Fact, subject: Subject, at: int, end: int, seed: str
) -> str | None:
    """ "another judge sentenced his brother to six months" for "A judge ... him ..."."""
    start, low = subject.start, words.lower
    if low[start] in PERSONS or low[start] in NO_SUBJECT | {"it", "others", "who"}:
        return None
    reach = _reach(words, fact, subject, at, end)
    if reach is None or subject.end <= start:
        return None
    stop, front = reach
    whole = clause_end(words, subject.verb)
    found = stand_in(words, start, stop, seed)
    if found is None and stop < whole <= start + LONGEST + 4:
        stop, found = whole, stand_in(words, start, whole, seed)
    if found is None:
        return None
    place, other = found
    inside = start <= at < subject.end
    if place < subject.end:
        owner = place == start
        if (owner and not inside) or (not owner and is_human(words, start, subject.end)):
            return None  # `other_than` says it better; a herder and his granddaughter
    elif _bears_a_name(words, start) and not any(is_object(words, i) for i in range(place, stop)):
        return None  # the name's own
    left_out = unnamed(words, start, stop)
    commas = [i for i in range(start, subject.end) if low[i] == ","]
    if len(commas) == 2:
        left_out |= set(range(commas[0], commas[1] + 1))
    elif commas:
        return None
    if at in left_out or any(low[i] == "," for i in range(subject.verb, stop)):
        return None
    said = {place: other}
    if place >= subject.end and not inside and low[start] in ("a", "an"):
        said[start] = "another"
    elif place != start and not is_name(words, start) and words.words[start][1:2] != "-":
        said[start] = low[start]
        if is_many(words, start, subject.end) and not inside:
            said[start] = f"other {low[start]}"
    elif place != start and is_many(words, start, subject.end) and not inside:
        said[start] = f"other {words.words[start]}"
    text = retold(words, start, stop, left_out, said)
    return f"{text} {_front(words, front)}" if front else text


def _bears_a_name(words: Words, i: int) -> bool:
    """Whether word i is a name and no Estonian, Venetian or Swiss."""
    from_there = any(entry[0] == "demonym" for entry in places().of.get(words.words[i], ()))
    return is_name(words, i) and not from_there and not words.lower[i].endswith(("ian", "ese"))


def _front(words: Words, end: int) -> str:
    """The words before `end`, as they read after the beginning of a sentence."""
    first = between(words, 0, end)
    return first if is_name(words, 0) else first[0].lower() + first[1:]


def _of_a_predicate(
    words: Words, fact: Fact, subject: Subject, at: int, end: int, seed: str
) -> str | None:
    """ "her sister went to RISD" or "in another film the crew slept in tents"."""
    reach = _reach(words, fact, subject, at, end)
    if reach is None or subject.end <= subject.start:
        return None
    stop, front = reach
    inside = subject.start <= at < subject.end
    other = None if inside else other_than(words, subject, seed)
    if other is not None:
        left_out, said = unnamed(words, subject.end, stop), {}
        if left_out & set(range(at, end)):
            left_out = set()  # the name is the fact
        if fact.kind == "profession" and words.capital(end) and words.before(at) == "the":
            left_out |= set(takewhile(words.capital, range(end, stop)))
            said[at - 1] = "an" if words.lower[at][0] in "aeiou" else "a"  # the pianist Ann Lee
        for i in range(subject.end + 1, stop - 2):
            named = words.capital(i + 2) and at != i + 2  # the cooper Andrew Lee
            if words.lower[i - 1 : i + 1] == ["married", "the"] and named:
                left_out |= set(takewhile(words.capital, range(i + 2, stop)))
                said[i] = "an" if words.lower[i + 1][0] in "aeiou" else "a"
        predicate = retold(words, subject.end, stop, left_out, said)
        if front and words.lower[0] not in PREPOSITIONS and not words.lower[0].endswith("ly"):
            return f"{other}, {_front(words, front)}, {predicate}"  # widowed in 1944
        return f"{other} {predicate} {_front(words, front)}" if front else f"{other} {predicate}"
    predicate = between(words, subject.end, stop)
    predicate += f" {_front(words, front)}" if front else ""
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
    if first == "the" and words.capital(commas[1] - 1):  # the veterinarian Ann Lee
        names = next(i for i in range(commas[0] + 2, commas[1]) if words.capital(i))
        rest = between(words, commas[0] + 2, names) if names > commas[0] + 2 else ""
        role = any(s.kind == "profession" for s in swaps().get(rest.lower(), ()))
        if at >= names or not role:
            return None
        rest = f"{'an' if rest[0] in 'aeiou' else 'a'} {rest}"
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


def _reach(words: Words, fact: Fact, subject: Subject, at: int, end: int) -> tuple[int, int] | None:
    """How far the predicate must be said again, and how many of the first words after it."""
    stop = clause_end(words, subject.verb)
    if subject.start <= at < subject.end:
        return (stop, 0) if stop - subject.start <= LONGEST + 4 else None
    if at < subject.start:
        if not subject.front or at >= subject.start:
            return None
        front_end = subject.start - (words.before(subject.start) == ",")
        if (
            next_verb(words, 1, front_end) is not None
            or stop - subject.end + front_end > LONGEST + 4
        ):
            return None
        return stop, front_end
    amid = words.lower[subject.verb : at]
    told = TELLS & set(amid)
    if BREAKS & set(amid):
        stop = clause_end(words, end - 1)
    elif end > stop or (stop - subject.verb > WHOLE and not told and fact.form[:4] != "verb"):
        stop = phrase_end(words, subject.verb, end)
    if words.lower[stop - 1] in JOINS or words.lower[stop - 1].endswith("ly"):
        stop = clause_end(words, end)
    if "," in words.lower[subject.verb : stop] or stop - subject.verb > LONGEST:
        return None
    return stop, 0
