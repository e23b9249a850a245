"""The words of LIMIT: attributes, which are things a person could like, and people's names.

The bundled attributes stand in catalogue/*.txt: `[Category]` headings, one attribute a line. An
attribute's id is its index over all files in the order of their names; it does not depend on the
split or on a filter. A recipe may bring one file of its own in the same form.

A name is "First Last", unique without remembering any: first names and surnames are Faker's, of the
locales below (all in Latin script), and a keyed bijection picks the pair, so ten million names cost
no memory. Where there are fewer pairs than documents, every document's name has a middle name,
which is another first name: "First Middle Last". No part of a name is a word of an attribute, after
case folding and stemming: "Rose likes ..." would answer "Who likes Roses?".
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from retgen.errors import RecipeError
from retgen.generators.params import InputFile, Job, Params
from retgen.streams import Permutation
from retgen.tokenizer import STOPWORDS

ATTRIBUTES = "attributes.txt"  # in sources/: what agents have proposed

Locale = Literal[
    "cs_CZ",
    "da_DK",
    "de_DE",
    "en_GB",
    "en_US",
    "es_ES",
    "es_MX",
    "fi_FI",
    "fr_FR",
    "hr_HR",
    "hu_HU",
    "it_IT",
    "nl_NL",
    "no_NO",
    "pl_PL",
    "pt_BR",
    "ro_RO",
    "sv_SE",
]

LOCALES: tuple[Locale, ...] = get_args(Locale)

_WORD = re.compile(r"\w+")


# --- attributes -----------------------------------------------------------------------------------


def _category(value: str) -> str:
    if not value.strip() or not value.isprintable() or set("[]") & set(value):
        raise ValueError("a category is one line of text, without brackets")
    return value.strip()


Category = Annotated[str, AfterValidator(_category)]


class CatalogueParams(Params):
    """Which attributes a data set may use."""

    split: Literal["test", "train", "all"] = Field(
        "test",
        description="half of the list, chosen by the seed; a set made from `all` must not be "
        "paired with any training set",
    )
    file: InputFile | None = Field(None, description="your own list, instead of the bundled one")
    categories: tuple[Category, ...] | None = Field(
        None, min_length=1, description="only these categories"
    )
    without: tuple[str, ...] = Field((), description="all but these categories")
    size: int | None = Field(
        None, ge=2, description="attributes that a model proposes; default: what the recipe needs"
    )


@dataclass(frozen=True, slots=True)
class Attribute:
    """A thing a person could like. `id`: its index in the whole list, from 0."""

    id: int
    text: str
    category: str


def bundled_files() -> tuple[Path, ...]:
    """The catalogue files, in the order that numbers the attributes."""
    return tuple(sorted((Path(__file__).parent / "catalogue").glob("*.txt")))


def source_files(params: CatalogueParams) -> tuple[Path, ...]:
    """The files that a recipe's catalogue is read from, where no model proposes it."""
    return (params.file,) if params.file else bundled_files()


def proposed_file(sources: Path) -> Path:
    """The catalogue that agents have proposed."""
    return sources / ATTRIBUTES


def has_proposed_attributes(job: Job[Any]) -> bool:
    """Whether a model proposes the attributes."""
    return "propose_attributes" in job.live and job.params.catalogue.file is None


def bundled_categories() -> tuple[str, ...]:
    """The categories of the bundled catalogue."""
    return tuple(dict.fromkeys(attribute.category for attribute in _read(bundled_files())))


def job_attributes(job: Job[Any]) -> tuple[list[Attribute], list[Attribute]]:
    """As `load_attributes`, of a job, whose agents may have proposed them."""
    if not has_proposed_attributes(job):
        return load_attributes(job.params.catalogue, job.seed)
    everything = _read.__wrapped__(
        (proposed_file(job.source_folder()),)
    )  # another run's may have its path
    return everything, _half(everything, job.seed, job.params.catalogue.split)


