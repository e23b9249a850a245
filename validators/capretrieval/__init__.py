"""The structural proof of the CapRetrieval family, from the written files alone.

The corpus is the source's documents, character by character; every query rests on characters of its
document; splits share neither document nor query; no negative is a positive, a near-duplicate of
one, or holds the keyword. Of given queries, labels are those that were given too. Whether a
passage is *relevant* is not proven: see the card.
"""

from __future__ import annotations

from pathlib import Path

from retgen.data import Query
from retgen.validators.capretrieval.proof import OwnDocuments
from retgen.validators.rule import CorpusRule, Judgements
from retgen.validators.rules.order import OrderLeak

__all__ = ["COVERS", "RULES", "OwnDocuments", "proof_rules"]

# documents of others are what they are, in the languages that they have; passages cut from alike
# ones may be equal; keywords stand in theirs by intent, and several queries of a document share
# words; queries name the document they rest on
COVERS = frozenset(
    {
        "answer-leak",
        "boilerplate",
        "duplicate-text",
        "language",
        "lexical-ambiguity",
        "near-duplicate-query",
        "normalised-duplicate",
        "order-leak",
    }
)
RULES = frozenset({"own-documents"})


def proof_rules(sources: Path, judgements: Judgements, are_given: bool) -> list[CorpusRule]:
    """The rules of the proof, and the order of queries, which is ours; that of documents is their
    owner's. Passages of one stand together. See `OwnDocuments`.
    """
    own = OwnDocuments(sources, judgements, are_given)
    if are_given:
        return [own, OrderLeak(judgements)]
    return [own, OrderLeak(judgements, "error", unit=_source_of, given=True)]


def _source_of(query: Query) -> str:
    note = query.metadata if isinstance(query.metadata, dict) else {}
    return str(note.get("source", query.query_id))
