"""Reads a finished text to the facts that it states. Its patterns are not those of the writer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from retgen.validators.world.cues import Cues, Patterns
from retgen.validators.world.definitions import Definition
from retgen.validators.world.mentions import OWN, TOKEN, Lexicon, Mention

_BOUNDS = frozenset(("and", ",", ";", "but", "while", "whereas", "\u2013", "\u2014"))
_ENDS = frozenset(".!?")
_KEPT = 1 << 17  # clauses whose reading is kept


class Fact(NamedTuple):
    """What a text says. `holder`: "self" or "other"; `value`: a name, a number, an ISO date."""

    holder: str
    slot: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        text = f"{self.slot}={self.value}"
        text = f"other:{text}" if self.holder == "other" else text
        return f"not {text}" if self.negated else text


class Reading(NamedTuple):
    """The facts of a text in their order, and what could not be read, each naming its sentence."""

    facts: list[Fact]
    problems: list[str]


class _Clause(NamedTuple):
    """What a clause says of its value: the slot, "" where there is a problem or nothing is said.

    `other`: whether it is about somebody else.
    """

    slot: str
    other: bool
    negated: bool
    problem: str = ""
    place: int = 0  # of the value among the mentions of the clause


class Reader:
    """Reads texts of a domain."""

    def __init__(self, domain: Definition, patterns: Patterns) -> None:
        self.domain = domain
        self.cues = Cues(patterns)
        nouns = (*domain.nouns, f"the {domain.singular}")
        self._nouns = [f"{noun} " for noun in dict.fromkeys(nouns)]
        self._lexicon = Lexicon(domain, parents=False)
        self._clauses: dict[str, _Clause] = {}

    def document(self, title: str, text: str) -> Reading:
        """What a text says of the entity that its title names, and of others."""
        facts: list[Fact] = []
        problems: list[str] = []
        short = self._lexicon.short_of(title)
        if short is None:
            problems.append(f"its title {title!r} is no name of a {self.domain.singular}")
        if title not in text:
            problems.append(f"its text does not name {title!r}")
        for sentence in sentences(text):
            found, problem = self._sentence(self._lexicon.cut(sentence, title, short or ""))
            facts += found
            if problem:
                problems.append(f"{problem}: {_shown(sentence)!r}")
        return Reading(facts, problems)

    def _sentence(self, items: Sequence[str | Mention]) -> tuple[list[Fact], str]:
        """The facts of a sentence, and what is wrong with it."""
        if all(type(item) is str for item in items):
            return [], ""
        parts = _parts(items)
        facts, problem = self._read(parts)
        if problem and len(parts) > 1:  # words without a value may belong to the clause before
            other = _parts(items, behind=True)
            if other != parts:
                facts_behind, problem_behind = self._read(other)
                if not problem_behind:
                    return facts_behind, ""
        return facts, problem

    def _read(self, parts: Sequence[Sequence[str | Mention]]) -> tuple[list[Fact], str]:
        facts: list[Fact] = []
        problem, holder = "", "self"
        for part in parts:
            mentions = [item for item in part if type(item) is not str]
            key = " ".join([x if type(x) is str else f"<{x.key}>" for x in part])  # type: ignore[union-attr]
            clause = self._clauses.get(key)
            if clause is None:
                clause = self._clause(part)
                if len(self._clauses) >= _KEPT:
                    self._clauses.clear()
                self._clauses[key] = clause
            if clause.other:
                holder = "other"
            elif OWN in part:
                holder = "self"
            if clause.problem:
                problem = problem or clause.problem
            elif clause.slot:
                mention = mentions[clause.place]
                value = mention.slots[clause.slot]  # type: ignore[union-attr]
                wrong = self._outside(clause.slot, value)
                problem = problem or wrong
                facts.append(Fact(holder, clause.slot, str(value), clause.negated))
        return facts, problem

    def _outside(self, name: str, value: str | int) -> str:
        """What is wrong with a value that its slot cannot have."""
        slot = self.domain.slots[name]
        if slot.low is None or slot.high is None or slot.type not in ("year", "date", "number"):
            return ""
        number = int(value[:4]) if isinstance(value, str) else value
        if slot.low <= number <= slot.high:
            return ""
        return f"{value} is no value of {name}"

    def _clause(self, part: Sequence[str | Mention]) -> _Clause:
        """Which slot the words of a clause name."""
        mentions = [item for item in part if type(item) is not str]
        soft = [m.kind == "capital" for m in mentions]  # type: ignore[union-attr]
        if all(soft):
            return _Clause("", False, False)
        hard = [place for place, one in enumerate(soft) if not one]
        if len(hard) > 1:
            named = " and ".join(f"{_kind(mentions[place])}" for place in hard)
            return _Clause("", False, False, f"reads as more than one fact ({named})")
        mention: Mention = mentions[hard[0]]  # type: ignore[assignment]
        words = " ".join(
            item if isinstance(item, str) else "{v}" if item is mention else item.text.lower()
            for item in part
        )
        for noun in self._nouns:  # who a clause is about says nothing of what it says
            if words.startswith(noun):
                words = f"it {words[len(noun) :]}"
        scores, other, negated = self.cues.find(words, mention.slots)
        if not mention.slots:
            if mention.kind == "name":
                return _Clause("", other, False, "names somebody that the text is not about")
            if not scores:
                return _Clause("", other, False)
        slot, problem = chosen(
            with_unit(scores, mention.text, mention.kind, mention.slots),
            mention.slots,
            mention.kind in ("values", "number"),
        )
        if slot and not scores.get(slot) and (told := self.cues.told(words)):
            problem = f"says of {told} what only {slot} can be"
        return _Clause("" if problem else slot, other, negated, problem, hard[0])


def chosen(scores: Mapping[str, float], slots: Collection[str], sure: bool) -> tuple[str, str]:
    """The slot that a clause is about among those that its value can have, or what is wrong.

    `sure`: a value that is of one slot alone needs no word beside it; it must be told of no other.
    """
    best = max(scores.values(), default=0.0)
    told = max(scores, key=scores.__getitem__) if scores else ""
    if not slots:
        return "", f"holds no value that {told} can have"
    ranked = sorted(((scores.get(slot, 0.0), slot) for slot in slots), reverse=True)
    score, slot = ranked[0]
    if len(ranked) == 1:
        if score * 2 < best:
            return "", f"says of {told} what only {slot} can be"
        if not score and not sure:
            return "", f"names what {slot} can be, and does not say that it is"
        return slot, ""
    if score < best and not score:
        return "", f"says of {told} what only {' or '.join(sorted(slots))} can be"
    if score == ranked[1][0]:
        if score:
            return "", f"reads as {slot} and as {ranked[1][1]}"
        return "", f"does not say whether it is {' or '.join(sorted(slots))}"
    return slot, ""


def with_unit(
    scores: dict[str, float], text: str, kind: str, slots: Iterable[str]
) -> dict[str, float]:
    """A number's unit is a word for its slots."""
    if kind == "number" and text.strip("<>= ").partition(" ")[2]:
        for slot in slots:
            scores[slot] = scores.get(slot, 0.0) + 1
    return scores


