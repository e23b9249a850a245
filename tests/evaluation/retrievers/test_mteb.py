"""Models of MTEB's registry that cannot be had: each reason by its name, before torch is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retgen.errors import UsageError
from retgen.evaluation.retrievers import check_name

KEYS = ("OPENAI_API_KEY", "COHERE_API_KEY", "CO_API_KEY")
REFUSED = {
    "mteb:google/gemini-embedding-001": (
        "--model mteb:google/gemini-embedding-001: needs the package vertexai; "
        "pip install 'mteb[vertexai]'"
    ),
    "mteb:openai/text-embedding-3-small": (
        "--model mteb:openai/text-embedding-3-small: its provider needs a key, and there is none "
        "in OPENAI_API_KEY; export OPENAI_API_KEY=..."
    ),
    "mteb:mteb/baseline-bm25": (
        "--model mteb:mteb/baseline-bm25: MTEB's registry has no 'mteb/baseline-bm25'; did you "
        "mean mteb/baseline-bm25s?"
    ),
    "mtbe:owner/name": (
        "--model mtbe:owner/name: there is no kind of model mtbe:; did you mean mteb? Known: "
    ),
    "hybrid:bm25+mteb:openai/text-embedding-3-small": (
        "--model mteb:openai/text-embedding-3-small: its provider needs a key, and there is none "
        "in OPENAI_API_KEY; export OPENAI_API_KEY=..."
    ),
}

_SCRIPT = """
import sys
from retgen.cli import main
sys.argv = ["gen", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    print(end.code, "torch" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_the_reason_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(UsageError) as error:
        check_name(name)
    assert str(error.value).startswith(REFUSED[name])


@pytest.mark.slow
def test_before_torch_is_loaded(limit_run: Path, tmp_path: Path) -> None:
    name = "mteb:openai/text-embedding-3-small"
    environment = {key: value for key, value in os.environ.items() if key not in KEYS}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, "eval", str(limit_run), "--model", name, "--out", "e"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2 False\n"
    assert done.stderr == f"gen: {REFUSED[name]}\n"
