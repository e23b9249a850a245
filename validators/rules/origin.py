"""Origin: can positives be told from their hard negatives without the query?

If rewriting, mining or judging left marks in the documents ("not", a length, a style), a model
learns the marks, and a score against these negatives measures them. See `retgen.validators.origin`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from retgen.data import Dataset
from retgen.validators.origin import (
    in_words,
    is_separable,
    judged_pairs,
    measure,
    sample_pairs,
    trained_pairs,
)
from retgen.validators.rule import Batch, Finding, JudgedRule, Judgements, RuleState


@dataclass
class _Texts(RuleState):
    texts: dict[str, str] = field(default_factory=dict)


class Origin(JudgedRule):
    """Positives and hard negatives: judged 0, listed by the queries, or of the training data."""

    name = "origin"
    severity = "warning"
    finds = "[positives that can be told from their hard negatives without the query](#origin)"
    order = 250

    def __init__(self, judgements: Judgements) -> None:
        self.pairs = list(sample_pairs(judged_pairs(judgements)))
        self.wanted = frozenset(doc_id for pair in self.pairs for doc_id in pair[1:])
        self.measured: dict[str, Any] = {}
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Texts = _Texts()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in self.wanted:
                    text = f"{batch.titles[index]}\n{batch.texts[index]}"
                    self.state.texts.setdefault(doc_id, text)

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        texts = self.state.texts
        pairs = [pair for pair in self.pairs if pair.positive in texts and pair.negative in texts]
        if not pairs:
            pairs = list(sample_pairs(trained_pairs(dataset)))
            texts = {text: text for pair in pairs for text in pair[1:]}
        self.measured = measure(pairs, texts)

    def findings(self) -> Iterator[Finding]:
        if is_separable(self.measured):
            words = ", ".join(map(repr, self.measured["words"]))
            hint = f"; most telling: {words}" if words else ""
            yield self.finding([], in_words(self.measured) + hint)
