"""The words around a value: which slot a clause is about, whose, and whether it is denied.

A file of patterns (`patterns/DOMAIN.yaml`, or `my_domain.patterns.yaml` beside a domain of one's
own) lists words and short phrases a slot. In a phrase `*` ends a word that has any ending, `(a|b)`
is either, `..` up to four words in between, `{v}` the value; `+` doubles the weight of its phrase;
with `=` it is of its slot whatever the value is. The longest phrase counts where several overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from retgen.tokenizer import STOPWORDS
from retgen.validators.world.definitions import BadDefinition, Definition
from retgen.yaml_text import read_yaml

T = TypeVar("T")
NOT = "a denial"  # in place of a slot: slots have no blanks
_BUNDLED = Path(__file__).parent / "patterns"
_LIGHT = 0.25  # weight of a function word, and of {v}; others weigh 1
_NEGATIONS = (
    "not", "never", "no", "neither", "nor", "nobody", "nowhere", "nothing", "hardly", "without",
    "far from", "rather than", "instead of", "anything but", "anywhere but", "other than",
    "fail* to", "refus* to", "false that", "untrue that", "deni* ", "cannot", "except",
)  # fmt: skip
_NO_NEGATIONS = (
    "not (only|just|merely|simply|least|until|till)", "no (other|doubt|less|fewer) than",
    "no (doubt|wonder|secret|surprise)", "no sooner", "none other than",
    "(nobody|nothing|none) but",
    "(no|nothing|nobody|never|not) .. .. as (much|often|strongly|heavily|clearly|deeply) as",
    "{v} who (has|had|is|was|does|did) (never|not|no)",
    "(no|nothing|nobody|never) .. .. more than", "never (again|tired|forgot|parted|left|without)",
)  # fmt: skip
_SOMEBODY = "somebody"
_POSSESSIVES = r"(?:her|his|its|their|ownname 's|\w+ 's)"
_DETERMINERS = rf"(?:{_POSSESSIVES}|the|a|an|one|another|that|this)"


class Patterns(NamedTuple):
    """The phrases of a domain: slot -> its own; `others`: nouns of those who share its slots.

    `own`: phrases that hold such a noun and are of the one that a text is about ("mother tongue").
    `most`, `least`: slot -> words that ask for its largest and smallest values beside the general
    ones (the youngest has the largest day of birth).
    """

    slots: Mapping[str, Sequence[str]]
    others: Sequence[str]
    most: Mapping[str, Sequence[str]] = {}
    least: Mapping[str, Sequence[str]] = {}
    own: Sequence[str] = ()


def own_patterns(domain: Path) -> Path:
    """Where the patterns for a domain's file stand that are not bundled."""
    return domain.with_suffix(".patterns.yaml")


def read_patterns(domain: Definition, beside: Path | None = None) -> Patterns:
    """The patterns of a domain: those in a file beside its own, or bundled ones of its name.

    A slot that has none gets those that its name and definition give. `beside`: the domain's file.
    Raises `BadDefinition`.
    """
    path = _BUNDLED / f"{domain.domain}.yaml"
    if beside is not None and (own := own_patterns(beside)).is_file():
        path = own
    raw: dict[str, Any] = {}
    given: dict[str, list[str]] = {}
    if path.is_file():
        raw = read_yaml(path, error=BadDefinition)
        _known(path, raw, domain)
        given = dict(raw["slots"])
    for name, slot in domain.slots.items():
        if not given.get(name):
            words = re.findall(r"[a-z]{3,}", f"{name} {slot.about}".lower())
            kept = dict.fromkeys(w for w in words if w not in STOPWORDS and w != domain.singular)
            given[name] = [f"{_stem(word)}*" for word in kept]
    most, least = raw.get("most") or {}, raw.get("least") or {}
    return Patterns(given, raw.get("others") or [], most, least, raw.get("own") or [])


def _known(path: Path, raw: Mapping[str, Any], domain: Definition) -> None:
    """Raise `BadDefinition` for what means nothing, and would be left out without a word."""
    if not isinstance(raw, Mapping) or "slots" not in raw:
        raise BadDefinition(f"{path} holds no patterns: it needs 'slots', a list of words for each")
    wrong = [f"unknown key {key!r}" for key in raw if key not in Patterns._fields]
    for key in ("slots", "most", "least"):
        listed = raw.get(key) or {}
        if not isinstance(listed, Mapping):
            wrong.append(f"{key} must be a mapping of slots")
            continue
        for slot, phrases in listed.items():
            if slot not in domain.slots:
                wrong.append(f"{key}: domain {domain.domain} has no slot {slot!r}")
            wrong += _no_phrases(f"{key}.{slot}", phrases)
    for key in ("others", "own"):
        wrong += _no_phrases(key, raw.get(key) or [])
    if wrong:
        raise BadDefinition(f"{path}: {'; '.join(wrong)}")


