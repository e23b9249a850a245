"""What stands for a value in a text: values of slots, years, dates, numbers and names.

A text is cut into tokens. What stands for a value becomes a mention, the rest stays words; which
slot a mention belongs to is told by the words around it, which is not this module's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from retgen.validators.world.definitions import LISTED, Definition

TOKEN = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|St|Jr|vs|v)\.(?=\s)"  # no ends of sentences
    r"|(?<!\w)[-\u2212]\d+|\d{1,3}(?:,\d{3})+(?!\w)|\w+(?:[-'\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_SPACED = re.compile(r" (['\u2019]s\b|[,.;:)\]])|(?<=[(\[]) ")
NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
ARTICLES = frozenset({"a", "an", "the"})
MONTHS = {
    month: number
    for number, month in enumerate(
        "January February March April May June July August September October November December"
        .split(), 1
    )
}  # fmt: skip
# within a name, in lower case
_PARTICLES = frozenset("al da de del della den der di du el la le of the van von y zu".split())
OWN = "ownname"  # in place of the name of the entity that a text is about


class Mention(NamedTuple):
    """What stands for a value.

    `kind`: values, number, year, date, name (of an entity), person, capital (one word that may be a
    name). `slots`: slot -> value, of those to which it can belong; of names only those that are
    known. `parents`: the same of what values are a kind or a part of. `text`: as it stands.
    `key`: equal for mentions that can belong to the same slots.
    """

    kind: str
    key: str
    text: str
    slots: Mapping[str, str | int]
    parents: Mapping[str, str] = {}


class KnownPhrase(NamedTuple):
    """A value as tokens without its article."""

    tokens: tuple[str, ...]
    mention: Mention


def bare(phrase: str) -> tuple[str, ...]:
    """The tokens of a value, its article left out: "the violin" -> ("violin",)."""
    tokens = TOKEN.findall(phrase)
    return tuple(tokens[1:] if len(tokens) > 1 and tokens[0].lower() in ARTICLES else tokens)


class DomainLexicon:
    """Finds mentions of a domain. `parents`: also what values are a kind or a part of."""

    def __init__(self, domain: Definition, parents: bool) -> None:
        self.domain = domain
        self._phrases = _phrases(domain, parents)
        self._names = _Names(domain)
        self._units = {
            slot.name: [tuple(TOKEN.findall(unit)) for unit in slot.unit if unit]
            for slot in domain.slots.values()
            if slot.type == "number"
        }
        self._of_type = {
            kind: domain.of_type(kind) for kind in ("year", "date", "number", "person", "relation")
        }
        self._kinds: dict[str, int] = {}  # what may begin with a token

    def find_mentions(
        self, tokens: Sequence[str], own: str = "", short: str = ""
    ) -> list[str | Mention]:
        """The words (in lower case) and mentions of a sentence.

        `own`: the name of the entity that the text is about, `short` its short form: both stand as
        `OWN`.
        """
        result: list[str | Mention] = []
        kinds, i, end = self._kinds, 0, len(tokens)
        while i < end:
            token = tokens[i]
            kind = kinds.get(token)
            if kind is None:
                kind = self._kind(token)
            if not i and kind >= _CAPITAL:
                kind |= self._kind(token[0].lower() + token[1:]) & _VALUE
            if not kind:
                result.append(token.lower())
                i += 1
                continue
            stop, found = self._at(tokens, i, kind, own, short)
            if found is None:
                result.append(token.lower())
            else:
                if type(found) is Mention and found.kind == "values":
                    while result and type(result[-1]) is str and result[-1] in ARTICLES:
                        result.pop()
                result.append(found)
            i = stop
        return result

    def short_of(self, name: str) -> str | None:
        """The short form of a name, "" where there is none; None for what is no name."""
        return self._names.short_of(name)

    def starts(self, token: str) -> bool:
        """Whether a value or a name begins with a token."""
        return bool(self._kind(token) & (_VALUE | _NAME))

    def _kind(self, token: str) -> int:
        kind = 0
        if token in self._phrases:
            kind |= _VALUE
        if token[0].isdigit() or token in MONTHS or token.partition("-")[0].lower() in NUMBER_WORDS:
            kind |= _NUMBER
        if token in self._names.first:
            kind |= _NAME
        if token[0].isupper():
            kind |= _CAPITAL
        if len(self._kinds) < _KEPT:
            self._kinds[token] = kind
        return kind

    def _at(
        self, tokens: Sequence[str], i: int, kind: int, own: str, short: str
    ) -> tuple[int, str | Mention | None]:
        """Where what begins at a token ends, and what it is: a mention, `OWN`, None for a word."""
        if kind & _NAME and (stop := self._names.end(tokens, i)):
            text = _joined(tokens[i:stop])
            if text == own:
                return stop, OWN
            return stop, Mention(
                "name", "entity", text, dict.fromkeys(self._of_type["relation"], text)
            )
        if kind & _VALUE:
            lowered = tokens[i][0].lower() + tokens[i][1:] if not i else tokens[i]
            for token in {tokens[i]: 0, lowered: 0}:
                for phrase in self._phrases.get(token, ()):
                    stop = i + len(phrase.tokens)
                    if tuple(tokens[i + 1 : stop]) == phrase.tokens[1:]:
                        return stop, phrase.mention
        if kind & _NUMBER and (found := self._number(tokens, i)):
            return found
        if kind & _CAPITAL:
            return self._run(tokens, i, own, short)
        return i + 1, None

    # --- names ------------------------------------------------------------------------------

    def _run(
        self, tokens: Sequence[str], i: int, own: str, short: str
    ) -> tuple[int, str | Mention | None]:
        """A run of words with capitals."""
        if tokens[i] in _HONOURS:
            return i + 1, None
        if not i and (tokens[0].lower() in _OPENING or self._names.end(tokens, 1)):
            return 1, None
        stop = last = i + 1
        while stop < len(tokens):
            token = tokens[stop]
            if token[0].isupper() and token not in MONTHS:
                stop = last = stop + 1
            elif token in _PARTICLES and stop + 1 < len(tokens) and stop - last < 2:
                stop += 1
            else:
                break
        text = _joined(tokens[i:last])
        if text == short:
            return last, OWN
        known = self.domain.persons
        given = tokens[i] in (known[0] if known else self._names.first)  # of a namesake
        if not i and not given and _joined(tokens[1:last]) in (short, own):
            return 1, None
        if last == i + 1:
            if not i:
                return last, None if text not in self._names.short else _name(text)
            return last, _name(text) if text in self._names.short else Mention(
                "capital", "capital", text, {}
            )
        parts = tokens[i:last]
        if known and not (parts[0] in known[0] and " ".join(parts[1:]) in known[-1]):
            return last, Mention("person", "stranger", text, {})
        slots = dict.fromkeys(self._of_type["person"], text)
        return last, Mention("person", "person", text, slots)

    # --- figures ----------------------------------------------------------------------------

    def _number(self, tokens: Sequence[str], i: int) -> tuple[int, Mention | None] | None:
        """A date, a year or a number that begins at a token."""
        token = tokens[i]
        if found := date_at(tokens, i):
            stop, day = found
            return stop, Mention("date", "date", day, dict.fromkeys(self._of_type["date"], day))
        if token in MONTHS:
            return i + 1, None
        figure, _, unit = token.partition("-")
        figure = NUMBER_WORDS.get(figure.lower(), figure)
        plain = figure.replace(",", "")
        if not plain.isdigit():
            return None
        number = int(plain)
        slots: dict[str, str | int] = {}
        stop = i + 1
        for slot, units in self._units.items():
            for one in units:
                if unit and one == (unit,):
                    slots[slot] = number
                elif not unit and tuple(tokens[i + 1 : i + 1 + len(one)]) == one:
                    stop = i + 1 + len(one)
                    slots[slot] = number
        if slots:
            text = _joined(tokens[i:stop])
            return stop, Mention("number", "number " + " ".join(slots), text, slots)
        if unit or figure != token.partition("-")[0]:  # a word for a number stands with its unit
            return None
        if len(token) == 4:
            slots = dict.fromkeys(
                (name for name, units in self._units.items() if not units), number
            )
            years = dict.fromkeys(self._of_type["year"], number)
            return stop, Mention("year", "year", token, {**years, **slots})
        slots = dict.fromkeys(self._units, number)
        return stop, Mention("number", "number", token, slots)


_VALUE, _NUMBER, _NAME, _CAPITAL = 1, 2, 4, 8
_KEPT = 1 << 17  # tokens whose kind is kept
_HONOURS = frozenset(
    "Judge Justice Dr Dr. Doctor Professor Mr Mr. Mrs Mrs. Ms Ms. Sir Lady Lord Dame".split()
)
# no names, though they begin a sentence
_OPENING = frozenset(
    "a after among an and as at before both but by during each every few for from he her here hers "
    "his how if in into it its many most much no nobody not nothing of on once one only or our "
    "over people she since so some somebody someone such that the their then there these they this "
    "those though through to today under until what when where which while who whose why with "
    "without yet".split()
)


def date_at(tokens: Sequence[str], i: int) -> tuple[int, str] | None:
    """(where it ends, ISO) of a day that begins at a token: 3 May 1987, May 3, 1987, 1987-05-03."""
    token = tokens[i]
    if len(token) == 10 and re.fullmatch(r"\d{4}-\d\d-\d\d", token):
        return i + 1, token
    rest = list(tokens[i : i + 4])
    match rest:
        case [day, month, year, *_] if month in MONTHS and _year(year) and _day(day):
            return i + 3, f"{year}-{MONTHS[month]:02}-{_day(day):02}"
        case [day, "of", month, year] if month in MONTHS and _year(year) and _day(day):
            return i + 4, f"{year}-{MONTHS[month]:02}-{_day(day):02}"
        case [month, day, ",", year] if month in MONTHS and _year(year) and _day(day):
            return i + 4, f"{year}-{MONTHS[month]:02}-{_day(day):02}"
    return None


def _day(token: str) -> int:
    match = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", token)
    return int(match[1]) if match and 1 <= int(match[1]) <= 31 else 0


def _year(token: str) -> bool:
    return len(token) == 4 and token.isdigit()


def _name(text: str) -> Mention:
    return Mention("name", "name", text, {})


def _joined(tokens: Sequence[str]) -> str:
    return _SPACED.sub(r"\1", " ".join(tokens))


def _phrases(domain: Definition, parents: bool) -> dict[str, list[KnownPhrase]]:
    """First token -> values that begin with it, the longest first."""
    slots: dict[tuple[str, ...], dict[str, str | int]] = {}
    above: dict[tuple[str, ...], dict[str, str]] = {}
    texts: dict[tuple[str, ...], str] = {}

    def forms(*names: str) -> list[str]:
        return [*names, *(many for one in names if parents and (many := _plural(one)))]

    for slot in domain.slots.values():
        if slot.type not in LISTED:
            continue
        for value in slot.values.values():
            for one in forms(value.name, *value.synonyms):
                texts.setdefault(bare(one), one)
                slots.setdefault(bare(one), {})[slot.name] = value.name
            for parent in value.parents if parents else ():
                for one in forms(parent):
                    texts.setdefault(bare(one), one)
                    above.setdefault(bare(one), {})[slot.name] = parent
    result: dict[str, list[KnownPhrase]] = {}
    for tokens, text in texts.items():
        own, parents_of = slots.get(tokens, {}), above.get(tokens, {})
        key = f"{' '.join(own)} / {' '.join(parents_of)}" if parents_of else " ".join(own)
        mention = Mention("values", key, text, own, parents_of)
        result.setdefault(tokens[0], []).append(KnownPhrase(tokens, mention))
    for phrases in result.values():
        phrases.sort(key=lambda phrase: -len(phrase.tokens))
    return result


def _plural(phrase: str) -> str:
    """What queries call several of a kind: "a ghost story" -> "ghost stories"; "" for no kind."""
    article, _, noun = phrase.partition(" ")
    if article not in ("a", "an"):
        return ""
    head, _, rest = re.sub(
        r" (?=(?:of|in|on|at|with|from|for|to) )", "\0", noun, count=1
    ).partition("\0")
    for ending, several in _PLURALS:
        if re.search(ending, head):
            head = re.sub(ending, several, head)
            break
    return f"{head} {rest}".strip()


_PLURALS = (
    (r"(?<=[^aeiou])y$", "ies"),
    (r"(?<=m)an$", "en"),
    (r"(?<=child)$", "ren"),
    (r"\bmouse$", "mice"),
    (r"(?:(?<=wol)|(?<=hal)|(?<=cal)|(?<=shel)|(?<=lea))f$", "ves"),
    (r"(?<=li|ni|wi)fe$", "ves"),
    (r"(?:(?<=[sxz])|(?<=ch)|(?<=sh))$", "es"),
    (r"$", "s"),
)


class _Names:
    """Names of entities, told by the parts of their pattern."""

    def __init__(self, domain: Definition) -> None:
        # a piece: first token -> token tuples, the longest first
        self._pieces: list[dict[str, list[tuple[str, ...]]]] = []
        for piece in domain.name:
            listed = (piece,) if isinstance(piece, str) else piece
            starts: dict[str, list[tuple[str, ...]]] = {}
            for one in listed:
                tokens = tuple(TOKEN.findall(f"{one} "))
                starts.setdefault(tokens[0], []).append(tokens)
            for several in starts.values():
                several.sort(key=len, reverse=True)
            self._pieces.append(starts)
        self.first = frozenset(self._pieces[0])
        self._short = domain.short
        short = () if domain.short is None else domain.name[domain.short]
        self.short = frozenset(short)

    def end(self, tokens: Sequence[str], i: int) -> int:
        """Where the name that begins at a token ends, 0 for none."""
        return next((ends[-1] for ends in self._ends(tokens, i, 0)), 0)

    def short_of(self, name: str) -> str | None:
        tokens = TOKEN.findall(f"{name} ")
        for ends in self._ends(tokens, 0, 0):
            if ends[-1] == len(tokens):
                if self._short is None:
                    return ""
                start = ends[self._short - 1] if self._short else 0
                return _joined(tokens[start : ends[self._short]])
        return None

    def _ends(self, tokens: Sequence[str], i: int, piece: int) -> Iterator[tuple[int, ...]]:
        """Where each piece ends, of every way to read a name at a token."""
        if i >= len(tokens):
            return
        for one in self._pieces[piece].get(tokens[i], ()):
            stop = i + len(one)
            if tuple(tokens[i:stop]) == one:
                if piece + 1 == len(self._pieces):
                    yield (stop,)
                else:
                    for rest in self._ends(tokens, stop, piece + 1):
                        yield (stop, *rest)
