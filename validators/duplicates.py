"""Documents that share a key, and the text as a reader takes it: what several rules compare."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from retgen.rows import text_hash
from retgen.validators.hashes import hashes_of, repeated_hashes
from retgen.validators.rule import Batch, Finding, RuleState, TextRule


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


def normalise_text(text: str) -> str:
    """The text without case, punctuation and runs of white space: equal to a reader."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_kept).split())


def _normalised_fast(text: str) -> str:
    """The same for ASCII text, by one table look-up (ten times as fast)."""
    if text.isascii():
        return " ".join(text.translate(_ASCII_KEPT).split())
    return normalise_text(text)


@dataclass
class _Hashes(RuleState):
    """64-bit hashes of one key of each text: ascending arrays, of some texts each."""

    parts: list[NDArray[np.uint64]] = field(default_factory=list)


class Duplicates(TextRule):
    """Texts that share a key. Keeps eight bytes a text; looks at equal hashes again.

    `what`: the key in words.
    """

    what: ClassVar[str]

    @abstractmethod
    def key(self, batch: Batch) -> Sequence[str]:
        """What may be equal."""

    def raw(self, batch: Batch) -> Sequence[str] | None:
        """Groups whose texts all agree in this are another rule's business."""
        return None

    def start(self) -> None:
        self.state: _Hashes = _Hashes()
        self.groups: dict[str, list[tuple[int, str, str | None]]] = {}

    def scan(self, batch: Batch) -> None:
        self.state.parts.append(np.sort(hashes_of(self.key(batch))))

    def suspicious(self) -> bool:
        self._suspects = repeated_hashes(self.state.parts)
        return bool(self._suspects)

    def confirm(self, batch: Batch) -> None:
        raw = self.raw(batch) or repeat(None)
        both = zip(batch.ids, self.key(batch), raw, strict=False)
        for index, (text_id, key, text) in enumerate(both, start=batch.first):
            if text_hash(key) in self._suspects:
                self.groups.setdefault(key, []).append((index, text_id, text))

    def findings(self) -> Iterator[Finding]:
        for members in self.groups.values():
            texts = {text for *_, text in members}
            if len(members) > 1 and (None in texts or len(texts) > 1):
                lines = ", ".join(str(index + 1) for index, *_ in members[:10])
                more = f" and {len(members) - 10} more" if len(members) > 10 else ""
                what = self.what if self.one == "document" else self.what.removeprefix("title and ")
                yield self.finding(
                    [text_id for _, text_id, _ in members],
                    f"{len(members)} {self.many} have the same {what} (rows {lines}{more})",
                )


def contents(batch: Batch) -> list[str]:
    """Title and text of each document."""
    return [
        text if not title else f"{title}\n{text}"
        for title, text in zip(batch.titles, batch.texts, strict=True)
    ]


def normalised_contents(batch: Batch) -> list[str]:
    """The same without case, punctuation and runs of white space."""
    return [_normalised_fast(text) for text in contents(batch)]
