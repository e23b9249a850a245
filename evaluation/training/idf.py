"""Token vectors weighted by how rare their tokens are, without any training.

A static embedding is the mean of its tokens' vectors, in which "the" counts as much as a name. With
each vector multiplied by its token's idf it is the mean weighted by idf. Most of what training on
own documents gains is that, so it is where training starts and what its gain is measured against.

    idf(token) = ln((1 + N) / (1 + df(token))) + 1

is scikit-learn's smooth idf: N documents, of which df hold the token; a token of none has df 0.
Counted are the documents of the training pairs, the texts of one document as one: training reads
them anyway, so no text that is held out or tested on says anything.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer

from retgen.evaluation.training.pairs import Pairs


def weight_by_idf(model: SentenceTransformer, pairs: Pairs) -> str:
    """Weight the token vectors of a static embedding in place; how that was done, in words."""
    first = model[0]
    assert isinstance(first, StaticEmbedding)
    frequencies, documents = document_frequencies(first.tokenizer, pairs)
    rows = first.embedding.weight
    # a tokenizer may know tokens that have no vector, and vectors may have no token
    known = frequencies[: len(rows)]
    idf = np.full(len(rows), np.log(1 + documents) + 1)
    idf[: len(known)] = np.log((1 + documents) / (1 + known)) + 1
    with torch.no_grad():
        rows.mul_(torch.from_numpy(idf).to(rows)[:, None])
    return (
        f"token vectors times ln((1 + N) / (1 + df)) + 1 of the {documents:,} documents of the "
        f"training pairs, which hold {int((known > 0).sum()):,} of its {len(rows):,} tokens; df of "
        "the others is 0"
    )


def document_frequencies(tokenizer: Tokenizer, pairs: Pairs) -> tuple[NDArray[np.int64], int]:
    """In how many documents of the positives each token stands, (tokens,); how many there are."""
    texts: dict[str, set[str]] = {}
    ids = pairs.positive_ids or [""] * len(pairs)
    for doc_id, text in zip(ids, pairs.positives, strict=True):
        texts.setdefault(doc_id or text, set()).add(text)
    counts = np.zeros(tokenizer.get_vocab_size(), np.int64)
    for of in texts.values():
        encoded = tokenizer.encode_batch(sorted(of), add_special_tokens=False)
        counts[sorted({token for one in encoded for token in one.ids})] += 1
    return counts, len(texts)
