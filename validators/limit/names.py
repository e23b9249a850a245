"""Names: test and train sets of one seed share no surname."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.spec import error
from retgen.validators.rule import Batch, CorpusRule, Finding, State

__all__ = ["SurnameHalf"]


class SurnameHalf(CorpusRule):
    """Test and train sets of one seed share no surname: SHA-256 of (seed, surname) decides."""

    name = "limit-names"

    def __init__(self, proof: LimitProof, seed: int, split: str) -> None:
        self.proof = proof
        self.seed = seed
        self.split = split
        self.start()

    def start(self) -> None:
        self.state: _Wrong = _Wrong()
        self._known: dict[str, bool] = {}

    def scan(self, batch: Batch) -> None:
        known = self._known
        for doc_id, (name, _) in zip(batch.ids, self.proof.parsed(batch), strict=True):
            surname = name.rpartition(" ")[2]
            right = known.get(surname)
            if right is None:
                digest = hashlib.sha256(f"{self.seed}\n{surname}".encode()).digest()
                right = known[surname] = ("test", "train")[digest[0] & 1] == self.split
            if not right and surname:
                self.state.broken.append((doc_id, surname))

    def findings(self) -> Iterator[Finding]:
        for doc_id, surname in self.state.broken:
            yield error(
                "names",
                [doc_id],
                f"document {doc_id}: the surname {surname} is not of the {self.split} half",
            )


@dataclass
class _Wrong(State):
    broken: list[tuple[str, str]] = field(default_factory=list)

    def merge(self, later: Self, offset: int) -> None:
        self.broken += later.broken
