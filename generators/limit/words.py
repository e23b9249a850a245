"""The words of LIMIT: attributes, which are things a person could like, and people's names.

The bundled attributes stand in catalogue/*.txt: `[Category]` headings, one attribute a line. An
attribute's id is its index over all files in the order of their names; it does not depend on the
split.

A name is "First Last", unique without remembering any: first names and surnames are Faker's, and a
keyed bijection picks the pair, so ten million names cost no memory. No part of a name is a word of
an attribute, after case folding and stemming: "Rose likes ..." would answer "Who likes Roses?".
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.params import Job
from retgen.streams import Permutation
from retgen.tokenizer import stems

ATTRIBUTES = "attributes.txt"  # in sources/: what agents have proposed

# Faker's, all in Latin script
_LOCALES = (
    "cs_CZ da_DK de_DE en_GB en_US es_ES es_MX fi_FI fr_FR hr_HR hu_HU it_IT nl_NL no_NO pl_PL "
    "pt_BR ro_RO sv_SE"
).split()

_WORD = re.compile(r"\w+")


# --- attributes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attribute:
    """A thing a person could like. `id`: its index in the whole list, from 0."""

    id: int
    text: str
    category: str


def bundled_files() -> tuple[Path, ...]:
    """The catalogue files, in the order that numbers the attributes."""
    return tuple(sorted((Path(__file__).parent / "catalogue").glob("*.txt")))


def has_proposed_attributes(job: Job[Any]) -> bool:
    """Whether a model proposes the attributes."""
    return "propose_attributes" in job.live


def catalogue_files(job: Job[Any]) -> tuple[Path, ...]:
    """The files with the attributes of a job: the bundled ones, or what agents have proposed."""
    if has_proposed_attributes(job):
        return (job.source_folder() / ATTRIBUTES,)
    return bundled_files()


def job_attributes(job: Job[Any]) -> tuple[list[Attribute], list[Attribute]]:
    """(all attributes of the list, those the recipe may use), both in order of their ids."""
    everything = _read(catalogue_files(job))
    return everything, half_of(everything, job.seed, job.params.catalogue.split)


def bundled_attributes() -> list[Attribute]:
    """The bundled catalogue."""
    return _read(bundled_files())


def half_of(everything: list[Attribute], seed: int, split: str) -> list[Attribute]:
    """The attributes of a split."""
    if split == "all":
        return everything
    # ordered by a hash of (seed, text), so that anyone can tell the halves apart
    order = sorted(everything, key=lambda a: hashlib.sha256(f"{seed}\n{a.text}".encode()).digest())
    middle = (len(order) + 1) // 2
    half = order[:middle] if split == "test" else order[middle:]
    return sorted(half, key=lambda a: a.id)


def _read(files: tuple[Path, ...]) -> list[Attribute]:
    result: list[Attribute] = []
    for path in files:
        category = ""
        for line in path.read_text("utf-8").splitlines():
            text = line.strip()
            if text.startswith("["):
                category = text.strip("[]")
            elif text and not text.startswith("#"):
                result.append(Attribute(len(result), text, category))
    return result


def attributes_digest(attributes: Sequence[Attribute]) -> str:
    """SHA-256 of a list of attributes."""
    return hashlib.sha256("\n".join(a.text for a in attributes).encode()).hexdigest()


def attribute_stems(attributes: Sequence[Attribute]) -> frozenset[str]:
    """The stems of all words of the attributes."""
    words = {word for a in attributes for word in _WORD.findall(a.text.casefold())}
    return frozenset(stems(sorted(words)))


# --- names ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeopleNames:
    """All pairs of a first name and a surname, in the order of a keyed bijection."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    order: Permutation
    digest: str  # SHA-256 of both lists as used

    def parts(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For document indices (n,): positions in `first` and in `last`, each (n,)."""
        drawn = self.order(index)
        return drawn // len(self.last), drawn % len(self.last)


@cache  # planning asks for them, and then generating
def _names_with_stems() -> list[list[tuple[str, str]]]:
    """First names and surnames, each sorted, with their stems."""
    both: tuple[set[str], set[str]] = (set(), set())
    for locale in _LOCALES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for kind, into in zip(("first_names", "last_names"), both, strict=True):
            for suffix in ("", "_male", "_female", "_nonbinary"):
                into.update(getattr(provider, kind + suffix, None) or ())
    result = []
    for words in both:
        plain = sorted(word for word in words if word.isalpha() and len(word) > 1)
        stemmed = stems([word.casefold() for word in plain])
        result.append(list(zip(plain, stemmed, strict=True)))
    return result


def load_names(forbidden: frozenset[str], seed: int, split: str, documents: int) -> PeopleNames:
    """Names for `documents` documents.

    `forbidden`: stems that no part of a name may have. `split` "test" or "train" takes the
    surnames of one half only (SHA-256 of (seed, surname), lowest bit of the first byte), so that
    the two share no full name; "all" takes every surname.
    """
    # one spelling a name: "Rene" and "RENE" would be twins to a reader
    first, last = (
        list({word.casefold(): word for word, s in result if s not in forbidden}.values())
        for result in _names_with_stems()
    )
    if split != "all":
        wanted = ("test", "train").index(split)
        last = [
            name
            for name in last
            if hashlib.sha256(f"{seed}\n{name}".encode()).digest()[0] & 1 == wanted
        ]
    count = len(first) * len(last)
    if count < documents:
        raise RecipeError(
            f"params.docs: {len(first):,} first names and {len(last):,} surnames make {count:,} "
            f"names, docs is {documents:,}"
        )
    digest = hashlib.sha256("\n".join([*first, "", *last]).encode()).hexdigest()
    order = Permutation(seed, f"limit/names/{split}", count)
    return PeopleNames(tuple(first), tuple(last), order, digest)
