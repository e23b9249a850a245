"""The structural proof of the album: texts are read back into facts, and all pairs graded again.

Nothing of the generator is used; the words and their meanings are those of the domain file.
"""

from __future__ import annotations

from retgen.validators.album.proof import AlbumProof, AlbumSpec, AlbumTrainingPairs
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["COVERS", "RULES", "AlbumSpec", "proof_rules"]

# generic rules that the proof replaces by a stronger statement: captions that are alike differ in a
# fact, no two queries ask for the same, and where all words of a query stand in a caption its grade
# was derived; every word of a text is a known one; queries without an answer are counted
COVERS = frozenset(
    {
        "near-duplicate",
        "near-duplicate-query",
        "lexical-ambiguity",
        "language",
        "query-without-qrels",
    }
)
RULES = frozenset({"album-proof"})


def proof_rules(spec: AlbumSpec, judgements: Judgements) -> list[CorpusRule]:
    """All rules of the proof: captions, queries and labels, training pairs."""
    proof = AlbumProof(spec, judgements)
    return [proof, AlbumTrainingPairs(proof)]
