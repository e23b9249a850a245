"""Texts that stand more than once, or have nothing to read."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from retgen.rows import text_hash
from retgen.validators.rule import Batch, DocumentNotes, Finding, Measured, TextRule
from retgen.validators.similar import hashes_of, normalise_text, repeated_hashes


class Duplicates(TextRule):
    """Texts that share a key. Keeps eight bytes a text; looks at equal hashes again.

    `what`: the key in words. `unequal`: groups of equal texts are another rule's business.
    """

    what: ClassVar[str]
    unequal: ClassVar[bool] = False

    @abstractmethod
    def key(self, batch: Batch) -> Sequence[str]:
        """What may be equal."""

    def start(self) -> None:
        self.state: Measured = Measured()  # hashes of keys, ascending in each array
        self.groups: dict[str, list[tuple[int, str, str]]] = {}

    def scan(self, batch: Batch) -> None:
        self.state.parts.append(np.sort(hashes_of(self.key(batch))))

    def suspicious(self) -> bool:
        self._suspects = repeated_hashes(self.state.parts)
        return bool(self._suspects)

    def confirm(self, batch: Batch) -> None:
        rows = zip(self.key(batch), batch.ids, _contents(batch), strict=True)
        for index, (key, text_id, text) in enumerate(rows, start=batch.first):
            if text_hash(key) in self._suspects:
                self.groups.setdefault(key, []).append((index, text_id, text))

    def findings(self) -> Iterator[Finding]:
        what = self.what if self.one == "document" else self.what.removeprefix("title and ")
        for members in self.groups.values():
            texts = {text for *_, text in members}
            if len(members) > 1 and (len(texts) > 1 or not self.unequal):
                lines = ", ".join(str(index + 1) for index, *_ in members[:10])
                more = f" and {len(members) - 10} more" if len(members) > 10 else ""
                yield self.finding(
                    [text_id for _, text_id, _ in members],
                    f"{len(members)} {self.many} have the same {what} (rows {lines}{more})",
                )


def _contents(batch: Batch) -> list[str]:
    """Title and text of each document."""
    both = zip(batch.titles, batch.texts, strict=True)
    return [f"{title}\n{text}" if title else text for title, text in both]


class DuplicateIds(Duplicates):
    """Ids."""

    name = "duplicate-id"
    query_name = "duplicate-query-id"
    severity = "error"
    finds = "an id that stands more than once"
    query_finds = "a query id that stands more than once"
    order = 10
    what = "_id"

    def key(self, batch: Batch) -> Sequence[str]:
        return batch.ids


class DuplicateTexts(Duplicates):
    """Texts, with their titles."""

    name = "duplicate-text"
    query_name = "duplicate-query"
    severity = "error"
    finds = "the same title and text"
    query_finds = "the same query"
    order = 20
    what = "title and text"

    def key(self, batch: Batch) -> Sequence[str]:
        return _contents(batch)


class NormalisedDuplicates(Duplicates):
    """Texts that differ only in case, punctuation or white space."""

    name = "normalised-duplicate"
    query_name = "normalised-duplicate-query"
    severity = "warning"
    finds = (
        "texts that differ only in case, punctuation or white space (signs that tell names apart "
        "stay: `C++`, `C#`, `$5`, `5%`)"
    )
    query_finds = "queries that differ only in case, punctuation or white space"
    order = 30
    what = "title and text apart from case, punctuation and white space"
    unequal = True

    def key(self, batch: Batch) -> Sequence[str]:
        return list(map(normalise_text, _contents(batch)))


class NotedTexts(TextRule):
    """A rule whose texts each have a finding of their own."""

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def findings(self) -> Iterator[Finding]:
        for text_id, fault in self.state.documents:
            yield self.finding([text_id], f"{self.one} {text_id} {fault}")


def _is_blank(text: str) -> bool:
    """Whether a text has nothing to read: spaces, controls and what has no width at most."""
    return all(unicodedata.category(one)[0] in "ZC" for one in text)


class EmptyText(NotedTexts):
    """Texts with nothing to read."""

    name = "empty-text"
    query_name = "empty-query"
    severity = "error"
    finds = "documents with nothing to read"
    query_finds = "queries with nothing to read"
    order = 50

    def scan(self, batch: Batch) -> None:
        for text_id, text in zip(batch.ids, batch.texts, strict=True):
            if not text[:1].isalnum() and _is_blank(text):
                self.state.documents.append((text_id, "has no text"))
