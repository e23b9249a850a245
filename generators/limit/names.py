"""People's names: index -> "First Last", unique without remembering any.

First names and surnames are Faker's, of the locales below (all in Latin script); a keyed bijection
picks the pair, so ten million names cost no memory. Where there are fewer pairs than documents,
every document's name has a middle name, which is another first name: "First Middle Last". No part
of a name is a word of an attribute, after case folding and stemming: "Rose likes ..." would answer
"Who likes Roses?".
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.streams import Permutation

Locale = Literal[
    "cs_CZ", "da_DK", "de_DE", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_FR", "hr_HR",
    "hu_HU", "it_IT", "nl_NL", "no_NO", "pl_PL", "pt_BR", "ro_RO", "sv_SE",
]  # fmt: skip
LOCALES: tuple[Locale, ...] = (
    "cs_CZ", "da_DK", "de_DE", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_FR", "hr_HR",
    "hu_HU", "it_IT", "nl_NL", "no_NO", "pl_PL", "pt_BR", "ro_RO", "sv_SE",
)  # fmt: skip


@dataclass(frozen=True)
class Names:
    """All pairs of a first name and a surname, in the order of a keyed bijection.

    With `middle` all triples of two different first names and a surname.
    """

    first: tuple[str, ...]
    last: tuple[str, ...]
    order: Permutation
    digest: str  # SHA-256 of both lists as used
    middle: bool = False

    def parts(
        self, index: NDArray[np.int64]
    ) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.int64]]:
        """For document indices (n,): positions in `first`, one or two, and in `last`, each (n,)."""
        drawn = self.order(index)
        given, last = drawn // len(self.last), drawn % len(self.last)
        if not self.middle:
            return (given,), last
        count = len(self.first)
        one, further = given // (count - 1), given % (count - 1)
        return (one, (one + 1 + further) % count), last


@cache  # planning asks for them, and then generating
def _stemmed(locales: tuple[Locale, ...]) -> list[list[tuple[str, str]]]:
    """First names and surnames of some locales, each sorted, with their stems."""
    from retgen.generators.limit.attributes import stem_words

    both: tuple[set[str], set[str]] = (set(), set())
    for locale in locales:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for kind, into in zip(("first_names", "last_names"), both, strict=True):
            for suffix in ("", "_male", "_female", "_nonbinary"):
                into.update(getattr(provider, kind + suffix, None) or ())
    result = []
    for words in both:
        plain = sorted(word for word in words if word.isalpha() and len(word) > 1)
        stems = stem_words([word.casefold() for word in plain])
        result.append(list(zip(plain, stems, strict=True)))
    return result


def load_names(
    locales: Iterable[Locale], forbidden: frozenset[str], seed: int, split: str, documents: int
) -> Names:
    """Names for `documents` documents.

    `forbidden`: stems that no part of a name may have. `split` "test" or "train" takes the
    surnames of one half only (SHA-256 of (seed, surname), lowest bit of the first byte), so that
    the two share no full name; "all" takes every surname.
    """
    used = tuple(locales)
    # one spelling a name: "Rene" and "RENE" would be twins to a reader
    lists = [
        list({word.casefold(): word for word, s in result if s not in forbidden}.values())
        for result in _stemmed(used)
    ]
    if split != "all":
        wanted = ("test", "train").index(split)
        lists[1] = [
            name
            for name in lists[1]
            if hashlib.sha256(f"{seed}\n{name}".encode()).digest()[0] & 1 == wanted
        ]
    count = len(lists[0]) * len(lists[1])
    middle = count < documents
    if middle:
        count *= len(lists[0]) - 1
    if count < documents:
        missing = [one for one in LOCALES if one not in used]
        raise RecipeError(
            f"params.names: {len(lists[0]):,} first names and {len(lists[1]):,} surnames make "
            f"{count:,} names with a middle name, docs is {documents:,}; ask for at most {count:,} "
            "documents" + (f", or add locales ({', '.join(missing)})" if missing else "")
        )
    digest = hashlib.sha256("\n".join([*lists[0], "", *lists[1]]).encode()).hexdigest()
    order = Permutation(seed, f"limit/names/{split}" + ("/middle" if middle else ""), count)
    return Names(tuple(lists[0]), tuple(lists[1]), order, digest, middle)
