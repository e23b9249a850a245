"""The structural proof of the NIAH family, from the written files alone.

Every haystack has exactly its length in the tokens of its tokenizer, and its needle whole at its
place; one filler serves all places, orders and controls; no word of a question stands in a haystack
beside a literal needle, and no other answer does. Nothing of the generator is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.validators.niah.proof import HaystackProof
from retgen.validators.niah.tables import HaystackTables
from retgen.validators.niah.texts import NoTokenizer, load_tokenizer
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["COVERS", "RULES", "NoTokenizer", "load_tokenizer", "proof_rules"]

# haystacks of one filler share all of it by design, and sentences stand in many fillers: the proof
# says in what haystacks differ (near-duplicate, boilerplate); split test_128 is the part of split
# test that has 128 tokens, which the proof tests qrel by qrel (split-overlap)
COVERS = frozenset({"boilerplate", "near-duplicate", "split-overlap"})
RULES = frozenset({"haystacks"})


def proof_rules(
    groups: Path, settings: Mapping[str, Any], judgements: Judgements
) -> list[CorpusRule]:
    """The rules of the proof; `groups`: sources/groups.jsonl, `settings`: the parameters."""
    proof = HaystackProof(groups, settings)
    return [proof, HaystackTables(judgements, proof)]