def sentences(text: str) -> list[list[str]]:
    """The tokens of each sentence, without the stop at its end."""
    result: list[list[str]] = []
    tokens = TOKEN.findall(text)
    start = 0
    for i, token in enumerate(tokens):
        if token in _ENDS:
            if i > start:
                result.append(tokens[start:i])
            start = i + 1
    if start < len(tokens):
        result.append(tokens[start:])
    return result


def _parts(items: Sequence[str | Mention], behind: bool = False) -> list[list[str | Mention]]:
    """The clauses of a sentence, each with a value; words that have none belong to the next.

    `behind`: they belong to the one before.
    """
    parts: list[list[str | Mention]] = [[]]
    for item in items:
        if type(item) is str and item in _BOUNDS:
            parts.append([])
        else:
            parts[-1].append(item)
    result: list[list[str | Mention]] = []
    waiting: list[str | Mention] = []
    for part in parts:
        valued = any(type(item) is not str for item in part)
        if valued:
            result.append([*waiting, *part])
            waiting = []
        elif behind and result:
            result[-1] += part
        else:
            waiting += part
    if result and waiting:
        result[-1] += waiting
    return result


def _kind(mention: object) -> str:
    assert isinstance(mention, Mention)
    return " or ".join(mention.slots) or mention.text


def _shown(sentence: Sequence[str]) -> str:
    return " ".join(sentence)
