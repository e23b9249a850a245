"""Documents with nothing to read."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding


class EmptyText(CorpusRule):
    """Documents with nothing to read."""

    name = "empty-text"
    severity = "error"
    finds = "documents with nothing to read"
    order = 50

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        if all(batch.texts) and not any(map(str.isspace, batch.texts)):
            return
        for index, text in enumerate(batch.texts):
            if not text or text.isspace():
                self.state.documents.append((batch.ids[index], ""))

    def findings(self) -> Iterator[Finding]:
        for doc_id, _ in self.state.documents:
            yield self.finding([doc_id], f"document {doc_id} has no text")
