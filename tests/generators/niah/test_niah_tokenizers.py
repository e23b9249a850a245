"""Exact lengths by tokenizers of other kinds, and one that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from retgen import run
from retgen.errors import RecipeError
from tests.generators.niah.rows import BOOKS, corpus


@pytest.mark.slow
def test_a_tokenizer_that_counts_words_otherwise_at_the_beginning(tmp_path: Path) -> None:
    """Byte-level: a word has other tokens where no blank stands before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    texts = [path.read_text() for path in sorted(BOOKS.glob("*.txt"))]
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=["</s>"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    end = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=end)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    told = {"params.lengths": [160], "params.tokenizer": str(tmp_path)}
    rows = corpus(run("niah", overrides=told, out=tmp_path / "own").path)
    assert {len(one) for one in tokenizer.encode_batch([row["text"] for row in rows])} == {160}
    for row in rows[:100]:
        start, stop = row["metadata"]["span"]
        if stop:
            held = tokenizer.encode(row["text"])
            first, last = held.char_to_token(start), held.char_to_token(stop - 1)
            assert row["metadata"]["depth"] == round(first / (159 - (last + 1 - first)), 4)


def test_a_tokenizer_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(RecipeError) as caught:
        run("niah", overrides={"params.tokenizer": str(tmp_path)}, out=tmp_path / "run")
    assert f"params.tokenizer: {tmp_path / 'tokenizer.json'} cannot be loaded (" in str(
        caught.value
    )
    assert not (tmp_path / "run" / "dataset").exists()