def load_attributes(params: CatalogueParams, seed: int) -> tuple[list[Attribute], list[Attribute]]:
    """(all attributes of the list, those the recipe may use), both in order of their ids."""
    everything = _read(source_files(params))
    known = {attribute.category for attribute in everything}
    for key in ("categories", "without"):
        for name in getattr(params, key) or ():
            if name not in known:
                raise RecipeError(_unknown_category(key, name, known))
    chosen = _half(everything, seed, params.split)
    wanted = known if params.categories is None else set(params.categories)
    wanted = wanted - set(params.without)
    return everything, [attribute for attribute in chosen if attribute.category in wanted]


def _half(everything: list[Attribute], seed: int, split: str) -> list[Attribute]:
    if split == "all":
        return everything
    # ordered by a hash of (seed, text), so that anyone can tell the halves apart
    order = sorted(everything, key=lambda a: hashlib.sha256(f"{seed}\n{a.text}".encode()).digest())
    middle = (len(order) + 1) // 2
    half = order[:middle] if split == "test" else order[middle:]
    return sorted(half, key=lambda a: a.id)


def _unknown_category(key: str, name: str, known: set[str]) -> str:
    from rapidfuzz import fuzz, process

    nearest = process.extractOne(name, sorted(known), scorer=fuzz.ratio, score_cutoff=60)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"params.catalogue.{key}: there is no category {name!r}{hint}"


@cache
def _read(files: tuple[Path, ...]) -> list[Attribute]:
    result: list[Attribute] = []
    seen: dict[str, str] = {}
    for path in files:
        category = ""
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RecipeError(f"params.catalogue.file: cannot read {path}: {error}") from error
        for number, line in enumerate(lines, start=1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith("["):
                category = text.strip("[]")
                continue
            where = f"{path.name}, line {number}"
            separated = ", " in f"{text} " or " and " in f" {text} "
            if separated or STOPWORDS.issuperset(_WORD.findall(text.casefold())):
                raise RecipeError(
                    f"{where}: {text!r} cannot be an attribute: it must hold a word that is no "
                    "function word, and neither ', ' nor ' and ', which separate the attributes "
                    "of a document"
                )
            if text.casefold() in seen:
                raise RecipeError(f"{where}: {text!r} stands already in {seen[text.casefold()]}")
            seen[text.casefold()] = where
            result.append(Attribute(len(result), text, category))
    if not result:
        raise RecipeError(f"params.catalogue.file: {files[0]} holds no attribute")
    return result


def attributes_digest(attributes: Sequence[Attribute]) -> str:
    """SHA-256 of a list of attributes."""
    return hashlib.sha256("\n".join(a.text for a in attributes).encode()).hexdigest()


def attribute_stems(attributes: Sequence[Attribute]) -> frozenset[str]:
    """The stems of all words of the attributes."""
    words = {word for a in attributes for word in _WORD.findall(a.text.casefold())}
    return frozenset(stem_words(sorted(words)))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # without a cache, whose care costs more than stems


def stem_words(words: Sequence[str]) -> list[str]:
    """Snowball (English) stems of case-folded words."""
    return list(_stemmer().stemWords(words))


# --- names ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeopleNames:
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
def _names_with_stems(locales: tuple[Locale, ...]) -> list[list[tuple[str, str]]]:
    """First names and surnames of some locales, each sorted, with their stems."""

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
) -> PeopleNames:
    """Names for `documents` documents.

    `forbidden`: stems that no part of a name may have. `split` "test" or "train" takes the
    surnames of one half only (SHA-256 of (seed, surname), lowest bit of the first byte), so that
    the two share no full name; "all" takes every surname.
    """
    used = tuple(locales)
    # one spelling a name: "Rene" and "RENE" would be twins to a reader
    lists = [
        list({word.casefold(): word for word, s in result if s not in forbidden}.values())
        for result in _names_with_stems(used)
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
    return PeopleNames(tuple(lists[0]), tuple(lists[1]), order, digest, middle)