def _no_phrases(key: str, listed: object) -> list[str]:
    """What is wrong with a list of phrases."""
    if not isinstance(listed, list):
        return [f"{key} must be a list of words and phrases"]
    wrong = []
    for one in listed:
        if not isinstance(one, str) or not one.strip("+= .*"):
            wrong.append(f"{key}: {one!r} is no word and no phrase")
            continue
        try:
            compile_phrase(one)
        except re.error:
            wrong.append(f"{key}: {one!r} is no phrase; either of two is written (a|b)")
    return wrong


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|ed|ing|s|e|y)$", "", word) if len(word) > 4 else word


class _Phrase(NamedTuple):
    pattern: re.Pattern[str]
    weight: float
    of: str
    valued: bool = False  # it holds {v}, so it is of the slot only where the value can be


_FACTORS = {"+": 2, "=": 3}
_START = 3  # characters of a word by which phrases are looked up
_SHORTENED = re.compile(r"(?<=\s)\w+n['\u2019]t(?=\s)")
_NO = _Phrase(_SHORTENED, 1.0, NOT)


class ClauseMatch(NamedTuple):
    """What the words of a clause say. `scores`: slot -> weight of its phrases, none where none."""

    scores: dict[str, float]
    other: bool
    negated: bool


class PhraseMatcher:
    """The phrases of a domain, compiled."""

    def __init__(self, patterns: Patterns) -> None:
        self._by_start: dict[
            str, list[_Phrase]
        ] = {}  # beginning of a word that a phrase cannot lack
        for slot, phrases in patterns.slots.items():
            for phrase in phrases:
                self._add(phrase, _weight(phrase), slot)
        for phrase in _NEGATIONS:
            self._add(phrase, 1.0, NOT)
        for phrase in _NO_NEGATIONS:
            self._add(phrase, 1.5, "")
        self._others = [_other(noun) for noun in patterns.others]
        self._own = [compile_phrase(phrase) for phrase in patterns.own]
        self._slots = frozenset(patterns.slots)

    def _add(self, phrase: str, weight: float, slot: str) -> None:
        one = _Phrase(
            compile_phrase(phrase, several=slot != NOT),
            weight,
            slot,
            "{v}" in phrase.split() and phrase[0] != "=",
        )
        for start in _starts(phrase):
            self._by_start.setdefault(start, []).append(one)

    def find(self, clause: str, slots: Collection[str]) -> ClauseMatch:
        """The phrases of a clause, whose words stand between single blanks, its value as {v}.

        `slots`: those that the value can have. Where words name somebody else, they say nothing of
        a slot, unless nothing else does ("her spouse was {v}", "her spouse was born in {v}").
        """
        text = f" {clause} "
        own = self._find(text, slots)
        spans = [match.span() for phrase in self._own for match in phrase.finditer(text)]
        for pattern in self._others:
            for match in pattern.finditer(text):
                start, stop = match.span(match.lastgroup or 0)
                if any(first <= start and stop <= last for first, last in spans):
                    continue
                elsewhere = self._find(f"{text[:start]}{_SOMEBODY}{text[stop:]}", slots)
                if any(elsewhere.scores.get(slot) for slot in slots) or not any(
                    own.scores.get(slot) for slot in slots
                ):
                    return elsewhere._replace(other=True)
        return own

    def spans(self, clause: str) -> list[tuple[int, int]]:
        """Where some phrase of any slot stands, or a denial, in the words between single blanks."""
        text = f" {clause} "
        starts = dict.fromkeys(word[:_START] for word in text.split())
        phrases = dict.fromkeys(p for start in starts for p in self._by_start.get(start, ()))
        return [match.span() for one in phrases for match in one.pattern.finditer(text)]

    def best_slot(self, clause: str) -> str:
        """The slot that the words of a clause would say best, whatever its value is; else ""."""
        scores = self._find(f" {clause} ", self._slots).scores
        return max(scores, key=scores.__getitem__) if scores else ""

    def _find(self, text: str, slots: Collection[str]) -> ClauseMatch:
        starts = dict.fromkeys(word[:_START] for word in text.split())
        phrases = [one for start in starts for one in self._by_start.get(start, ())]
        if _SHORTENED.search(text):
            phrases.append(_NO)
        matches = [
            (one.weight, match.start(), match.end(), one.of)
            for one in dict.fromkeys(phrases)
            if not one.valued or one.of in slots
            for match in one.pattern.finditer(text)
        ]
        matches.sort(key=lambda match: (-match[0], match[1]))
        taken: list[tuple[float, int, int, str]] = []
        for one in matches:
            if not any(_hides(other, one, slots) for other in taken):
                taken.append(one)
        scores: dict[str, float] = {}
        for weight, _, _, of in dict.fromkeys(taken):
            scores[of] = scores.get(of, 0.0) + weight
        negated = scores.pop(NOT, 0.0) > 0
        scores.pop("", None)
        return ClauseMatch(scores, False, negated)


