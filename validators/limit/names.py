"""Names: two words of the recipe's Faker lists, none a word of an attribute, halves kept apart."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Sequence

from retgen.tokenizer import stems, tokens
from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.spec import Spec, error
from retgen.validators.rule import Batch, CorpusRule, Finding, Named

__all__ = ["PersonNames"]


class PersonNames(CorpusRule):
    """Every name is a first name and a surname; test and train sets share no surname.

    Which half a surname is of: the lowest bit of the first byte of SHA-256 of (seed, surname).
    """

    name = "limit-names"

    def __init__(self, proof: LimitProof, spec: Spec) -> None:
        self.proof = proof
        self.spec = spec
        self.of_attributes = frozenset(stems([w for a in spec.attributes for w in tokens(a)]))
        self.known: tuple[dict[str, str], dict[str, str]] = {}, {}  # word -> what is wrong, or ""
        self.lists: tuple[frozenset[str], frozenset[str]] | None = None
        self.start()

    def start(self) -> None:
        self.state: Named = Named()

    def scan(self, batch: Batch) -> None:
        first_names, surnames = self.known
        for doc_id, (name, _) in zip(batch.ids, self.proof.parsed(batch), strict=True):
            first, _, last = name.partition(" ")
            wrong = first_names.get(first)
            if wrong is None:
                wrong = first_names[first] = self._wrong(first, 0)
            also = surnames.get(last)
            if also is None:
                also = surnames[last] = self._wrong(last, 1)
            if (wrong or also) and name:
                self.state.found.append((doc_id, wrong or also))

    def _wrong(self, word: str, place: int) -> str:
        """What is wrong with a first name (place 0) or a surname (1)."""
        if self.lists is None:
            self.lists = _faker(self.spec.locales)
        what = ("first name", "surname")[place]
        if not word.isalpha():
            return f"{word!r} is no {what}"
        if stems([word.casefold()])[0] in self.of_attributes:
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
        for doc_id, reason in self.state.found:
            yield error("names", [doc_id], f"document {doc_id}: {reason}")


def _faker(locales: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
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
