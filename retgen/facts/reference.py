"""Wordings cut at their marks, and what an entity is called from sentence to sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

_FORMS = {"she": ("she", "her", "her"), "he": ("he", "his", "him"), "it": ("it", "its", "it")}
_MARK = re.compile(r"\{([SPO])\}")
_ADVERB = re.compile(r"\b(?:first|last|originally|later|already) ")
_AUXILIARIES = frozenset(("is", "was", "has", "had"))
# what can stand before its subject: "Shot in Turin, it ..."
_PARTICIPLE = re.compile(
    r"\{0\} (?:is|was) ((?:first |last |originally |later )?(?!often\b)"
    r"(?:\w+(?:ed|en|wn|rn)|set|shot|made|bound|heard|split|brought|kept|found|dreamt|fluent) .+)"
)


class StatedFact(NamedTuple):
    """A fact as a text states it. `holder`: -1 the entity, otherwise which of the domain's others.

    `spoken`: the value in words, and bare (of years and dates, without "in" or "on").
    """

    slot: str
    name: str
    spoken: tuple[str, str]
    wording: int
    holder: int = -1


class CutWording(NamedTuple):
    """A document wording, cut for speed. `joins`: it begins with the subject or its possessive.

    `text`: for str.format, whose first mark is `{0}`; later marks are those of the pronoun.
    """

    text: str
    first: str  # "S", "P" or "O"; "" without a mark
    joins: bool
    alone: bool  # it has no second mark, so anybody can be its subject
    verb: str  # what stands after the subject: "was born", "lives"
    present: bool  # what follows the subject is in the present tense, as "lives" or "has" is
    participle: str  # what stands before another clause's subject: "shot in {v}"; "" for none

    def joins_with(self, other: CutWording) -> bool:
        """Whether another one can follow it and "and", without a subject."""
        both = self.first == other.first == "S" and self.joins and other.joins
        return both and self.present == other.present and self.verb != other.verb


def cut(wording: str) -> CutWording:
    """A wording of a domain file, cut at its marks."""
    first = _MARK.search(wording)
    if first is None:
        return CutWording(wording, "", False, True, "", False, "")
    head, tail = wording[: first.start()], wording[first.end() :]
    tail = _MARK.sub(lambda mark: f"{{{mark[1].lower()}}}", tail)
    words = _ADVERB.sub("", tail).split()
    word = words[0] if words else ""
    verb = " ".join(words[:2]) if word in _AUXILIARIES else word
    text = f"{head[:1].lower()}{head[1:]}{{0}}{tail}"
    before = _PARTICIPLE.fullmatch(text) if first[1] == "S" else None
    return CutWording(
        text,
        first[1],
        not head and first[1] in "SP",
        not re.search(r"\{[spo]\}", tail),
        verb,
        word.endswith("s") and word != "was",
        before[1] if before else "",
    )


class Subject(NamedTuple):
    """What an entity is called, and which slots name another one that its pronoun may be."""

    name: str
    short: str
    pronoun: str
    nouns: tuple[str, ...]
    marks: dict[str, str]
    naming: frozenset[str]

    @classmethod
    def of(
        cls, forms: tuple[str, str, str], nouns: tuple[str, ...], naming: frozenset[str]
    ) -> Subject:
        """`forms`: the name, a short one or "", the pronoun; `nouns`: what else it is called."""
        name, short, pronoun = forms
        marks = dict(zip("spo", _FORMS[pronoun], strict=True))
        return cls(name, short, pronoun, (*((short,) if short else ()), *nouns), marks, naming)

    def again(self, others: str) -> str:
        """What it is called where its pronoun may be another's. `others`: their names."""
        return self.name if self.short in others else self.short

    def declined(self, case: str, subject: str) -> str:
        """A subject as subject, possessive or object: "the" for "its", which may be another's."""
        if subject == self.pronoun:
            return "the" if case == "P" and subject == "it" else self.marks[case.lower()]
        return f"{subject}'s" if case == "P" else subject

    def put(self, text: str, one: StatedFact, subject: str = "") -> str:
        """A wording's text with a fact's value; nothing in place of the subject unless given."""
        return text.format(subject, v=one.spoken[0], n=one.spoken[1], **self.marks)


class Reference:
    """What an entity is called from sentence to sentence.

    A pronoun that may be another's gives way to the name, "it" that may be a thing just named to a
    noun ("the film").
    """

    def __init__(self, who: Subject) -> None:
        self.who = who
        self.others = who.name  # whom the pronoun may be taken for, if anybody
        self.told_aside = False  # in the last sentence, so that no two do one after another
        self._clear = True  # "it" can only be the entity
        self._said = who.name

    def called(self, wording: CutWording, draw: int = 1, *, named: bool = False) -> str:
        """The subject of a wording. `draw`: a noun in place of the pronoun for some of them;
        `named`: for all.
        """
        who = self.who
        if self.others or (named and not who.nouns):
            self._said = who.again(self.others)
            return self._said
        if named:
            self._said = who.nouns[0]
            return self._said
        self._said, before = who.pronoun, self._said
        if wording.first == "P" or not who.nouns:
            return self._said
        it = who.pronoun == "it"
        unclear = it and (not self._clear or wording.first == "O")
        if not unclear and (before != who.pronoun or draw & (7 if who.short else 3)):
            return self._said
        nouns = [noun for noun in who.nouns if noun != (who.short if it else before)]
        if nouns:  # one is kept to: "the film", seldom "the picture"
            kept = it and draw & 24
            self._said = nouns[0 if kept else (draw >> (5 if it else 3)) % len(nouns)]
        return self._said

    def heard(
        self, last: CutWording, others: str = "", *, thing: bool = False, person: bool = False
    ) -> None:
        """Behind a sentence. `others`: whom it names; `thing`: it ends with what may be "it";
        `person`: it names nobody who may be ("Ann Lee wrote the book. It").
        """
        self.others = others
        first = last.first == "S" and last.joins and not thing
        self._clear = first or (person and last.text.endswith("{0}"))
