"""What in a text answers a question, or is related to one.

Answers are sentences of the table: near-answers of a text's group, and any other answers. Words are
related to a question's as inflections, by a dictionary, or as derived forms, by their letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from retgen.tokenizer import STOPWORDS, tokens, words_only
from retgen.validators.niah.spec import NeedleGroup

_LETTERS = 4  # that a word and one derived from it have in common at least
_BARE = 3  # letters that are left without a prefix or an ending
_WORD = re.compile(r"[^\W_]+")
# characters that are not seen: soft hyphen, joiners, marks of byte order
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def words_of(text: str) -> list[str]:
    """The words of a text without case and accents; of unspaced scripts, neighbours in pairs."""
    if text.isascii():
        return _WORD.findall(text.lower())
    plain = unicodedata.normalize("NFKD", text.translate(_UNSEEN)).casefold()
    plain = "".join(one for one in plain if not unicodedata.combining(one))
    if words_only(plain := unicodedata.normalize("NFC", plain)):
        return _WORD.findall(plain)
    return [one for one in tokens(plain.replace("_", " ")) if len(one) > 1]


def content_words(text: str) -> set[str]:
    """Its words that are no function words."""
    return {word for word in words_of(text) if word not in STOPWORDS}


class RelatedWords:
    """For each question, which words share a lemma with one of its content words, or begin alike.

    Alike: the whole of the shorter one, four letters and more. So does the opposite (uneaten), and
    who does it (eater).
    """

    def __init__(self, questions: Mapping[str, str]) -> None:
        self._lemmas: dict[str, set[str]] = defaultdict(set)  # lemma -> groups
        self._heads: dict[str, set[tuple[str, str]]] = defaultdict(set)  # -> (form, group)
        for group, question in questions.items():
            for word in content_words(question):
                for form in _forms(word):
                    self._lemmas[form].add(group)
                    self._heads[form[:_LETTERS]].add((form, group))
        self._seen: set[str] = set(STOPWORDS)
        self._found: dict[str, set[str]] = {group: set() for group in questions}

    def among(self, group: str, words: set[str]) -> list[str]:
        """Those of some words that are related to the question of a group."""
        for word in words - self._seen:
            self._learn(word)
        return sorted(words & self._found[group])

    def _learn(self, word: str) -> None:
        self._seen.add(word)
        for form in {one for plain in (word, *_bare(word)) for one in _forms(plain)}:
            opposites = (f"un{form}", f"non{form}") if len(form) >= _BARE else ()
            for known in (form, *opposites):
                for group in self._lemmas.get(known, ()):
                    self._found[group].add(word)
        if len(word) >= _LETTERS:
            for form, group in self._heads.get(word[:_LETTERS], ()):
                if len(form) >= _LETTERS and (word.startswith(form) or form.startswith(word)):
                    self._found[group].add(word)


def _bare(word: str) -> list[str]:
    """What a word may be the opposite of, or who does it: without un-, non-, -er, -ers."""
    found = {word.removeprefix(prefix) for prefix in ("un", "non")}
    for ending in ("er", "ers"):
        root = word.removesuffix(ending)
        if root != word:
            found |= {root, f"{root}e"}
            if root[-1:] == root[-2:-1]:  # runner
                found.add(root[:-1])
    return [one for one in found - {word} if len(one) >= _BARE]


def _forms(word: str) -> set[str]:
    """A word and its lemmas, as whatever part of speech."""
    import lemminflect

    found = lemminflect.getAllLemmas(word).values()
    return {word}.union(*({one.lower() for one in lemmas} for lemmas in found))


class _Sentence(NamedTuple):
    """A sentence with whatever name: the words that it cannot be without, and its pattern."""

    words: frozenset[str]
    pattern: re.Pattern[str]


class AnswerFinder:
    """Looks for the sentences of all groups, whoever they are about."""

    def __init__(self, groups: Mapping[str, NeedleGroup]) -> None:
        self._near = {
            name: [_sentence(one) for one in group.near] for name, group in groups.items()
        }
        self._needles = [
            _sentence(one.replace(group.name, "{name}", 1))
            for group in groups.values()
            for one in group.needles.values()
        ]

    def count_near(self, group: str, text: str, words: set[str]) -> int:
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


def count_name(text: str, name: str) -> int:
    """How often a name stands in a text as a word, in whatever case."""
    folded, looked_for = text.casefold(), name.casefold()
    if looked_for not in folded:
        return 0
    return len(re.findall(rf"(?<![^\W_]){re.escape(looked_for)}(?![^\W_])", folded))
