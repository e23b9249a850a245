"""Of whom or what else a fact can be said: "her sister", "another surgeon", "in another film"."""

from __future__ import annotations

from typing import NamedTuple

from retgen.generators.multiconir.alter.clauses import PREPOSITIONS, next_verb
from retgen.generators.multiconir.alter.lexicon import names, places, swaps, verbs
from retgen.generators.multiconir.alter.naming import FUNCTION_WORDS, ORGANISATIONS, TITLES
from retgen.generators.multiconir.alter.persons import PERSONS, PRONOUNS, is_kin
from retgen.generators.multiconir.alter.spans import BREAKS, JOINS, between
from retgen.generators.multiconir.alter.words import DETERMINERS, NUMBERS, Words, pick

OWNERS = {"her": "her sister's", "his": "his brother's", "their": "their neighbours'"}
PLURAL_ENDINGS = tuple("ers ors ants ists ions ments ings ies ees men ians eons".split())
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
WORKS = frozenset(word for word in OTHERS if OTHERS[word][0].startswith("an earlier"))
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
     "reviewers illustrations volume printed paperback preface manuscript appendix",
     "in another book"),
    ("patient doctor hospital surgery clinic scan ward surgeon symptoms blood dose treatment "
     "tablets nurse pain fever biopsy ultrasound operation milligrams therapy tumour lung kidney "
     "liver wound swelling physician tomography antibiotics infection",
     "in another patient's case"),
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
    "tion sion ment ness ity ance ence ing logy ine ol emia itis gery ure age ism lin cin ide "
    "graphy scopy therapy ics ium ase ate ime one ile ese ish al ria ary sis gen oma work "
    "lead sound".split()
)
OPENS_A_NOUN = frozenset("it the a an her his their its".split())
ADVERBS = frozenset(
    "also never later first soon then once always often still now again already".split()
)
UNIQUE = frozenset("first second third last only own same most".split())
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


def subject_of(words: Words, verb: int) -> Subject:
    """The subject of the verb, without adverbs before the verb."""
    start, low = 0, words.lower
    if low[verb - 1] in PERSONS and low[verb - 2 : verb - 1] == [","]:
        return Subject(verb - 1, verb, verb, True)  # the son of a miller, he was born ...
    opens = (
        low[0] in PREPOSITIONS
        or low[0] in ("thanks", "according")
        or (low[0].endswith("ly") and not is_name(words, 0))
        or low[0] in ("once", "twice", "today")
    )
    if opens:
        commas = [i for i in range(verb) if low[i] == ","]
        heads = [
            i
            for i in range(1, verb)
            if low[i] in PERSONS
            or (low[i] in OPENS_A_NOUN and (low[i - 1] not in PREPOSITIONS or low[i] in ("it",)))
        ]
        start = commas[0] + 1 if commas else (heads[-1] if heads else 0)
    end = verb
    while end > start + 1 and (
        (low[end - 1].endswith("ly") and not words.capital(end - 1)) or low[end - 1] in ADVERBS
    ):
        end -= 1
    return Subject(start, end, verb, opens and start > 0)


def is_name(words: Words, i: int) -> bool:
    """Whether the capital of word i is a name's."""
    word, low = words.words[i], words.lower[i]
    if word in places().of or word in names()[1] or word in names()[2]:
        return True
    common = (
        low in swaps() or low in verbs().forms or low in FUNCTION_WORDS | PREPOSITIONS | NO_SUBJECT
    )
    if words.capital(i) and words.capital(i + 1):
        role = any(swap.kind == "profession" for swap in swaps().get(low, ()))
        return not role and low not in FUNCTION_WORDS | PREPOSITIONS | NO_SUBJECT
    if not word[0].isupper():
        return False
    if low.endswith(("ian", "ean", "ese")) and i == 0 and not common:
        return True  # Venetian spies
    then = i + 1
    while then < len(words) and words.lower[then] in ADVERBS:
        then += 1
    if words.after(i).isalpha() and next_verb(words, then, then + 1) is None:
        return False  # "Blood lead amounted to ..."
    if low.endswith("s") and (low.endswith(PLURAL_ENDINGS) or _known(low[:-1])):
        return False
    return not common and not low.endswith((*NOUN_ENDINGS, "men"))


def _known(low: str) -> bool:
    return low in swaps() or low in verbs().forms


