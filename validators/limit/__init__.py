"""The structural proof of the LIMIT family: the qrels are rebuilt from the finished words.

Nothing of the generator is used: the proof knows the written files, the recipe, and the attribute
catalogue as a list of words. A label is proven in three steps, a file each:

    texts   "Who likes Marzipan?" asks for attribute 1544; "Geneva Durben likes Quokkas, Marzipan
            and Sundials." holds 812, 1544 and 97
    matrix  the documents that hold 1544 are those that answer the query
    proof   these have to be the documents that qrels.jsonl gives for the query, no more, no fewer
"""

from __future__ import annotations

from retgen.validators.limit.proof import proof_rules
from retgen.validators.limit.texts import (
    LimitSpec,
    read_attributes,
    read_descriptions,
    split_half,
)

__all__ = [
    "COVERS",
    "RULES",
    "LimitSpec",
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
RULES = frozenset({"limit-proof"})
