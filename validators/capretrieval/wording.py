"""Which documents share their wording: near-duplicates, and filled-in templates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import tokens
from retgen.validators.similar import groups
from retgen.validators.wordsets import word_sets

ALIKE = 0.7  # share of their words in which near-duplicates and shared templates agree


def alike(texts: Sequence[str]) -> NDArray[np.int64]:
    """(n,) a number for each text, shared by near-duplicates (see `ALIKE`)."""
    return groups(word_sets([tokens(text) for text in texts]), ALIKE)[0]
