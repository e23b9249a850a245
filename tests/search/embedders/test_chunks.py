"""Texts cut into what a model reads."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from retgen.search.embedders.base import load_embedder
from retgen.search.embedders.chunks import cutter
from retgen.search.embedders.loading import load_model
from retgen.search.embedders.options import Options

TEXT = "  The lighthouse keeper's unforgettable stairs, " + "wound up and up to " * 20 + "a lamp. "


@pytest.fixture(scope="module")
def minilm() -> Any:
    return load_model("minilm", "cpu").tokenizer


@pytest.mark.parametrize("limit", [4, 7, 12, 50])
def test_pieces_hold_every_word_once_and_fill_the_model(minilm: Any, limit: int) -> None:
    cut = cutter(minilm, limit)
    assert cut is not None
    (pieces,) = cut([TEXT])
    lengths = [len(minilm(piece)["input_ids"]) for piece in pieces]
    assert max(lengths) <= limit
    if limit >= 12:  # every word fits
        assert [word for piece in pieces for word in piece.split()] == TEXT.split()
        words = [piece.split()[0] for piece in pieces[1:]]
        for length, word in zip(lengths, words, strict=False):
            assert length + len(minilm.tokenize(word)) > limit
    else:
        assert "".join("".join(pieces).split()) == "".join(TEXT.split())


def test_what_fits_stays_as_it_is(minilm: Any) -> None:
    words = " ".join(["sun"] * 254)
    cut = cutter(minilm, 256)
    assert cut is not None
    assert cut([words, "", f"{words} sun"]) == [[words], [""], [words, "sun"]]
    prompted = cutter(minilm, 256, "document: ")
    assert prompted is not None
    assert [len(piece.split()) for piece in prompted([words])[0]] == [252, 2]


def test_no_limit_no_pieces(minilm: Any) -> None:
    assert cutter(minilm, None) is None
    assert cutter(minilm, 2) is None  # special tokens leave no room
    assert load_embedder("static:minilm", Options(device="cpu")).pieces is None
    embedder = load_embedder("minilm", Options(device="cpu", max_length=10))
    assert embedder.pieces is not None
    assert [len(of) for of in embedder.pieces(["sun " * 8, "sun " * 9])] == [1, 2]


def test_a_tokenizer_that_looks_across_spaces() -> None:
    """Byte-level BPE knows " house" better than "house", which begins a piece."""
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    plain.train_from_iterator([" house" * 50], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain)
    assert len(tokenizer.tokenize(" house")) < len(tokenizer.tokenize("house"))
    cut = cutter(tokenizer, 6)
    assert cut is not None
    text = "house" + " house" * 40
    (pieces,) = cut([text])
    assert max(len(tokenizer.tokenize(piece)) for piece in pieces) <= 6
    assert " ".join(pieces) == text
