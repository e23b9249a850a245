"""Reads a query to its canonical expression (JSON lists): what it asks for, by its words alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from retgen.validators.world.cues import Cues, Patterns, compiled
from retgen.validators.world.definitions import Definition
from retgen.validators.world.mentions import TOKEN, Lexicon, Mention
from retgen.validators.world.quantities import Item, Quantity, quantities
from retgen.validators.world.reader import chosen, with_unit

_NUMBERS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
_MOST = (
    "most recent", "most", "latest", "newest", "highest", "longest", "largest", "greatest",
    "biggest", "youngest", "tallest", "last", "heaviest", "costliest", "dearest", "thickest",
    "maximum", "furthest",
)  # fmt: skip
_LEAST = (
    "least recent", "least", "earliest", "oldest", "lowest", "shortest", "smallest", "fewest",
    "first", "cheapest", "thinnest", "lightest", "minimum", "eldest", "briefest", "slimmest",
    "slightest",
)  # fmt: skip
_EXTREMES = [
    (kind, phrase.split())
    for kind, phrases in (("most", _MOST), ("least", _LEAST))
    for phrase in phrases
]
_ADVERBS = [
    (kind, phrase.split())
    for kind, phrases in (
        ("most", ("most recently", "latest", "last", "least long ago", "longest")),
        (
            "least",
            (
                "longest ago",
                "furthest back",
                "furthest ago",
                "least recently",
                "earliest",
                "first",
                "shortest",
            ),
        ),
    )
    for phrase in phrases
]
_HAVE = frozenset("with has have having shows show boasts boast".split())
_HINT = 0.5  # weight of a superlative that suits a slot
_STOPS = frozenset((".", ";", ":", ","))
_BOUNDS = frozenset(("and", "or", "but", "nor", "plus", "though", "although", "yet", *_STOPS))
_RELATIVES = frozenset(("that", "who", "whose", "which", "whom"))
_AMONG = frozenset(("among", "amongst", "out", "from"))
# in front of what is not wanted
_WITHOUT = (
    "not", "except", "excepting", "excluding", "exclude", "leaving out", "leave out", "unless",
    "without", "minus", "apart from", "other than", "save for", "save", "bar", "barring",
    "omitting",
    "omit", "ignoring", "ignore", "skipping", "skip", "rather than", "instead of", "neither", "nor",
    "no", "never", "not counting", "exception", "exempt", "discount", "disregarding", "disregard",
)  # fmt: skip


# may stand before a condition that is joined to another one
_NEUTRAL = frozenset(
    "a all also an any anything are be being both each either else every if is it must of one ones "
    "other others should so some such the then these they this those too well what is as in addition "
    "furthermore moreover likewise equally again same is was were do does did there".split()
)


class Unread(Exception):
    """Why a query cannot be read."""


class _Clause(NamedTuple):
    """A condition in words. `joins`: what stands between it and the one before."""

    joins: frozenset[str]
    without: bool  # it begins what is not wanted
    words: list[Item]


class QueryReader:
    """Reads queries of a domain."""

    def __init__(self, domain: Definition, patterns: Patterns) -> None:
        self.domain = domain
        self.cues = Cues(patterns)
        self._lexicon = Lexicon(domain, parents=True)
        types = {"relation": ("relation",), "ordered": ("year", "date", "number")}
        self._relations, self._ordered = (
            [name for name, slot in domain.slots.items() if slot.type in types[kind]]
            for kind in ("relation", "ordered")
        )
        self._extremes = [
            (kind, compiled(phrase), slot)
            for kind, listed in (("most", patterns.most), ("least", patterns.least))
            for slot, phrases in listed.items()
            for phrase in phrases
        ]

    def query(self, text: str) -> list[Any]:
        """The expression. Raises `Unread`."""
        tokens = TOKEN.findall(text)
        while tokens and tokens[-1] in ".?!":
            tokens.pop()
        if tokens and tokens[0][0].isupper() and not self._lexicon.starts(tokens[0]):
            tokens[0] = tokens[0][0].lower() + tokens[0][1:]
        return self._set(quantities(self._lexicon.cut(tokens), self.domain.slots))

    def _set(self, items: list[Item]) -> list[Any]:
        return self._extreme(items) or self._several(items) or self._boolean(items)

    # --- the k with the most or least -------------------------------------------------------

    def _extreme(self, items: list[Item]) -> list[Any] | None:
        """ "the 10 with the latest ..." and what it is taken from."""
        for start, kind, length in _superlatives(items):
            first = start
            while first and not _in(items[first - 1], _HAVE) and not _count(items[first - 1]):
                first -= 1  # "the text completed longest ago"
            if first and _in(items[first - 1], _HAVE):
                first -= 1
            stop = start + length
            while stop < len(items) and _is_word(items[stop], but=_STOPS | _RELATIVES | _AMONG):
                if items[stop] == "of" and items[stop + 1 : stop + 2] in (["all"], ["those"]):
                    break
                stop += 1
            if stop < len(items) and not isinstance(items[stop], str):
                continue  # "whose earliest breath was drawn in 1884"
            slot = self._of_extreme(kind, _words(items[first:stop]))
            place, k = _nearest_count(items, first)
            alone = (
                items[first : first + 1] == ["the"] and self.domain.singular in items[start:stop]
            )
            if not slot or (place == first and not _in(items[first], _HAVE) and not alone):
                continue
            begin = max((i + 1 for i in range(place) if _in(items[i], _STOPS)), default=0)
            if _values(items[begin:place]) or _values(items[place + 1 : first]):
                rest = [*items[:place], *items[place + 1 : first], *items[stop:]]
            else:
                rest = [*items[:begin], *items[stop:]]
            return [kind, k, slot, self._set(rest)]
        return None

    def _of_extreme(self, kind: str, words: str) -> str:
        """The slot whose largest or smallest values some words ask for; "" for none."""
        scores = self.cues.find(words, ()).scores
        for one, pattern, slot in self._extremes:
            if one == kind and pattern.search(f" {words} "):
                scores[slot] = scores.get(slot, 0.0) + _HINT
        ranked = sorted(((scores.get(slot, 0.0), slot) for slot in self._ordered), reverse=True)
        if len(ranked) > 1 and ranked[0][0] and ranked[0][0] == ranked[1][0]:
            raise Unread(f"{words!r} reads as {ranked[0][1]} and as {ranked[1][1]}")
        return ranked[0][1] if ranked and ranked[0][0] else ""

    # --- at least k of n --------------------------------------------------------------------

    def _several(self, items: list[Item]) -> list[Any] | None:
        for place, item in enumerate(items):
            number = _count(item)
            before = _words(items[max(0, place - 3) : place])
            behind = [str(one) for one in items[place + 1 : place + 5]]
            least = before.endswith(("at least", "no fewer than", "no less than", "minimum of"))
            open_end = isinstance(item, Quantity) and item.high is None and item.text[3:].isdigit()
            if behind[:2] == ["or", "more"]:
                least, behind = True, behind[2:]
            if not number or not (least or open_end) or behind[:1] != ["of"]:
                continue
            colon = next((i for i in range(place, len(items)) if items[i] == ":"), None)
            if colon is None:
                colon = place + 1
                while colon < len(items) and _is_word(items[colon], but=_RELATIVES):
                    colon += 1
                colon -= 1
            listed = items[colon + 1 :]
            if ";" in (item for item in listed if isinstance(item, str)):
                parts = _split(listed, ";")
            else:
                parts = [clause.words for clause in self._clauses(listed)]
            return ["at least", number, *(self._one(part) for part in parts)]
        return None

    # --- and, or, not -----------------------------------------------------------------------

    def _boolean(self, items: list[Item]) -> list[Any]:
        nested = self._nested(items)
        if nested:
            place, slot = nested
            before = self._clauses(items[:place])
            inner = ["via", slot, self._set(items[place + 2 :])]
            return _joined("and", [*(self._one(clause.words) for clause in before), inner])
        clauses = self._clauses(items)
        if not clauses:
            raise Unread("it asks for nothing")
        first = next((i for i, clause in enumerate(clauses) if clause.without), len(clauses))
        wanted, unwanted = self._combined(clauses[:first])
        _, more = self._combined(clauses[first:], all_unwanted=True)
        if not wanted:
            raise Unread("it says only what is not asked for")
        without = [one for one in (unwanted, more) if one]
        return ["and not", wanted, _joined("or", without)] if without else wanted

    def _combined(
        self, clauses: Sequence[_Clause], all_unwanted: bool = False
    ) -> tuple[list[Any], list[Any]]:
        """What clauses ask for, and what they deny; "and" binds before "or"."""
        groups: list[list[Any]] = [[]]
        unwanted: list[Any] = []
        words = _connectives(clauses)
        for word, clause in zip(words, clauses, strict=True):
            atom, negated = self._atom(clause.words)
            if negated and not all_unwanted:
                unwanted.append(atom)
                continue
            if word == "or" and groups[-1]:
                groups.append([])
            groups[-1].append(atom)
        parts = [_joined("and", group) for group in groups if group]
        both = _joined("or", parts) if parts else []
        return ([], both) if all_unwanted else (both, _joined("or", unwanted) if unwanted else [])

    def _nested(self, items: list[Item]) -> tuple[int, str] | None:
        """Where another entity is described, in place of the name of the one that is meant."""
        for place in range(2, len(items) - 2):
            if items[place] not in ("a", "an", "another", "some", "one"):
                continue
            noun = place if items[place] == "one" else place + 1
            if items[noun] not in (self.domain.singular, "one") or not _in(
                items[noun + 1], _RELATIVES
            ):
                continue
            since = place
            while since and _is_word(items[since - 1], but=_BOUNDS):
                since -= 1
            words = items[since:place]
            start = next((i for i, word in enumerate(words) if _in(word, _RELATIVES)), None)
            if start is None or start + 1 >= len(words):
                continue
            scores = self.cues.find(_words(words[start:]), self._relations).scores
            told = {slot: scores.get(slot, 0.0) for slot in self._relations}
            if told:
                return place if noun == place + 1 else place - 1, max(told, key=told.__getitem__)
        return None

    def _clauses(self, items: Sequence[Item]) -> list[_Clause]:
        """The conditions; each has a value. What introduces one is no part of its words."""
        parts: list[tuple[set[str], list[Item]]] = [(set(), [])]
        for item in items:
            words = parts[-1][1]
            if _in(item, _BOUNDS):
                if words:
                    parts.append(({str(item)}, []))
                else:
                    parts[-1][0].add(str(item))
            elif (
                _in(item, _RELATIVES) and _values(words) and any(_in(w, _RELATIVES) for w in words)
            ):
                parts.append(({"and"}, [item]))
            else:
                words.append(item)
        result: list[_Clause] = []
        joins: set[str] = set()
        waiting: list[Item] = []
        for words_between, part in parts:
            joins |= words_between
            waiting += part
            if _values(part):
                lead = next((i for i, word in enumerate(waiting) if _in(word, _RELATIVES)), 0)
                if _values(waiting[:lead]):
                    lead = 0
                before = f" {_words(waiting[:lead] or waiting[:2])} "
                without = any(f" {phrase} " in before for phrase in _WITHOUT)
                self._known(waiting[:lead] if result and not without else [])
                result.append(_Clause(frozenset(joins), without, waiting[lead:]))
                joins, waiting = set(), []
        if waiting and result:
            result[-1].words.extend(waiting)
        return result

    def _known(self, lead: Sequence[Item]) -> None:
        """What leads to a condition behind another one is no word that may turn it round."""
        nouns = {self.domain.singular, self.domain.plural, *" ".join(self.domain.nouns).split()}
        for word in lead:
            if isinstance(word, str) and word not in _NEUTRAL | nouns:
                raise Unread(f"{word!r} in front of a condition is not understood")

    def _one(self, part: Sequence[Item]) -> list[Any]:
        clauses = self._clauses(part)
        if len(clauses) != 1:
            raise Unread(f"{_words(part)!r} is not one condition")
        atom, negated = self._atom(clauses[0].words)
        if negated or clauses[0].without:
            raise Unread(f"{_words(part)!r} denies what it asks for")
        return atom

    def _atom(self, part: Sequence[Item]) -> tuple[list[Any], bool]:
        """The condition of a clause, and whether it is denied."""
        values = _values(part)
        words = _words(part)
        if len(values) > 1:
            raise Unread(f"{words!r} holds more than one value")
        value = values[0]
        if isinstance(value, Quantity):
            slots: dict[str, list[object]] = {
                name: condition
                for name in value.slots
                if (condition := value.condition(self.domain.slots[name])) is not None
            }
        else:
            slots = {name: ["within", name, parent] for name, parent in value.parents.items()}
            slots |= {name: ["is", name, one] for name, one in value.slots.items()}
        if not slots:
            raise Unread(f"{value.text!r} is no value that is known")
        scores, _, negated = self.cues.find(words, slots)
        sure = not isinstance(value, Mention) or value.kind == "values"
        slot, problem = chosen(with_unit(scores, value.text, value.kind, slots), slots, sure)
        if slot and not scores.get(slot) and (told := self.cues.told(words)):
            problem = f"says of {told} what only {slot} can be"
        if problem:
            raise Unread(f"{words!r} {problem}")
        return slots[slot], negated


def _connectives(clauses: Sequence[_Clause]) -> list[str]:
    """ "and" or "or" in front of each clause; a comma stands for the word of those that follow."""
    result: list[str] = []
    word = "and"
    for clause in reversed(clauses):
        if "or" in clause.joins or "nor" in clause.joins:
            word = "or"
        elif clause.joins - _STOPS:
            word = "and"
        result.append(word)
    return result[::-1]


def _joined(word: str, parts: list[Any]) -> list[Any]:
    return [word, *parts] if len(parts) > 1 else parts[0]


def _split(items: Sequence[Item], at: str) -> list[list[Item]]:
    result: list[list[Item]] = [[]]
    for item in items:
        if item == at:
            result.append([])
        else:
            result[-1].append(item)
    return result


def _superlatives(items: Sequence[Item]) -> Iterable[tuple[int, str, int]]:
    """(where, most or least, words) of each superlative behind "the", or at an end."""
    for start in range(1, len(items)):
        for kind, phrase in _ADVERBS:
            stop = start + len(phrase)
            if list(items[start:stop]) == phrase and _has(items[:start], "the") and (
                stop == len(items) or _in(items[stop], _STOPS)
            ):  # fmt: skip
                yield start, kind, len(phrase)
                break
        if items[start - 1] != "the":
            continue
        for kind, phrase in _EXTREMES:
            if list(items[start : start + len(phrase)]) == phrase:
                yield start, kind, len(phrase)
                break


def _nearest_count(items: Sequence[Item], end: int) -> tuple[int, int]:
    """The place of the number of results in front of a place, and the number; else (place, 1)."""
    for place in range(end - 1, max(-1, end - 5), -1):
        if _in(items[place], _STOPS):
            break
        if number := _count(items[place]):
            return place, number
    return end, 1


def _count(item: Item) -> int:
    """A number of results or conditions; 0 for what is none."""
    if isinstance(item, str):
        return _NUMBERS.get(item, 0)
    if isinstance(item, Quantity) and item.kind != "date" and isinstance(item.low, int):
        return item.low
    return 0


def _in(item: Item, words: frozenset[str]) -> bool:
    return isinstance(item, str) and item in words


def _has(items: Sequence[Item], word: str) -> bool:
    return any(isinstance(item, str) and item == word for item in items)


def _is_word(item: Item, but: frozenset[str]) -> bool:
    return isinstance(item, str) and item not in but


def _values(part: Iterable[Item]) -> list[Mention | Quantity]:
    return [
        item for item in part
        if not isinstance(item, str) and not (isinstance(item, Mention) and item.kind == "capital")
    ]  # fmt: skip


def _words(part: Iterable[Item]) -> str:
    return " ".join(
        item if isinstance(item, str)
        else item.text.lower() if isinstance(item, Mention) and item.kind == "capital" else "{v}"
        for item in part
    )  # fmt: skip
