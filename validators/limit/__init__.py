"""The structural proof of the LIMIT family: the qrels are rebuilt from the finished words.

Nothing of the generator is used: the proof knows the written files, the recipe, and the attribute
catalogue as a list of words. It parses every document back into its name and attributes, finds for
every query the documents that hold what it asks for, and compares that with qrels.jsonl.
"""

from __future__ import annotations

from retgen.validators.limit.matrix import hadamard_common
from retgen.validators.limit.names import PersonNames
from retgen.validators.limit.proof import LimitProof
from retgen.validators.limit.texts import (
    FactorialSpec,
    LimitSpec,
    read_attributes,
    read_descriptions,
    split_half,
)
from retgen.validators.limit.training import TrainingPairsProof
from retgen.validators.rule import Batch, CorpusRule, Judgements
from retgen.validators.rules.documents import Duplicates

__all__ = [
    "COVERS",
    "RULES",
    "FactorialSpec",
    "LimitSpec",
    "hadamard_common",
    "proof_rules",
    "read_attributes",
    "read_descriptions",
    "split_half",
]

# generic rules that the proof replaces by a stronger statement
# (names that differ by more than case make texts that differ by more than case and punctuation;
# equal sets of attributes, and where the asked ones stand, are tested on the attributes; every
# word of a text is a name's, an item's or the template's, and their number is fixed)
COVERS = frozenset(
    {
        "lexical-ambiguity",
        "terms",
        "duplicate-text",
        "normalised-duplicate",
        "near-duplicate",
        "near-duplicate-query",
        "encoding",
    }
    | {"language", "personal-data", "secrets", "length-outlier", "boilerplate"}
)
RULES = frozenset({"limit-proof", "limit-names"})


def proof_rules(spec: LimitSpec, judgements: Judgements) -> list[CorpusRule]:
    """All rules of the proof: labels, names, distinct documents, training pairs."""
    proof = LimitProof(spec, judgements)
    return [
        proof,
        _DistinctNames(proof),
        PersonNames(proof, spec),
        TrainingPairsProof(spec, judgements),
    ]


class _DistinctNames(Duplicates):
    """Documents are about people of different names."""

    name = "limit-proof/names"
    severity = "error"
    what = "name, apart from case,"

    def __init__(self, proof: LimitProof) -> None:
        self._proof = proof
        super().__init__()

    def key(self, batch: Batch) -> list[str]:
        result = self._proof.read(batch).names
        folded = "\n".join(result).casefold().split("\n")
        if all(result) and len(folded) == len(result):
            return folded
        both = zip(result, batch.texts, strict=True)
        return [name.casefold() or text for name, text in both]
