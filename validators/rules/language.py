"""Language and script: texts that are not in the language of their set.

The language of the set is what its card or manifest states, else that of nearly all its texts.
A short piece of every text is told first; whatever seems foreign is told again by a long one, and
counts only where the classifier is sure: code, tables and lists of names are in no language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.dataset_files import card_header
from retgen.on_disk import MappedList
from retgen.validators.languages import (
    LANGUAGES,
    code_of,
    language_name,
    letters_of,
    script_of,
    tell,
    weigh,
)
from retgen.validators.rule import Batch, Finding, JudgedRule, Judgements, RuleState


def stated_languages(dataset: Dataset) -> list[str]:
    """The languages in the manifest, else on the card, as they are written there; [] if nowhere."""
    if dataset.run is not None:
        try:
            manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        except (OSError, ValueError):
            manifest = None
        if isinstance(manifest, dict):
            return _strings(manifest.get("languages"))
    return _strings(card_header(dataset.root).get("language"))


def _strings(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]


_PIECE = 100  # characters of every text that are told
_LONG = 1200  # characters of a suspect that are told
_LETTERS = 60  # fewer are too few to tell a language by; 15 in scripts of syllables and words
_SURE, _LONG_SURE, _ELSE = 0.5, 0.98, 0.002  # probabilities: of a piece, of a suspect, of the set's
_DOMINANT = 0.8  # share of the texts that makes a language, or a script, that of the set
_FEW = 10  # texts that are told, fewer make no language of a set

_CODES = ("", *sorted(LANGUAGES))
_PLACE = {code: place for place, code in enumerate(_CODES)}
_LATIN = "Latin"
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


@dataclass
class _Languages(RuleState):
    """A byte a document: its language, and whether its script is not Latin (by name)."""

    languages: list[NDArray[np.uint8]] = field(default_factory=list)
    scripts: Counter[str] = field(default_factory=Counter)

    def counts(self) -> Counter[str]:
        message = np.zeros(len(_CODES), np.int64)
        for part in self.languages:
            message += np.bincount(part, minlength=len(_CODES))
        counts = ((code, int(message[place])) for code, place in _PLACE.items())
        return Counter({code: count for code, count in counts if count})


@dataclass
class _Expected:
    """What texts should be in: `languages` and the `script`, empty where nothing can be said."""

    languages: frozenset[str]
    script: str
    why: str  # the end of a message

    @classmethod
    def of(
        cls, stated: frozenset[str], message: Counter[str], scripts: Counter[str], what: str
    ) -> Self:
        sure = sum(count for code, count in message.items() if code)
        best = max((code for code in message if code), key=lambda c: (message[c], c), default="")
        script = max(scripts, key=lambda s: (scripts[s], s), default="")
        if script and scripts[script] < _DOMINANT * scripts.total():
            script = ""
        if stated:
            shown = ", ".join(language_name(code) for code in sorted(stated))
            return cls(stated, script, f"the data set is stated to be in {shown}")
        if sure < _FEW or message[best] < _DOMINANT * sure:
            return cls(frozenset(), script, f"nearly all {what} are in {script} script")
        share = (
            f"{message[best]:,} of {sure:,} {what} whose language can be told are in "
            f"{language_name(best)}"
        )
        return cls(frozenset([best]), script, share)


class Language(JudgedRule):
    """Documents and queries in another language, or another script, than their set's."""

    name = "language"
    severity = "warning"
    finds = "documents and queries in another language, or another script, than their set's"
    order = 200

    def __init__(self, judgements: Judgements) -> None:
        self.stated: frozenset[str] = frozenset()
        self.foreign: dict[str, list[str]] = {}  # what -> ids
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Languages = _Languages()

    def about(self, dataset: Dataset) -> None:
        codes = [code_of(language) for language in stated_languages(dataset)]
        # a language that the classifier does not know cannot be told from the others
        self.stated = frozenset(code for code in codes if code) if all(codes) else frozenset()

    def scan(self, batch: Batch) -> None:
        message, scripts = _first_look(_contents(batch))
        self.state.languages.append(message)
        self.state.scripts += scripts

    def suspicious(self) -> bool:
        counts = self.state.counts()
        self.expected = _Expected.of(self.stated, counts, self.state.scripts, "documents")
        self._language_of = np.concatenate([np.empty(0, np.uint8), *self.state.languages])
        near = _near(self.expected.languages)
        self._allowed = np.array([not c or c in near or not near for c in _CODES])
        other = any(script != self.expected.script for script in self.state.scripts)
        return bool(not self._allowed[self._language_of].all() or (other and self.expected.script))

    def confirm(self, batch: Batch) -> None:
        here = ~self._allowed[self._language_of[batch.first : batch.first + len(batch)]]
        for index, text in enumerate(_contents(batch)):
            seems = here[index] or not text.isascii() or self.expected.script != _LATIN
            if seems and (what := _foreign(text, self.expected)):
                self.foreign.setdefault(what, []).append(batch.ids[index])

    def findings(self) -> Iterator[Finding]:
        yield from self._findings_of("document", self.foreign, self.expected.why)
        queries = self.judgements.queries
        message, scripts = _first_look(MappedList(lambda query: query.text, queries))
        counts = Counter(_CODES[place] for place in message.tolist())
        expected = _Expected.of(self.stated, counts, scripts, "queries")
        result: dict[str, list[str]] = {}
        for query in queries:
            if what := _foreign(query.text, expected):
                result.setdefault(what, []).append(query.query_id)
        yield from self._findings_of("query", result, expected.why)

    def _findings_of(self, kind: str, result: dict[str, list[str]], why: str) -> Iterator[Finding]:
        many = {"document": "documents", "query": "queries"}[kind]
        for what, ids in sorted(result.items(), key=lambda one: (-len(one[1]), one[0])):
            seem = f"{kind} {ids[0]} seems" if len(ids) == 1 else f"{len(ids):,} {many} seem"
            yield self.finding(ids, f"{seem} to be in {what}; {why}")


