"""Texts cut into tokens: the one way of all rules, baselines and lexical retrievers.

The script decides, character by character:

| script | tokens |
|---|---|
| Latin, Cyrillic, Greek, Arabic, Devanagari, Hangul, ... | words, case folded |
| Han, Bopomofo, kana, Thai, Lao, Khmer, Burmese | every character, and every two neighbours |

The latter put no space between words. A phrase is cut alike whatever stands around it, which
a dictionary does not promise (it depends on the sentence, and on a guess between Chinese and
Japanese); a document with all tokens of a phrase nearly always holds the phrase itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from operator import add
from typing import Any

# English function and question words: they carry no topic, whatever the query
STOPWORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further
    had has have having he her here hers him his how i if in into is it its itself just me more
    most my no nor not now of off on once only or other our ours out over own same she should so
    some such than that the their theirs them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with
    would you your yours""".split()
)

# characters of scripts that put no space between words, but for their digits and punctuation
_UNSPACED = {
    "Han": "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff",
    "Bopomofo": "\u3105-\u312f\u31a0-\u31bf",
    "kana": "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e80-\u0ecf\u0edc-\u0edf",
    "Burmese": "\u1000-\u103f\u1050-\u108f\u109a-\u109d\uaa60-\uaa7f",
    "Khmer": "\u1780-\u17d3\u17d7\u17dc\u17dd",
}
# what goes on with a word and no \w matches, for a character class: joiners, and combining marks
# (vowel signs, accents) of the basic plane, less selectors of emoji; those of other planes would be
# searched range by range
_MARKS_AT = *range(0x300, 0x3100), *range(0xA66F, 0xAC00), *range(0xFB1D, 0xFB20)
_RUNS = "".join(
    mark if unicodedata.category(mark) in ("Mn", "Mc") else " "
    for mark in map(chr, (*_MARKS_AT, *range(0xFE20, 0xFE30)))
).split()
MARKS = "\u200c\u200d" + "".join(f"{run[0]}-{run[-1]}" for run in _RUNS)
LETTER = rf"(?:[^\W\d_]|[{MARKS}])"
WORD = re.compile(rf"\w[\w{MARKS}]*")
FULL_STOPS = "।॥؟۔։።။។"  # of Hindi, Arabic, Urdu, Armenian, Amharic, Burmese, Khmer
_SIGNS = "".join(_UNSPACED.values())
_UNSPACED_RUN = re.compile(f"([{_SIGNS}][{_SIGNS}{MARKS}]*)")
_CHARACTER = re.compile(f".[{MARKS}]*")  # with its marks
# what \w+ may cut wrongly: combining marks, scripts with vowel signs or without spaces, full width
_BEYOND_WORDS = re.compile("[\u0300-\u036f\u0483-\u0487\u0590-\u1dff\u200c\u200d\u2e80-\U0010ffff]")


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # without a cache, whose care costs more than stems


def tokens(text: str) -> list[str]:
    """The tokens of a text, case folded, in order; a pair stands after its first character."""
    folded = text.casefold()
    if words_only(folded):
        return WORD.findall(folded)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _cut(WORD.findall(folded), _characters_and_pairs)


def sequence(text: str) -> list[str]:
    """The same without pairs, and an underscore divides words: what subsequences are counted in.

    Where all letters and digits are ASCII, these are the tokens of rouge-score: runs of [a-z0-9],
    not stemmed. It drops every other letter.
    """
    folded = text.casefold().replace("_", " ")
    if words_only(folded):
        return WORD.findall(folded)
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    return _cut(WORD.findall(folded), _CHARACTER.findall)


def _cut(words: Iterable[str], characters: Callable[[str], list[str]]) -> list[str]:
    """Words, and of runs of a script without spaces what `characters` makes of them."""
    result: list[str] = []
    for word in words:
        for place, piece in enumerate(_UNSPACED_RUN.split(word)):
            if place % 2:
                result += characters(piece)
            elif piece:
                result.append(piece)
    return result


def _characters_and_pairs(run: str) -> list[str]:
    """Characters, and between two of them the pair."""
    characters = _CHARACTER.findall(run)
    result = [""] * (2 * len(characters) - 1)
    result[::2] = characters
    result[1::2] = map(add, characters, characters[1:])
    return result


def laid_out(text: str) -> list[str]:
    """Words as they stand, each with the white space before it; joined they are the text, less
    white space at its end. A character of a script without spaces is a word.
    """
    return _cut(re.findall(r"\s*\S+", text), _CHARACTER.findall)


def length(text: str) -> int:
    """Words between white space; a character of a script without spaces counts as one."""
    if words_only(text):
        return len(text.split())
    pieces = [piece for word in text.split() for piece in _UNSPACED_RUN.split(word)]
    return sum(len(p) if is_unspaced(p) else bool(WORD.search(p)) for p in pieces)


def words_only(text: str) -> bool:
    """Whether \\w+ finds the tokens of a text, as it does without CJK and combining marks."""
    return text.isascii() or not _BEYOND_WORDS.search(text)


def is_unspaced(text: str) -> bool:
    """Whether a text begins with a character of a script without spaces. True of its tokens."""
    return bool(_UNSPACED_RUN.match(text))


def named_scripts(texts: Iterable[str]) -> list[str]:
    """The scripts without spaces that stand in some texts, by name."""
    characters: set[str] = set()
    for text in texts:
        if not words_only(text):
            characters.update(text)
    held = "".join(characters)
    return [name for name, script in _UNSPACED.items() if re.search(f"[{script}]", held)]


def stems(words: list[str]) -> list[str]:
    """Snowball (English) stems of case-folded words."""
    return list(_stemmer().stemWords(words))


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text's tokens that are no function words."""
    return frozenset(stems([word for word in tokens(text) if word not in STOPWORDS]))
