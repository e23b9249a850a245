"""The word lists of this folder, read once when they are first needed.

`places.txt`, `names.txt`, `classes.txt`, `antonyms.txt` and `verbs.txt` each say in their head how
they are written. Here they become dictionaries from a phrase to what may stand in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal[
    "number", "year", "date", "duration", "quantity", "ordinal", "place", "person", "organisation",
    "profession", "class", "antonym", "negation",
]  # fmt: skip
HERE = Path(__file__).parent
IRREGULAR_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "foot": "feet", "tooth": "teeth",
    "goose": "geese", "mouse": "mice", "sheep": "sheep", "deer": "deer", "fish": "fish",
    "salmon": "salmon", "trout": "trout", "cod": "cod", "herring": "herring", "calf": "calves",
    "wolf": "wolves", "knife": "knives", "thief": "thieves", "wife": "wives", "scarf": "scarves",
    "policeman": "policemen", "fisherman": "fishermen", "postman": "postmen",
    "ferryman": "ferrymen", "chairman": "chairmen", "businessman": "businessmen",
    "businesswoman": "businesswomen", "sister-in-law": "sisters-in-law",
    "brother-in-law": "brothers-in-law", "stepchild": "stepchildren", "swiss": "swiss",
    "civil servant": "civil servants", "potato": "potatoes", "tomato": "tomatoes",
    "hero": "heroes", "breach of contract": "breaches of contract", "piano": "pianos",
    "photo": "photos", "appendix": "appendices",
    "cello": "cellos", "volcano": "volcanoes", "femur": "femurs",
}  # fmt: skip


class Swap(NamedTuple):
    """What may stand in the place of a phrase.

    `form`: "singular" and "plural" nouns, "mass" nouns, "verb" forms ("verb:past", ...), "word" for
    all else. `checked`: also a verb, so that an article, adjective or number must stand before it.
    `after` and `before`: of the next and the previous words one must be among these, if there are
    any; `never`: none may be. Their entries look like the lists' own: "_hand", "appeared_". `sure`:
    whether it holds whatever a text is about, as for words that are opposites both ways.
    """

    kind: Kind
    weight: int
    form: str
    options: tuple[str, ...]
    checked: bool = False
    context: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    sure: bool = False


class Name(NamedTuple):
    """People's names of one region."""

    region: str
    demonyms: frozenset[str]
    women: tuple[str, ...]
    men: tuple[str, ...]
    last: tuple[str, ...]


class Places(NamedTuple):
    """`of`: name -> (sort, country, continent). `lists`: (sort, country or continent) -> names."""

    of: dict[str, list[tuple[str, str, str]]]
    lists: dict[tuple[str, str], tuple[str, ...]]


class Verbs(NamedTuple):
    """`forms`: form -> (base, tag), the tags being base, s, past, participle, ing and, where past
    and participle are one, ed. `made`: (base, tag) -> form."""

    forms: dict[str, tuple[str, str]]
    made: dict[tuple[str, str], str]

    def inflect(self, phrase: str, tag: str) -> str:
        """The phrase's first word (after "not" or "never") in the form of `tag`."""
        if phrase.startswith(("not ", "never ")):
            first, _, rest = phrase.partition(" ")
            return _negated(first, rest, tag, self)
        base, _, rest = phrase.partition(" ")
        form = self.made.get((base, tag)) or _regular(base, False)[tag]
        return f"{form} {rest}" if rest else form


def _negated(adverb: str, verb: str, tag: str, verbs: Verbs) -> str:
    if adverb == "never" or tag in ("participle", "ing"):
        return f"{adverb} {verbs.inflect(verb, tag)}"
    helper = {"past": "did not", "s": "does not", "base": "do not"}[tag]
    return f"{helper} {verb}"


