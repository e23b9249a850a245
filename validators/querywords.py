"""What queries are compared by.

Queries are short, and many have words in common that ask for nothing: function words are left out
(but words that negate), and the words of a template, which stand in many queries, weigh little
beside the one word that tells two of them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from retgen.data import Query
from retgen.tokenizer import STOPWORDS, is_unspaced, stems, tokens
from retgen.validators.wordsets import Sets, word_sets

_NEGATIONS = frozenset({"no", "nor", "not", "without", "never"})
_COMMON = STOPWORDS - _NEGATIONS


def query_sets(queries: Sequence[Query]) -> Sets:
    """What queries are compared by: stems, and no function words unless there are no others.

    Of scripts without spaces pairs of characters, which count half: a word of two characters
    stands in two pairs or more.
    """
    texts = []
    for query in queries:
        words = _without_characters_of_pairs(tokens(query.text))
        texts.append(stems([word for word in words if word not in _COMMON] or words))
    sets = word_sets(texts)
    halves = word_sets([[word for words in texts for word in words if is_unspaced(word)]])
    return replace(sets, weights=np.where(np.isin(sets.words, halves.words), 0.5, 1.0))


def _without_characters_of_pairs(words: list[str]) -> list[str]:
    if not any(map(is_unspaced, words)):
        return words
    around = ["", *words, ""]
    return [
        word
        for before, word, after in zip(around, words, around[2:], strict=False)
        if not is_unspaced(word)
        or not (
            (len(after) > len(word) and after.startswith(word) and is_unspaced(after))
            or (len(before) > len(word) and before.endswith(word) and is_unspaced(before))
        )
    ]
