"""Mined hard negatives: exact ids, by counted words and by vectors, and the same as elsewhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from retgen.search import mining
from retgen.search.embedders.loading import load_model


def mine(*args: Any, **options: Any) -> list[list[int]]:
    """Everything that is mined."""
    return list(mining.mine(*args, **options))


pytestmark = pytest.mark.usefixtures("one_torch_thread")

CORPUS = [
    "copper kettle boils water",  # 0: the positive of most tests
    "copper kettle boils soup",  # 1: three terms of "copper kettle boils"
    "copper kettle stands low",  # 2 and 3: two of them, and equal scores
    "copper kettle stands high",
    "copper mines close early",  # 4: one
    "trains arrive late today",  # 5: none
    "water water water everywhere",
]
QUERY = "copper kettle boils"


def test_best_ranked_first_and_the_first_of_equals() -> None:
    """What shares no term is not ranked, so there may be fewer than were asked for."""
    assert mine(CORPUS, [QUERY], [[0]], count=10, margin=None) == [[1, 2, 3, 4]]
    assert mine(CORPUS, [QUERY], [[0]], count=2, margin=None) == [[1, 2]]
    assert mine(CORPUS, [QUERY, "water", "nothing"], [[1], [0, 6], []], margin=None) == [
        [0, 2, 3, 4],
        [],
        [],
    ]


def test_nothing_at_the_bar_or_above_it() -> None:
    """1 scores as much as the positive; 2 and 3 some two thirds of it; 4 a quarter."""
    assert mine(CORPUS, [QUERY], [[0]], margin=1.0) == [[1, 2, 3, 4]]
    assert mine(CORPUS, [QUERY], [[0]], margin=0.95) == [[2, 3, 4]]
    assert mine(CORPUS, [QUERY], [[0]], margin=0.4) == [[4]]
    # the lowest of the positives sets the bar
    assert mine(CORPUS, [QUERY], [[0, 2]], margin=0.95) == [[4]]


def test_a_positive_that_shares_no_word_sets_no_bar() -> None:
    assert mine(CORPUS, [QUERY], [[0, 5]], margin=0.95) == [[2, 3, 4]]
    assert mine(CORPUS, [QUERY], [[5]], margin=0.95) == [[]]
    assert mine(CORPUS, [QUERY], [[5]], margin=None) == [[0, 1, 2, 3]]
    assert mine(CORPUS, [QUERY], [[]], margin=0.95) == [[0, 1, 2, 3]]


def test_what_the_caller_excludes_and_how_deep_it_looks() -> None:
    asked: list[tuple[int, int]] = []

    def excluded(query: int, document: int) -> bool:
        asked.append((query, document))
        return "stands low" in CORPUS[document]

    mined = mine(CORPUS, [QUERY], [[0]], count=2, margin=None, excluded=excluded)
    assert mined == [[1, 3]]
    assert asked == [(0, 1), (0, 2), (0, 3)]  # no more than is needed
    # the depth counts documents that are no positives, whether or not they become negatives
    assert mine(CORPUS, [QUERY], [[0]], count=1, depth=1) == [[]]
    assert mine(CORPUS, [QUERY], [[0]], count=2, depth=2) == [[2]]
    assert mine(CORPUS, [QUERY], [[0]], count=3, depth=3) == [[2, 3]]


def generated(documents: int) -> tuple[list[str], list[str], list[list[int]]]:
    """Documents of 12 words out of 400, each query four of one's words, some with a second."""
    draw = random.Random(7)
    words = [
        a + b
        for a in "ba do ki lu me no pa ri so tu".split()
        for b in "bel cor dan fir gol hun jam kos lin mar nep orn pil rud sal tor urn vex wim zon "
        "bat cup den fan gum hat ink jar kit log mud net oak pen rag sun tip van web yak".split()
    ]
    corpus = [" ".join(draw.sample(words, 12)) for _ in range(documents)]
    queries = [" ".join(draw.sample(text.split(), 4)) for text in corpus[:40]]
    positives = [[i] if i % 3 else [i, documents - 1 - i] for i in range(40)]
    return corpus, queries, positives


def test_by_vectors_as_sentence_transformers_mines(tmp_path: Path) -> None:
    """The same negatives in the same order, several positives and all."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    corpus, queries, positives = generated(300)
    model = load_model("static:minilm", "cpu")
    rows = [(q, corpus[d]) for q, own in zip(queries, positives, strict=True) for d in own]
    theirs = mine_hard_negatives(
        Dataset.from_dict({"anchor": [q for q, _ in rows], "positive": [p for _, p in rows]}),
        model,
        corpus=corpus,
        range_max=60,
        relative_margin=0.05,
        num_negatives=5,
        output_format="triplet",
        verbose=False,
    )
    where = {text: i for i, text in enumerate(corpus)}
    expected: list[list[int]] = []
    for query, own in zip(queries, positives, strict=True):
        first = corpus[own[0]]
        expected.append(
            [
                where[row["negative"]]
                for row in theirs
                if row["anchor"] == query and row["positive"] == first
            ]
        )
    mined = mine(corpus, queries, positives, by="static:minilm", count=5, depth=60)
    assert mined == expected
    assert sum(map(len, mined)) == 200 - sum(5 - len(row) for row in mined)
    assert {len(row) for row in mined} >= {5}
    # vectors were kept, and give the same again
    assert len(list((tmp_path / "cache").glob("*.sqlite"))) == 1
    assert mine(corpus, queries, positives, by="static:minilm", count=5, depth=60) == mined
