"""Rules over the documents of any corpus: ids, duplicates, empty texts, broken characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.validators.characters import broken_characters
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, Named, Severity, State


def _hash(key: str) -> int:
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


def _hashes(keys: Sequence[str]) -> NDArray[np.uint64]:
    return np.fromiter(map(xxhash.xxh3_64_intdigest, _encoded(keys)), np.uint64, len(keys))


def _encoded(texts: Sequence[str]) -> list[bytes]:
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:  # half a surrogate pair
        return [text.encode("utf-8", "surrogatepass") for text in texts]


class _Kept(dict[int, str]):
    """What stands for a character: itself, or a space for punctuation and control characters.

    Signs tell names and values apart (C++ and C#, $5 and 5%), marks are parts of letters.
    """

    def __missing__(self, code: int) -> str:
        kind, sign = unicodedata.category(chr(code)), chr(code)
        keep = kind[0] in "LNM" or kind in ("Sm", "Sc", "So") or sign in "#%&@"
        self[code] = sign if keep and sign not in "|~" else " "
        return self[code]


_kept = _Kept()
_ASCII_KEPT = "".join(_kept[code].lower() for code in range(128))


def normalised(text: str) -> str:
    """The text without case, punctuation and runs of white space: equal to a reader."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_kept).split())


def _normalised_fast(text: str) -> str:
    """The same for ASCII text, by one table look-up (ten times as fast)."""
    if text.isascii():
        return " ".join(text.translate(_ASCII_KEPT).split())
    return normalised(text)


@dataclass
class _Hashes(State):
    """64-bit hashes of one key of each document, a part after the other."""

    parts: list[NDArray[np.uint64]] = field(default_factory=list)

    def merge(self, later: Self, offset: int) -> None:
        self.parts += later.parts

    def repeated(self) -> NDArray[np.uint64]:
        """The hashes that stand more than once, ascending."""
        if not self.parts:
            return np.empty(0, np.uint64)
        ordered = np.sort(np.concatenate(self.parts))
        return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


class Duplicates(CorpusRule):
    """Documents that share a key. Keeps eight bytes a document; looks at equal hashes again."""

    def __init__(
        self,
        name: str,
        severity: Severity,
        what: str,
        key: Callable[[Batch], Sequence[str]],
        unless_same: Callable[[Batch], Sequence[str]] | None = None,
    ) -> None:
        """`unless_same`: groups whose documents all agree in this are another rule's business."""
        self.name = name  # type: ignore[misc]  # one class, several rules
        self.severity = severity
        self.what = what
        self.key = key
        self.unless_same = unless_same or key
        self.groups: dict[str, list[tuple[int, str, str]]] = {}
        self._suspects: frozenset[int] | None = None
        self.start()

    def start(self) -> None:
        self.state: _Hashes = _Hashes()

    def scan(self, batch: Batch) -> None:
        self.state.parts.append(_hashes(self.key(batch)))

    def suspicious(self) -> bool:
        self._suspects = frozenset(self.state.repeated().tolist())
        return bool(self._suspects)

    def confirm(self, batch: Batch) -> None:
        both = zip(batch.ids, self.key(batch), self.unless_same(batch), strict=True)
        for index, (doc_id, key, raw) in enumerate(both, start=batch.first):
            if _hash(key) in (self._suspects or ()):
                self.groups.setdefault(key, []).append((index, doc_id, raw))

    def findings(self) -> Iterator[Finding]:
        for members in self.groups.values():
            differ = self.unless_same is self.key or len({raw for *_, raw in members}) > 1
            if len(members) > 1 and differ:
                lines = ", ".join(str(index + 1) for index, *_ in members[:10])
                more = f" and {len(members) - 10} more" if len(members) > 10 else ""
                yield Finding(
                    self.name,
                    self.severity,
                    [doc_id for _, doc_id, _ in members],
                    f"{len(members)} documents have the same {self.what} (rows {lines}{more})",
                )


def duplicate_rules() -> list[Duplicates]:
    """Ids, texts, and texts that differ only in case, punctuation or white space."""
    return [
        Duplicates("duplicate-id", "error", "_id", lambda batch: batch.ids),
        Duplicates("duplicate-text", "error", "title and text", _contents),
        Duplicates(
            "normalised-duplicate",
            "warning",
            "title and text apart from case, punctuation and white space",
            _normalised_contents,
            unless_same=_contents,
        ),
    ]


def _contents(batch: Batch) -> list[str]:
    return [
        text if not title else f"{title}\n{text}"
        for title, text in zip(batch.titles, batch.texts, strict=True)
    ]


def _normalised_contents(batch: Batch) -> list[str]:
    return [_normalised_fast(text) for text in _contents(batch)]


class EmptyText(CorpusRule):
    """Documents with nothing to read."""

    name = "empty-text"

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.state: Named = Named()

    def scan(self, batch: Batch) -> None:
        if all(batch.texts) and not any(map(str.isspace, batch.texts)):
            return
        for index, text in enumerate(batch.texts):
            if not text or text.isspace():
                self.state.found.append((batch.ids[index], ""))

    def findings(self) -> Iterator[Finding]:
        for doc_id, _ in self.state.found:
            yield Finding(self.name, "error", [doc_id], f"document {doc_id} has no text")


class Encoding(CorpusRule):
    """Texts that went through a wrong decoder, or hold characters no reader sees."""

    name = "encoding"

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.state: Named = Named()

    def scan(self, batch: Batch) -> None:
        for column in (batch.texts, batch.titles, batch.ids):
            for index in _doubtful(column):
                if reason := broken_characters(column[index]):
                    self.state.found.append((batch.ids[index], reason))

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.found:
            yield Finding(self.name, "warning", [doc_id], f"document {doc_id} {reason}")


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
    encoded = _encoded([texts[index] for index in short])
    clear = set(short)
    if len(odd := _odd(b"\n".join([*encoded, b"", b""]), len(short))):
        ends = np.cumsum([len(one) + 1 for one in encoded])
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


@dataclass
class _Seen(State):
    seen: set[str] = field(default_factory=set)

    def merge(self, later: Self, offset: int) -> None:
        self.seen |= later.seen


class DanglingDocuments(CorpusRule):
    """Qrels whose document or query does not exist."""

    name = "dangling-qrel"

    def __init__(self, judgements: Judgements) -> None:
        self.judgements = judgements
        self.start()

    def start(self) -> None:
        self.state: _Seen = _Seen()

    def scan(self, batch: Batch) -> None:
        self.state.seen |= self.judgements.judged_documents.intersection(batch.ids)

    def findings(self) -> Iterator[Finding]:
        queries = {query.query_id for query in self.judgements.queries}
        for where, qrels in self.judgements.splits():
            for query_id, doc_id, _ in qrels:
                missing = []
                if query_id not in queries:
                    missing.append(f"query {query_id}")
                if doc_id not in self.state.seen:
                    missing.append(f"document {doc_id}")
                if missing:
                    yield Finding(
                        self.name,
                        "error",
                        [query_id, doc_id],
                        f"the qrel ({query_id}, {doc_id}){where} names {' and '.join(missing)}, "
                        f"which {'do' if len(missing) > 1 else 'does'} not exist",
                    )