def _contents(batch: Batch) -> list[str]:
    both = zip(batch.titles, batch.texts, strict=True)
    return [f"{title}. {text}" if title else text for title, text in both]


def _near(languages: frozenset[str]) -> frozenset[str]:
    """The languages and those that they are taken for."""
    groups = [group for group in _NEIGHBOURS if group & languages]
    return languages.union(*groups)


def _enough(text: str) -> bool:
    if len(text) >= _LETTERS or len(text) < _LETTERS // 4 or text.isascii():
        return len(text) >= _LETTERS
    return script_of(text)[0] in ("Han", "Japanese", "Hangul")


def _first_look(texts: Sequence[str]) -> tuple[NDArray[np.uint8], Counter[str]]:
    """The language of a piece of each text, (n,), 0 where it is not told; texts by script."""
    message = np.zeros(len(texts), np.uint8)
    scripts: Counter[str] = Counter()
    for index, text in enumerate(texts):
        middle = max(0, (len(text) - 2 * _PIECE) // 2)
        piece = letters_of(text[middle : middle + 2 * _PIECE])[:_PIECE]
        if text.isascii():
            scripts[_LATIN] += 1
        elif script := script_of(text)[0]:
            scripts[script] += 1
        if _enough(piece):
            code, probability = tell(piece)
            if probability >= _SURE:
                message[index] = _PLACE[code]
    return message, scripts


def _foreign(text: str, expected: _Expected) -> str | None:
    """What a text is in, where that is surely none of what is expected."""
    whole = letters_of(text[: 4 * _LONG])[:_LONG]
    script, letters, share = script_of(whole)
    if expected.languages and _enough(whole):
        chances = weigh(whole)
        best = max(chances, key=lambda code: (chances[code], code))
        rest = sum(chances.get(code, 0.0) for code in _near(expected.languages))
        if best in LANGUAGES and chances[best] >= _LONG_SURE and rest <= _ELSE:
            return language_name(best)
        return None
    other = script and expected.script and script != expected.script
    east = {script, expected.script} == {"Han", "Japanese"}
    return f"{script} script" if other and not east and letters >= 4 and share >= 0.7 else None
