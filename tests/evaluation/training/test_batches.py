"""Batches, what is held out, and negatives."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from retgen.errors import UsageError
from retgen.evaluation.training import (
    Pairs,
    TrainConfig,
    make_config,
)
from retgen.evaluation.training.batches import (
    KnownTexts,
    distinct_batches,
    draw_batches,
    prepare,
)
from retgen.search.embedders.loading import load_model

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_an_epoch_is_every_pair_once_and_no_text_twice_in_a_batch(pairs: Pairs) -> None:
    config = make_config("limit")
    examples = prepare(pairs, config)
    batches, ends = draw_batches(examples.train, config)
    assert len(ends) == 5
    assert ends[-1] == len(batches)
    begin = 0
    for end in ends:
        assert sorted(i for batch in batches[begin:end] for i in batch) == list(range(120))
        begin = end
    for batch in batches:
        texts = [pairs.anchors[i] for i in batch] + [pairs.positives[i] for i in batch]
        assert len(set(texts)) == len(texts)
    assert max(map(len, batches)) <= 12  # as many as there are documents
    assert batches[: ends[0]] != batches[ends[0] : ends[1]]
    listwise = config.model_copy(update={"loss": "listwise"})
    assert [len(batch) for batch in draw_batches(examples.train, listwise)[0]] == [120] * 5
    steps = draw_batches(examples.train, config.model_copy(update={"max_steps": ends[1] + 1}))
    assert steps == (batches[: ends[1] + 1], [ends[0], ends[1], ends[1] + 1])


def test_batches_of_documents_with_many_queries_are_even() -> None:
    """One document has 12 of 132 queries, and all pairs have the same hard negative."""
    rows = [(f"q{i}", f"d{i if i < 120 else 0}", "popular") for i in range(131)]
    rows.append(("q131", "other", "d0"))  # d0 is no answer to it, and must not be beside one
    batches = distinct_batches(rows, 32, torch.Generator().manual_seed(0))
    assert sorted(i for batch in batches for i in batch) == list(range(132))
    assert {*map(len, batches)} == {10, 11}  # 13 batches: one more for the last pair
    for batch in batches:
        documents = [rows[i][1] for i in batch]
        assert len(set(documents)) == len(documents)
        assert not ("d0" in documents and "other" in documents)
    other = distinct_batches(rows, 32, torch.Generator().manual_seed(1))
    assert other != batches
    assert batches == distinct_batches(rows, 32, torch.Generator().manual_seed(0))


def test_held_out_queries_are_whole(pairs: Pairs) -> None:
    examples = prepare(pairs, TrainConfig(hold_out=0.25))
    assert examples.held_out is not None
    assert (examples.pairs, examples.held_out_pairs) == (90, 30)
    assert not {*examples.train["anchor"]} & {*examples.held_out["anchor"]}
    assert len({*examples.held_out["anchor"]}) == 15
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hold_out=0.999))
    assert str(caught.value) == (
        "hold_out 0.999 of 60 queries leaves none to train on. Lower it, or give more pairs."
    )


def test_negatives_are_repeated_or_refused(pairs: Pairs) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hard_negatives=1))
    assert str(caught.value) == (
        "hard_negatives is 1, but 120 of the 120 pairs have no negative. Set hard_negatives to 0, "
        "or leave those pairs out."
    )
    two = Pairs(["a", "b"], ["a+", "b+"], [["a-"], ["b-", "b--"]], ["a", "b"], "a test")
    row = {"anchor": "a", "positive": "a+", "negative_1": "a-", "negative_2": "a-"}
    assert prepare(two, TrainConfig(hard_negatives=2)).train[0] == row
    # by default as many as every pair has
    assert prepare(two, TrainConfig()).train.to_list() == [
        {"anchor": "a", "positive": "a+", "negative_1": "a-"},
        {"anchor": "b", "positive": "b+", "negative_1": "b-"},
    ]
    with pytest.raises(UsageError) as none:
        prepare(pairs, TrainConfig(loss="triplet"))
    assert str(none.value) == (
        "loss triplet trains on hard negatives; here are no hard negatives (the pairs have none)"
    )
    triplets = prepare(two, TrainConfig(loss="triplet", hard_negatives=2)).train
    assert triplets["negative_1"][:] == ["a-", "b-", "b--"]


@pytest.mark.parametrize(
    ("counts", "wanted", "used", "message"),
    [
        ([0, 0], "all", 0, "no hard negatives (the pairs have none)"),
        ([1, 1], "all", 1, "1 hard negatives a pair (of 1)"),
        ([2, 5], "all", 2, "2 hard negatives a pair (of 2 to 5)"),
        ([2, 5], 3, 3, "3 hard negatives a pair (of 2 to 5; 1 pairs have fewer and repeat theirs)"),
        ([2, 5], 0, 0, "no hard negatives, as hard_negatives says (pairs have 2 to 5)"),
        (
            [0, 5],
            "all",
            0,
            "no hard negatives, since 1 of the 2 pairs have none (pairs have 0 to 5)",
        ),
    ],
)
def test_what_is_used_of_the_negatives_is_told(
    counts: list[int], wanted: Any, used: int, message: str
) -> None:
    negatives = [[f"{i} {j}" for j in range(count)] for i, count in enumerate(counts)]
    pairs = Pairs(["a", "b"], ["a+", "b+"], negatives, ["a", "b"], "a test")
    assert pairs.negatives_used(wanted) == used
    assert pairs.negatives_in_words(wanted) == message


def test_known_texts_are_as_the_model_reads_them(short: str) -> None:
    module = load_model(short, "cpu")[0]
    known = KnownTexts(module)
    for texts in (["the owl runs", "where is the owl"], ["the cat", "", "the owl runs"]):
        for prompt in (None, "query: "):
            expected = module.preprocess(texts, prompt=prompt)
            found = known(texts, prompt=prompt, task=None)
            assert list(found) == ["input_ids", "offsets"]
            assert all(torch.equal(found[name], expected[name]) for name in found)
