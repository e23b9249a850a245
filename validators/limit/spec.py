"""What a LIMIT recipe promises, as far as the files show it, and how texts are read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from retgen.tokenizer import content_stems, stems, tokens
from retgen.validators.rule import Finding, Judgements


class Template(NamedTuple):
    """A document template cut at its placeholders: head {name} middle {attributes} tail."""

    head: str
    middle: str
    tail: str


class Factorial(NamedTuple):
    """Queries of every operator with every number of answers."""

    operators: tuple[str, ...]
    sizes: tuple[int, ...]
    per_cell: int


@dataclass(frozen=True)
class Spec:
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
    factorial: Factorial | None = None  # where queries have operators
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


def stemmed(attributes: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
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


def cut(template: str) -> Template:
    head, _, rest = template.partition("{name}")
    middle, _, tail = rest.partition("{attributes}")
    return Template(head, middle, tail)


def parse_queries(
    spec: Spec, judgements: Judgements
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
            noted = query.metadata.get("attributes") if isinstance(query.metadata, dict) else None
            if noted != list(terms):
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
