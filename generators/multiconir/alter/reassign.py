"""The fact said of something else: "He went to ACCA, but his sister went to RISD" (appendix B).

The rewritten sentence gets a clause that says the old words of another subject ("her sister", "another
surgeon", "his brother's manual"), or, where the fact stands in the subject or the subject is one of a
kind, of another setting: "whereas in another film the boat chase was shot in nine days".
"""

from __future__ import annotations

from typing import NamedTuple

from retgen.generators.multiconir.alter.clauses import PREPOSITIONS, next_verb
from retgen.generators.multiconir.alter.lexicon import names, places, swaps, verbs
from retgen.generators.multiconir.alter.naming import FUNCTION_WORDS, ORGANISATIONS, TITLES
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, Fact, Words, pick

__all__ = ["reassigned"]

LINKS = ("but", "while", "whereas")
WHOLE, LONGEST = 11, 15  # words of a predicate: said again wholly up to, said again at all up to
BREAKS = frozenset(
    "who which whose whom where when while because although though but if unless whereas so".split()
)
JOINS = frozenset("and or".split())
AFTER_A_TIME = frozenset(
    "after before later earlier ago old older younger long high deep wide".split()
)
PERSONS = {
    "she": ("her sister", "her cousin", "her closest friend", "a colleague of hers"),
    "he": ("his brother", "his cousin", "his closest friend", "a colleague of his"),
    "they": ("their neighbours", "their rivals", "some of their friends"),
    "we": ("our neighbours",),
}
OWNERS = {"her": "her sister's", "his": "his brother's", "their": "their neighbours'"}
SOMEONE = ("a colleague", "a cousin", "a close friend")
SUBJECTS = {  # the last noun of a subject -> others of its kind
    "film movie picture feature drama comedy thriller western documentary": (
        "an earlier film by the same director", "a rival film", "another film of that time"),
    "novel book memoir poem biography sequel collection manuscript work volume": (
        "an earlier book by the same author", "a rival book", "another book of that time"),
    "patient": ("another patient on the ward", "the patient in the next bed"),
    "court tribunal": ("another court", "a court in a neighbouring district"),
    "defendant accused": ("a co-defendant", "another defendant"),
    "claimant plaintiff": ("another claimant",),
    "company firm": ("its main competitor", "another company"),
    "author writer": ("another author of the time",),
    "director": ("another director of the time",),
}  # fmt: skip
OTHERS = {word: others for many, others in SUBJECTS.items() for word in many.split()}
PEOPLE = frozenset(
    "appellant applicant candidate heroine hero protagonist narrator villain witness expert winner "
    "worker villager tourist watchman official officer chambermaid announcer dealer collector "
    "supplier champion rider runner survivor traveller player compiler biographer hermit".split()
)
SCENES = (  # words of a sentence -> the setting of which the old fact is said
    ("film movie picture cinema screen audience audiences actor actress director camera shot "
     "producers producer screenplay festival scene premiere footage filmed filming soundtrack "
     "cinemas tickets shooting crew viewers", "in another film"),
    ("novel book author chapter reader readers pages narrator publisher edition translation writer "
     "reviewers illustrations volume printed paperback preface manuscript appendix", "in another book"),
    ("patient doctor hospital surgery clinic scan ward surgeon symptoms blood dose treatment "
     "tablets nurse pain fever biopsy ultrasound operation milligrams therapy tumour lung kidney "
     "liver wound swelling physician tomography antibiotics infection", "in another patient's case"),
    ("court judge jury defendant plaintiff appeal claimant trial tribunal lawyer verdict damages "
     "prosecutor contract witness article section clause judgment hearing police appellant "
     "magistrate charges compensation", "in another case"),
    ("her she", "in her sister's case"),
    ("his he", "in his brother's case"),
)  # fmt: skip
SCENE_OF = {
    word: (rank, place) for rank, (many, place) in enumerate(SCENES) for word in many.split()
}
OWNER_OF = {"in another film": "another film's", "in another book": "another book's",
            "in another patient's case": "another patient's"}  # fmt: skip
