"""Words of a language: stems for comparing, stopwords, folded texts.

Stems are Snowball's where it knows the language, stopwords yake's. Texts are folded in case, width
(NFKC) and, in Chinese, to simplified characters.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from retgen.tokenizer import STOPWORDS, is_unspaced, sequence, tokens
from retgen.validators.languages import LANGUAGES, letters_of, script_of, tell

CHINESE = "zh"
_YAKE = {"cs": "cz"}  # as yake calls it, where that is not ISO 639-1
# of those that yake has stopwords for, it cannot cut these into words
_UNSPACED = frozenset({"ja", CHINESE})


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    try:
        return Stemmer.Stemmer(language, 0)  # which knows ISO 639-1
    except KeyError:
        return None


@cache
def stopwords(language: str) -> frozenset[str]:
    """Function words of a language, case folded; empty where none are known."""
    import yake

    folder = Path(yake.__file__).parent / "core" / "StopwordsList"
    path = folder / f"stopwords_{_YAKE.get(language, language)}.txt"
    if not path.is_file():
        return frozenset()
    text = unicodedata.normalize("NFC", path.read_text("utf-8", "replace"))
    result = frozenset(text.casefold().split())
    return result | STOPWORDS if language == "en" else result


def has_baseline(language: str) -> bool:
    """Whether queries can be made without a model in a language."""
    return language == CHINESE or (language not in _UNSPACED and bool(stopwords(language)))


def words_of(text: str) -> list[str]:
    """The tokens of a text, folded, word for word: characters side by side have their pair."""
    return tokens(unicodedata.normalize("NFKC", text))


def stems_of(text: str, language: str) -> list[str]:
    """The same in looser terms: stems where they are known, characters whatever is between them."""
    folded_text = unicodedata.normalize("NFKC", text)
    result = sequence(simplify_chinese(folded_text) if language == CHINESE else folded_text)
    stemmer = _stemmer(language)
    return result if stemmer is None else list(stemmer.stemWords(result))


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("t2s")


def simplify_chinese(text: str) -> str:
    """Chinese text in simplified characters."""
    return str(_converter().convert(text))


def fold_text(text: str, language: str) -> str:
    """A text without differences of case, width, white space, and of Chinese scripts."""
    result = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return simplify_chinese(result) if language == CHINESE else result


def language_of(texts: Sequence[str], stated: str | None) -> list[str]:
    """The language of each text; of one too short to tell, that of most others in its script.

    Where all are, it is that of all together. One of hardly any letter (digits, emoji) has the
    language of most others, `UNKNOWN` where there is none.
    """
    if stated is not None:
        return [stated] * len(texts)
    guesses = list[tuple[str, str]]()  # script and language, "" where they cannot be told
    together = dict[str, str]()  # texts of a script
    for text in texts:
        letters = letters_of(text[:_READ])
        script = script_of(text[:_READ])[0] if _has_letters(text[:_READ]) else ""
        code, share = tell(letters)
        guesses.append((script, code if script and share >= _SURE else ""))
        if script and len(together.setdefault(script, "")) < _READ:
            together[script] += f" {letters}"
    sure = Counter((script, code) for script, code in guesses if code)
    usual = dict[str, str]()  # of a script; under "" of all
    for script, text in together.items():
        told = {code: n for (its, code), n in sure.items() if its == script}
        usual[script] = max(told, key=lambda one: (told[one], one), default=tell(text)[0])
    counts = Counter(code or usual.get(script) for script, code in guesses if script)
    usual[""] = counts.most_common(1)[0][0] or UNKNOWN if counts else UNKNOWN
    return [code or usual[script] or UNKNOWN for script, code in guesses]


def _has_letters(text: str) -> bool:
    """Whether there are enough to tell a language; one of a script without an alphabet is."""
    letters = list(filter(str.isalpha, text))
    return len(letters) >= _LETTERS or any(map(is_unspaced, letters))


UNKNOWN = "und"  # ISO 639-3: a language that cannot be told
_READ = 2000  # characters of a text
_SURE = 0.9  # probability of a language that is believed
_LETTERS = 4


def language_name(code: str) -> str:
    """A language by its name."""
    return "Text without letters" if code == UNKNOWN else LANGUAGES.get(code, code)
