"""What stands for a value in a text: values of slots, years, dates, numbers and names.

A text is cut into tokens. What stands for a value becomes a mention, the rest stays words; which
slot a mention belongs to is said by the phrase in which it stands, which is not this module's
business.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from retgen.validators.world.definitions import LISTED, Definition

TOKEN = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|St|Jr|vs|v)\.(?=\s)"  # no ends of sentences
    r"|(?<!\w)[-\u2212]\d+|\d{1,3}(?:,\d{3})+(?!\w)|\w+(?:[-'\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_SPACED = re.compile(r" (['\u2019]s\b|[,.;:)\]])|(?<=[(\[]) ")
NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(), 1
    )
}  # fmt: skip
ARTICLES = frozenset({"a", "an", "the"})
MONTHS = {
    month: number
    for number, month in enumerate(
        "January February March April May June July August September October November December"
        .split(), 1
    )
}  # fmt: skip
SELF = "<entity>"  # in place of the name of the entity that a text is about


class Mention(NamedTuple):
    """What stands for a value.

    `kind`: value, number, figure (a number without a unit), year, date, name (of an entity) or
    person. `slots`: slot -> its value, of those to which it can belong; in queries slot -> the
    condition. `parents`: the same of what values are a kind or a part of. `text`: as it stands.
    `key`: equal for mentions with equal `labels`, the edges of automata on which they stand.
    """

    kind: str
    key: str
    text: str
    slots: Mapping[str, Any]
    labels: tuple[str, ...]
    parents: Mapping[str, str]

    @classmethod
    def of(
        cls, kind: str, text: str, slots: Mapping[str, Any],
        parents: Mapping[str, str] | None = None, bound: bool = False,
    ) -> Self:  # fmt: skip
        """A mention that stands wherever one of its slots may. `bound`: with a preposition."""
        labels = [f"={slot}" for slot in slots]
        labels += [f"~{slot}" for slot in slots if bound]
        key = " ".join(("<", kind, *labels, "/", *(parents or ()), ">"))
        return cls(kind, key, text, slots, tuple(labels), parents or {})

    def __hash__(self) -> int:
        return hash(self.key)


Item = str | Mention


class KnownPhrase(NamedTuple):
    """A value as tokens without its article."""

    tokens: tuple[str, ...]
    mention: Mention


def bare(phrase: str) -> tuple[str, ...]:
    """The tokens of a value, its article left out: "the violin" -> ("violin",)."""
    tokens = TOKEN.findall(phrase)
    return tuple(tokens[1:] if len(tokens) > 1 and tokens[0].lower() in ARTICLES else tokens)


class MentionFinder:
    """Finds mentions of a domain. `parents`: also what values are a kind or a part of."""

    def __init__(self, domain: Definition, parents: bool) -> None:
        self.domain, self.parents = domain, parents
        self._phrases = _phrases(domain, parents)
        self._names = _Names(domain.name)
        known = domain.persons or (domain.name[0], domain.name[-1])
        self._persons = _Names(known if domain.of_type("person") else ((),))
        self._units = {
            slot.name: [tuple(TOKEN.findall(unit)) for unit in slot.unit if unit]
            for slot in domain.slots.values()
            if slot.type == "number"
        }
        forms = {"name": "relation", "person": "person", "date": "date", "year": "year"}
        self._forms = {
            kind: Mention.of(kind, "", dict.fromkeys(domain.of_type(slot)))
            for kind, slot in forms.items()
        }
        plain = [name for name, units in self._units.items() if not units]
        self._forms["year"] = Mention.of(
            "year", "", dict.fromkeys([*domain.of_type("year"), *plain])
        )
        self._forms["figure"] = Mention.of("figure", "", dict.fromkeys(self._units))._replace(
            labels=tuple(f"{'#' if units else '='}{name}" for name, units in self._units.items())
        )
        self._kinds: dict[str, int] = {}  # what may begin with a token
        self._first_kinds: dict[str, int] = {}  # the same of the first token of a sentence

    def find_mentions(
        self, tokens: Sequence[str], own: Sequence[str] = (), short: Sequence[str] = ()
    ) -> list[Item]:
        """The words (in lower case) and mentions of a sentence.

        `own`: the name of the entity that the text is about, `short` its short form: both stand as
        `SELF`.
        """
        result: list[Item] = []
        kinds, i, end = self._kinds, 0, len(tokens)
        first = short[0] if short else ""
        while i < end:
            token = tokens[i]
            kind = kinds.get(token)
            if kind is None:
                kind = self._kind(token)
            if not i and token[0].isupper():
                if token not in self._first_kinds:
                    of_word = self._kind(token[0].lower() + token[1:]) & _VALUE
                    self._first_kinds[token] = kind | of_word
                kind = self._first_kinds[token]
            if kind:
                stop, found = self._at(tokens, i, kind, own)
                if found is not None:
                    if type(found) is Mention and found.kind == "value":
                        while result and type(result[-1]) is str and result[-1] in ARTICLES:
                            result.pop()
                    result.append(found)
                    i = stop
                    continue
            if token == first and tuple(tokens[i : i + len(short)]) == short:
                result.append(SELF)
                i += len(short)
                continue
            result.append(token.lower())
            i += 1
        return result

    def kinds(self) -> list[Mention]:
        """A mention of each key that there can be."""
        found = [*self._forms.values(), *(p.mention for one in self._phrases.values() for p in one)]
        for units in {units: 0 for each in self._units.values() for units in each}:
            slots = [name for name, each in self._units.items() if units in each]
            found.append(Mention.of("number", "", dict.fromkeys(slots)))
        return list({one.key: one for one in found}.values())

    def short_of(self, name: str) -> tuple[str, ...] | None:
        """The tokens of the short form of a name, () where there is none; None for no name."""
        tokens = TOKEN.findall(f"{name} ")
        for ends in self._names.ends(tokens, 0):
            if ends[-1] == len(tokens):
                if self.domain.short is None:
                    return ()
                start, stop = self.domain.short
                return tuple(tokens[ends[start - 1] if start else 0 : ends[stop - 1]])
        return None

    def starts(self, token: str) -> bool:
        """Whether a value or a name begins with a token."""
        return bool(self._kind(token) & (_VALUE | _NAME))

    def _kind(self, token: str) -> int:
        kind = 0
        if token in self._phrases:
            kind |= _VALUE
        if token[0].isdigit() or token in MONTHS or token.partition("-")[0].lower() in NUMBER_WORDS:
            kind |= _NUMBER
        if token in self._names.first or token in self._persons.first:
            kind |= _NAME
        if len(self._kinds) < _KEPT:
            self._kinds[token] = kind
        return kind

    def _at(
        self, tokens: Sequence[str], i: int, kind: int, own: Sequence[str]
    ) -> tuple[int, Item | None]:
        """Where what begins at a token ends, and what it is; None for a word."""
        if kind & _NAME:
            if stop := self._names.end(tokens, i):
                if tuple(tokens[i:stop]) == own:
                    return stop, SELF
                return stop, self._of("name", _joined(tokens[i:stop]))
            if stop := self._persons.end(tokens, i):
                return stop, self._of("person", _joined(tokens[i:stop]))
        if kind & _VALUE:
            lowered = tokens[i][0].lower() + tokens[i][1:] if not i else tokens[i]
            for token in {tokens[i]: 0, lowered: 0}:
                for phrase in self._phrases.get(token, ()):
                    stop = i + len(phrase.tokens)
                    if tuple(tokens[i + 1 : stop]) == phrase.tokens[1:]:
                        return stop, phrase.mention
        if kind & _NUMBER and (found := self._number(tokens, i)):
            return found
        return i + 1, None

    def _of(self, kind: str, text: str, value: str | int | None = None) -> Mention:
        """A mention of a value that all slots of a kind have alike."""
        form = self._forms[kind]
        slots = dict.fromkeys(form.slots, text if value is None else value)
        return Mention(kind, form.key, text, slots, form.labels, {})

    def _number(self, tokens: Sequence[str], i: int) -> tuple[int, Mention] | None:
        """A date, a year or a number that begins at a token."""
        token = tokens[i]
        if found := date_at(tokens, i):
            stop, day = found
            return stop, self._of("date", day)
        figure, _, unit = token.partition("-")
        plain = figure.replace(",", "")
        number = int(plain) if plain.isdecimal() else NUMBER_WORDS.get(figure.lower(), 0)
        if not number and plain != "0":
            return None
        slots: dict[str, int] = {}
        stop = i + 1
        for slot, units in self._units.items():
            for one in units:
                if unit and one == (unit,):
                    slots[slot] = number
                elif not unit and tuple(tokens[i + 1 : i + 1 + len(one)]) == one:
                    stop = i + 1 + len(one)
                    slots[slot] = number
        if slots:
            return stop, Mention.of("number", _joined(tokens[i:stop]), slots)
        if unit or (not plain.isdecimal() and (self.parents or number == 1)):
            return None  # "one film", "two of these"
        return stop, self._of("year" if len(token) == 4 else "figure", token, number)


_VALUE, _NUMBER, _NAME = 1, 2, 4
_KEPT = 1 << 17  # tokens whose kind is kept


def date_at(tokens: Sequence[str], i: int) -> tuple[int, str] | None:
    """(where it ends, ISO) of a day that begins at a token: 3 May 1987, May 3, 1987, 1987-05-03."""
    token = tokens[i]
    if len(token) == 10 and re.fullmatch(r"\d{4}-\d\d-\d\d", token):
        return i + 1, token
    match list(tokens[i : i + 4]):
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


def _joined(tokens: Sequence[str]) -> str:
    return _SPACED.sub(r"\1", " ".join(tokens))


def _phrases(domain: Definition, parents: bool) -> dict[str, list[KnownPhrase]]:
    """First token -> values that begin with it, the longest first."""
    slots: dict[tuple[str, ...], dict[str, str]] = {}
    above: dict[tuple[str, ...], dict[str, str]] = {}
    texts: dict[tuple[str, ...], str] = {}

    for slot in domain.slots.values():
        if slot.type not in LISTED:
            continue
        for value in slot.values.values():
            for one in (value.name, *value.synonyms):
                texts.setdefault(bare(one), one)
                slots.setdefault(bare(one), {})[slot.name] = value.name
            for parent in value.parents if parents else ():
                texts.setdefault(bare(parent), parent)
                above.setdefault(bare(parent), {})[slot.name] = parent
    result: dict[str, list[KnownPhrase]] = {}
    for tokens, text in texts.items():
        mention = Mention.of("value", text, slots.get(tokens, {}), above.get(tokens))
        result.setdefault(tokens[0], []).append(KnownPhrase(tokens, mention))
    for phrases in result.values():
        phrases.sort(key=lambda phrase: -len(phrase.tokens))
    return result


class _Names:
    """Names, told by the pieces of their pattern: a text, or the values of a part."""

    def __init__(self, pattern: Sequence[str | Collection[str]]) -> None:
        # a piece: first token -> token tuples, the longest first
        self._pieces: list[dict[str, list[tuple[str, ...]]]] = []
        for piece in pattern:
            starts: dict[str, list[tuple[str, ...]]] = {}
            for one in (piece,) if isinstance(piece, str) else piece:
                tokens = tuple(TOKEN.findall(f"{one} "))
                starts.setdefault(tokens[0], []).append(tokens)
            for several in starts.values():
                several.sort(key=len, reverse=True)
            self._pieces.append(starts)
        self.first = frozenset(self._pieces[0])

    def end(self, tokens: Sequence[str], i: int) -> int:
        """Where the name that begins at a token ends, 0 for none."""
        return next((ends[-1] for ends in self.ends(tokens, i)), 0)

    def ends(self, tokens: Sequence[str], i: int, piece: int = 0) -> Iterator[tuple[int, ...]]:
        """Where each piece ends, of every way to read a name at a token."""
        if i >= len(tokens):
            return
        for one in self._pieces[piece].get(tokens[i], ()):
            stop = i + len(one)
            if tuple(tokens[i:stop]) == one:
                if piece + 1 == len(self._pieces):
                    yield (stop,)
                else:
                    for rest in self.ends(tokens, stop, piece + 1):
                        yield (stop, *rest)