def _sections(name: str) -> Iterator[tuple[str, str]]:
    """(section, line) of a list, comments and blank lines left out."""
    section = ""
    for line in (HERE / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            yield section, line


def _regular(base: str, double: bool) -> dict[str, str]:
    stem = base + base[-1] if double else base
    if base.endswith("e"):
        past, ing = base + "d", (base if base.endswith(("ee", "ye", "oe")) else base[:-1]) + "ing"
        if base.endswith("ie"):
            ing = base[:-2] + "ying"
    elif base.endswith("y") and base[-2:-1] not in "aeiou":
        past, ing = base[:-1] + "ied", base + "ing"
    else:
        past, ing = stem + "ed", stem + "ing"
    return {"base": base, "s": plural(base), "past": past, "participle": past, "ing": ing}


@cache
def verbs() -> Verbs:
    """The forms of all verbs in verbs.txt."""
    found = Verbs({}, {})
    for section, line in _sections("verbs.txt"):
        if section == "irregular":
            base, past, participle = (word.replace("_", " ") for word in line.split()[-3:])
            _add(found, base, _regular(base, False)
                 | {"past": past, "participle": participle})  # fmt: skip
        else:
            for base in line.split():
                _add(found, base, _regular(base, section == "double"))
    for base, ing in IRREGULAR_ING.items():
        found.made[base, "ing"] = ing
        found.forms[ing] = (base, "ing")
    found.made["have", "s"], found.made["do", "s"], found.made["go", "s"] = "has", "does", "goes"
    found.forms.update({"has": ("have", "s"), "does": ("do", "s"), "goes": ("go", "s")})
    return found


IRREGULAR_ING = {
    "begin": "beginning", "cut": "cutting", "dig": "digging", "forbid": "forbidding",
    "forget": "forgetting", "get": "getting", "hit": "hitting", "let": "letting", "put": "putting",
    "quit": "quitting", "run": "running", "set": "setting", "shut": "shutting", "sit": "sitting",
    "spin": "spinning", "split": "splitting", "swim": "swimming", "win": "winning", "lie": "lying",
    "travel": "travelling", "flee": "fleeing", "see": "seeing", "oversee": "overseeing",
    "foresee": "foreseeing", "bet": "betting", "wed": "wedding",
}  # fmt: skip


def _add(found: Verbs, base: str, forms: dict[str, str]) -> None:
    for tag, form in forms.items():
        found.made.setdefault((base, tag), form)
        name = (
            "ed" if tag in ("past", "participle") and forms["past"] == forms["participle"] else tag
        )
        if found.forms.setdefault(form, (base, name))[1] == "base" and name == "ed":
            found.forms[form] = (base, "ed")  # put, cut: more often past than base in what we read


def plural(noun: str) -> str:
    """The plural of a noun, or of a phrase of nouns ("bus driver", "court of appeal")."""
    head, of, rest = noun.partition(" of ")
    if of:
        return plural(head) + of + rest
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    before, space, last = noun.rpartition(" ")
    if space and last in IRREGULAR_PLURALS:
        return f"{before} {IRREGULAR_PLURALS[last]}"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _entries(line: str) -> Iterator[tuple[list[str], list[str]]]:
    """(spellings, options) of each member of a line of classes.txt."""
    if " > " in line:
        left, right = line.split(" > ")
        yield left.split("/"), right.split(", ")
        return
    members = [member.split("/") for member in line.split(", ")]
    for member in members:
        yield member, [other[0] for other in members if other is not member]


def _comparison(adjective: str, ending: str) -> str:
    if adjective in ("good", "bad"):
        return {"gooder": "better", "goodest": "best", "bader": "worse", "badest": "worst"}[
            adjective + ending
        ]
    if adjective in ("far", "little"):
        return {"farer": "farther", "farest": "farthest"}.get(adjective + ending, "small" + ending)
    if adjective in LONG_ADJECTIVES:
        return ("more " if ending == "er" else "most ") + adjective
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    if adjective.endswith("e"):
        return adjective + ending[1:]
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgnmt]", adjective):
        return adjective + adjective[-1] + ending
    return adjective + ending


LONG_ADJECTIVES = frozenset(
    "difficult dangerous complicated expensive ashamed nervous hard-working cowardly enormous "
    "minor central remote".split()
)


