"""Language: texts that are not in the language of their set.

The language of the set is what its card or manifest states, else that of nearly all its texts.
A short piece of every text is told first; whatever seems foreign is told again by a long one, and
counts only where the classifier is sure: code, tables and lists of names are in no language.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import compress
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
from retgen.validators.rule import Batch, Finding, Measured, TextRule

_PIECE = 100  # characters of every text that are told
_LONG = 1200  # characters of a suspect that are told
_LETTERS = 60  # fewer are too few to tell a language by; 15 in scripts of syllables and words
_SURE, _LONG_SURE, _ELSE = 0.5, 0.98, 0.002  # probabilities: of a piece, of a suspect, of the set's
_DOMINANT = 0.8  # share of the texts that makes a language that of the set
_FEW = 10  # texts that are told, fewer make no language of a set

_CODES = ("", *sorted(LANGUAGES))
# languages that a classifier takes for one another
_NEIGHBOURS = [
    frozenset(group.split())
    for group in (
        "da nn no sv|bs hr sl sr|id ms|es gl pt ca|cs sk|az tr uz|bg mk ru be uk sr|hi mr ne|af nl|"
        "ar fa ur ps ug ku|as bn|kk ky mn"
    ).split("|")
]


def stated_languages(dataset: Dataset) -> list[str]:
    """The languages in the manifest, else on the card, as they are written there; [] if nowhere."""
    stated: Any = card_header(dataset.root).get("language")
    if dataset.run is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
            stated = manifest.get("languages")
    listed = stated if isinstance(stated, list) else [stated]
    return [one for one in listed if isinstance(one, str)]


class Language(TextRule):
    """Documents and queries in another language than their set's."""

    name = "language"
    severity = "warning"
    finds = "documents and queries in another language than their set's"
    order = 200

    stated: frozenset[str] = frozenset()

    def start(self) -> None:
        self.state: Measured = Measured()  # places in `_CODES`, 0 where a language is not told
        self.foreign: dict[str, list[str]] = {}  # language -> ids

    def about(self, dataset: Dataset) -> None:
        codes = [code_of(language) for language in stated_languages(dataset)]
        # a language that the classifier does not know cannot be told from the others
        self.stated = frozenset(code for code in codes if code) if all(codes) else frozenset()

    def scan(self, batch: Batch) -> None:
        told = (_CODES.index(_first_look(text)) for text in _contents(batch))
        self.state.parts.append(np.fromiter(told, np.uint8, len(batch)))

    def suspicious(self) -> bool:
        told = self.state.every(np.uint8)
        self.expected, self.why = self._expected(np.bincount(told, minlength=len(_CODES)))
        near = _near(self.expected)
        foreign = [bool(self.expected and code) and code not in near for code in _CODES]
        self._suspects = np.array(foreign)[told]
        return bool(self._suspects.any())

    def _expected(self, counts: NDArray[np.int64]) -> tuple[frozenset[str], str]:
        """(what texts should be in, empty where nothing can be said; why, the end of a message)."""
        if self.stated:
            shown = ", ".join(language_name(code) for code in sorted(self.stated))
            return self.stated, f"the data set is stated to be in {shown}"
        sure, best = int(counts[1:].sum()), 1 + int(counts[1:].argmax())
        if sure < _FEW or counts[best] < _DOMINANT * sure:
            return frozenset(), ""
        whose = f"{counts[best]:,} of {sure:,} {self.many} whose language can be told"
        return frozenset([_CODES[best]]), f"{whose} are in {language_name(_CODES[best])}"

    def confirm(self, batch: Batch) -> None:
        suspects = self._suspects[batch.first : batch.first + len(batch)].tolist()
        for text_id, text in compress(zip(batch.ids, _contents(batch), strict=True), suspects):
            if language := _foreign(text, self.expected):
                self.foreign.setdefault(language, []).append(text_id)

    def findings(self) -> Iterator[Finding]:
        for language, ids in sorted(self.foreign.items(), key=lambda one: (-len(one[1]), one[0])):
            who = self.which(ids, "seems", "seem")
            yield self.finding(ids, f"{who} to be in {language}; {self.why}")


def _contents(batch: Batch) -> Iterator[str]:
    for title, text in zip(batch.titles, batch.texts, strict=True):
        yield f"{title}. {text}" if title else text


def _near(languages: frozenset[str]) -> frozenset[str]:
    """The languages and those that they are taken for."""
    return languages.union(*(group for group in _NEIGHBOURS if group & languages))


def _enough(text: str) -> bool:
    if len(text) >= _LETTERS or len(text) < _LETTERS // 4 or text.isascii():
        return len(text) >= _LETTERS
    return script_of(text)[0] in ("Han", "Japanese", "Hangul")


def _first_look(text: str) -> str:
    """The language of a piece from the middle of a text, "" where it is not told."""
    middle = max(0, (len(text) - 2 * _PIECE) // 2)
    piece = letters_of(text[middle : middle + 2 * _PIECE])[:_PIECE]
    code, probability = tell(piece) if _enough(piece) else ("", 0.0)
    return code if probability >= _SURE else ""


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
