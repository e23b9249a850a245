"""Stub of the proof of the NIAH family, until the proof is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, Named

__all__ = ["COVERS", "RULES", "Spec", "proof_rules"]

COVERS = frozenset({"boilerplate", "near-duplicate", "near-duplicate-query", "split-overlap"})
RULES = frozenset({"haystacks"})


class Spec(NamedTuple):
    groups: Path
    tokenizer: str
    settings: Mapping[str, Any]


class Haystacks(CorpusRule):
    """Nothing yet."""

    name = "haystacks"
    severity = "error"
    finds = "nothing yet"

    def start(self) -> None:
        self.state = Named()

    def scan(self, batch: Batch) -> None:
        pass

    def findings(self) -> Iterable[Finding]:
        return ()


def proof_rules(spec: Spec, judgements: Judgements) -> list[CorpusRule]:
    return [Haystacks()]
