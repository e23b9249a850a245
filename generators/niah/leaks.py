"""The lexical-leak filter: words related to a question, and sentences that may stand beside it.

A word is related to a word of a question if both have one stem (Snowball), if it is an inflection
of it (lemminflect: ate, eaten, spoken), or if they begin alike: one is the beginning of the other,
with at least four letters or an ending that makes another word of a short one (red, reddish), or
they share six letters and go on otherwise (mathematics, mathematician), or if one negates the
other (eaten, uneaten).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import cache
from itertools import chain
from pathlib import Path

from retgen.errors import RecipeError
from retgen.generators.niah.groups import SLOT, NeedleGroup, place_of
from retgen.tokenizer import STOPWORDS, content_stems, stems, tokens

_LONG = 4  # letters of a word that tell where another one begins with it
_BEGINNING = 6  # letters that tell where two words go on otherwise
_NEGATING = ("un", "non")  # beginnings of the opposite
_THING = 3  # letters of a word that may be negated
_ENDINGS = frozenset("able ed en er ers es ing ish ly ness s y".split())
_ASKED = "character"  # what every question asks for
_CAPITALISED = re.compile(r"(?<=[\w,;:'\")] )[A-Z]\w+|(?<=[-'\"(])[A-Z]\w+")
_WORD = re.compile(r"\w+")


class RelatedWords:
    """The words related to those of some questions."""

    def __init__(self, questions: Iterable[str]) -> None:
        words = {word for text in questions for word in content_words(text)}
        self._stems = dict(zip(stems(sorted(words)), sorted(words), strict=True))
        self._forms = {form: word for word in sorted(words) for form in inflections(word)}
        self._begin: dict[str, list[str]] = defaultdict(list)
        for form in sorted(self._forms):
            self._begin[form[:3]].append(form)
        # the question's word that a case-folded word is related to
        self.to = cache(self._related_to)

    def first(self, text: str) -> tuple[str, str] | None:
        """The first word of a text that is related, and to which word of a question."""
        for word in plain_words(text):
            if (asked := self.to(word)) is not None:
                return word, asked
        return None

    def _related_to(self, word: str) -> str | None:
        if word in STOPWORDS:
            return None
        if (known := self._form(word)) is not None:
            return known
        for form in self._begin.get(word[:3], ()):
            if _alike(word, form):
                return self._forms[form]
        for negating in _NEGATING:
            for other in (word.removeprefix(negating), negating + word):
                enough = other != word and len(min(other, word, key=len)) >= _THING
                if enough and (known := self._form(other)) is not None:
                    return known
        return None

    def _form(self, word: str) -> str | None:
        return self._forms.get(word) or self._stems.get(stems([word])[0])


def _alike(one: str, other: str) -> bool:
    """Whether two words begin alike, and that is hardly by chance."""
    short, long = sorted((one, other), key=len)
    if not long.startswith(short):
        return short[:_BEGINNING] == long[:_BEGINNING] and len(short) > _BEGINNING
    rest = long[len(short) :]
    endings = {rest, rest.removeprefix(short[-1:]), "e" * short.endswith("e") + rest}
    return len(short) >= _LONG or not endings.isdisjoint(_ENDINGS)


def content_words(text: str) -> list[str]:
    """The words of a question that carry its topic."""
    return [word for word in plain_words(text) if word not in STOPWORDS]


def plain_words(text: str) -> list[str]:
    """Words without case, accents and underscores: Kraków is Krakow, and so is _Krakow_."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in apart if not unicodedata.combining(one))
    return tokens(text.replace("_", " "))


@cache
def inflections(word: str) -> Set[str]:
    """All forms of the words that a word may be a form of, itself included."""
    from lemminflect import getAllInflections, getAllLemmas

    lemmas = {word, *chain.from_iterable(getAllLemmas(word).values())}
    forms = (chain.from_iterable(getAllInflections(lemma).values()) for lemma in lemmas)
    return lemmas.union(map(str.casefold, chain.from_iterable(forms))) - STOPWORDS


