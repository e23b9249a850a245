"""Which slot a clause is about, whose, and whether it is denied: told by the words around a value.

A file of patterns (`patterns/DOMAIN.yaml`, or `my_domain.patterns.yaml` beside a domain of one's
own) lists words and short phrases a slot. In a phrase `*` ends a word that has any ending, `(a|b)`
is either, `..` up to four words in between, `{v}` the value. The longest phrase counts where
several overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from retgen.tokenizer import STOPWORDS
from retgen.validators.world.definitions import BadDefinition, Definition

OTHER, NOT = "an other holder", "a denial"  # in place of a slot: slots have no blanks
_BUNDLED = Path(__file__).parent / "patterns"
_LIGHT = 0.25  # weight of a function word, and of {v}; others weigh 1
_NEGATIONS = (
    "not", "never", "no", "neither", "nor", "nobody", "nowhere", "nothing", "hardly", "without",
    "far from", "rather than", "instead of", "anything but", "anywhere but", "other than",
    "fail* to", "refus* to", "false that", "untrue that", "deni* ", "cannot", "except",
)  # fmt: skip
_NO_NEGATIONS = ("not only", "no (other|doubt|less|fewer) than", "no doubt", "not least")
_DETERMINERS = r"(?:her|his|its|their|the|a|an|one|another|that|this|ownname 's|\w+ 's)"


class Patterns(NamedTuple):
    """The phrases of a domain: slot -> its own; `others`: nouns of those who share its slots.

    `most`, `least`: slot -> words that ask for its largest and smallest values beside the general
    ones (the youngest has the largest day of birth).
    """

    slots: Mapping[str, Sequence[str]]
    others: Sequence[str]
    most: Mapping[str, Sequence[str]] = {}
    least: Mapping[str, Sequence[str]] = {}


def read_patterns(domain: Definition, beside: Path | None = None) -> Patterns:
    """The patterns of a domain; without a file, those that its slots' names and definitions give.

    `beside`: the domain's own file, where it is none of the bundled ones.
    """
    path = _BUNDLED / f"{domain.domain}.yaml"
    if beside is not None:
        path = beside.with_suffix("").with_suffix(".patterns.yaml")
    raw = {}
    if path.is_file():
        try:
            raw = yaml.safe_load(path.read_text("utf-8")) or {}
            given = {name: list(map(str, listed)) for name, listed in raw["slots"].items()}
        except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as e:
            raise BadDefinition(f"{path} holds no patterns: {str(e).splitlines()[0]}") from e
    else:
        given = {}
    for name, slot in domain.slots.items():
        if not given.get(name):
            words = re.findall(r"[a-z]{3,}", f"{name} {slot.about}".lower())
            kept = dict.fromkeys(w for w in words if w not in STOPWORDS and w != domain.singular)
            given[name] = [f"{_stem(word)}*" for word in kept]
    return Patterns(given, raw.get("others", []), raw.get("most", {}), raw.get("least", {}))


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|ed|ing|s|e|y)$", "", word) if len(word) > 4 else word


class _Cue(NamedTuple):
    pattern: re.Pattern[str]
    weight: float
    of: str


class Found(NamedTuple):
    """What the words of a clause say. `scores`: slot -> weight of its phrases, where there are any."""

    scores: dict[str, float]
    other: bool
    negated: bool


class Cues:
    """The phrases of a domain, compiled."""

    def __init__(self, patterns: Patterns) -> None:
        self._cues = [
            _Cue(compiled(phrase), _weight(phrase), slot)
            for slot, phrases in patterns.slots.items()
            for phrase in phrases
        ]
        self._cues += [_Cue(compiled(one), 1.0, NOT) for one in _NEGATIONS]
        self._cues += [_Cue(re.compile(r"(?<=\s)(?:\w+n['\u2019]t)(?=\s)"), 1.0, NOT)]
        self._cues += [_Cue(compiled(one), 1.5, "") for one in _NO_NEGATIONS]
        self._others = [_other(noun) for noun in patterns.others]

    def find(self, clause: str) -> Found:
        """The phrases of a clause, whose words stand between single blanks, its value as {v}."""
        text = f" {clause} "
        matches = [
            (cue.weight, match.start(), match.end(), cue.of)
            for cue in self._cues
            for match in cue.pattern.finditer(text)
        ]
        matches.sort(key=lambda match: (-match[0], match[1]))
        taken: list[tuple[float, int, int, str]] = []
        for one in matches:
            if not any(_hides(other, one) for other in taken):
                taken.append(one)
        scores: dict[str, float] = {}
        for weight, _, _, of in dict.fromkeys(taken):
            scores[of] = scores.get(of, 0.0) + weight
        negated = scores.pop(NOT, 0.0) > 0
        scores.pop("", None)
        return Found(scores, self._other(text, taken), negated)

    def _other(self, text: str, taken: Iterable[tuple[float, int, int, str]]) -> bool:
        """Whether a clause is told of somebody else: its noun is no part of what a slot says."""
        for pattern in self._others:
            for match in pattern.finditer(text):
                start, stop = match.span("noun")
                if not any(
                    of not in (NOT, "") and first <= start and stop <= last
                    for _, first, last, of in taken
                ):
                    return True
        return False


def _hides(taken: tuple[float, int, int, str], one: tuple[float, int, int, str]) -> bool:
    """Whether a phrase that counts overlaps with another one that weighs less, or is its own."""
    overlaps = taken[1] < one[2] and one[1] < taken[2]
    return overlaps and (taken[0] > one[0] or taken[3] == one[3])


def compiled(phrase: str) -> re.Pattern[str]:
    """The pattern of a phrase."""
    parts = []
    for word in phrase.split():
        if word == "..":
            parts.append(r"(?:[^\s,;]+\s){0,4}?")
        else:
            parts.append(re.escape(word).replace(r"\*", r"[\w'\u2019-]*")
                         .replace(r"\(", "(?:").replace(r"\)", ")").replace(r"\|", "|") + r"\s")  # fmt: skip
    return re.compile(r"(?<=\s)" + "".join(parts).removesuffix(r"\s") + r"(?=\s)")


def _weight(phrase: str) -> float:
    words = [word for word in phrase.split() if word != ".."]
    light = sum(word == "{v}" or word.strip("*") in STOPWORDS for word in words)
    return len(words) - light + _LIGHT * light


def _other(noun: str) -> re.Pattern[str]:
    """Somebody else as the one a clause is about: at its start, or behind a preposition."""
    head = compiled(noun).pattern.removeprefix(r"(?<=\s)").removesuffix(r"(?=\s)")
    start = r"(?:^\s|(?<=\s)(?:that|where|when|which|whom|of|for|to|by|,)\s)"
    return re.compile(rf"{start}{_DETERMINERS}\s(?:[\w-]+\s){{0,2}}?(?P<noun>{head})(?=\s)")
