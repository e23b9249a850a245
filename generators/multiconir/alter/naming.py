"""Facts that are names: places, demonyms, languages, persons, organisations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.generators.multiconir.alter.clauses import next_verb
from retgen.generators.multiconir.alter.lexicon import (
    Name,
    names,
    place_lengths,
    places,
    swaps,
)
from retgen.generators.multiconir.alter.words import Fact, Words

LANGUAGE_CONTEXT = frozenset(
    "in into from spoken speaks spoke speak fluent language languages dialogue subtitles dubbed "
    "translated translation learned learnt taught between".split()
)
ORGANISATIONS = frozenset(
    "University Institute Hospital Museum Court Festival Library Bank Academy College School "
    "Society Ministry Press Orchestra Opera Theatre Conservatory Observatory Gallery Council "
    "Company Club Association Foundation Polytechnic Laboratory Archive Archives Philharmonic "
    "Symphony Railway Railways Airlines Airport Port Prison Zoo Chamber Tribunal Clinic Prize "
    "Award Medal Radio Exhibition Biennale Conference Congress Times Daily Herald Post Gazette "
    "Hall House Church Cathedral Monastery Seminary Station Brewery Shipyard Cooperative Union "
    "Federation".split()
)
CONNECTORS = frozenset("of the in for on over to at under with without del de la da di und".split())
TITLES = frozenset(
    "Doctor Judge Justice Professor Captain Sergeant Colonel General Inspector Detective President "
    "Minister Mayor Father Sister Brother Uncle Aunt Auntie King Queen Prince Princess Count Lady "
    "Lord Sir Saint Bishop Commissioner Attorney Magistrate Nurse Chef Composer Director Actor "
    "Actress Cinematographer Editor Novelist Producer Officer Master Madame Chief Engineer "
    "Translator Illustrator Critic Publisher Photographer Chancellor Governor Senator".split()
)
BEFORE_A_PERSON = frozenset(
    "by with and named called husband wife brother sister son daughter father mother partner "
    "colleague friend neighbour cousin widow , actor actress director writer author poet painter "
    "composer novelist judge lawyer doctor surgeon architect engineer pianist singer".split()
)
FUNCTION_WORDS = frozenset(
    "the a an in on at after before when while his her its their he she it they both all some many "
    "most few several two three four five six seven eight nine ten one no nobody everyone critics "
    "since during for from by with under over as although though because if once only until to "
    "this that these those and but or another each every neither either".split()
)
ACRONYM = re.compile(r"[A-Z]{3,5}")
ACRONYMS = ("ACCA", "NIDA", "RCTS", "UCAD", "IPSA", "SOMA", "CITM", "NUAS")  # schools, institutes
NO_SCHOOLS = frozenset("USA DNA HIV AIDS BBC NATO VHS DVD MRI ECG EEG HTML USSR GDR".split())
NO_NOUN = CONNECTORS | frozenset(
    "and or as by from before after during until since was is were had has but when where who "
    "which until while because".split()
)
ENOUGH = 3  # places of a country among which one is chosen for another
NEAR = 4  # lines of places.txt between neighbours
TOO_CLOSE = {"Dutch": "Flemish", "Flemish": "Dutch", "Serbian": "Croatian", "Hindi": "Urdu"}


def naming_facts(words: Words) -> Iterator[Fact]:
    """The facts of a sentence that are names."""
    i, mentioned = 0, _mentioned(words)
    while i < len(words):
        if not words.capital(i) or (i == 0 and words.lower[0] in FUNCTION_WORDS):
            i += 1
            continue
        end = i + 1
        while words.capital(end) and words.words[end - 1] not in (",", "."):
            end += 1
        yield from _run(words, i, end, mentioned)
        i = end
    for i, word in enumerate(words.words):
        if (
            ACRONYM.fullmatch(word)
            and word not in NO_SCHOOLS
            and words.before(i) in ("to", "at", "from")
        ):
            span = words.starts[i], words.ends[i]
            yield Fact(*span, "organisation", ACRONYMS, 70, "name", False)


def _mentioned(words: Words) -> tuple[set[str], set[str]]:
    """(countries, demonyms) that the sentence names, to choose names that fit."""
    countries, demonyms = set(), set()
    table = places().of
    for i in range(len(words)):
        if words.capital(i):
            for sort, home, _ in table.get(words.words[i], ()):
                if sort == "country":
                    countries.add(home)
                elif sort == "demonym":
                    demonyms.add(words.words[i])
    return countries, demonyms


def _run(
    words: Words, start: int, end: int, mentioned: tuple[set[str], set[str]]
) -> Iterator[Fact]:
    """The facts in words start to end, which all begin with a capital."""
    table, lengths = places().of, place_lengths()
    titled = _in_title(words, start, end)
    i, other = start, []
    while i < end:
        for n in range(min(lengths.get(words.words[i], 0), len(words) - i), 0, -1):
            name = " ".join(words.words[i : i + n])
            if name in table and words.text[words.starts[i] : words.ends[i + n - 1]] == name:
                alone = (i, i + n) == (start, max(end, i + n))
                organised = any(w in ORGANISATIONS for w in words.words[max(i - 3, 0) : end + 1])
                if (alone and not titled) or organised or (i == start and _is(name, "demonym")):
                    kind = (
                        "organisation"
                        if (organised and not alone) or (organised and words.before(i) == "of")
                        else "place"
                    )
                    yield from _place(words, i, n, kind, mentioned[0])
                else:
                    other.append(i)
                i += n
                break
        else:
            other.append(i)
            i += 1
    if other == list(range(start, end)) and not titled:
        yield from _person(words, start, end, mentioned[1])


def _is(name: str, sort: str) -> bool:
    return any(entry[0] == sort for entry in places().of.get(name, ()))


def _in_title(words: Words, start: int, end: int) -> bool:
    """Whether the run stands in a longer title: "The Salt Clerk of Aveiro", "Winter in Oslo"."""
    for step, edge in ((-1, start - 1), (1, end)):
        j = edge
        while 0 <= j < len(words) and words.lower[j] in CONNECTORS and not words.capital(j):
            j += step
        if j == edge or not words.capital(j) or (j == 0 and words.lower[0] in FUNCTION_WORDS):
            continue
        near = words.words[j]
        known = near in places().of or near in names()[1] or near in names()[2]
        if not known and near not in ORGANISATIONS and (j > 0 or end - start > 1):
            between = words.lower[min(j, edge) : max(j, edge) + 1]
            if "of" in between or "the" in between or near.lower() in swaps():
                return True
    return False


def _place(words: Words, i: int, n: int, kind: str, countries: set[str]) -> Iterator[Fact]:
    lists, name = places().lists, " ".join(words.words[i : i + n])
    entries = places().of[name]
    before = words.before(i)
    ends = next_verb(words, i + n, i + n + 1) is not None  # "her French was fluent"
    spoken = (
        before in LANGUAGE_CONTEXT
        or (before in ("her", "his", "their") and ends)
        or words.after(i) in ("language", "subtitles", "dialect")
    )
    sort, home, continent = next((e for e in entries if (e[0] == "language") == spoken), entries[0])
    if sort == "language" and not spoken and any(e[0] == "demonym" for e in entries):
        sort, home, continent = next(e for e in entries if e[0] == "demonym")
    before_a_noun = words.after(i + n - 1).islower() and words.after(i + n - 1) not in NO_NOUN
    if sort == "country" and before_a_noun and any(e[0] == "demonym" for e in entries):
        sort = "demonym"  # a New Zealand mountaineer
    if sort in ("city", "region"):
        own = lists[sort, home]
        near = len(own) > ENOUGH or home in countries
        options = own if near else _around(sort, home, continent)
        if sort == "city" and i == 0 and next_verb(words, i + n, i + n + 1) is not None:
            options = _around("capital", home, continent)  # Moscow denied it
    elif sort in ("country", "demonym"):
        options = _around(sort, home, continent)
    else:
        options = lists[sort, "world" if sort == "continent" else continent]
    same = {name, TOO_CLOSE.get(name, "")}
    start = words.starts[i]
    if sort == "country":
        with_article = before == "the"
        options = tuple(o.removeprefix("the ") for o in options) if not with_article else options
        options = (
            tuple(
                o
                for o in options
                if o not in ("United States", "Netherlands", "Philippines", "Czech Republic")
            )
            if not with_article
            else options
        )
        if with_article:
            start = words.starts[i - 1]
    else:
        options = tuple(o.removeprefix("The ") for o in options)
    options = tuple(o for o in options if o.removeprefix("the ") not in same)
    weight = {
        "city": 90,
        "country": 90,
        "region": 84,
        "continent": 84,
        "demonym": 83,
        "language": 88,
    }
    final = weight[sort] if kind == "place" else 72
    final -= 40 * (before in ("dynasty", "century"))  # Song dynasty China
    label = "class" if sort == "language" else kind
    yield Fact(start, words.ends[i + n - 1], label, options, final, "place")  # type: ignore[arg-type]


def _around(sort: str, home: str, continent: str) -> tuple[str, ...]:
    """The places of this sort in the countries that stand next to `home` in places.txt."""
    lists = places().lists
    countries = lists["country", continent]
    at = countries.index(home)
    near = [c for c in countries[max(at - NEAR, 0) : at + NEAR + 1] if c != home]
    if sort == "capital":
        return tuple(lists["city", country][0] for country in near if lists["city", country])
    return tuple(place for country in near for place in lists[sort, country])


def _person(words: Words, start: int, end: int, demonyms: set[str]) -> Iterator[Fact]:
    """A person's name: "Helena Quintaval", "Doctor Quintaval", "Helena"."""
    if (words.words[start] in TITLES and end > start + 1) or (
        words.lower[start] in swaps() and start == 0
    ):
        start += 1
    if start == end or end - start > 3:
        return
    regions, given, last = names()
    run = words.words[start:end]
    if any(w in ORGANISATIONS for w in run) or not all(w[0].isalpha() and len(w) > 1 for w in run):
        return
    known, surname = given.get(run[0]), last.get(run[-1])
    at = known[0] if known else surname
    if at is None:
        at = next((k for k, r in enumerate(regions) if r.demonyms & demonyms), None)
    before = words.before(start)
    title = before.capitalize() in TITLES
    common = any(w.lower() in swaps() for w in run)
    if at is None or not known:
        if common or before == "the" or (end - start == 1 and not title and surname is None):
            return
        if at is None:
            at = _guess(run[-1])
    region: Name = regions[at]
    sex = known[1] if known else _sex(words, end)
    first = region.women if sex == "women" else region.men
    family = tuple(name for name in region.last if name not in run)
    first = tuple(name for name in first if name not in run)
    if end - start == 1:
        options = first if known and not title else family
        weight = 50
    else:
        options = tuple(f"{a} {family[(k * 7 + 3) % len(family)]}" for k, a in enumerate(first))
        weight = 68 if known else 58
    if before in BEFORE_A_PERSON or title:
        weight += 6
    elif not known and start > 0 and surname is None:
        return
    span = words.starts[start], words.ends[end - 1]
    sure = known is not None or surname is not None  # else it may be a product's or a firm's
    yield Fact(*span, "person", options, weight - (15 if start == 0 else 0), "name", sure)


ENDINGS = (
    ("ski ska wicz ova ov vic ic enko ek", "Slavic"), ("sen sson qvist strom gaard", "Nordic"),
    ("ez es eira ao inho", "Iberian"), ("ini etti ello ucci", "Italian"), ("ian dze akis oglu escu",
    "Balkan"), ("mann berg stein er", "German"), ("eau ier elle et", "French"),
    ("oulos", "Balkan"), ("moto mura awa", "Japanese"), ("zadeh i", "Arabic"),
)  # fmt: skip


def _guess(surname: str) -> int:
    """The index of the region whose surnames look most like this one; English if none does."""
    regions = [region.region for region in names()[0]]
    for endings, region in ENDINGS:
        if surname.endswith(tuple(endings.split())):
            return regions.index(region)
    return 0


def _sex(words: Words, end: int) -> str:
    rest = set(words.lower[end:])
    if rest & {"she", "her", "actress", "daughter", "sister", "wife", "woman"}:
        return "women"
    return "men" if rest & {"he", "his", "him", "actor"} else ("women" if len(words) % 2 else "men")
