"""What stands for a value in a text: values of slots, years, dates, numbers and names.

A text is cut into tokens. What stands for a value becomes a mention, the rest stays words; which
slot a mention belongs to is said by the phrase in which it stands, which is not this module's
business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Self

from retgen.validators.world.definitions import Definition

_TOKEN = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|St|Jr|vs|v)\.(?=\s)"  # no ends of sentences
    r"|(?<!\w)[-\u2212]\d+|\d{1,3}(?:,\d{3})+(?!\w)|\w+(?:[-'\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_KEPT = 1 << 17  # tokens, or texts between spaces, of which it is kept what they are
_SPACED = re.compile(r" (['\u2019]s\b|[,.;:)\]])|(?<=[(\[]) ")
NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        1,
    )
}
ARTICLES = frozenset({"a", "an", "the"})
MONTHS = {
    month: number
    for number, month in enumerate(
        "January February March April May June July August September October November "
        "December".split(),
        1,
    )
}
SELF = "<entity>"  # in place of the name of the entity that a text is about


class Mention(NamedTuple):
    """What stands for a value.

    `kind`: value, number, figure (a number without a unit), year, date, name (of an entity) or
    person. `slots`: slot -> its value, of those to which it can belong; in queries slot -> the
    condition. `text`: as it stands. `key`: equal for mentions with equal `labels`, the edges of
    automata on which they stand.
    """

    kind: str
    key: str
    text: str
    slots: Mapping[str, Any]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, text: str, slots: Mapping[str, Any], bound: bool = False) -> Self:
        """A mention that stands wherever one of its slots may. `bound`: with a preposition."""
        labels = [f"={slot}" for slot in slots]
        labels += [f"~{slot}" for slot in slots if bound]
        key = " ".join(("<", kind, *labels, ">"))
        return cls(kind, key, text, slots, tuple(labels))

    def __hash__(self) -> int:
        return hash(self.key)


Item = str | Mention


class KnownPhrase(NamedTuple):
    """A value as tokens without its article."""

    tokens: tuple[str, ...]
    mention: Mention


def tokens_of(text: str) -> list[str]:
    """The tokens of a text."""
    return [*chain.from_iterable(map(_tokens_of_piece, text.split()))]


@lru_cache(_KEPT)
def _tokens_of_piece(piece: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(f"{piece} "))


def bare(phrase: str) -> tuple[str, ...]:
    """The tokens of a value, its article left out: "the violin" -> ("violin",)."""
    tokens = tokens_of(phrase)
    return tuple(tokens[1:] if len(tokens) > 1 and tokens[0].lower() in ARTICLES else tokens)


class _Start(NamedTuple):
    """What may begin with a token. `word`: it, where nothing does."""

    word: str
    ends: bool = False  # of a sentence
    names: bool = False
    number: bool = False
    values: tuple[KnownPhrase, ...] = ()
    first_values: tuple[KnownPhrase, ...] = ()  # those of the first token of a sentence


class _Starts(dict[str, "_Start | str"]):
    """Token -> what may begin with it, worked out when it is met first; a word for nothing."""

    def __init__(self, start: Callable[[str], _Start]) -> None:
        super().__init__()
        self._start = start

    def __missing__(self, token: str) -> _Start | str:
        start = self._start(token)
        found = start if any(start[1:]) else start.word
        if len(self) < _KEPT:
            self[token] = found
        return found


class MentionFinder:
    """Finds mentions of a domain. `parents`: also what values are a kind or a part of.

    `ends`: the tokens that end a sentence.
    """

    def __init__(self, domain: Definition, parents: bool, ends: Collection[str] = ()) -> None:
        self.domain, self.parents = domain, parents
        self._phrases = _phrases(domain, parents)
        self._names = _Names(domain.name)
        known = domain.persons or (domain.name[0], domain.name[-1])
        self._persons = _Names(known if domain.of_type("person") else ((),))
        self._ends = ends
        start, stop = domain.short or (0, 0)
        self._short = _Names(domain.name[start:stop] or ((),))
        units: dict[str, list[str]] = {}  # unit -> slots
        for slot in domain.slots.values():
            for unit in filter(None, slot.unit if slot.type == "number" else ()):
                units.setdefault(unit, []).append(slot.name)
        self._units = _by_first_token(
            KnownPhrase(tuple(tokens_of(unit)), Mention.of("number", "", dict.fromkeys(slots)))
            for unit, slots in units.items()
        )
        numbers = domain.of_type("number")
        plain = [name for name in numbers if not any(domain.slots[name].unit)]
        forms = {
            "name": domain.of_type("relation"),
            "person": domain.of_type("person"),
            "date": domain.of_type("date"),
            "year": [*domain.of_type("year"), *plain],
            "figure": numbers,
        }
        self._forms = {
            kind: Mention.of(kind, "", dict.fromkeys(slots)) for kind, slots in forms.items()
        }
        self._forms["figure"] = self._forms["figure"]._replace(
            labels=tuple(f"{'=' if name in plain else '#'}{name}" for name in numbers)
        )
        self._starts = _Starts(self._start)

    def sentences(
        self, tokens: list[str], own: tuple[str, ...] = (), short: tuple[str, ...] = ()
    ) -> Iterator[tuple[int, int, list[Item]]]:
        """(begin, end, words in lower case and mentions) of each sentence of some tokens.

        `own`: the name of the entity that the text is about, `short` its short form: both stand as
        `SELF`.
        """
        found: list[Any] = [*map(self._starts.__getitem__, tokens)]
        items: list[Item] = []
        begin = done = 0  # of the sentence, and before which token all is among the items
        for i in [i for i, one in enumerate(found) if type(one) is not str]:
            if i < done:
                continue
            start = found[i]
            if start.ends:
                items += found[done:i]
                if items:
                    yield begin, i, items
                items = []
                begin = done = i + 1
                continue
            stop, item = self._at(tokens, i, start, own, short, first=i == begin)
            if item is None:
                found[i] = start.word
                continue
            items += found[done:i]
            if type(item) is Mention and item.kind == "value":
                while items and type(items[-1]) is str and items[-1] in ARTICLES:
                    items.pop()
            items.append(item)
            done = stop
        items += found[done:]
        if items:
            yield begin, len(tokens), items

    def kinds(self) -> list[Mention]:
        """A mention of each key that there can be."""
        phrases = (*self._phrases.values(), *self._units.values())
        found = [*self._forms.values(), *(phrase.mention for one in phrases for phrase in one)]
        return list({one.key: one for one in found}.values())

    def short_of(self, name: str) -> tuple[str, ...] | None:
        """The tokens of the short form of a name, () where there is none; None for no name."""
        tokens = tokens_of(name)
        ends = self._names.ends(tokens, 0)
        if ends[-1:] != (len(tokens),):
            return None
        if self.domain.short is None:
            return ()
        start, stop = self.domain.short
        return tuple(tokens[ends[start - 1] if start else 0 : ends[stop - 1]])

    def _start(self, token: str) -> _Start:
        lowered = token[0].lower() + token[1:]
        values = tuple(self._phrases.get(token, ()))
        others = self._phrases.get(lowered, ()) if lowered != token else ()
        names = (self._names, self._persons, self._short)
        return _Start(
            token.lower(),
            token in self._ends,
            any(token in one.first for one in names),
            token[0].isdigit()
            or token in MONTHS
            or token.partition("-")[0].lower() in NUMBER_WORDS,
            values,
            (*values, *others),
        )

    def _at(
        self,
        tokens: Sequence[str],
        i: int,
        start: _Start,
        own: tuple[str, ...],
        short: tuple[str, ...],
        *,
        first: bool,
    ) -> tuple[int, Item | None]:
        """Where what begins at a token ends, and what it is; None for a word."""
        if start.names:
            if ends := self._names.ends(tokens, i):
                name = tokens[i : ends[-1]]
                return ends[-1], SELF if tuple(name) == own else self._of("name", _joined(name))
            if ends := self._persons.ends(tokens, i):
                return ends[-1], self._of("person", _joined(tokens[i : ends[-1]]))
        for phrase in start.first_values if first else start.values:
            stop = i + len(phrase.tokens)
            if stop == i + 1 or tuple(tokens[i + 1 : stop]) == phrase.tokens[1:]:
                return stop, phrase.mention
        if start.number and (number := self._number(tokens, i)):
            return number
        if short and tokens[i] == short[0] and tuple(tokens[i : i + len(short)]) == short:
            return i + len(short), SELF
        return i + 1, None

    def _of(self, form: str | Mention, text: str, value: str | int | None = None) -> Mention:
        """A mention of a value that all slots of a form, or of a kind, have alike."""
        if isinstance(form, str):
            form = self._forms[form]
        slots = dict.fromkeys(form.slots, text if value is None else value)
        return Mention(form.kind, form.key, text, slots, form.labels)

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
        behind = [unit] if unit else tokens[i + 1 : i + 2]
        for phrase in self._units.get(behind[0], ()) if behind else ():
            stop = i + 1 + (0 if unit else len(phrase.tokens))
            if phrase.tokens == ((unit,) if unit else tuple(tokens[i + 1 : stop])):
                return stop, self._of(phrase.mention, _joined(tokens[i:stop]), number)
        if unit or (not plain.isdecimal() and (self.parents or number == 1)):
            return None  # "one film", "two of these"
        return i + 1, self._of("year" if len(token) == 4 else "figure", token, number)


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
    """Values by their first token, the longest first.

    With `parents` what values are a kind or a part of, too, and conditions in place of values.
    """
    slots: dict[tuple[str, ...], dict[str, Any]] = {}
    texts: dict[tuple[str, ...], str] = {}
    for name, slot in domain.slots.items():
        for value in slot.values.values():
            for one in (value.name, *value.synonyms):
                texts.setdefault(bare(one), one)
                held = ["is", name, value.name] if parents else value.name
                slots.setdefault(bare(one), {})[name] = held
            for parent in value.parents if parents else ():
                texts.setdefault(bare(parent), parent)
                slots.setdefault(bare(parent), {}).setdefault(name, ["within", name, parent])
    return _by_first_token(
        KnownPhrase(tokens, Mention.of("value", text, slots[tokens]))
        for tokens, text in texts.items()
    )


def _by_first_token(phrases: Iterable[KnownPhrase]) -> dict[str, list[KnownPhrase]]:
    """The phrases that begin with a token, the longest first."""
    result: dict[str, list[KnownPhrase]] = {}
    for phrase in sorted(phrases, key=lambda one: -len(one.tokens)):
        result.setdefault(phrase.tokens[0], []).append(phrase)
    return result


class _Names:
    """Names, told by the pieces of their pattern: a text, or the values of a part."""

    def __init__(self, pattern: Sequence[str | Collection[str]]) -> None:
        # a piece: first token -> token tuples, the longest first
        self._pieces: list[dict[str, list[tuple[str, ...]]]] = []
        for piece in pattern:
            starts: dict[str, list[tuple[str, ...]]] = {}
            for one in (piece,) if isinstance(piece, str) else piece:
                tokens = tuple(tokens_of(one))
                starts.setdefault(tokens[0], []).append(tokens)
            for several in starts.values():
                several.sort(key=len, reverse=True)
            self._pieces.append(starts)
        self.first = frozenset(self._pieces[0])

    def ends(self, tokens: Sequence[str], i: int, piece: int = 0) -> tuple[int, ...]:
        """Where each piece of the name ends that begins at a token; () for none."""
        known = self._pieces[piece].get(tokens[i]) if i < len(tokens) else None
        for one in known or ():
            stop = i + len(one)
            if stop == i + 1 or tuple(tokens[i:stop]) == one:
                if piece + 1 == len(self._pieces):
                    return (stop,)
                if rest := self.ends(tokens, stop, piece + 1):
                    return (stop, *rest)
        return ()