NOUN_ENDINGS = tuple(
    "tion sion ment ness ity ance ence ing logy ine ol emia aemia itis gery ure age ism lin cin ide "
    "graphy scopy therapy ics ssion ese ish al ria ary sis gen oma work lead sound ability lers".split()
)
STOPS_A_NOUN = frozenset(", that named called aged".split())
NO_SUBJECT = frozenset(
    "there nobody everyone nothing what no none each both every all neither".split()
)


class Subject(NamedTuple):
    """Words start to end, before the finite verb at `verb`; `front`: an adverbial stands before."""

    start: int
    end: int
    verb: int
    front: bool


def reassigned(words: Words, fact: Fact, verb: int | None) -> str | None:
    """The clause that says the fact of another, from its comma to the full stop.

    `verb`: the main verb's index. None where no clause would read well.
    """
    if verb is None or words.lower[-1] != ".":
        return None
    at = next(i for i, stop in enumerate(words.ends) if stop > fact.start)
    end = next(i + 1 for i, stop in enumerate(words.ends) if stop >= fact.end)
    seed = f"{words.text}\n{fact.start}"
    subject = _subject(words, verb)
    clause = _of_an_apposition(words, subject, at, seed) or _of_a_predicate(
        words, fact, subject, at, end, seed
    )
    if clause is None:
        return None
    links = LINKS[1:] if clause.startswith("in ") else LINKS
    links = tuple(link for link in links if link not in words.lower) or LINKS[2:]
    link = pick(links, seed)[0]
    return f", {link} {clause}."


def _of_a_predicate(
    words: Words, fact: Fact, subject: Subject, at: int, end: int, seed: str
) -> str | None:
    """ "her sister went to RISD" or "in another film the crew slept in tents"."""
    predicate = _predicate(words, fact, subject, at, end)
    if predicate is None or subject.end <= subject.start:
        return None
    inside = subject.start <= at < subject.end
    other = None if inside else _other(words, subject, seed)
    if other is not None:
        return f"{other} {predicate}"
    noun = _between(words, subject.start, subject.end)
    if noun.count(",") % 2:
        return None
    if not _name(words, subject.start):
        noun = noun[0].lower() + noun[1:]
    return f"{_scene(words, subject)} {noun} {predicate}"


def _of_an_apposition(words: Words, subject: Subject, at: int, seed: str) -> str | None:
    """ "her sister had lived in Turin" for "Ada, who had lived in Turin, ..."."""
    low = words.lower
    commas = [i for i in range(subject.start, subject.end) if low[i] == ","]
    if len(commas) != 2 or not commas[0] < at < commas[1]:
        return None
    first = low[commas[0] + 1]
    head = Subject(subject.start, commas[0], subject.verb, subject.front)
    other = _other(words, head, seed)
    if other is None and low[head.start] == "the" and not words.capital(head.start + 1):
        other = f"another {_between(words, head.start + 1, head.end)}"
    if other is None:
        return None
    rest = _between(words, commas[0] + 1, commas[1])
    if first in ("who", "which"):
        verb = next_verb(words, commas[0] + 2, commas[1])
        return f"{other} {_between(words, verb, commas[1])}" if verb == commas[0] + 2 else None
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


def _between(words: Words, start: int, end: int) -> str:
    return words.text[words.starts[start] : words.ends[end - 1]]


def _name(words: Words, i: int) -> bool:
    """Whether the capital of word i is a name's."""
    word, low = words.words[i], words.lower[i]
    if word in places().of or word in names()[1] or word in names()[2]:
        return True
    common = (
        low in swaps() or low in verbs().forms or low in FUNCTION_WORDS | PREPOSITIONS | NO_SUBJECT
    )
    if not common and words.capital(i) and words.capital(i + 1):
        return True
    if words.after(i).isalpha() and next_verb(words, i + 1, i + 2) is None:
        return False  # "Blood lead amounted to ..."
    return word[0].isupper() and not common and not low.endswith((*NOUN_ENDINGS, "s", "men"))


