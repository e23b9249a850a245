"""What stands for a value in a text: values of slots, years, dates, numbers and names.

A text is cut into tokens. What stands for a value becomes a mention, the rest stays words; which
slot a mention belongs to is said by the wording in which it stands (`patterns`).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from typing import Any, NamedTuple

from retgen.validators.facts.definitions import Definition

_TOKEN = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|St|Jr|vs|v)\.(?=\s)"  # no ends of sentences
    r"|(?<!\w)[-\u2212]\d+|\d{1,3}(?:,\d{3})+(?!\w)|\w+(?:[-'\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_KEPT = 1 << 17  # tokens, or texts between spaces, of which it is kept what they are
_SPACED = re.compile(r" (['\u2019]s\b|[,.;:)\]])|(?<=[(\[]) ")
_ENDS = frozenset(".!?")
NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
MONTHS = {
    month: number
    for number, month in enumerate(
        "January February March April May June July August September October November "
        "December".split(),
        1,
    )
}
SELF = "<e>"  # in place of the name of the entity that a text is about


class Mention(NamedTuple):
    """What stands for a value. `slots`: slot -> its value, of those to which it can belong; `key`:
    equal for mentions of the same slots.
    """

    key: str
    text: str
    slots: Mapping[str, Any]


def mention_of(text: str, slots: Mapping[str, Any]) -> Mention:
    """The mention of a value."""
    return Mention(f"<{' '.join(slots)}>", text, slots)


Item = str | Mention


def tokens_of(text: str) -> list[str]:
    """The tokens of a text."""
    return [*chain.from_iterable(map(_tokens_of_piece, text.split()))]


@lru_cache(_KEPT)
def _tokens_of_piece(piece: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(f"{piece} "))


class MentionFinder:
    """Finds mentions of values of a domain."""

    def __init__(self, domain: Definition) -> None:
        self.domain = domain
        values: dict[tuple[str, ...], dict[str, Any]] = {}
        for name, slot in domain.slots.items():
            for value in slot.values.values():
                for one in (value.name, *value.synonyms):
                    values.setdefault(tuple(tokens_of(one)), {})[name] = value.name
        # by the first two tokens ("" for no second one), the longest first
        self._values: dict[tuple[str, str], list[tuple[tuple[str, ...], Mention]]] = {}
        for tokens, slots in sorted(values.items(), key=lambda one: -len(one[0])):
            known = self._values.setdefault((tokens[0], "".join(tokens[1:2])), [])
            known.append((tokens, mention_of(" ".join(tokens), slots)))
        units: dict[tuple[str, ...], dict[str, Any]] = {}
        for name in domain.of_type("number"):
            for unit in domain.slots[name].unit:
                units.setdefault(tuple(tokens_of(unit)), {})[name] = None
        self._units = [(unit, mention_of("", slots)) for unit, slots in units.items()]
        self._forms = {
            kind: mention_of("", dict.fromkeys(domain.of_type(kind)))
            for kind in ("relation", "person", "date", "year")
        }
        self.names = NameFinder(domain.name)
        known_persons = domain.persons or (domain.name[0], domain.name[-1])
        self.persons = NameFinder(known_persons if domain.of_type("person") else ((),))
        start, stop = domain.short or (0, 0)
        short = NameFinder(domain.name[start:stop] or ((),))
        starts = (first for first, _ in self._values)
        self._first = frozenset(starts) | self.names.first | self.persons.first | short.first
        self._word = lru_cache(_KEPT)(self._only_word)

    def sentences(
        self, tokens: list[str], own: tuple[str, ...] = (), short: tuple[str, ...] = ()
    ) -> Iterator[tuple[int, int, list[Item]]]:
        """(begin, end, words in lower case and mentions) of each sentence of some tokens.

        `own`: the name of the entity that the text is about, `short` its short form: both stand as
        `SELF`.
        """
        items: list[Item] = []
        begin = i = 0
        while i < len(tokens):
            if word := self._word(tokens[i]):
                items.append(word)
                i += 1
            elif tokens[i] in _ENDS:
                if items:
                    yield begin, i, items
                items = []
                begin = i = i + 1
            else:
                i, item = self._at(tokens, i, own, short, first=i == begin)
                items.append(item)
        if items:
            yield begin, len(tokens), items

    def short_of(self, name: str) -> tuple[str, ...] | None:
        """The tokens of the short form of a name, () where there is none; None for no name."""
        tokens = tokens_of(name)
        ends = self.names.ends(tokens, 0)
        if ends[-1:] != (len(tokens),):
            return None
        if self.domain.short is None:
            return ()
        start, stop = self.domain.short
        return tuple(tokens[ends[start - 1] if start else 0 : ends[stop - 1]])

    def _only_word(self, token: str) -> str:
        """A token in lower case; "" where a value, a name or a number may begin with it, or a
        sentence ends.
        """
        lower, lowered = token.lower(), token[0].lower() + token[1:]
        begins = not self._first.isdisjoint((token, lowered)) or token in _ENDS
        return "" if begins or token[0].isdigit() or lower in NUMBER_WORDS else lower

    def _at(
        self,
        tokens: Sequence[str],
        i: int,
        own: tuple[str, ...],
        short: tuple[str, ...],
        *,
        first: bool,
    ) -> tuple[int, Item]:
        """Where what begins at a token ends, and what it is: a mention, `SELF` or a word."""
        token = tokens[i]
        if ends := self.names.ends(tokens, i):
            name = tokens[i : ends[-1]]
            return ends[-1], SELF if tuple(name) == own else self._of("relation", name)
        if ends := self.persons.ends(tokens, i):
            return ends[-1], self._of("person", tokens[i : ends[-1]])
        begun = (token, token[0].lower() + token[1:]) if first else (token,)
        for key in product(begun, (*tokens[i + 1 : i + 2], "")):
            for words, mention in self._values.get(key, ()):
                stop = i + len(words)
                if tuple(tokens[i + 1 : stop]) == words[1:]:
                    return stop, mention
        if number := self._number(tokens, i):
            return number
        if short and tuple(tokens[i : i + len(short)]) == short:
            return i + len(short), SELF
        return i + 1, token.lower()

    def _of(
        self, form: str | Mention, tokens: Sequence[str], value: str | int | None = None
    ) -> Mention:
        """A mention of a value that all slots of a type, or of a unit, have alike."""
        if isinstance(form, str):
            form = self._forms[form]
        text = _SPACED.sub(r"\1", " ".join(tokens))
        return Mention(form.key, text, dict.fromkeys(form.slots, text if value is None else value))

    def _number(self, tokens: Sequence[str], i: int) -> tuple[int, Mention] | None:
        """A date, a year or a number with its unit that begins at a token."""
        dates, years = (self._forms[kind].slots for kind in ("date", "year"))
        if dates and (day := day_of(tokens[i : i + 3])):
            return i + 3, self._of("date", tokens[i : i + 3], day.isoformat())
        token = tokens[i]
        number = number_of(token)
        if number is None:
            return None
        for unit, mention in self._units:
            stop = i + 1 + len(unit)
            if tuple(tokens[i + 1 : stop]) == unit:
                return stop, self._of(mention, tokens[i:stop], number)
        return (i + 1, self._of("year", [token], number)) if years and len(token) == 4 else None


def number_of(token: str) -> int | None:
    """A number in figures or in a word; None for what is none."""
    plain = token.replace(",", "")
    return int(plain) if plain.isdecimal() else NUMBER_WORDS.get(token.lower())


def day_of(tokens: Sequence[str]) -> datetime.date | None:
    """The day that three tokens name, as 3 May 1987; None for what is none."""
    match tokens:
        case [day, month, year] if month in MONTHS and re.fullmatch(r"\d{4}", year):
            try:
                return datetime.date(int(year), MONTHS[month], int(day))
            except ValueError:
                return None
    return None


class NameFinder:
    """Names, told by the pieces of their pattern: a text, or the values of a part."""

    def __init__(self, pattern: Iterable[str | Collection[str]]) -> None:
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

    def whole(self, text: str) -> bool:
        """Whether a text is a name."""
        tokens = tokens_of(text)
        return self.ends(tokens, 0)[-1:] == (len(tokens),)

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
