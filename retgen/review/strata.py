"""What error rates are told apart by: the label, its evidence, the rank, and a family's fields.

A field of the metadata of queries or documents is one where it has few values: the kind of a
keyword, the language, the place of a needle. Of a list its length counts, as the number of broken
conditions of a hard negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from retgen.data import Document, Query
from retgen.review.candidates import Candidate
from retgen.review.records import PopulationPair

MOST = 12  # values of a field
_LONGEST = 40  # characters of a value


def label_strata(one: Candidate, *, proven: bool | None) -> dict[str, str]:
    """Strata that every data set has. `proven`: None where nobody says what labels rest on."""
    result = {"label": "none" if one.label is None else f"{one.label:g}"}
    if proven is not None:
        result["evidence"] = (
            "none" if one.label is None else "structural" if one.proven else "judged"
        )
    if one.grade is not None:
        result["grade"] = str(one.grade)
    rank = one.found.best if one.found else 0
    result["rank"] = (
        "not found" if not rank else "1" if rank == 1 else "2-5" if rank <= 5 else "6 and more"
    )
    return result


class Fields:
    """The fields of metadata that have few values, noted document by document."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._values: dict[str, set[str]] = {}
        self._queries: dict[str, dict[str, str]] = {}
        self._documents: dict[str, dict[str, str]] = {}
        for query in queries:
            self._queries[query.query_id] = self._noted("query", query.metadata)

    def see(self, document: Document) -> None:
        """Note a document of the populations."""
        if noted := self._noted("document", document.metadata):
            self._documents[document.doc_id] = noted

    def _noted(self, kind: str, metadata: Any) -> dict[str, str]:
        result = {}
        for key, value in metadata.items() if isinstance(metadata, dict) else ():
            text = _text(value)
            name = f"{kind} {key}"
            seen = self._values.setdefault(name, set())
            if text is not None and len(seen) <= MOST:  # one with more is of no use any longer
                seen.add(text)
                result[name] = text
        return result

    def of(self, query_id: str, doc_id: str) -> dict[str, str]:
        """The fields of a pair."""
        noted = self._queries.get(query_id, {}) | self._documents.get(doc_id, {})
        return {name: value for name, value in noted.items() if len(self._values[name]) <= MOST}


def informative_strata(pairs: Iterable[PopulationPair]) -> list[PopulationPair]:
    """The pairs without the strata that have one value alone in their population."""
    pairs = list(pairs)
    values: MutableMapping[tuple[str, str], set[str]] = {}
    for pair in pairs:
        for name, value in pair.strata.items():
            values.setdefault((pair.population, name), set()).add(value)

    def kept(pair: PopulationPair) -> Mapping[str, str]:
        return {n: v for n, v in pair.strata.items() if len(values[pair.population, n]) > 1}

    return [pair._replace(strata=kept(pair)) for pair in pairs]


def _text(value: Any) -> str | None:
    """A value as a name of a stratum, None for what is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        text = str(value)
        return text if len(text) <= _LONGEST else None
    if isinstance(value, list):
        return f"{len(value)} listed"
    return None
