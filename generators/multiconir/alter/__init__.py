"""The offline writer of hard negatives: rewrites of a sentence that falsify a condition.

    >>> alterations("He studied law in Porto.", "studied law in Porto", "modify")[0].text
    'He studied law in Malaga.'

MultiConIR, step 3 and appendix B, by rules and word lists instead of a model. `rewrite.py` finds
the facts that the condition states (`figures`, `naming`, `lexical`) and changes one; `reassign.py`
says the fact of something else; `negation.py` is the last resort.
"""

from retgen.generators.multiconir.alter.rewrite import Alteration, alterations

__all__ = ["Alteration", "alterations"]
