"""Reads clauses of a query: where one ends, what it asks for, and whether that is denied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from retgen.validators.world.definitions import Definition
from retgen.validators.world.mentions import Mention
from retgen.validators.world.query_words import (
    BOUNDS,
    NEUTRAL,
    RELATIVES,
    WITHOUT,
    Item,
    Quantity,
    is_in,
    is_value,
    values_of,
    wording_of,
)
from retgen.validators.world.reader import choose_slot, with_unit
from retgen.validators.world.slot_patterns import PhraseMatcher, split_by_value

_PLAIN = frozenset("by in on at of to from for with about into".split())


class UnreadableQuery(Exception):
    """Why a query cannot be read."""


class Clause(NamedTuple):
    """A condition in words. `joins`: what stands between it and the one before."""

    joins: frozenset[str]
    without: bool  # it begins what is not wanted
    words: list[Item]


class ClauseReader:
    """Reads the conditions of queries about a domain, each by itself. Raises `UnreadableQuery`."""

    def __init__(self, domain: Definition, phrases: PhraseMatcher) -> None:
        self._domain, self._phrases = domain, phrases
        some = "|".join(map(re.escape, sorted(nouns_of(domain))))
        self._another = re.compile(
            rf"\b(?:earlier|previous|another|other|older|prior|preceding) (?:{some})\b"
        )

    def clauses(self, items: Sequence[Item]) -> list[Clause]:
        """The conditions; each has a value. What introduces one is no part of its words."""
        parts: list[tuple[set[str], list[Item]]] = [(set(), [])]
        for item in items:
            words = parts[-1][1]
            if is_in(item, BOUNDS):
                if words:
                    parts.append(({str(item)}, []))
                else:
                    parts[-1][0].add(str(item))
            elif (
                is_in(item, RELATIVES)
                and values_of(words)
                and any(is_in(w, RELATIVES) for w in words)
            ):
                parts.append(({"and"}, [item]))
            else:
                words.append(item)
        result: list[Clause] = []
        joins: set[str] = set()
        waiting: list[Item] = []
        for words_between, part in parts:
            joins |= words_between
            waiting += part
            if values_of(part):
                lead = next((i for i, word in enumerate(waiting) if is_in(word, RELATIVES)), 0)
                if values_of(waiting[:lead]):
                    lead = 0
                before = f" {wording_of(waiting[:lead] or waiting[:2])} "
                without = any(f" {phrase} " in before for phrase in WITHOUT)
                self._known(waiting[:lead] if result and not without else [])
                denied: list[Item] = ["not"] if "nor" in joins and not without else []
                words = [*denied, *waiting[lead:]]
                result.append(Clause(frozenset(joins), without, words))
                joins, waiting = set(), []
        if waiting and result:
            result[-1].words.extend(waiting)
        return [one for clause in result for one in self._apart(clause)]

    def _apart(self, clause: Clause) -> list[Clause]:
        """A clause with several values cut into clauses with one each."""
        if len(values_of(clause.words)) < 2:
            return [clause]
        first, *others = split_by_value(clause.words, is_value, self._score)
        and_words = frozenset(("and",))
        return [clause._replace(words=first), *(Clause(and_words, False, one) for one in others)]

    def _score(self, part: Sequence[Item]) -> float:
        """How well a part with one value reads; negative where it does not."""
        try:
            _, _, score = self.read(part)
        except UnreadableQuery:
            return -1.0
        return 1.0 + score

    def _known(self, lead: Sequence[Item]) -> None:
        """What leads to a condition behind another one is no word that may turn it round."""
        nouns = {self._domain.singular, self._domain.plural, *" ".join(self._domain.nouns).split()}
        for word in lead:
            if isinstance(word, str) and word not in NEUTRAL | nouns and not self._tells(word):
                raise UnreadableQuery(f"{word!r} in front of a condition is not understood")

    def _tells(self, word: str) -> bool:
        """Whether a word alone says something of a slot and denies nothing."""
        return bool(self._phrases.best_slot(word)) or word in _PLAIN

    def one(self, part: Sequence[Item]) -> list[Any]:
        """The only condition of some words, which is not denied."""
        clauses = self.clauses(part)
        if len(clauses) != 1:
            raise UnreadableQuery(f"{wording_of(part)!r} is not one condition")
        atom, negated = self.atom(clauses[0].words)
        if negated or clauses[0].without:
            raise UnreadableQuery(f"{wording_of(part)!r} denies what it asks for")
        return atom

    def atom(self, part: Sequence[Item]) -> tuple[list[Any], bool]:
        """The condition of a clause, and whether it is denied."""
        atom, negated, _ = self.read(part)
        return atom, negated

    def read(
        self, part: Sequence[Item], said: Sequence[Item] = ()
    ) -> tuple[list[Any], bool, float]:
        """The condition of a clause, whether it is denied, and the weight of the words for it.

        `said`: what the clause leaves out, as it was said of another value.
        """
        values = values_of(part)
        words = wording_of(part)
        if len(values) > 1:
            raise UnreadableQuery(f"{words!r} holds more than one value")
        if self._another.search(words):
            raise UnreadableQuery(
                f"{words!r} describes another {self._domain.singular} and no relation to it"
            )
        value = values[0]
        if isinstance(value, Quantity):
            slots: dict[str, list[object]] = {
                name: condition
                for name in value.slots
                if (condition := value.condition(self._domain.slots[name])) is not None
            }
        else:
            slots = {name: ["within", name, parent] for name, parent in value.parents.items()}
            slots |= {name: ["is", name, one] for name, one in value.slots.items()}
        if not slots:
            raise UnreadableQuery(f"{value.text!r} is no value that is known")
        scores, _, negated = self._phrases.find(words, slots)
        if words.startswith("whose ") and self._phrases.find(f"its {words[6:]}", slots).other:
            raise UnreadableQuery(f"{words!r} is about somebody else")
        if said and not any(scores.get(slot) for slot in slots):
            scores = self._phrases.find(wording_of(said), slots).scores
        scores = with_unit(scores, value.text, value.kind, slots)
        sure = not isinstance(value, Mention) or value.kind == "values"
        slot, problem = choose_slot(scores, slots, sure, self._domain)
        if slot and not scores.get(slot) and (best := self._phrases.best_slot(words)):
            problem = f"says of {best} what only {slot} can be"
        if problem:
            raise UnreadableQuery(f"{words!r} {problem}")
        return slots[slot], negated, scores.get(slot, 0.0)


def nouns_of(domain: Definition) -> set[str]:
    """What a query may call an entity, alone or in the plural."""
    last = [noun.split()[-1] for noun in domain.nouns]
    return {domain.singular, domain.plural, *last, *(f"{noun}s" for noun in last)}
