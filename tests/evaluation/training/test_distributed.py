"""Training by two processes of torchrun: as by one, gathered, resumed, refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from retgen.errors import UsageError
from retgen.evaluation.training import make_config
from retgen.evaluation.training.fit import train
from tests.evaluation.training.conftest import distinct_pairs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_torch_thread")]

# a training a line of the job: model, settings, folder; where a file stands, rank 0 dies on the way
PROGRAM = """
import json, os, signal, sys
from pathlib import Path

from retgen.evaluation.training import make_config
from retgen.evaluation.training.fit import train
from tests.evaluation.training.conftest import distinct_pairs

job = json.loads(Path(sys.argv[1]).read_text())
dies = Path(sys.argv[1]).with_name("dies")

def progress(stage, done, total, note=""):
    if done == 5 and os.environ["RANK"] == "0" and dies.exists():
        dies.unlink()
        os.kill(os.getpid(), signal.SIGKILL)

pairs = distinct_pairs()
for model, settings, out in job["trainings"]:
    train(model, pairs, make_config(None, settings), Path(out), device="cpu", progress=progress)
"""
BASE: dict[str, Any] = {
    "batch_size": 8,
    "max_length": 16,
    "learning_rate": 0.01,
    "max_steps": 6,
    "warmup_ratio": 0.0,
    "hard_negatives": 1,
}


@pytest.fixture(scope="module")
def calm(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The random models without dropout, which no two processes draw alike."""
    result = {}
    for kind in ("dense", "sparse", "late", "cross"):
        folder = tmp_path_factory.mktemp("calm") / kind
        folder.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", str(models[kind]), str(folder)], check=True)
        config = AutoConfig.from_pretrained(folder)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        config.save_pretrained(folder)
        result[kind] = f"{'' if kind == 'dense' else kind + ':'}{folder}"
    return result


def torchrun(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            "2",
            *arguments,
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
    )


def together(folder: Path, trainings: list[Any]) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "job.json").write_text(json.dumps({"trainings": trainings}))
    return torchrun("program.py", "job.json", cwd=folder)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {
        f"{file.relative_to(folder)}.{name}": value
        for file in sorted((folder / "model").rglob("*.safetensors"))
        for name, value in load_file(file).items()
    }


CASES: list[tuple[str, dict[str, Any]]] = [
    ("dense", {"loss": "cached-mnrl"}),
    ("dense", {"lora": 4, "hold_out": 0.2}),
    ("late", {}),
    ("sparse", {}),
]


def test_two_processes_train_as_one_does(calm: dict[str, str], tmp_path: Path) -> None:
    """A query meets the documents of both: the same weights up to the order of sums."""
    trainings = [
        (calm[kind], {**BASE, **settings}, str(tmp_path / f"two-{i}"))
        for i, (kind, settings) in enumerate(CASES)
    ]
    ended = together(tmp_path, trainings)
    assert ended.returncode == 0, ended.stderr
    pairs = distinct_pairs()
    for i, (model, settings, out) in enumerate(trainings):
        one = train(model, pairs, make_config(None, settings), tmp_path / f"one-{i}")
        stored = json.loads((Path(out) / "training.json").read_text())
        assert (stored["result"]["processes"], one.processes) == (2, 1)
        curves = [[loss for _, loss in of] for of in (stored["losses"], one.losses)]
        # sums in another order differ by processor, and each step carries that on; the regulariser
        # of a sparse encoder is that of each process's share
        assert curves[0] == pytest.approx(curves[1], rel=1e-2, abs=5e-3)
    with pytest.raises(UsageError, match=r"what differs: processes \(2 there, 1 now\)"):
        train(trainings[0][0], pairs, make_config(None, trainings[0][1]), Path(trainings[0][2]))


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_killed_they_end_with_the_same_weights(
    models: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    """With dropout, of which each process has its own."""
    name = f"{'' if kind == 'dense' else 'cross:'}{models[kind]}"
    settings = {**BASE, "hold_out": 0.2}
    whole, killed = ([(name, settings, str(tmp_path / of))] for of in ("whole", "killed"))
    ended = together(tmp_path, whole)
    assert ended.returncode == 0, ended.stderr
    (tmp_path / "dies").touch()
    assert together(tmp_path, killed).returncode == 1
    assert (tmp_path / "killed" / "checkpoints").is_dir()
    ended = together(tmp_path, killed)
    assert ended.returncode == 0, ended.stderr
    ours, theirs = weights(tmp_path / "killed"), weights(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_they_cannot(other: Path, tmp_path: Path) -> None:
    gen = Path(sys.executable).with_name("gen")
    call = ["--no-python", str(gen), "train", str(other), "--model", "minilm", "--out", "out"]
    ended = torchrun(*call, "--set", "batch_size=1", cwd=tmp_path)
    assert ended.returncode == 1
    assert "gen: no batch has a pair for each of the 2 process" in ended.stderr
    assert "[rank1]" not in ended.stderr  # only rank 0 speaks


def test_the_command_prints_once(other: Path, tmp_path: Path) -> None:
    gen = Path(sys.executable).with_name("gen")
    call = ["--no-python", str(gen), "train", str(other), "--model", "minilm", "--out", "out"]
    ended = torchrun(*call, "--set", "max_steps=1", "--set", "batch_size=2", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("1 steps on 2 x cpu") == 1
    assert "Warning" not in ended.stderr
