"""Query-blind rankings and containment against their definitions, document by document."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path

import pytest

import retgen.validators.baselines as baselines
import retgen.validators.similar as similar
from retgen.data import Qrel, Query
from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators.baselines import WordTerms, query_blind_rankings
from retgen.validators.rule import Batch, Judgements
from retgen.validators.rules.lexical import LexicalAmbiguity

WORDS = [f"w{i}" for i in range(40)]


def collection(seed: int, documents: int, queries: int) -> tuple[list[str], Judgements]:
    """Texts of 0 to 20 words, rare ones and common ones, and queries of 0 to 5 of them."""
    draw = random.Random(seed)
    weights = [1 / (1 + i) for i in range(len(WORDS))]

    def text(most: int) -> str:
        return " ".join(draw.choices(WORDS, weights, k=draw.randrange(most + 1)))

    asked = [Query(f"q{i}", text(5)) for i in range(queries)]
    qrels = [Qrel(q.query_id, f"d{draw.randrange(documents)}", 1) for q in asked for _ in "ab"]
    return [text(20) for _ in range(documents)], Judgements(asked, qrels)


def batches(texts: Sequence[str], size: int = 64) -> list[Batch]:
    results = []
    for first in range(0, len(texts), size):
        some = list(texts[first : first + size])
        ids = [f"d{first + i}" for i in range(len(some))]
        results.append(Batch(first, ids, [""] * len(some), some, [None] * len(some)))
    return results


def spooled(texts: Sequence[str], judgements: Judgements) -> WordTerms:
    rule = WordTerms(judgements)
    for batch in batches(texts):
        rule.scan(batch)
    return rule


def by_definition(texts: Sequence[str], judgements: Judgements, depth: int) -> dict[str, list[str]]:
    """Every document's score in every ranking, one after the other, every query looked at."""
    rows = [tokens(text) for text in texts]
    held = Counter(word for row in rows for word in set(row))
    queries = [
        {w for w in tokens(query.text) if w not in STOPWORDS}
        for query in judgements.queries
        if query.query_id in judgements.positives
    ]
    queried = set().union(*queries)
    scores = {
        "summed IDF": [round(sum(log(len(rows) / held[w]) for w in row), 6) for row in rows],
        "longest first": [len(text) for text in texts],
        "shortest first": [-len(text) for text in texts],
        "documents with most query words": [sum(w in queried for w in row) for row in rows],
        "documents with most whole queries": [
            sum(bool(query) and query <= set(row) for query in queries) for row in rows
        ],
    }
    return {
        name: [
            f"d{i}"
            for _, _, i in sorted(((v, f"d{i}", i) for i, v in enumerate(values)), reverse=True)[
                :depth
            ]
        ]
        for name, values in scores.items()
    }


@pytest.fixture(params=["as it is", "small pieces"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as it is, once cut so finely that every boundary is crossed many times."""
    if request.param == "small pieces":
        monkeypatch.setattr(baselines, "GROUP", 1)
        monkeypatch.setattr(similar, "PAIRS", 7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("pieces")
def test_rankings_are_those_of_the_definition(tmp_path: Path, seed: int) -> None:
    texts, judgements = collection(seed, documents=300, queries=(1, 5, 40, 90, 200, 400)[seed])
    rule = spooled(texts, judgements)
    result = query_blind_rankings(rule.state, rule.query_terms(), 25)
    assert result == by_definition(texts, judgements, 25)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("pieces")
def test_lexical_ambiguity_is_that_of_its_definition(seed: int) -> None:
    texts, judgements = collection(seed, documents=300, queries=(2, 5, 40, 90, 200, 400)[seed])
    rule = LexicalAmbiguity(judgements)
    for batch in batches(texts):
        rule.scan(batch)
    held = [set(tokens(text)) for text in texts]
    first = {}
    for query_id, words in rule.asked.items():
        relevant = judgements.positives[query_id]
        others = (i for i, row in enumerate(held) if words <= row and f"d{i}" not in relevant)
        first[query_id] = next(others, None)
    assert rule.state.hits == {q: f"d{i}" for q, i in first.items() if i is not None}
    assert seed < 2 or len(rule.state.hits) > 20


def test_parts_of_a_corpus_name_the_first_document() -> None:
    texts, judgements = collection(4, documents=300, queries=90)
    whole, early, late = (LexicalAmbiguity(judgements) for _ in range(3))
    for number, batch in enumerate(batches(texts)):
        whole.scan(batch)
        (early if number < 2 else late).scan(batch)
    early.state.merge(late.state, 128)
    assert early.state.hits == whole.state.hits
    assert list(early.findings()) == list(whole.findings())
