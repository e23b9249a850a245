"""Reads a query to its canonical expression (JSON lists): what it asks for, by its words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retgen.validators.world.cues import Cues, Patterns, compiled
from retgen.validators.world.definitions import Definition, Slot
from retgen.validators.world.mentions import TOKEN, Lexicon, Mention
from retgen.validators.world.quantities import Item, Quantity, quantities
from retgen.validators.world.reader import chosen

_NUMBERS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
_MOST = (
    "most recent", "most", "latest", "newest", "highest", "longest", "largest", "greatest", "biggest",
    "youngest", "tallest", "last", "heaviest", "costliest", "dearest", "thickest", "maximum", "top",
    "furthest", "more", "later",
)  # fmt: skip
_LEAST = (
    "least recent", "least", "earliest", "oldest", "lowest", "shortest", "smallest", "fewest", "first",
    "cheapest", "thinnest", "lightest", "minimum", "eldest", "briefest", "slimmest", "bottom",
)  # fmt: skip
_BOUNDS = frozenset(("and", "or", "but", ",", ";", ":", "nor", "plus", "except", "excluding", "minus", "unless"))
_WITHOUT = frozenset(("except", "excluding", "minus", "unless"))
_RELATIVES = frozenset(("that", "who", "whose", "which", "whom", "where", "with"))
_AMONG = ("among", "out of", "of all", "of the", "of those", "from among", "from", "amongst", "of")


class Unread(Exception):
    """Why a query cannot be read."""


class QueryReader:
    """Reads queries of a domain."""

    def __init__(self, domain: Definition, patterns: Patterns) -> None:
        self.domain = domain
        self.cues = Cues(patterns)
        self._lexicon = Lexicon(domain, parents=True)
        self._relations = {n for n, slot in domain.slots.items() if slot.type == "relation"}
        self._ordered = {
            n for n, slot in domain.slots.items() if slot.type in ("year", "date", "number")
        }
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
        if found := self._superlative(items):
            kind, k, slot, rest = found
            return [kind, k, slot, self._set(rest)]
        if nested := self._nested(items):
            return nested
        if several := self._several(items):
            return several
        return self._boolean(items)

    # --- the k with the most or least -------------------------------------------------------

    def _superlative(self, items: list[Item]) -> tuple[str, int, str, list[Item]] | None:
        """(most or least, k, slot, the rest)."""
        for start in range(len(items)):
            for kind, phrases in (("most", _MOST), ("least", _LEAST)):
                for phrase in phrases:
                    words = phrase.split()
                    if items[start : start + len(words)] == words:
                        found = self._frame(items, start, len(words), kind)
                        if found:
                            return found
        return None

    def _frame(
        self, items: list[Item], start: int, length: int, kind: str
    ) -> tuple[str, int, str, list[Item]] | None:
        """A superlative with what it is of, cut out of its sentence."""
        if start and items[start - 1] == "at":  # at most, at least
            return None
        stop = start + length
        while stop < len(items) and not (
            items[stop] in _RELATIVES or items[stop] in ("among", "amongst", ",", ";", ":", "out")
            or not isinstance(items[stop], str)
            or (items[stop] == "of" and stop + 1 < len(items)
                and items[stop + 1] in ("all", "those", "the", "these")
                and self.domain.plural in items[stop : stop + 3] + ["those"])
        ):  # fmt: skip
            stop += 1
        first = start
        while first and items[first - 1] in ("the", "a", "an", "with", "have", "has", "having", "whose", "is", "their", "its"):
            first -= 1
        words = " ".join(str(item) for item in items[first:stop])
        for one, pattern, slot in self._extremes:
            if one == kind and pattern.search(f" {words} "):
                break
        else:
            scores = {
                slot: score for slot, score in self.cues.find(words).scores.items()
                if slot in self._ordered
            }  # fmt: skip
            if not scores:
                return None
            best = sorted(scores.items(), key=lambda item: -item[1])
            if len(best) > 1 and best[0][1] == best[1][1]:
                raise Unread(f"{words!r} reads as {best[0][0]} and as {best[1][0]}")
            slot = best[0][0]
        rest = [*items[:first], *items[stop:]]
        k = 1
        for place, item in enumerate(rest):
            number = _count(item)
            if number:
                k = number
                del rest[place]
                break
        return kind, k, slot, rest

    # --- at least k of n --------------------------------------------------------------------

    def _several(self, items: list[Item]) -> list[Any] | None:
        for place, item in enumerate(items):
            number = _count(item, at_least=True)
            if not number or place + 1 >= len(items):
                continue
            behind = [str(one) for one in items[place + 1 : place + 4]]
            if not behind or not ("of" in behind[:3] or "following" in behind):
                continue
            rest = list(items[place + 1 :])
            conditions = [self._one(part) for _, part in self._clauses(rest)]
            return ["at least", number, *conditions]
        return None

    # --- two hops ---------------------------------------------------------------------------

    def _nested(self, items: list[Item]) -> list[Any] | None:
        """A relation to an entity that is described in place of its name."""
        nouns = (self.domain.singular, "one")
        for place in range(2, len(items)):
            if items[place] not in nouns or items[place - 1] not in ("a", "an", "another", "some", "any"):
                continue
            if place + 1 >= len(items) or items[place + 1] not in _RELATIVES | {","}:
                continue
            clauses = self._clauses(items[: place - 1], keep=True)
            if not clauses:
                continue
            words = _words(clauses[-1][1])
            scores = self.cues.find(words).scores
            related = {slot: scores[slot] for slot in self._relations if slot in scores}
            if not related:
                continue
            slot = max(related, key=related.__getitem__)
            inner = ["via", slot, self._set(list(items[place + 1 :]))]
            before = [part for part in clauses[:-1] if _values(part[1])]
            if not before:
                return inner
            return ["and", *(self._one(part) for _, part in before), inner]
        return None

    # --- and, or, not -----------------------------------------------------------------------

    def _boolean(self, items: list[Item]) -> list[Any]:
        clauses = self._clauses(items)
        if not clauses:
            raise Unread("it asks for nothing")
        groups: list[list[Any]] = []  # of "or"
        without: list[Any] = []
        joined: list[Any] = []
        for words, part in clauses:
            atom, negated = self._atom(part)
            excluded = negated or bool(_WITHOUT & words) or ({"but", "not"} <= words)
            if excluded or (without and "nor" in words):
                without.append(atom)
            elif "or" in words and (joined or groups) and not without:
                groups.append(joined)
                joined = [atom]
            elif without and "or" in words:
                without.append(atom)
            else:
                joined.append(atom)
        if joined:
            groups.append(joined)
        if not groups:
            raise Unread("it says only what is not asked for")
        parts = [one[0] if len(one) == 1 else ["and", *one] for one in groups]
        result: list[Any] = parts[0] if len(parts) == 1 else ["or", *parts]
        if without:
            result = ["and not", result, without[0] if len(without) == 1 else ["or", *without]]
        return result

    def _clauses(
        self, items: Sequence[Item], keep: bool = False
    ) -> list[tuple[set[str], list[Item]]]:
        """Clauses with the words that join each to what is before it; each has a value.

        `keep`: the last one may have none.
        """
        parts: list[tuple[set[str], list[Item]]] = [(set(), [])]
        for item in items:
            if isinstance(item, str) and item in _BOUNDS:
                if not parts[-1][1]:
                    parts[-1][0].add(item)
                else:
                    parts.append(({item}, []))
            else:
                parts[-1][1].append(item)
        result: list[tuple[set[str], list[Item]]] = []
        joins: set[str] = set()
        waiting: list[Item] = []
        for words, part in parts:
            joins |= words
            waiting += part
            if _values(part):
                result.append((joins, waiting))
                joins, waiting = set(), []
        if waiting and keep:
            result.append((joins, waiting))
        elif waiting and result:
            result[-1][1].extend(waiting)
        return result

    def _one(self, part: Sequence[Item]) -> list[Any]:
        atom, negated = self._atom(part)
        if negated:
            raise Unread(f"{_words(part)!r} denies what it asks for")
        return atom

    def _atom(self, part: Sequence[Item]) -> tuple[list[Any], bool]:
        """The condition of a clause, and whether it is denied."""
        values = _values(part)
        if len(values) > 1:
            raise Unread(f"{_words(part)!r} holds more than one value")
        value = values[0]
        words = _words(part)
        scores, _, negated = self.cues.find(words.replace("{v}", "{v}"))
        if isinstance(value, Quantity):
            slots = {
                name: condition
                for name in value.slots
                if (condition := value.condition(self.domain.slots[name])) is not None
            }
        else:
            slots = {name: ["within", name, parent] for name, parent in value.parents.items()}
            slots |= {name: ["is", name, one] for name, one in value.slots.items()}
        if not slots:
            raise Unread(f"{value.text!r} is no value that is known")
        slot, problem = chosen(scores, slots)
        if problem:
            raise Unread(f"{words!r} {problem}")
        return slots[slot], negated


def _count(item: Item, at_least: bool = False) -> int:
    """A number of results or conditions; 0 for what is none."""
    if isinstance(item, str):
        return _NUMBERS.get(item, 0)
    if isinstance(item, Quantity) and item.kind in ("number", "year") and item.low is not None:
        if item.low == item.high or at_least:
            return int(item.low)
    return 0


def _values(part: Sequence[Item]) -> list[Mention | Quantity]:
    return [
        item for item in part
        if not isinstance(item, str) and not (isinstance(item, Mention) and item.kind == "capital")
    ]  # fmt: skip


def _words(part: Sequence[Item]) -> str:
    return " ".join(
        item if isinstance(item, str)
        else item.text.lower() if isinstance(item, Mention) and item.kind == "capital" else "{v}"
        for item in part
    )  # fmt: skip
