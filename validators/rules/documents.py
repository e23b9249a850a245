"""Documents that stand more than once, have nothing to read, or whose characters went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.validators.characters import broken_characters
from retgen.validators.duplicates import Duplicates, contents, encode_texts, normalised_contents
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
        if all(batch.texts) and not any(map(str.isspace, batch.texts)):
            return
        for index, text in enumerate(batch.texts):
            if not text or text.isspace():
                self.state.documents.append((batch.ids[index], ""))

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
            for index in _doubtful(column):
                if reason := broken_characters(column[index]):
                    self.state.documents.append((batch.ids[index], reason))

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.documents:
            yield self.finding([doc_id], f"document {doc_id} {reason}")


_SHORT = 2000  # characters of a text; longer ones are looked at one by one


def _doubtful(texts: Sequence[str]) -> list[int]:
    """Which texts to look at one by one; of the others nothing can be wrong.

    Those are short ones of plain ASCII in which here and there a Latin letter stands (U+00C0 to
    U+024F), never two of them together: so UTF-8 in a wrong encoding does not look, and such a
    letter is its own normal form.
    """
    if not any(texts):
        return []
    short = [index for index, text in enumerate(texts) if len(text) < _SHORT]
    as_bytes = encode_texts([texts[index] for index in short])
    clear = set(short)
    if len(odd := _odd(b"\n".join([*as_bytes, b"", b""]), len(short))):
        ends = np.cumsum([len(one) + 1 for one in as_bytes])
        clear.difference_update(short[i] for i in np.searchsorted(ends, odd, "right").tolist())
    return [i for i in range(len(texts)) if i not in clear] if len(clear) < len(texts) else []


def _odd(joined: bytes, lines: int) -> NDArray[np.int64]:
    """Where in so many lines of UTF-8, and an empty one, characters begin that may be wrong."""
    codes = np.frombuffer(joined, np.uint8)
    beyond = np.flatnonzero(codes > 0x7E)
    first = beyond[(codes[beyond] & 0xC0) != 0x80]  # the others go on with a character
    lead, second, after = codes[first], codes[first + 1], codes[first + 2]
    letter = (lead >= 0xC3) & (lead < 0xC9) | (lead == 0xC9) & (second < 0x90)  # up to U+024F
    alone = (after < 0x7F) & ((lead != 0xC3) | (second != 0x83) | (after != 0x20))
    odd: NDArray[np.int64] = first[~(letter & alone)]
    if np.count_nonzero(codes < 0x20) != lines + 1:  # more than line ends
        odd = np.append(odd, np.flatnonzero((codes < 0x20) & (codes != 0x0A)))
    return odd
