"""The structural proof of the MultiConIR family, from the written files and what agents have said.

Nothing of the generator is used. Every document is cut back into the sentences of its ladder: which
conditions are broken follows from the words, and everything else has to be as it was, byte for
byte. Queries and qrels are then read row by row and worked out anew. What cannot be proven without
a reader, that a sentence meets a condition and its rewrite does not, is the judge's: that its two
verdicts on every condition are there, and quote the texts of the data set, is checked.
"""

from __future__ import annotations

from retgen.data import Query
from retgen.validators.multiconir.exported import ExportedLabels
from retgen.validators.multiconir.ladders import LadderSpec
from retgen.validators.multiconir.proof import LadderProof
from retgen.validators.rule import CorpusRule, Judgements
from retgen.validators.rules.order import OrderLeak

__all__ = ["COVERS", "RULES", "LadderProof", "LadderSpec", "proof_rules"]

# documents of a ladder are near duplicates of one another, and share all words of its queries: the
# proof says exactly in what they differ
COVERS = frozenset(
    {
        "boilerplate",
        "lexical-ambiguity",
        "near-duplicate",
        "near-duplicate-query",
        "normalised-duplicate",
        "order-leak",
    }
)
RULES = frozenset({"ladder-proof"})


def proof_rules(spec: LadderSpec, judgements: Judgements) -> list[CorpusRule]:
    """The rules of the proof. `judgements`: the first of them are enough to test the order."""
    proof = LadderProof(spec)
    return [proof, ExportedLabels(proof), OrderLeak(judgements, "error", unit=_ladder_of)]


def _ladder_of(query: Query) -> str:
    """Queries of a ladder share its documents, so they are one observation."""
    return str(query.facts.get("ladder", query.query_id))
