"""Documents that stand more than once, have nothing to read, or whose characters went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.validators.characters import broken_characters, is_blank
from retgen.validators.duplicates import Duplicates, contents, normalised_contents
from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding


class DuplicateIds(Duplicates):
    """Ids."""

    name = "duplicate-id"
    severity = "error"
    finds = "an id that stands more than once"
    order = 10

    def __init__(self) -> None:
        super().__init__(self.name, self.severity, "_id", lambda batch: batch.ids)


class DuplicateTexts(Duplicates):
    """Texts, with their titles."""

    name = "duplicate-text"
    severity = "error"
    finds = "the same title and text"
    order = 20

    def __init__(self) -> None:
        super().__init__(self.name, self.severity, "title and text", contents)


class NormalisedDuplicates(Duplicates):
    """Texts that differ only in case, punctuation or white space."""

    name = "normalised-duplicate"
    severity = "warning"
    finds = (
        "texts that differ only in case, punctuation or white space (signs that tell names apart "
        "stay: `C++`, `C#`, `$5`, `5%`)"
    )
    order = 30

    def __init__(self) -> None:
        super().__init__(
            self.name,
            self.severity,
            "title and text apart from case, punctuation and white space",
            normalised_contents,
            unless_same=contents,
        )


class EmptyText(CorpusRule):
    """Documents with nothing to read."""

    name = "empty-text"
    severity = "error"
    finds = "documents with nothing to read"
    order = 50

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        for doc_id, text in zip(batch.ids, batch.texts, strict=True):
            if not text[:1].isalnum() and is_blank(text):
                self.state.documents.append((doc_id, ""))

    def findings(self) -> Iterator[Finding]:
        for doc_id, _ in self.state.documents:
            yield self.finding([doc_id], f"document {doc_id} has no text")


class Encoding(CorpusRule):
    """Texts that went through a wrong decoder, or hold characters no reader sees."""

    name = "encoding"
    severity = "warning"
    finds = (
        "U+FFFD; characters that no reader sees (controls, U+FEFF, soft hyphens, joiners "
        "between Latin letters, tags) or no font shows (private use); controls of the direction "
        "of writing that override it, are never closed, or stand where nothing runs from right "
        "to left; UTF-8 of any script that was read in a Western encoding; no normal form C"
    )
    order = 60

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        for column in (batch.texts, batch.titles, batch.ids):
            for doc_id, text in zip(batch.ids, column, strict=True):
                if reason := broken_characters(text):
                    self.state.documents.append((doc_id, reason))

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.documents:
            yield self.finding([doc_id], f"document {doc_id} {reason}")
