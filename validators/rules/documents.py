"""Texts that stand more than once, have nothing to read, or whose characters went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retgen.validators.characters import broken_characters, is_blank
from retgen.validators.duplicates import Duplicates, contents, normalised_contents
from retgen.validators.rule import Batch, DocumentNotes, Finding, TextRule


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
        return contents(batch)


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

    def key(self, batch: Batch) -> Sequence[str]:
        return normalised_contents(batch)

    def raw(self, batch: Batch) -> Sequence[str]:
        return contents(batch)


class EmptyText(TextRule):
    """Texts with nothing to read."""

    name = "empty-text"
    query_name = "empty-query"
    severity = "error"
    finds = "documents with nothing to read"
    query_finds = "queries with nothing to read"
    order = 50

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        for text_id, text in zip(batch.ids, batch.texts, strict=True):
            if not text[:1].isalnum() and is_blank(text):
                self.state.documents.append((text_id, ""))

    def findings(self) -> Iterator[Finding]:
        for text_id, _ in self.state.documents:
            yield self.finding([text_id], f"{self.one} {text_id} has no text")


class Encoding(TextRule):
    """Texts that went through a wrong decoder, or hold characters no reader sees."""

    name = "encoding"
    query_name = "query-encoding"
    severity = "warning"
    finds = (
        "U+FFFD; characters that no reader sees (controls, U+FEFF, soft hyphens, joiners "
        "between Latin letters, tags) or no font shows (private use); controls of the direction "
        "of writing that override it, are never closed, or stand where nothing runs from right "
        "to left; UTF-8 of any script that was read in a Western encoding; no normal form C"
    )
    query_finds = "queries with what `encoding` finds in documents"
    order = 60

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        for column in (batch.texts, batch.titles, batch.ids):
            for text_id, text in zip(batch.ids, column, strict=True):
                if reason := broken_characters(text):
                    self.state.documents.append((text_id, reason))

    def findings(self) -> Iterator[Finding]:
        for text_id, reason in self.state.documents:
            yield self.finding([text_id], f"{self.one} {text_id} {reason}")
