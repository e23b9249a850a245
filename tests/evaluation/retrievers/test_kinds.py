"""What is not of the kind that its name says is refused; sparse encoders rank as their library."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever, systems
from retgen.search.collection import Collection, load

pytestmark = pytest.mark.usefixtures("one_torch_thread")
CLASS = "config_sentence_transformers.json"
WORDS = "red blue old new roof door cat dog tree lake train bread".split()


@pytest.fixture
def words(dataset) -> Collection:  # type: ignore[no-untyped-def]
    draw = np.random.default_rng(0)
    corpus = {f"d{i}": " ".join(draw.choice(WORDS, 6)) for i in range(40)}
    queries = {f"q{i}": " ".join(draw.choice(WORDS, 3)) for i in range(8)}
    return load(dataset(corpus, queries, [(q, "d1", 1) for q in queries]))


def refusal(name: str) -> str:
    """Why a model is not loaded by that name."""
    with pytest.raises(UsageError) as caught:
        systems(name, Options())
    return str(caught.value)


@pytest.mark.parametrize(
    ("form", "given", "message"),
    [
        ("{}", "sparse", "is a sparse encoder, not an embedder; write sparse:{}"),
        (
            "{}",
            "cross",
            "is a cross-encoder, not an embedder; write rerank:bm25+{}, or cross:{} for candidate sets",
        ),
        ("{}", "late", "is a late-interaction model, not an embedder; write late:{}"),
        ("sparse:{}", "dense", "is an embedder, not a sparse encoder; write {}"),
        ("late:{}", "sparse", "is a sparse encoder, not an embedder; write sparse:{}"),
        ("rerank:bm25+{}", "dense", "is an embedder, not a cross-encoder; write {}"),
        ("cross:{}", "sparse", "is a sparse encoder, not a cross-encoder; write sparse:{}"),
        (
            "cross:{}",
            "bare-sparse",
            "is a masked language model, not a cross-encoder; write {}, or sparse:{}",
        ),
    ],
)
def test_a_model_of_another_kind_is_refused(
    models: dict[str, Path], form: str, given: str, message: str
) -> None:
    folder = models[given]
    assert refusal(form.format(folder)) == f"--model {folder}: {message.replace('{}', str(folder))}"


HEADLESS = "its files do not say that it is {} (no head in config.json, no class of modules)"


@pytest.mark.parametrize(
    ("given", "config", "form", "message"),
    [
        (
            "dense",
            {CLASS: "[]"},
            "sparse:{}",
            "is an embedder, not a sparse encoder; write {}",
        ),
        (
            "dense",
            {CLASS: '{"model_type": "Other"}'},
            "{}",
            "its files do not say that it is an embedder (they say Other)",
        ),
        # other heads would be left out, and random ones put in
        (
            "bare-sparse",
            {"config.json": '{"architectures": ["BertForPreTraining"]}'},
            "cross:{}",
            HEADLESS.format("a cross-encoder"),
        ),
        (
            "bare-sparse",
            {"config.json": "[]"},
            "cross:{}",
            HEADLESS.format("a cross-encoder"),
        ),
    ],
)
def test_files_that_say_another_kind_or_none(
    models: dict[str, Path],
    tmp_path: Path,
    given: str,
    config: dict[str, str],
    form: str,
    message: str,
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models[given], folder)
    for name, text in config.items():
        (folder / name).write_text(text)
    assert refusal(form.format(folder)) == f"--model {folder}: {message.replace('{}', str(folder))}"


def test_modules_that_give_no_vector_of_a_text(models: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models["dense"], folder)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:1]))
    with pytest.raises(UsageError) as caught:
        retriever(str(folder), Options())
    assert str(caught.value) == (
        f"--model {folder}: the folder holds no model that can be loaded ('sentence_embedding'). "
        "`minilm` needs no network."
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / CLASS).write_text('{"similarity_fn_name": "zorp"}'),
            "its similarity is zorp, which is not of single vectors (cosine, dot, euclidean, "
            "manhattan); late:MODEL takes a late-interaction model of the Hub or a folder",
        ),
        (
            lambda folder: [one.unlink() for one in folder.glob("*token*")],
            "its tokenizer knows {} tokens, its embeddings are of {}; files of the tokenizer "
            "(tokenizer.json, vocab.txt, ...) are missing",
        ),
    ],
)
def test_what_would_be_made_up_is_refused(
    models: dict[str, Path], tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models["dense"], folder)
    change(folder)
    said = re.sub(r"(?<=knows )[\d,]+|(?<=are of )[\d,]+", "{}", refusal(str(folder)))
    assert said == f"--model {folder}: {message}"
