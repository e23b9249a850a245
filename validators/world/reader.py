"""Reads a finished text to the facts that it states. Its patterns are not those of the writer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from retgen.validators.world.definitions import Definition
from retgen.validators.world.mentions import ARTICLES, OWN, TOKEN, DomainLexicon, Mention
from retgen.validators.world.slot_patterns import Patterns, PhraseMatcher, split_by_value
from retgen.validators.world.unparsed import hedge_in

_BOUNDS = frozenset(("and", ",", ";", "but", "while", "whereas", "\u2013", "\u2014"))
_HERSELF = frozenset(("herself", "himself", "itself", "this"))
_ENDS = frozenset(".!?")
_KEPT = 1 << 17  # sentences whose reading is kept, their values left out
# begin a clause that says nothing of the one behind it
_ASIDE = frozenset(
    "whatever wherever whenever however although though while whereas if when since because unlike "
    "despite once after before as".split()
)
# all that stands beside a value where the words before are not said again: "and this one in Oslo"
_ELLIPTIC = frozenset(
    "a an the in on at of to into from by for with as one this itself himself herself he she it "
    "and just only about".split()
) | {OWN, ","}


class Fact(NamedTuple):
    """What a text says. `holder`: "self" or "other"; `value`: a name, a number, an ISO date."""

    holder: str
    slot: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        text = f"{self.slot}={self.value}"
        text = f"other:{text}" if self.holder == "other" else text
        return f"not:{text}" if self.negated else text


class DocumentReading(NamedTuple):
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
    score: float = 0.0


class _Stated(NamedTuple):
    """A fact of a sentence whose value is left out. `place`: of the value among its mentions."""

    place: int
    holder: str
    slot: str
    negated: bool


class _Reading(NamedTuple):
    stated: list[_Stated]
    problem: str


class DocumentReader:
    """Reads texts of a domain."""

    def __init__(self, domain: Definition, patterns: Patterns) -> None:
        self.domain = domain
        self.phrases = PhraseMatcher(patterns)
        nouns = (*domain.nouns, f"the {domain.singular}")
        self._nouns = [f"{noun} " for noun in dict.fromkeys(nouns)]
        called = " ".join(
            (*domain.nouns, *chain(*(one for one in domain.name if not isinstance(one, str))))
        )
        self._called = frozenset(called.lower().split()) - ARTICLES
        self._lexicon = DomainLexicon(domain, parents=False)
        self._readings: dict[str, _Reading] = {}
        self._clauses: dict[str, _Clause] = {}

    def document(self, title: str, text: str) -> DocumentReading:
        """What a text says of the entity that its title names, and of others."""
        facts: list[Fact] = []
        problems: list[str] = []
        short = self._lexicon.short_of(title)
        if short is None:
            problems.append(f"its title {title!r} is no name of a {self.domain.singular}")
        if title not in text:
            problems.append(f"its text does not name {title!r}")
        if "?" in text:
            problems.append("its text asks something")
        if not text.isprintable():
            problems.append("its text holds a character that cannot be seen")
        for sentence in sentences(text):
            found, problem = self._sentence(
                self._lexicon.find_mentions(sentence, title, short or "")
            )
            facts += found
            if problem:
                problems.append(f"{problem}: {_shown(sentence)!r}")
        return DocumentReading(facts, problems)

    def _sentence(self, items: Sequence[str | Mention]) -> tuple[list[Fact], str]:
        """The facts of a sentence, and what is wrong with it."""
        mentions = [item for item in items if type(item) is not str]
        if not mentions:
            return [], ""
        key = " ".join([x if type(x) is str else f"<{x.key}>" for x in items])  # type: ignore[union-attr]
        reading = self._readings.get(key)
        if reading is None:
            reading = self._read_in_some_way(items)
            if not reading.problem and any(
                one.holder == "self" and not one.negated for one in reading.stated
            ):
                word = hedge_in(items, self.phrases, self.domain.slots, self._called)
                problem = f"{word!r} may take back what it states" if word else ""
                reading = reading._replace(problem=problem)
            if len(self._readings) >= _KEPT:
                self._readings.clear()
                self._clauses.clear()
            self._readings[key] = reading
        stated, problem = reading
        facts = []
        for place, holder, slot, negated in stated:
            value = mentions[place].slots[slot]  # type: ignore[union-attr]
            if self.domain.slots[slot].low is not None:
                problem = problem or self._outside(slot, value)
            facts.append(Fact(holder, slot, str(value), negated))
        return facts, problem

    def _read_in_some_way(self, items: Sequence[str | Mention]) -> _Reading:
        """What the words of a sentence say of its values: of several ways the first that reads."""
        parts = _parts(items)
        reading = self._read(parts)
        if not reading.problem:
            return reading
        ways = []
        if any(sum(map(_is_hard, part)) > 1 for part in parts):
            ways.append([one for part in parts for one in self._apart(part)])
        if len(parts) > 1:  # words without a value may belong to the clause before
            ways.append(_parts(items, behind=True))
        if (main := self._main(items)) is not items:
            ways.append(_parts(main))
        for way in ways:
            if way != parts and not (other := self._read(way)).problem:
                return other
        return reading

    def _main(self, items: Sequence[str | Mention]) -> Sequence[str | Mention]:
        """A sentence without a clause in front that holds no value, denies nothing and opens with
        "whatever", "although", ...
        """
        end = next((i for i, item in enumerate(items) if item == ","), 0)
        words = [item for item in items[:end] if type(item) is str]
        if len(words) < max(end, 1) or words[0] not in _ASIDE:
            return items
        found = self.phrases.find(" ".join(words), ())
        return items if found.negated or found.other else items[end + 1 :]

    def _apart(self, part: Sequence[str | Mention]) -> list[list[str | Mention]]:
        """A clause with several values cut into clauses with one each."""
        if sum(map(_is_hard, part)) < 2:
            return [list(part)]
        return split_by_value(part, _is_hard, self._score)

    def _score(self, part: Sequence[str | Mention]) -> float:
        """How well a clause with one value reads; negative where it does not."""
        clause = self._clause(part)
        return -1.0 if clause.problem or not clause.slot else 1.0 + clause.score

    def _read(self, parts: Sequence[Sequence[str | Mention]]) -> _Reading:
        stated: list[_Stated] = []
        problem, holder, passed = "", "self", 0
        for part in parts:
            key = " ".join([x if type(x) is str else f"<{x.key}>" for x in part])  # type: ignore[union-attr]
            clause = self._clauses.get(key)
            if clause is None:
                clause = self._clauses[key] = self._clause(part)
            words = {word for word in part if type(word) is str}
            of_itself = OWN in words or bool(_HERSELF & words)
            if clause.other:
                holder = "other"
            elif of_itself:
                holder = "self"
            slot, place = clause.slot, clause.place
            if not slot and stated and (of_itself or holder == "self") and words <= _ELLIPTIC:
                slot, place = _continued(part, stated[-1].slot)
            if slot:
                stated.append(_Stated(passed + place, holder, slot, clause.negated))
            else:
                problem = problem or clause.problem
            passed += sum(type(item) is not str for item in part)
        return _Reading(stated, problem)

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
        scores, other, negated = self.phrases.find(words, mention.slots)
        if not mention.slots:
            if mention.kind == "name":
                return _Clause("", other, False, "names somebody that the text is not about")
            if not scores:
                return _Clause("", other, False)
        scores = with_unit(scores, mention.text, mention.kind, mention.slots)
        slot, problem = choose_slot(
            scores, mention.slots, mention.kind in ("values", "number"), self.domain
        )
        if slot and not scores.get(slot) and (best := self.phrases.best_slot(words)):
            problem = f"says of {best} what only {slot} can be"
        score = scores.get(slot, 0.0)
        return _Clause("" if problem else slot, other, negated, problem, hard[0], score)


def choose_slot(
    scores: Mapping[str, float], slots: Collection[str], sure: bool, domain: Definition
) -> tuple[str, str]:
    """The slot that a clause is about among those that its value can have, or what is wrong.

    `sure`: a value that is of one slot alone needs no word beside it; it must be told of no other.
    """
    told = max(scores, key=scores.__getitem__) if scores else ""
    if not slots:
        return "", f"holds no value that {told} can have"
    ranked = sorted(((scores.get(slot, 0.0), slot) for slot in slots), reverse=True)
    score, slot = ranked[0]
    if not score and told:
        return "", f"says of {told} what only {' or '.join(sorted(slots))} can be"
    if len(ranked) > 1:
        if score > ranked[1][0]:
            return slot, ""
        if score:
            return "", f"reads as {slot} and as {ranked[1][1]}"
        return "", f"does not say whether it is {' or '.join(sorted(slots))}"
    if not score and not sure:
        return "", f"names what {slot} can be, and does not say that it is"
    for other in domain.of_type(domain.slots[slot].type):  # the words may be those of another one
        best = scores.get(other, 0.0)
        if score * 2 < best or 0 < score < 1 <= best:
            return "", f"says of {other} what only {slot} can be"
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


def _is_hard(item: str | Mention) -> bool:
    """Whether an item must be a value or a name, and is no word with a capital."""
    return isinstance(item, Mention) and item.kind != "capital"


def _continued(part: Sequence[str | Mention], slot: str) -> tuple[str, int]:
    """The slot of the clause before, where a clause has one value that can be of it; else ""."""
    mentions = [item for item in part if type(item) is not str]
    if len(mentions) == 1 and slot in mentions[0].slots:  # type: ignore[union-attr]
        return slot, 0
    return "", 0


def _kind(mention: object) -> str:
    assert isinstance(mention, Mention)
    return " or ".join(mention.slots) or mention.text


def _shown(sentence: Sequence[str]) -> str:
    return " ".join(sentence)