def other_than(words: Words, subject: Subject, seed: str) -> str | None:
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
        kin = any(is_kin(word) for word in low[:head])
        owner = pick(("a friend's", "a neighbour's"), seed)[0] if kin else OWNERS[low[0]]
        stop = next((i for i in range(1, head) if kin and words.capital(start + i)), head)
        return f"{owner} {between(words, start + 1, start + stop)}"
    if low[0] == "its" and head > 1:
        scene = scene_of(words, subject)
        owner = OWNER_OF.get(scene, "its rival's")
        return f"{owner} {between(words, start + 1, start + head)}"
    if low[1:2] == ["'s"] and words.capital(start):
        if head < 3 or words.capital(start + 2):
            return None
        return f"someone else's {between(words, start + 2, start + head)}"
    capitals = [i for i in range(start + 1, start + head) if words.capital(i)]
    work = next((w for w in words.lower[subject.verb :] if w in WORKS), "")
    titled = words.after(subject.verb) in ("a", "an", "the") and verb in ("is", "was") and work
    if titled and capitals:
        return pick(OTHERS[work], seed)[0]
    last = words.words[start + head - 1]
    if capitals and last[0].isupper() and (last in ORGANISATIONS or _common(last)):
        plural = any(s.form == "plural" for s in swaps().get(last.lower(), ()))
        return "another company" if plural else f"another {last.lower()}"
    if capitals and (
        words.words[start] in TITLES
        or (
            capitals[0] == start + 1
            and any(s.kind == "profession" for s in swaps().get(low[0], ()))
        )
    ):
        return f"another {low[0]}" if head > 1 else None
    named = head == 1 or words.capital(start + 1) or low[1] == ","
    if named and is_name(words, start) and low[0] not in NUMBERS:
        rest = set(words.lower)
        sex = names()[1].get(words.words[start], (0, ""))[1]
        if sex == "women" or (not sex and rest & {"she", "her"}):
            return pick(PERSONS["she"][:3], seed)[0]
        if sex == "men" or rest & {"he", "his", "him"}:
            return pick(PERSONS["he"][:3], seed)[0]
        return pick(SOMEONE, seed)[0]
    if capitals and low[0] in ("a", "an") and words.words[start + head - 1].islower():
        return f"another {noun}"  # a Swiss foundation
    if capitals:
        first = max(i for i in capitals if i - 1 not in capitals)
        before = words.before(first)
        if any(s.kind == "profession" for s in swaps().get(before, ())) and low[0] in ("the", "a"):
            return f"another {before}"
        title = low[0] == "the" and words.capital(start + 1) and verb in ("is", "was")
        return pick(_others_of_scene(words), seed)[0] if title and len(capitals) > 1 else None
    if noun in NUMBERS:
        return None
    if noun in OTHERS and not many and low[0] in ("the", "a", "an"):
        return pick(OTHERS[noun], seed)[0]
    human = noun in PEOPLE or any(s.kind == "profession" for s in swaps().get(noun, ()))
    phrase = between(words, start + (low[0] in DETERMINERS), start + head)
    if any(w in UNIQUE or w.endswith("est") for w in low[: head - 1]):
        return None
    if low[0] in ("a", "an") or (low[0] == "the" and human and not many):
        return f"another {phrase}"
    if (
        many
        and (human or low[0] not in DETERMINERS)
        and low[0] not in NUMBERS
        and not low[0][0].isdecimal()
    ):
        if not is_name(words, start):
            phrase = phrase[0].lower() + phrase[1:]
        return f"other {phrase}"
    return None


def _common(word: str) -> bool:
    """Whether a capital word is also a common noun that names what it is: Ashmarrow Castle."""
    return any(
        s.form in ("singular", "plural") and s.kind == "class"
        for s in swaps().get(word.lower(), ())
    )


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


def scene_of(words: Words, subject: Subject) -> str:
    """Where something else happened."""
    found = [SCENE_OF[word] for word in words.lower if word in SCENE_OF]
    if found:
        told = {word: place for word, (_, place) in SCENE_OF.items() if word in PRONOUNS}
        own = next((told[word] for word in words.lower if word in told), None)
        return own or min(found)[1]
    present = words.lower[subject.verb]
    return "in another story" if present.endswith("s") and present != "was" else "in another case"
