"""Language: texts that are not in the language of their set.

The language of the set is what its card or manifest states, else that of nearly all its texts.
A short piece of every text is told first; whatever seems foreign is told again by a long one, and
counts only where the classifier is sure: code, tables and lists of names are in no language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.dataset_files import card_header
from retgen.validators.languages import (
    LANGUAGES,
    code_of,
    language_name,
    letters_of,
    script_of,
    tell,
    weigh,
)
from retgen.validators.rule import Batch, Finding, RuleState, TextRule

_PIECE = 100  # characters of every text that are told
_LONG = 1200  # characters of a suspect that are told
_LETTERS = 60  # fewer are too few to tell a language by; 15 in scripts of syllables and words
_SURE, _LONG_SURE, _ELSE = 0.5, 0.98, 0.002  # probabilities: of a piece, of a suspect, of the set's
_DOMINANT = 0.8  # share of the texts that makes a language that of the set
_FEW = 10  # texts that are told, fewer make no language of a set

_CODES = ("", *sorted(LANGUAGES))
_PLACE = {code: place for place, code in enumerate(_CODES)}
# languages that a classifier takes for one another
_NEIGHBOURS = [
    frozenset(group.split())
    for group in (
        "da nn no sv",
        "bs hr sl sr",
        "id ms",
        "es gl pt ca",
        "cs sk",
        "az tr uz",
        "bg mk ru be uk sr",
        "hi mr ne",
        "af nl",
        "ar fa ur ps ug ku",
        "as bn",
        "kk ky mn",
    )
]
_Codes = NDArray[np.uint8]  # places in `_CODES`, 0 where a language is not told


def stated_languages(dataset: Dataset) -> list[str]:
    """The languages in the manifest, else on the card, as they are written there; [] if nowhere."""
    stated: Any = card_header(dataset.root).get("language")
    if dataset.run is not None:
        try:
            manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        except (OSError, ValueError):
            manifest = None
        if isinstance(manifest, dict):
            stated = manifest.get("languages")
    listed = stated if isinstance(stated, list) else [stated]
    return [one for one in listed if isinstance(one, str)]


@dataclass
class _Languages(RuleState):
    """A byte a document: its language."""

    parts: list[_Codes] = field(default_factory=list)


class Language(TextRule):
    """Documents and queries in another language than their set's."""

    name = "language"
    severity = "warning"
    finds = "documents and queries in another language than their set's"
    order = 200

    stated: frozenset[str] = frozenset()

    def start(self) -> None:
        self.state: _Languages = _Languages()
        self.foreign: dict[str, list[str]] = {}  # language -> ids

    def about(self, dataset: Dataset) -> None:
        codes = [code_of(language) for language in stated_languages(dataset)]
        # a language that the classifier does not know cannot be told from the others
        self.stated = frozenset(code for code in codes if code) if all(codes) else frozenset()

    def scan(self, batch: Batch) -> None:
        self.state.parts.append(_first_look(_contents(batch)))

    def suspicious(self) -> bool:
        told = np.concatenate([np.empty(0, np.uint8), *self.state.parts])
        self.expected, self.why = _expected(self.stated, told, self.many)
        self._suspects = _suspects(told, self.expected)
        return bool(self._suspects.any())

    def confirm(self, batch: Batch) -> None:
        suspects = self._suspects[batch.first : batch.first + len(batch)]
        for index in np.flatnonzero(suspects).tolist():
            if language := _foreign(next(_contents(batch, index)), self.expected):
                self.foreign.setdefault(language, []).append(batch.ids[index])

    def findings(self) -> Iterator[Finding]:
        for language, ids in sorted(
            self.foreign.items(), key=lambda item: (-len(item[1]), item[0])
        ):
            many = f"{len(ids):,} {self.many} seem"
            seem = f"{self.one} {ids[0]} seems" if len(ids) == 1 else many
            yield self.finding(ids, f"{seem} to be in {language}; {self.why}")


def _contents(batch: Batch, first: int = 0) -> Iterator[str]:
    for title, text in zip(batch.titles[first:], batch.texts[first:], strict=True):
        yield f"{title}. {text}" if title else text


def _expected(stated: frozenset[str], told: _Codes, what: str) -> tuple[frozenset[str], str]:
    """(what texts should be in, empty where nothing can be said; why, the end of a message)."""
    counts = np.bincount(told, minlength=len(_CODES))
    sure, best = int(counts[1:].sum()), _CODES[1 + int(counts[1:].argmax())]
    if stated:
        shown = ", ".join(language_name(code) for code in sorted(stated))
        return stated, f"the data set is stated to be in {shown}"
    most = int(counts[_PLACE[best]])
    if sure < _FEW or most < _DOMINANT * sure:
        return frozenset(), ""
    whose = f"{most:,} of {sure:,} {what} whose language can be told"
    return frozenset([best]), f"{whose} are in {language_name(best)}"


def _suspects(told: _Codes, expected: frozenset[str]) -> NDArray[np.bool_]:
    """(n,) texts that seem to be in a language that is not expected, nor taken for one that is."""
    allowed = np.array([not expected or not code or code in _near(expected) for code in _CODES])
    result: NDArray[np.bool_] = ~allowed[told]
    return result


def _near(languages: frozenset[str]) -> frozenset[str]:
    """The languages and those that they are taken for."""
    return languages.union(*(group for group in _NEIGHBOURS if group & languages))


def _enough(text: str) -> bool:
    if len(text) >= _LETTERS or len(text) < _LETTERS // 4 or text.isascii():
        return len(text) >= _LETTERS
    return script_of(text)[0] in ("Han", "Japanese", "Hangul")


def _first_look(texts: Iterable[str]) -> _Codes:
    """The language of a piece from the middle of each text."""

    def languages() -> Iterator[int]:
        for text in texts:
            middle = max(0, (len(text) - 2 * _PIECE) // 2)
            piece = letters_of(text[middle : middle + 2 * _PIECE])[:_PIECE]
            code, probability = tell(piece) if _enough(piece) else ("", 0.0)
            yield _PLACE[code] if probability >= _SURE else 0

    return np.fromiter(languages(), np.uint8)


def _foreign(text: str, expected: frozenset[str]) -> str | None:
    """The language of a text, where that is surely none of what is expected."""
    whole = letters_of(text[: 4 * _LONG])[:_LONG]
    if not _enough(whole):
        return None
    chances = weigh(whole)
    best = max(chances, key=lambda code: (chances[code], code))
    rest = sum(chances.get(code, 0.0) for code in _near(expected))
    sure = best in LANGUAGES and chances[best] >= _LONG_SURE and rest <= _ELSE
    return language_name(best) if sure else None