def _subject(words: Words, verb: int) -> Subject:
    """The subject of the verb, without adverbs before the verb."""
    start, low = 0, words.lower
    opens = (
        low[0] in PREPOSITIONS
        or low[0] in ("thanks", "according")
        or low[0].endswith("ly")
        or low[0] in ("once", "twice", "today")
    )
    if opens:
        commas = [i for i in range(verb) if low[i] == ","]
        heads = [i for i in range(1, verb) if low[i] in PERSONS or low[i] in ("it", "the", "a", "an", "her", "his", "their", "its")
                 and low[i - 1] not in PREPOSITIONS]  # fmt: skip
        start = commas[0] + 1 if commas else (heads[-1] if heads else 0)
    end = verb
    while end > start + 1 and (low[end - 1].endswith("ly") or low[end - 1] in (
        "also", "never", "later", "first", "soon", "then", "once", "always", "often", "still", "now",
    )):  # fmt: skip
        end -= 1
    return Subject(start, end, verb, opens and start > 0)


def _predicate(words: Words, fact: Fact, subject: Subject, at: int, end: int) -> str | None:
    """The predicate with the old fact, as far as it must be said again."""
    stop = _clause_end(words, subject.verb)
    if subject.start <= at < subject.end:
        return _between(words, subject.end, stop) if stop - subject.start <= LONGEST + 4 else None
    if at < subject.start:
        if not subject.front or at >= subject.start:
            return None
        front_end = subject.start - (words.before(subject.start) == ",")
        front = _between(words, 0, front_end)
        if (
            next_verb(words, 1, front_end) is not None
            or stop - subject.end + front_end > LONGEST + 4
        ):
            return None
        return f"{_between(words, subject.end, stop)} {front[0].lower()}{front[1:]}"
    told = "that" in words.lower[subject.verb : at]
    if end > stop or (stop - subject.verb > WHOLE and not told and fact.form[:4] != "verb"):
        stop = _phrase_end(words, subject.verb, end)
    if "," in words.lower[subject.verb : stop] or stop - subject.verb > LONGEST:
        return None
    return _between(words, subject.end, stop)


def _clause_end(words: Words, start: int) -> int:
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


def _phrase_end(words: Words, verb: int, end: int) -> int:
    """The end of the phrase that the fact before word `end` belongs to: with its noun."""
    if words.lower[end - 1] in PREPOSITIONS | BREAKS:
        return _clause_end(words, end)
    i = end
    while i < len(words):
        low = words.lower[i]
        if low in AFTER_A_TIME and i <= end + 1:
            return _clause_end(words, i)
        base = verbs().forms.get(words.after(i), ("", ""))[1] == "base" or words.after(i) == "be"
        if low in ("of", "per") or (low == "to" and base):
            i += 2
            continue
        if low in PREPOSITIONS or low in BREAKS or low in (",", ".", "that") or low.endswith("ly"):
            break
        if low in JOINS and not ("between" in words.lower[verb:i] and i - end < 2):
            break
        if low in DETERMINERS - {"'s", "’s"} and i > end:
            break
        i += 1
    while (
        i > end
        and verbs().forms.get(words.lower[i - 1], ("", ""))[1] in ("ed", "participle")
        and (words.lower[i - 2] != "be")
    ):
        i -= 1  # "letters [discovered] in a cupboard"
    return i