def _hides(
    taken: tuple[float, int, int, str], one: tuple[float, int, int, str], slots: Collection[str]
) -> bool:
    """Whether a phrase that counts overlaps with another one that weighs less, or is its own.

    A phrase of a slot that cannot have the value hides none of one that can.
    """
    if one[3] in slots and taken[3] not in slots and taken[3] not in (NOT, ""):
        return False
    overlaps = taken[1] < one[2] and one[1] < taken[2]
    return overlaps and (taken[0] > one[0] or taken[3] == one[3])


def split_by_value(
    items: Sequence[T], is_value: Callable[[T], bool], score: Callable[[Sequence[T]], float]
) -> list[list[T]]:
    """Words with several values cut into parts with one each, where they read best.

    `score`: of a part, negative where it cannot be read. Of equally good places the first.
    """
    values = [i for i, item in enumerate(items) if is_value(item)]
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}  # a part begins: (score, cuts before)
    for here, following in zip(values, [*values[1:], len(items)], strict=True):
        ends = range(here + 1, following + 1) if following < len(items) else [len(items)]
        later: dict[int, tuple[float, list[int]]] = {}
        for end in ends:
            for start, (total, cuts) in best.items():
                one = total + score(items[start:end])
                if end not in later or one > later[end][0]:
                    later[end] = one, [*cuts, end]
        best = later
    cuts = max(best.values(), key=lambda one: one[0])[1]
    return [list(items[start:end]) for start, end in zip([0, *cuts], cuts, strict=False)]


def compile_phrase(phrase: str, several: bool = False) -> re.Pattern[str]:
    """The pattern of a phrase. `several`: its last word may also end in -s."""
    parts = []
    for word in phrase.lstrip("+=").split():
        if word == "..":
            parts.append(r"(?:[^\s,;]+\s){0,4}?")
        else:
            parts.append(_pattern_of(word) + r"\s")
    ending = "s?" if several and re.search(r"[a-z]{3}$", phrase) else ""
    return re.compile(r"(?<=\s)" + "".join(parts).removesuffix(r"\s") + ending + r"(?=\s)")


def _pattern_of(word: str) -> str:
    pattern = re.escape(word).replace(r"\*", r"[\w'\u2019-]*")
    return pattern.replace(r"\(", "(?:").replace(r"\)", ")").replace(r"\|", "|")


def _starts(phrase: str) -> set[str]:
    """The beginnings of a word of a phrase, of one of its words that is as long as can be."""
    words = [w for w in phrase.lstrip("+=").split() if w not in ("..", "{v}")]
    if not words:
        return {"{v}"}
    rated = []
    for word in words:
        ends = re.fullmatch(r"([^()]*)\(([^()]*)\)(.*)", word)
        forms = [ends[1] + one + ends[3] for one in ends[2].split("|")] if ends else [word]
        stems = [form.partition("*")[0] for form in forms]
        rated.append((min(map(len, stems)), {stem[:_START] for stem in stems}, word))
    shortest, starts, word = max(rated, key=lambda one: (one[0], one[2]))
    if shortest < _START and "*" in word:
        raise BadDefinition(f"pattern {phrase!r}: no word of it begins with {_START} letters")
    return starts


def _weight(phrase: str) -> float:
    if phrase[0] in _FACTORS:
        return _FACTORS[phrase[0]] * _weight(phrase[1:])
    words = [word for word in phrase.split() if word != ".."]
    light = sum(word == "{v}" or word.strip("*") in STOPWORDS for word in words)
    return len(words) - light + _LIGHT * light


def _other(noun: str) -> re.Pattern[str]:
    """Somebody else as the one a clause is about.

    At its start or behind a preposition; elsewhere as whose something is, or who does something.
    """
    head = compile_phrase(noun).pattern.removeprefix(r"(?<=\s)").removesuffix(r"(?=\s)")
    start = r"(?:^\s|(?<=\s)(?:that|where|when|which|whom|of|for|to|by|in|,)\s)"
    return re.compile(
        rf"(?:{start}{_DETERMINERS}\s(?:[\w-]+\s){{0,2}}?(?P<noun>{head})(?=\s(?!\{{v\}}))"
        rf"|(?<=\s){_POSSESSIVES}\s(?:[\w-]+\s){{0,2}}?(?P<doer>{head})(?=\s(?!\{{v\}}|$)))"
    )