def _context(marks: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The marks that are wanted around a phrase, and those that must not be there."""
    never = tuple(mark[1:] for mark in marks.split() if mark[0] == "!")
    return tuple(mark for mark in marks.split() if mark[0] != "!"), never


@cache
def swaps() -> dict[str, list[Swap]]:
    """Phrase in lower case -> its swaps: closed classes, then opposites."""
    found: dict[str, list[Swap]] = {}
    known: set[str] = set()

    def add(phrase: str, swap: Swap) -> None:
        found.setdefault(phrase, []).append(swap)

    for section, line in _sections("classes.txt"):
        name, kind, form, weight = section.split()
        if name == "fixed":
            found[line] = []
            continue
        line, _, context = line.partition(" / ")
        wanted, never = _context(context)
        for spellings, options in _entries(line):
            bare = tuple(option.rstrip("*") for option in options)
            for spelling in spellings:
                word, checked = spelling.rstrip("*"), spelling.endswith("*")
                sort = "singular" if form == "noun" else form
                swap = Swap(kind, int(weight), sort, bare, checked, wanted, never)  # type: ignore[arg-type]
                add(word.lower(), swap)
                many = tuple(plural(o) for o in bare if not o.startswith(("a ", "an ", "the ")))
                if form == "noun" and plural(word) != word and many:
                    add(plural(word).lower(), swap._replace(form="plural", options=many))
    for section, line in _sections("antonyms.txt"):
        rule, _, context = line.partition(" / ")
        wanted, never = _context(context)
        left, sign, right = re.split(r" ([=>]) ", rule)
        pairs = [(left, right)] + ([(right, left)] if sign == "=" else [])
        for old, new in pairs:
            _opposite(add, known, section, old, new, wanted, never, sign == "=")
            if section == "word":
                known.add(old)
    return found


def _opposite(
    add: Callable[[str, Swap], None],
    known: set[str],
    section: str,
    old: str,
    new: str,
    wanted: tuple[str, ...],
    never: tuple[str, ...],
    sure: bool,
) -> None:
    """Adds the swap of `old` for its opposite `new`, in all its forms."""
    weight = {"adjective": 73, "word": 74, "verb": 72}[section]
    if section == "verb":
        table = verbs()
        for tag in ("base", "s", "past", "participle", "ing"):
            form = table.inflect(old, tag)
            swap = Swap("antonym", weight, f"verb:{tag}", (table.inflect(new, tag),), sure=sure)
            add(form, swap._replace(context=wanted, never=never))
        return
    options = tuple(new.split(", "))
    add(old, Swap("antonym", weight, "word", options, False, wanted, never, sure))
    if section == "adjective":
        for ending in ("er", "est"):
            new_form = _comparison(new, ending)
            compared = _comparison(old, ending)
            if compared in known:
                continue  # lower, older: [word] says more of them
            add(compared, Swap("antonym", weight + 3, "word", (new_form,), False, (), never, sure))


@cache
def longest() -> dict[str, int]:
    """First word of a phrase in `swaps` -> the number of words of the longest phrase with it."""
    found: dict[str, int] = {}
    for phrase in swaps():
        words = phrase.split()
        found[words[0]] = max(found.get(words[0], 0), len(words))
    return found


@cache
def places() -> Places:
    """The places, demonyms and languages of places.txt."""
    of: dict[str, list[tuple[str, str, str]]] = {}
    lists: dict[tuple[str, str], list[str]] = {}
    for continent, line in _sections("places.txt"):
        country, demonym, *rest = (cell.strip() for cell in line.split("|"))
        home = country.split("/")[0]
        cells = [("country", country.split("/")[:1]), ("demonym", demonym.split("/"))]
        sorts = zip(("language", "city", "region"), rest, strict=True)
        cells += [(sort, [word for word in cell.split(", ") if word]) for sort, cell in sorts]
        for spelling in country.split("/"):
            of.setdefault(spelling, []).append(("country", home, continent))
        for sort, words in cells:
            for word in words:
                if sort != "country":
                    of.setdefault(word, []).append((sort, home, continent))
            for where in (home, continent):
                lists.setdefault((sort, where), []).extend(
                    words[:1] if sort == "demonym" else words
                )
    continents = [c for c in dict.fromkeys(s for s, _ in _sections("places.txt")) if c]
    for name in continents:
        of.setdefault(name, []).append(("continent", name, name))
    lists["continent", "world"] = continents
    return Places(of, {key: tuple(dict.fromkeys(words)) for key, words in lists.items()})


@cache
def place_lengths() -> dict[str, int]:
    """First word of a place -> the number of words of the longest place that begins with it."""
    found: dict[str, int] = {}
    for name in places().of:
        words = name.split()
        found[words[0]] = max(found.get(words[0], 0), len(words))
    return found


@cache
def names() -> tuple[tuple[Name, ...], dict[str, tuple[int, str]], dict[str, int]]:
    """The regions; given name -> (index of its region, "women" or "men"); surname -> index."""
    regions: list[Name] = []
    given: dict[str, tuple[int, str]] = {}
    last: dict[str, int] = {}
    for _, line in _sections("names.txt"):
        region, demonyms, *lists = (cell.strip() for cell in line.split("|"))
        women, men, surnames = (tuple(cell.split(", ")) for cell in lists)
        for sex, words in (("women", women), ("men", men)):
            for word in words:
                given.setdefault(word, (len(regions), sex))
        for word in surnames:
            last.setdefault(word, len(regions))
        regions.append(Name(region, frozenset(demonyms.split(", ")), women, men, surnames))
    return tuple(regions), given, last
