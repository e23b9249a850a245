"""The structural proof of the album: texts are read back into facts, and all pairs graded again.

Nothing of the generator is used, and none of its words: the reader has a lexicon of its own.
"""

from __future__ import annotations

from retgen.validators.album.proof import AlbumProof, Spec
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["COVERS", "RULES", "Spec", "proof_rules"]

COVERS: frozenset[str] = frozenset()
RULES = frozenset({"album-proof"})


def proof_rules(spec: Spec, judgements: Judgements) -> list[CorpusRule]:
    """All rules of the proof."""
    return [AlbumProof(spec, judgements)]
