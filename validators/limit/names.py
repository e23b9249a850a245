"""Names: words of Faker's lists, none a word of an attribute, halves kept apart."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator
from functools import cached_property

from retgen.tokenizer import stems, tokens
from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.texts import LimitSpec, error
from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding

_LOCALES = (
    "cs_CZ da_DK de_DE en_GB en_US es_ES es_MX fi_FI fr_FR hr_HR hu_HU it_IT nl_NL no_NO pl_PL "
    "pt_BR ro_RO sv_SE"
).split()


class PersonNames(CorpusRule):
    """Every name is a first name and a surname; test and train sets share no surname.

    Which half a surname is of: the lowest bit of the first byte of SHA-256 of (seed, surname).
    """

    name = "limit-names"

    def __init__(self, proof: LimitProof, spec: LimitSpec) -> None:
        self.proof, self.spec = proof, spec
        words = {word for attribute in spec.attributes for word in tokens(attribute)}
        self.of_attributes = frozenset(stems(sorted(words)))
        # what is wrong with words at each place, "" for nothing
        self.known = _Faults(self, "first_names"), _Faults(self, "last_names")
        self.start()

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        firsts, lasts = self.known
        for doc_id, name in zip(batch.ids, self.proof.read(batch).names, strict=True):
            first, _, last = name.partition(" ")
            if name and (wrong := firsts[first] or lasts[last]):
                self.state.documents.append((doc_id, wrong))

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.documents:
            yield error("names", [doc_id], f"document {doc_id}: {reason}")


class _Faults(dict[str, str]):
    """Word -> what is wrong with it, "" for nothing; worked out once."""

    def __init__(self, rule: PersonNames, kind: str) -> None:
        super().__init__()
        self._rule, self._kind = rule, kind
        self._what = "surname" if kind == "last_names" else "first name"

    @cached_property
    def _listed(self) -> frozenset[str]:
        """All spellings that Faker has."""
        words: set[str] = set()
        for locale in _LOCALES:
            provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
            for key in dir(provider):  # inherited lists too
                listed = getattr(provider, key)
                if key.startswith(self._kind) and isinstance(listed, dict | list | tuple):
                    words.update(listed)
        return frozenset(words)

    def __missing__(self, word: str) -> str:
        fault = self[word] = self._fault(word)
        return fault

    def _fault(self, word: str) -> str:
        if not word.isalpha():
            return f"{word!r} is no {self._what}"
        if stems([word.casefold()])[0] in self._rule.of_attributes:
            return f"the {self._what} {word!r} is a word of an attribute too"
        if word not in self._listed:
            return f"the {self._what} {word!r} is in none of Faker's lists"
        half = self._rule.spec.surname_half
        if half is not None and self._what == "surname":
            seed, split = half
            digest = hashlib.sha256(f"{seed}\n{word}".encode()).digest()
            if ("test", "train")[digest[0] & 1] != split:
                return f"the surname {word!r} is not of the {split} half"
        return ""
