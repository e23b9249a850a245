"""Boilerplate: the same lines and sentences in many documents (headers, licences, banners).

Candidates come from a sample (the documents whose ids have the smallest hashes, so that it is the
same whoever reads what); a second look counts them in all documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from retgen.rows import text_hash
from retgen.validators.rule import Batch, Finding, RuleState, TextRule

_SAMPLE = 10_000  # documents that candidates come from
_SHARE = 0.05  # of the documents that hold a line, from which on it is boilerplate
_LEAST = 20  # documents that hold it
_WORDS, _LETTERS = 4, 20  # a line of fewer is a heading or a phrase
_SHOWN, _CUT = 3, 60  # lines in a message, characters of each
_MUCH = 0.05  # of all text; less is no harm, unless a line stands nearly everywhere:
_EVERYWHERE = 0.25  # of the documents
_TEXT = 100_000  # characters of a document that are looked at

_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[^\W_a-z])|[\r\n]+|(?<=[。！？])")


@dataclass
class _Sampled(RuleState):
    """Hash of a document's id to the hashes of its lines, of the smallest hashes of ids."""

    lines: dict[int, frozenset[int]] = field(default_factory=dict)
    bound: int = 1 << 64  # no greater hash is among the smallest

    def merge(self, later: Self, offset: int) -> None:
        for key, lines in later.lines.items():
            self.lines.setdefault(key, lines)
        self.keep_smallest()

    def keep_smallest(self) -> None:
        """Keep the smallest hashes only."""
        if len(self.lines) > _SAMPLE:
            kept = sorted(self.lines)[:_SAMPLE]
            self.lines = {key: self.lines[key] for key in kept}
            self.bound = kept[-1]


class Boilerplate(TextRule):
    """Lines and sentences that many documents, or many queries, share."""

    name = "boilerplate"
    severity = "warning"
    finds = (
        "lines and sentences that stand in 5% or more of the documents, or queries, where they "
        "make up 5% of all text or one stands in a quarter of them"
    )
    order = 240

    def start(self) -> None:
        self.state: _Sampled = _Sampled()
        # what the candidates come to in all texts
        self.texts = self.characters = self.repeated = 0
        self.counts: Counter[str] = Counter()
        self.ids: list[str] = []

    def scan(self, batch: Batch) -> None:
        for doc_id, text in zip(batch.ids, batch.texts, strict=True):
            if (key := text_hash(doc_id)) < self.state.bound:
                self.state.lines[key] = frozenset(map(text_hash, _lines(text)))
        if len(self.state.lines) >= 2 * _SAMPLE:
            self.state.keep_smallest()

    def suspicious(self) -> bool:
        self.state.keep_smallest()
        texts = self.state.lines.values()
        counts = Counter(line for lines in texts for line in lines)
        # what is near the share in the sample may be above it in all texts
        few = _LEAST * min(1.0, len(texts) / _SAMPLE) * 0.5
        least = max(2.0, 0.8 * _SHARE * len(texts), few)
        self._candidates = {line for line, n in counts.items() if n >= least}
        return bool(self._candidates)

    def confirm(self, batch: Batch) -> None:
        for doc_id, text in zip(batch.ids, batch.texts, strict=True):
            self.texts += 1
            self.characters += min(len(text), _TEXT)
            lines = _lines(text)
            shared = [line for line in lines if text_hash(line) in self._candidates]
            if shared and len(lines) > 1:  # a text that is one line is a duplicate, another rule's
                self.repeated += sum(map(len, shared))
                self.counts.update(set(shared))
                self.ids.append(doc_id)

    def findings(self) -> Iterator[Finding]:
        least = max(_LEAST, _SHARE * self.texts)
        often = [(line, n) for line, n in self.counts.items() if n >= least]
        often.sort(key=lambda one: (-one[1], one[0]))
        much = self.repeated >= _MUCH * self.characters
        if not often or not (much or often[0][1] >= _EVERYWHERE * self.texts):
            return
        cut = [(line if len(line) <= _CUT else f"{line[:_CUT]}…", n) for line, n in often[:_SHOWN]]
        shown = "; ".join(f"{line!r} in {n:,}" for line, n in cut)
        more = f"; and {len(often) - _SHOWN:,} more" if len(often) > _SHOWN else ""
        lines = f"{len(often):,} lines or sentences stand each"
        if len(often) == 1:
            lines = "1 line or sentence stands"
        yield self.finding(
            self.ids,
            f"{lines} in {_SHARE:.0%} or more of the {self.texts:,} {self.many}, and boilerplate "
            f"is {self.repeated / self.characters:.0%} of all their text: {shown}{more}",
        )


def _lines(text: str) -> list[str]:
    """Lines and sentences with words enough, their white space and list marks set aside."""
    if len(text) < _LETTERS:
        return []
    lines = (" ".join(piece.split()).strip("#*-=> ") for piece in _END.split(text[:_TEXT]))
    long = (line for line in lines if len(line) >= _LETTERS)
    return [line for line in long if line.count(" ") >= _WORDS - 1 or not line.isascii()]
