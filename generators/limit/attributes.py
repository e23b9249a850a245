"""The attribute catalogue: things a person could like, by category.

The bundled lists stand in catalogue/*.txt: `[Category]` headings, one attribute a line. An
attribute's id is its index over all files in the order of their names; it does not depend on the
split or on a filter. A recipe may bring one file of its own in the same form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from retgen.errors import RecipeError
from retgen.generators.params import InputFile, Job, Params
from retgen.tokenizer import STOPWORDS

ATTRIBUTES = "attributes.txt"  # in sources/: what agents have proposed


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


def made_file(sources: Path) -> Path:
    """The catalogue that agents have proposed."""
    return sources / ATTRIBUTES


def proposes(job: Job[Any]) -> bool:
    """Whether a model proposes the attributes."""
    return "propose_attributes" in job.live and job.params.catalogue.file is None


def bundled_categories() -> tuple[str, ...]:
    """The categories of the bundled catalogue."""
    return tuple(dict.fromkeys(attribute.category for attribute in _read(bundled_files())))


def job_attributes(job: Job[Any]) -> tuple[list[Attribute], list[Attribute]]:
    """As `load_attributes`, of a job, whose agents may have proposed them."""
    if not proposes(job):
        return load_attributes(job.params.catalogue, job.seed)
    if job.sources is None:
        raise ValueError("the agents of this job have not been asked")
    everything = _read.__wrapped__((made_file(job.sources),))  # another run's may have its path
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


def digest(attributes: Sequence[Attribute]) -> str:
    """SHA-256 of a list of attributes."""
    return hashlib.sha256("\n".join(a.text for a in attributes).encode()).hexdigest()


_WORD = re.compile(r"\w+")


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
