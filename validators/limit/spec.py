"""What a LIMIT recipe promises, as far as the files show it, and how texts are read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import content_stems, stems, tokens, words_only
from retgen.validators.rule import Batch, Finding, Judgements


class Template(NamedTuple):
    """A document template cut at its placeholders: head {name} middle {attributes} tail."""

    head: str
    middle: str
    tail: str


class FactorialSpec(NamedTuple):
    """Queries of every operator with every number of answers."""

    operators: tuple[str, ...]
    sizes: tuple[int, ...]
    per_cell: int


@dataclass(frozen=True)
class LimitSpec:
    """What the recipe promises, as far as it can be read from the files.

    `attributes`: every allowed attribute and its id. `row_sums`: the relevant documents of a
    query, as (least, most). `per_query`: how many attributes a query asks for.
    """

    documents: int
    queries: int
    attributes_per_doc: int
    attributes: dict[str, int]
    document_templates: tuple[str, ...]
    query_templates: tuple[str, ...]
    row_sums: tuple[int, int]
    per_query: int = 1
    descriptions: dict[str, str] | None = None  # what a query says -> the attribute it stands for
    hard_negatives: int = 0
    balanced: bool = False
    factorial: FactorialSpec | None = None  # where queries have operators
    common_documents: int | None = None  # what any two queries share exactly, if fixed
    distinct_rows: bool = True  # no two queries have the same relevant documents
    matrix_file: Path | None = None  # the user's own qrels TSV
    relevant_documents: int | None = None  # documents that are relevant to some query, if fixed
    column_sum: int | None = None  # queries that each of them is relevant to, if fixed
    surname_half: tuple[int, str] | None = None  # (seed, "test" | "train")
    locales: tuple[str, ...] = ()  # Faker's, that names may come from
    training: bool = False  # whether the qrels are there as training pairs, too


def read_attributes(files: Sequence[Path]) -> list[tuple[str, str]]:
    """(attribute, category) of catalogue files in order; blank lines and #comments left out."""
    result: list[tuple[str, str]] = []
    for path in files:
        category = ""
        for line in path.read_text("utf-8-sig").splitlines():
            text = line.strip()
            if text.startswith("["):
                category = text.strip("[]")
            elif text and not text.startswith("#"):
                result.append((text, category))
    return result


def read_descriptions(path: Path) -> dict[str, str]:
    """Description -> attribute, as a run was told by its agents."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return {row["description"]: row["attribute"] for row in rows}


def stems_by_attribute(attributes: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Attribute -> (word, its stem) of each of its words, in order."""
    cut = {attribute: tokens(attribute) for attribute in attributes}
    words = list(dict.fromkeys(chain.from_iterable(cut.values())))
    stem = dict(zip(words, stems(words), strict=True))
    return {attribute: [(word, stem[word]) for word in parts] for attribute, parts in cut.items()}


def split_half(attributes: Sequence[str], seed: int, split: str) -> set[str]:
    """One half: ordered by SHA-256 of (seed, attribute), the first half is test."""
    if split == "all":
        return set(attributes)
    order = sorted(attributes, key=lambda a: hashlib.sha256(f"{seed}\n{a}".encode()).digest())
    middle = (len(order) + 1) // 2
    return set(order[:middle] if split == "test" else order[middle:])


def cut_template(template: str) -> Template:
    head, _, rest = template.partition("{name}")
    middle, _, tail = rest.partition("{attributes}")
    return Template(head, middle, tail)


def parse_queries(
    spec: LimitSpec, judgements: Judgements
) -> tuple[dict[str, tuple[int, ...]], list[Finding]]:
    """What each query asks for, as attribute ids, and the queries that cannot be read."""
    asked: dict[str, tuple[int, ...]] = {}
    errors: list[Finding] = []
    sought: dict[tuple[int, ...], str] = {}
    for query in judgements.queries:
        words = None
        for template in spec.query_templates:
            head, _, tail = template.partition("{attributes}")
            if query.text.startswith(head) and query.text.endswith(tail):
                inner = query.text[len(head) : len(query.text) - len(tail)]
                words = inner.split(" and ")
                if spec.descriptions is not None:
                    words = [spec.descriptions.get(inner, inner)]
                if all(word in spec.attributes for word in words):
                    break
        where = f"query {query.query_id}"
        if words is None:
            reason = "its text follows none of the query templates"
        elif unknown := [word for word in words if word not in spec.attributes]:
            reason = f"{unknown[0]!r} is no attribute of the catalogue's part that the recipe uses"
            if spec.descriptions is not None:
                reason = f"{unknown[0]!r} describes no attribute"
        elif spec.descriptions is not None and (
            given := content_stems(words[0]) & content_stems(query.text)
        ):
            reason = f"{min(given)!r} is a word of what it should not name, {words[0]!r}"
        elif len(set(words)) != spec.per_query or len(words) != spec.per_query:
            reason = f"it asks for {len(words)} attributes, not {spec.per_query}"
        else:
            terms = tuple(spec.attributes[word] for word in words)
            if query.facts.get("attributes") != list(terms):
                message = f"{where}: the attribute ids in its metadata are not those of its words"
                errors.append(error("query", [query.query_id], message))
            key = tuple(sorted(terms))
            if key in sought:
                message = f"queries {sought[key]} and {query.query_id} ask for the same"
                errors.append(error("query", [sought[key], query.query_id], message))
            sought.setdefault(key, query.query_id)
            asked[query.query_id] = terms
            continue
        errors.append(error("query", [query.query_id], f"{where}: {reason}"))
    return asked, errors


