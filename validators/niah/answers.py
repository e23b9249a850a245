"""Sentences of the table that stand in a text: near-answers of its group, and any other answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from retgen.validators.niah.related import content_words, words_of
from retgen.validators.niah.spec import Group


class _Sentence(NamedTuple):
    """A sentence with whatever name: the words that it cannot be without, and its pattern."""

    words: frozenset[str]
    pattern: re.Pattern[str]


class Answers:
    """Looks for the sentences of all groups, whoever they are about."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self._near = {
            name: [_sentence(one) for one in group.near] for name, group in groups.items()
        }
        self._needles = [
            _sentence(one.replace(group.name, "{name}", 1))
            for group in groups.values()
            for one in group.needles.values()
        ]

    def near(self, group: str, text: str, words: set[str]) -> int:
        """How many near-answers of its group a text holds."""
        return sum(len(found) for found in _found(self._near[group], text, words))

    def other(self, group: str, text: str, words: set[str]) -> str:
        """The first needle of any group, or near-answer of another one, in a text; else ""."""
        for name, near in self._near.items():
            if name != group:
                for found in _found(near, text, words):
                    return found[0]
        return next((found[0] for found in _found(self._needles, text, words)), "")

    def any(self, text: str) -> str:
        """The first sentence of any group in a text; else ""."""
        return self.other("", text, set(words_of(text)))


def _found(looked_for: list[_Sentence], text: str, words: set[str]) -> Iterator[list[str]]:
    for one in looked_for:
        if one.words <= words and (found := one.pattern.findall(text)):
            yield found


def _sentence(template: str) -> _Sentence:
    parts = [re.escape(part) for part in template.split("{name}")]
    plain = template.replace("{name}", " ")
    pattern = re.compile(r"[\w'\u2019-]+(?: [\w'\u2019-]+)?".join(parts))
    return _Sentence(frozenset(content_words(plain)), pattern)


def times(text: str, name: str) -> int:
    """How often a name stands in a text as a word, in whatever case."""
    folded, looked_for = text.casefold(), name.casefold()
    if looked_for not in folded:
        return 0
    return len(re.findall(rf"(?<![^\W_]){re.escape(looked_for)}(?![^\W_])", folded))
