"""What needs no extra: scores of lexical retrievers and certificates, where the core alone is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.command import Done
from tests.dependencies import beyond_the_core
from tests.project import ROOT

Gen = Callable[..., Done]
Core = Callable[..., list[Done]]

# what extras bring is not there
CORE = """
import json
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    names = {*json.loads(sys.argv[2])}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Absent())
from tests.command import in_process
for words in json.loads(sys.argv[1]):
    done = in_process(*words)
    print(json.dumps([done.args, done.returncode, done.stdout, done.stderr]))
"""
IMPORTED = """
import sys
from retgen.cli import app
for command in sys.argv[1:]:
    try:
        app(command.split(), standalone_mode=False)
    except BaseException as error:
        assert getattr(error, "exit_code", None) == 2, error
    print([m for m in ("torch", "numpy", "retgen.run", "scipy") if m in sys.modules])
"""
OWN = {
    "english": (
        "The water pump of the fire engine is checked every spring by two mechanics.",
        "A stone bridge over the river was built by monks; three arches carry the salt road.",
        "Night trains between the capital and the coast run with sleeping cars for bicycles.",
        "Honey bees keep the temperature of their brood nest constant by fanning their wings.",
        "The library lends microscopes, telescopes and musical instruments for four weeks.",
        "Call +44 20 7946 0018 for volcanic soil: farmers grow tomatoes, vines and capers.",
    ),
    "chinese": (
        "消防车的水泵每年春天由两名技师检查，他们给轴承加油并更换磨损的垫圈。",
        "河上的石桥由僧侣建造，三个桥拱承载着通往北方集镇的古老盐路。",
        "首都与海岸之间的夜行列车设有卧铺车厢，自行车可以付少量费用携带。",
        "蜜蜂通过扇动翅膀和搬运水滴来保持巢穴温度的恒定。",
        "图书馆向每位持有读者证的人出借显微镜、望远镜和乐器四个星期。",
        "岛上的火山土壤十分肥沃，农民在港口上方的梯田种植番茄和葡萄。",
    ),
}


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """`gen ARGS` one after another where the core alone is installed, in one process."""
    absent = json.dumps(sorted(beyond_the_core()))

    def call(*calls: Sequence[str | Path]) -> list[Done]:
        given = json.dumps([[*map(str, words)] for words in calls])
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-c", CORE, given, absent],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            timeout=120,
        )
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
def test_what_needs_an_extra_says_so_before_anything_is_done(
    core: Core, limit_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "page.html").write_text("<p>A page of one sentence.")
    source = ("--set", "params.source={path: kb}")
    needing: tuple[tuple[tuple[str | Path, ...], str, str], ...] = (
        (("eval", limit_run, "--model", "bm25", "--model", "minilm"), "torch", "eval"),
        (("eval", "limit_patterns_by_dimension", "--model", "minilm"), "torch", "eval"),
        (("eval", "limit_table3"), "torch", "eval"),
        (("capacity", "--construct"), "torch", "eval"),
        (("train", limit_run), "torch", "eval"),
        (("review", limit_run, "--annotators", "anna"), "fastapi", "review"),
        (("review", limit_run, "--report"), "statsmodels", "review"),
        (("new", "capretrieval", "--source", "kb"), "lxml", "documents"),
        (("plan", "capretrieval", *source), "lxml", "documents"),
        (("run", "capretrieval", *source), "lxml", "documents"),
    )
    before = {path for folder in (tmp_path, limit_run) for path in folder.rglob("*")}
    results = core(*(command for command, _, _ in needing))
    for (command, package, extra), result in zip(needing, results, strict=True):
        said = f"gen: this needs the package {package}: pip install 'retgen[{extra}]'\n"
        assert (result.returncode, result.stderr) == (2, said), command
    assert {path for folder in (tmp_path, limit_run) for path in folder.rglob("*")} == before


@pytest.mark.slow
def test_scores_of_lexical_systems(core: Core, limit_run: Path, tmp_path: Path) -> None:
    (result,) = core(("eval", limit_run, "--out", "scores"))
    assert (result.returncode, result.stderr) == (0, "")
    assert list((tmp_path / "scores" / "figures").glob("*.svg"))
    assert "<svg" in (tmp_path / "scores" / "eval.html").read_text()


@pytest.mark.slow
def test_runs_checks_and_own_documents_need_the_core_alone(core: Core, tmp_path: Path) -> None:
    calls = [("run", "limit_small", "-q"), ("validate", "outputs/limit_small"), ("doctor",)]
    for language, texts in OWN.items():
        (tmp_path / language).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / language / f"{number}.md").write_text(f"# {number}\n{text}")
        new = ("new", "capretrieval", "--source", language, "--out", f"{language}.yaml")
        run = f"outputs/{language}"
        calls += [new, ("run", f"{language}.yaml", "-q"), ("validate", run), ("report", run)]
    for call, result in zip(calls, core(*calls), strict=True):
        assert (result.returncode, result.stderr) == (0, ""), call


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


@pytest.mark.slow
def test_theorems_need_no_torch(core: Core, limit_run: Path, tmp_path: Path) -> None:
    result, asked = core(
        ("capacity", limit_run, "--out", tmp_path / "out", "--json"),
        ("capacity", limit_run, "--device", "cuda", "--out", tmp_path / "out"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    why = "this needs the package torch: pip install 'retgen[eval]'"
    assert shown["notes"] == [f"no embedding was sought: {why}"]
    skipped = shown["certificate"]["skipped"]
    assert [one for one in skipped if one["reason"] == why] == [
        {"theorem": "free embedding", "reason": why},
    ]
    assert shown["certificate"]["lower_bounds"][0]["dimension"] == 4
    assert (tmp_path / "out" / "certificate.html").is_file()
    assert (asked.returncode, asked.stderr) == (2, f"gen: --device cuda: {why}\n")


def test_a_wrong_path_is_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("no data set")
    commands = (
        "eval WRONG",
        "eval WRONG --model minilm",
        "capacity WRONG",
        "train WRONG",
        "eval file.txt",
    )
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *commands],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
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
        2,
        "gen: WRONG does not exist. Give the folder of a run or of a data set.\n",
    )