def error(kind: str, ids: Iterable[str], message: str) -> Finding:
    return Finding(f"limit-proof/{kind}", "error", list(ids), message)


def hadamard_common(order: int) -> int:
    """Documents that any two queries of the Hadamard pattern share: (n - 2 sqrt n) / 4."""
    return (order - 2 * math.isqrt(order)) // 4


class SpelledBatch(NamedTuple):
    """What the texts of a batch say, and how long they are."""

    names: list[str]
    terms: NDArray[np.int64]  # (documents, size): ids of the attributes
    lengths: NDArray[np.int64]  # (documents,) characters
    words: NDArray[np.int64] | None  # (documents,) None where white space does not tell them


class Speller:
    """Reads a batch at once, where every text is exactly what its metadata spells.

    A text is a name and a list of attributes. Where the attributes that the metadata numbers,
    written out in their order, give the list letter by letter, these are the attributes of the
    text: no attribute holds a separator, so that a list can be read in one way only. That takes a
    third of the time of cutting every list apart, which is done where it fails for any document.

    `attributes`: text -> id; `size`: of each list.
    """

    def __init__(self, template: Template, attributes: dict[str, int], size: int) -> None:
        self.template = template
        self.size = size
        # "A, B and C" must not be another list too
        self.able = size > 0 and not any("," in a or " and " in f" {a} " for a in attributes)
        width = max(attributes.values(), default=0) + 1
        self._known = np.zeros(width, bool)
        self._known[list(attributes.values())] = True
        # how each ends: in the list, before the last, and last, which comes with the text's end
        ends = (", ", " and ", template.tail)
        self._texts = np.full(width * len(ends), "", object)
        self._lengths = np.zeros(width * len(ends), np.int64)
        self._spaces = np.zeros(width * len(ends), np.int64)
        for attribute, number in attributes.items():
            for place, end in enumerate(ends):
                text = attribute + end
                self._texts[number + place * width] = text
                self._lengths[number + place * width] = len(text)
                self._spaces[number + place * width] = text.count(" ")
        places = [0] * (size - 2) + [1, 2]
        self._places = np.array(places[len(places) - size :], np.int64) * width
        self._spaced = words_only("".join([*template, *attributes]))

    def read(self, batch: Batch) -> SpelledBatch | None:
        """What the texts say; None where any of them is not what its metadata spells."""
        terms = self._stated_ids(batch.metadata) if self.able else None
        if terms is None:
            return None
        head, middle, _ = self.template
        start, texts = len(head), batch.texts
        if head and not all(text.startswith(head) for text in texts):
            return None
        stops = [text.find(middle, start) for text in texts]
        if min(stops) <= start:
            return None
        both = list(zip(texts, stops, strict=True))
        names = [text[start:stop] for text, stop in both]
        # without names, whose letters make long texts wider, they are put together much faster
        listed = [text[stop + len(middle) :] for text, stop in both]
        pieces = terms + self._places
        lengths = np.fromiter(map(len, listed), np.int64, len(listed))
        if not np.array_equal(self._lengths[pieces].sum(axis=1), lengths):
            return None
        # each list has the right length, so all are equal if they are when put together
        if "".join(self._texts[pieces].ravel().tolist()) != "".join(listed):
            return None
        lengths += np.array(stops) + len(middle)
        words = None
        if self._spaced and words_only("".join(names)):
            inside = np.fromiter(map(str.count, names, repeat(" ")), np.int64, len(names))
            around = head.count(" ") + middle.count(" ")
            words = inside + around + self._spaces[pieces].sum(axis=1) + 1
        return SpelledBatch(names, terms, lengths, words)

    def _stated_ids(self, metadata: list[Any]) -> NDArray[np.int64] | None:
        """The ids of the metadata, (documents, size); None where any of them are none."""
        try:
            noted = [one["attributes"] for one in metadata]
        except (TypeError, KeyError):
            return None
        if set(map(type, noted)) != {list} or set(map(len, noted)) != {self.size}:
            return None
        flat = list(chain.from_iterable(noted))
        try:
            if type(sum(flat)) is not int:  # as it is of integers, and of truth values
                return None
            terms = np.fromiter(flat, np.int64, len(flat))
        except (TypeError, OverflowError):
            return None
        if any(type(flat[place]) is not int for place in np.flatnonzero(terms <= 1).tolist()):
            return None
        if terms.min() < 0 or terms.max() >= len(self._known) or not self._known[terms].all():
            return None
        return terms.reshape(len(noted), self.size)
