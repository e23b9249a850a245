"""A sealed set of 15 documents, before and after its reveal, and submissions to it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rank_bm25 import BM25Okapi

from retgen import make_sealed
from tests.conftest import read_jsonl

_WORD = re.compile(r"\w+")
RECIPE = """# gen sealed make tiny.yaml
name: tiny
family: limit
seed: 42
params: {pattern: dense, docs: 15, queries: 100, k: 2, attributes_per_doc: 16}
"""


@pytest.fixture(scope="session")
def sealed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "tiny.yaml").write_text(RECIPE)
    return Path(make_sealed(folder / "tiny.yaml", out=folder / "out").path)


@pytest.fixture
def sealed(sealed_once: Path, tmp_path: Path) -> Path:
    """A copy of the round, with its private part."""
    return Path(shutil.copytree(sealed_once, tmp_path / "holder" / "round-1"))


@pytest.fixture
def pair(sealed: Path, tmp_path: Path) -> Path:
    """What everybody has after the reveal: commitment.json and reveal.json."""
    folder = tmp_path / "pair"
    folder.mkdir()
    shutil.copy(sealed / "commitment.json", folder)
    shutil.copy(sealed / "private" / "reveal.json", folder)
    return folder


@pytest.fixture
def forged(pair: Path) -> Callable[[Callable[[dict[str, Any]], object]], tuple[Path, Path]]:
    """(commitment, reveal) of a holder who commits to something else from the beginning."""

    def write(change: Callable[[dict[str, Any]], object]) -> tuple[Path, Path]:
        content = json.loads((pair / "reveal.json").read_text())
        change(content)
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        (pair / "reveal.json").write_text(text)
        stated = json.loads((pair / "commitment.json").read_text())
        stated["commitment"] = sha256(text.encode())
        for key in ("round", "package"):
            stated[key] = content[key]
        recipe = dict(content["recipe"])
        recipe.pop("seed", None)
        stated |= {"recipe": recipe, "family": recipe.get("family")}
        text = json.dumps(stated, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        (pair / "commitment.json").write_text(text)
        return pair / "commitment.json", pair / "reveal.json"

    return write


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def submission(public: Path, file: Path) -> Path:
    """A TREC run of a submitter, who has corpus.jsonl and queries.jsonl alone."""
    corpus, queries = read_jsonl(public / "corpus.jsonl"), read_jsonl(public / "queries.jsonl")
    scorer = BM25Okapi([_WORD.findall(document["text"].lower()) for document in corpus])
    with open(file, "w") as run:
        for query in queries:
            scores = scorer.get_scores(_WORD.findall(query["text"].lower()))
            for rank, at in enumerate((-scores).argsort(kind="stable")[:10], start=1):
                run.write(f"{query['_id']} Q0 {corpus[at]['_id']} {rank} {scores[at]:.6f} mine\n")
    return file
