"""Names: words of the recipe's Faker lists, none a word of an attribute, halves kept apart."""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from operator import eq

from retgen.tokenizer import stems
from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.spec import LimitSpec, error
from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding


@dataclass
class _Names(DocumentNotes):
    """What is wrong with some names, and how many of the others have so many words."""

    words: Counter[int] = field(default_factory=Counter)


class PersonNames(CorpusRule):
    """Every name is a first name and a surname; test and train sets share no surname.

    In a set with more documents than such names, all of them have a middle name, another first
    name: one that only some had would tell these apart. Which half a surname is of: the lowest bit
    of the first byte of SHA-256 of (seed, surname).
    """

    name = "limit-names"

    def __init__(self, proof: LimitProof, spec: LimitSpec) -> None:
        self.proof = proof
        self.spec = spec
        self.of_attributes = {stem for parts in proof.stemmed.values() for _, stem in parts}
        self.known: tuple[dict[str, str], dict[str, str]] = {}, {}  # word -> what is wrong, or ""
        self.lists: tuple[frozenset[str], frozenset[str]] | None = None
        self.odd: list[str] = []  # documents whose names have another number of words than most
        self.start()

    def start(self) -> None:
        self.state: _Names = _Names()

    def scan(self, batch: Batch) -> None:
        names = self.proof.names(batch)
        if all(names) and (words := self._all_right(names)):
            self.state.words[words] += len(names)
            return
        first_names, surnames = self.known
        for doc_id, name in zip(batch.ids, names, strict=True):
            first, _, others = name.partition(" ")
            middle, _, last = others.rpartition(" ")
            wrong, also = self._fault_of(first_names, first, 0), self._fault_of(surnames, last, 1)
            if middle:
                wrong = wrong or self._fault_of(first_names, middle, 0)
                if middle == first:
                    wrong = f"the first name {first!r} stands twice"
            if name and (wrong or also):
                self.state.documents.append((doc_id, wrong or also))
            elif name:
                self.state.words[name.count(" ") + 1] += 1

    def _all_right(self, names: Sequence[str]) -> int:
        """The words of each name, where all have as many, two or three, and nothing is wrong.

        Seen of all at once, which takes a fifth of the time of one by one.
        """
        spaces = set(map(str.count, names, repeat(" ")))
        if spaces not in ({1}, {2}):
            return 0
        size = spaces.pop() + 1
        words = " ".join(names).split(" ")
        columns = [words[place::size] for place in range(size)]
        places = (0, 1) if size == 2 else (0, 0, 1)
        for place, column in zip(places, columns, strict=True):
            known = self.known[place]
            known |= self._faults_of(set(column).difference(known), place)
            if any(map(known.__getitem__, column)):
                return 0
        if size == 3 and any(map(eq, columns[0], columns[1])):
            return 0
        return size

    def _fault_of(self, known: dict[str, str], word: str, place: int) -> str:
        if word not in known:
            known |= self._faults_of([word], place)
        return known[word]

    def suspicious(self) -> bool:
        return len(self.state.words) > 1

    def confirm(self, batch: Batch) -> None:
        most, wrong = self._most(), {doc_id for doc_id, _ in self.state.documents}
        for doc_id, name in zip(batch.ids, self.proof.names(batch), strict=True):
            if name and doc_id not in wrong and name.count(" ") + 1 != most:
                self.odd.append(doc_id)

    def _most(self) -> int:
        return max(self.state.words, key=lambda words: (self.state.words[words], -words))

    def _faults_of(self, words: Iterable[str], place: int) -> dict[str, str]:
        """What is wrong with first names (place 0) or surnames (1), "" for nothing."""
        listed = list(words)
        stemmed = stems([word.casefold() for word in listed])
        return {w: self._wrong(w, s, place) for w, s in zip(listed, stemmed, strict=True)}

    def _wrong(self, word: str, stem: str, place: int) -> str:
        if self.lists is None:
            self.lists = _faker(self.spec.locales)
        what = ("first name", "surname")[place]
        if not word.isalpha():
            return f"{word!r} is no {what}"
        if stem in self.of_attributes:
            return f"the {what} {word!r} is a word of an attribute too"
        if word not in self.lists[place]:
            return f"the {what} {word!r} is in none of the recipe's locales"
        if place and self.spec.surname_half is not None:
            seed, split = self.spec.surname_half
            digest = hashlib.sha256(f"{seed}\n{word}".encode()).digest()
            if ("test", "train")[digest[0] & 1] != split:
                return f"the {what} {word!r} is not of the {split} half"
        return ""

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.documents:
            yield error("names", [doc_id], f"document {doc_id}: {reason}")
        if self.odd:
            yield error(
                "names",
                self.odd,
                f"the names of most documents have {self._most()} words, those of "
                f"{len(self.odd):,} have not (document {self.odd[0]}, for one)",
            )


@cache
def _faker(locales: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """(first names, surnames) of the locales, all spellings that Faker has."""
    kinds: list[set[str]] = []
    for kind in ("first_names", "last_names"):
        words: set[str] = set()
        for locale in locales:
            provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
            for key in dir(provider):  # inherited lists too
                listed = getattr(provider, key)
                if key.startswith(kind) and isinstance(listed, dict | list | tuple):
                    words.update(listed)
        kinds.append(words)
    return frozenset(kinds[0]), frozenset(kinds[1])