def _other(words: Words, subject: Subject, seed: str) -> str | None:
    """Someone or something else of the subject's kind and number; None if it is one of a kind."""
    start, end, verb = subject.start, subject.end, words.lower[subject.verb]
    low = words.lower[start:end]
    if not low or low[0] in NO_SUBJECT:
        return None
    if len(low) == 1 and low[0] in PERSONS:
        return pick(PERSONS[low[0]], seed)[0]
    if low == ["it"]:
        return pick(_others_of_scene(words), seed)[0]
    stops = [
        i
        for i, word in enumerate(low)
        if i and (word in PREPOSITIONS | BREAKS or word in STOPS_A_NOUN)
    ]
    head = min([len(low), *stops])
    noun, many = low[head - 1], _many(low[head - 1], verb)
    if any(word in JOINS for word in low[:head]):
        return "others" if verb not in ("was", "is", "has") and not verb.endswith("s") else None
    if low[0] in OWNERS and head > 1:
        kin = any(s.kind == "profession" for s in swaps().get(noun, ()))
        owner = pick(("a friend's", "a neighbour's"), seed)[0] if kin else OWNERS[low[0]]
        return f"{owner} {_between(words, start + 1, end if not stops else start + head)}"
    if low[0] == "its" and head > 1:
        scene = _scene(words, subject)
        owner = OWNER_OF.get(scene, "its rival's")
        return f"{owner} {_between(words, start + 1, start + head)}"
    if low[1:2] == ["'s"] and words.capital(start):
        return f"someone else's {_between(words, start + 2, start + head)}" if head > 2 else None
    capitals = [i for i in range(start + 1, end) if words.capital(i)]
    titled = words.after(subject.verb) in ("a", "an") and verb in ("is", "was")
    if capitals and (
        words.words[start] in TITLES
        or capitals[0] == start + 1
        and any(s.kind == "profession" for s in swaps().get(low[0], ()))
    ):
        return f"another {low[0]}" if head > 1 else None
    named = head == 1 or words.capital(start + 1) or low[1] == ","
    if named and _name(words, start) and not (titled and any(w in PREPOSITIONS for w in low)):
        rest = set(words.lower)
        sex = names()[1].get(words.words[start], (0, ""))[1]
        if sex == "women" or (not sex and rest & {"she", "her"}):
            return pick(PERSONS["she"][:3], seed)[0]
        if sex == "men" or rest & {"he", "his", "him"}:
            return pick(PERSONS["he"][:3], seed)[0]
        return pick(SOMEONE, seed)[0]
    if capitals:
        before = words.before(capitals[0])
        if any(s.kind == "profession" for s in swaps().get(before, ())) and low[0] in ("the", "a"):
            return f"another {before}"
        last = words.words[start + head - 1]
        if low[0] == "the" and last in ORGANISATIONS:
            return f"another {last.lower()}"
        title = (
            low[0] == "the"
            and words.capital(start + 1)
            and words.words[start + 1] not in places().of
        )
        if titled or (title and len(capitals) > 1):
            return pick(_others_of_scene(words), seed)[0]
        return None
    if noun in NUMBERS:
        return None
    if noun in OTHERS and not many and low[0] in ("the", "a", "an"):
        return pick(OTHERS[noun], seed)[0]
    human = noun in PEOPLE or any(s.kind == "profession" for s in swaps().get(noun, ()))
    phrase = _between(words, start + (low[0] in DETERMINERS), start + head)
    if any(w in ("first", "second", "third", "last", "only", "own", "same", "most") or w.endswith("est")
           for w in low[:head]):  # fmt: skip
        return None
    if low[0] in ("a", "an") or (low[0] == "the" and human and not many):
        return f"another {phrase}"
    if (
        many
        and (human or low[0] not in DETERMINERS)
        and low[0] not in NUMBERS
        and not low[0][0].isdecimal()
    ):
        return f"other {phrase[0].lower()}{phrase[1:]}"
    return None


def _many(noun: str, verb: str) -> bool:
    """Whether a subject with this last noun is a plural."""
    if verb in ("was", "is", "has", "does"):
        return False
    return (
        verb in ("were", "are", "have", "do")
        or any(s.form == "plural" for s in swaps().get(noun, ()))
        or noun in ("people", "police", "children")
        or noun.endswith("men")
        or (noun.endswith("s") and not noun.endswith(("ss", "us", "is", "ics")))
    )


def _others_of_scene(words: Words) -> tuple[str, ...]:
    """Others for "it"."""
    for word in words.lower:
        place = SCENE_OF.get(word, (0, ""))[1]
        if place.endswith(("film", "book")):
            return OTHERS[place.split()[-1]]
    return ("another one", "a later one", "an earlier one")


def _scene(words: Words, subject: Subject) -> str:
    """Where something else happened."""
    found = [SCENE_OF[word] for word in words.lower if word in SCENE_OF]
    if found:
        return min(found)[1]
    present = words.lower[subject.verb]
    return "in another story" if present.endswith("s") and present != "was" else "in another case"
