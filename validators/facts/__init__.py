"""The proof of facts, from the written files and the definition of their domain.

Nothing of the writer is used: documents are read back to facts and queries to expressions by
patterns of the wordings in the domain's file. SQLite executes the queries on the facts, and the
qrels are what it answers.
"""

from __future__ import annotations

from retgen.validators.facts.proof import ProseProof, WorldProof, WorldSpec
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["COVERS", "RULES", "ProseProof", "WorldProof", "WorldSpec", "proof_rules"]

# documents state the same kinds of facts in the same wordings, and a query shares no word with a
# paraphrased answer: the proof says what each of them means
COVERS = frozenset({"boilerplate", "lexical-ambiguity", "near-duplicate", "near-duplicate-query"})
RULES = frozenset({"world-proof"})


def proof_rules(spec: WorldSpec, judgements: Judgements) -> list[CorpusRule]:
    """The rules of the proof."""
    return [(WorldProof if spec.read is None else ProseProof)(spec, judgements)]
