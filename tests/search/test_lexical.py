"""Lexical retrievers beside what else is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from retgen.evaluation.retrievers.lexical import capretrieval_bm25
from retgen.progress import no_progress
from retgen.search.base import CandidateSet
from retgen.search.lexical import word_retriever

_JAX = """
import os
print(os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"))
"""


def test_jax_is_told_to_reserve_no_gpu_before_bm25s_starts_it(tmp_path: Path) -> None:
    """bm25s imports `jax.lax` wherever there is one, and takes its first top k."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text(_JAX)
    (tmp_path / "jax" / "lax.py").write_text("def top_k(scores, k): print('top_k')\n")
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "from retgen.search.lexical import stem_all; print(stem_all(['two cats']))",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    ).stdout
    assert shown.splitlines() == ["false", "top_k", "[['two', 'cat']]"]


def test_candidate_sets_without_a_word_score_0() -> None:
    sets = [CandidateSet("water", ("", " \u3000")), CandidateSet("", ("", "\n"))]
    for scorer in (
        word_retriever("rank-bm25"),
        capretrieval_bm25("bm25-capretrieval"),
        word_retriever("bm25-paper"),
    ):
        assert [one.tolist() for one in scorer.score(sets, no_progress)] == [[0, 0], [0, 0]]