def check_groups(groups: Sequence[NeedleGroup], table: Path | None) -> None:
    """Refuse a group whose sentences are not what they have to be: see `fault_of`."""
    for group in groups:
        if (fault := fault_of(group)) is not None:
            raise RecipeError(f"params.table: {place_of(group.id, table)}: {fault}")


def fault_of(group: NeedleGroup) -> str | None:
    """Which sentence of a group shares a word with its question, or lacks one, or is an answer that
    it must not be, or has nothing to do with the fact; None for none.
    """
    related = RelatedWords([group.question])
    keys, first = _keys(group), dict[str, str]()
    for key, sentence in group.sentences().items():
        if (same := first.setdefault(sentence, key)) != key:
            return f"{key} is the sentence of {same}: {sentence!r}"
        if key.startswith("near") and keys and keys <= set(stems(tokens(sentence))):
            return (
                f"{key} holds all that the hop goes through ({', '.join(sorted(keys))}), so it "
                f"answers as the needle does: {sentence!r}"
            )
        found = related.first(sentence.replace(SLOT, " "))
        if key.startswith("literal"):
            if found is None:
                return (
                    f"{key} shares no word with the question {group.question!r}, which is what "
                    f"makes it literal: {sentence!r}"
                )
        elif found is not None:
            return (
                f"{key} holds {found[0]!r}, a word of the question {group.question!r} "
                f"({found[1]!r}), so it could be found by that word: {sentence!r}"
            )
    return _fault_of_fact(group)


def _fault_of_fact(group: NeedleGroup) -> str | None:
    """What the fact lacks to lead from the needles to what the question asks about."""
    asked = [word for word in content_words(group.question) if word != _ASKED]
    if RelatedWords([" ".join(asked)]).first(group.fact) is None:
        return (
            f"fact says nothing of what the question asks about (no form of {_quote(asked)}), so "
            f"no needle answers it by this fact: {group.fact!r}; write the fact that leads from "
            "the needle to the question"
        )
    told = RelatedWords([group.fact])
    for key in ("one_hop", "one_hop_inverted"):
        sentence = getattr(group, key)
        held = content_words(sentence.replace(SLOT, " "))
        if not any(map(told.to, held)):
            return (
                f"fact says nothing of what {key} names (no form of {_quote(held)}), so that "
                f"needle does not answer the question by it: {group.fact!r}; name in the fact what "
                f"the needle names: {sentence!r}"
            )
    return None


def _quote(words: Sequence[str]) -> str:
    return ", ".join(map(repr, dict.fromkeys(words))) or "any word"


class LeakFilter:
    """Which sentences of the books may stand in the filler of the groups' haystacks."""

    def __init__(self, groups: Sequence[NeedleGroup]) -> None:
        self._related = RelatedWords(group.question for group in groups)
        texts = [
            text
            for group in groups
            for text in (*group.sentences().values(), group.fact, group.question)
        ]
        # names in the sentences of the groups: of places, works, people, things
        names = {word for text in texts for word in _CAPITALISED.findall(text)}
        self._terms = {word for word in names if word.casefold() not in STOPWORDS}
        self._keys = list(filter(None, map(_keys, groups)))

    def fault(self, sentence: str) -> str:
        """Why a sentence is left out; "" where it may stay.

        "word": of a question; "term": a name in some group's sentences; "key": all that the hop of
        a group goes through.
        """
        if self._related.first(sentence) is not None:
            return "word"
        if not self._terms.isdisjoint(_WORD.findall(sentence)):
            return "term"
        held = set(stems(tokens(sentence)))
        return "key" if any(keys <= held for keys in self._keys) else ""


def _keys(group: NeedleGroup) -> frozenset[str]:
    """Stems of what the hop goes through: in both needles and in the fact."""
    held = (group.one_hop, group.one_hop_inverted, group.fact)
    first, *rest = (content_stems(text.replace(SLOT, " ")) for text in held)
    return first.intersection(*rest)
