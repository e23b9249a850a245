"""Runs that several processes share, by rank or on a cluster: the bytes of the run in one process."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import retgen.generate
from retgen import run, validate
from retgen.engines.ranks import Rank
from retgen.engines.ray_cluster import RayCluster
from retgen.errors import RanksMissing, RunDirectoryError, UsageError
from retgen.manifest import PARTS
from retgen.run import run_rank
from tests.conftest import Gen
from tests.engines.work import RAY, where
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.project import ROOT

RECIPES = {
    "limit": "name: small\nfamily: limit\nparams: {pattern: dense, docs: 6000, queries: 100, k: 2, "
    "attributes_per_doc: 20}\n",
    "world": "name: films\nfamily: world\nparams: {documents: 3000, queries_per_cell: 3}\n",
    "own": "",
}


LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))


@pytest.fixture(scope="module", params=sorted(RECIPES))
def recipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param != "own":
        (folder / "recipe.yaml").write_text(RECIPES[request.param])
        return folder / "recipe.yaml"
    # a name that no other text has is a query, whichever documents are held out
    words = random.Random(0)
    texts = [
        f"Part {number} has the {words.randbytes(3).hex()} valve. "
        + " ".join([*words.sample(" ".join(TEXTS).split(), 60), "."])
        for number in range(300)
    ]
    return write_recipe(folder / "recipe.yaml", write_rows(folder / "kb.jsonl", texts))


@pytest.fixture(scope="module")
def alone(recipe: Path) -> dict[str, bytes]:
    return tables(run(recipe, out=recipe.parent / "alone", workers=1).path)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # reason: the sizes are no behaviour, and small ones make small data sets many pieces
    monkeypatch.setattr(retgen.generate, "MOST", 100_000)
    scan: Any = sys.modules["retgen.validation.scan"]
    monkeypatch.setattr(scan, "MOST", 100_000)
    drafts: Any = sys.modules.get("retgen.generators.capretrieval.drafts")
    if drafts is not None:
        monkeypatch.setattr(drafts, "BATCH", 20_000)


def tables(run: Path) -> dict[str, bytes]:
    folders = ("dataset", "training", "tables", "sources")
    files = [path for name in folders for path in (run / name).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run)): path.read_bytes() for path in [*files, run / "rejected.jsonl"]
    }


def share_all(recipe: Path, out: Path, of: int, seed: int = 0) -> None:
    """All ranks, one after the other, in any order: those that need others come again."""
    numbers = list(range(of))
    random.Random(seed).shuffle(numbers)
    for _ in range(3):
        left = []
        for number in numbers:
            try:
                run_rank(recipe, Rank(number, of), out=out, workers=1, patience=0.0)
            except RanksMissing:
                left.append(number)
        numbers = left
    assert numbers == []


@pytest.mark.slow
@pytest.mark.parametrize("of", [1, 4, 64])
def test_by_rank(recipe: Path, alone: dict[str, bytes], tmp_path: Path, of: int) -> None:
    if of == 64 and recipe.parent.name.startswith("own") and not LONG:
        of = 16  # each rank reads all documents; 64 in `make proof`
    share_all(recipe, tmp_path / "out", of)
    assert tables(run(recipe, out=tmp_path / "out").path) == alone
    assert not (tmp_path / "out" / PARTS).exists()
    assert [one for one in validate(tmp_path / "out").findings if one.severity == "error"] == []


RANK = """
import os, signal, sys
import retgen.cli, retgen.engines.files, retgen.generate
retgen.generate.MOST = 100_000
keep, before = retgen.engines.files.ResultFiles.keep, int(sys.argv.pop(1))
def killing(self, *args):
    global before
    result = keep(self, *args)
    before -= 1
    if before == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
retgen.engines.files.ResultFiles.keep = killing
sys.exit(retgen.cli.main())
"""


@pytest.mark.slow
def test_a_damaged_share_is_made_again(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPES["limit"])
    alone = tables(run(recipe, out=tmp_path / "alone").path)
    run_rank(recipe, Rank(0, 1), out=tmp_path / "out", workers=1)
    shares = sorted((tmp_path / "out" / PARTS).glob("*_piece@*"))
    assert len(shares) == 2 * 6
    shares[0].write_bytes(shares[0].read_bytes()[:-1])
    shares[1].unlink()
    shares[-1].write_bytes(b"")
    assert tables(run(recipe, out=tmp_path / "out").path) == alone


@pytest.mark.slow
def test_a_killed_rank_goes_on_from_anywhere(tmp_path: Path) -> None:
    """Killed after one, two and two more results, while the other rank works; then by another path."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPES["limit"])
    alone = tables(run(recipe, out=tmp_path / "alone").path)
    args = ["run", str(recipe), "--out", "out", "-q", "--workers", "1", "--rank"]
    for kills in (1, 2, 2):
        command = [sys.executable, "-c", RANK, str(kills), *args, "0/2"]
        other = subprocess.Popen([sys.executable, "-c", RANK, "0", *args, "1/2"], cwd=tmp_path)
        assert subprocess.run(command, cwd=tmp_path).returncode == -signal.SIGKILL
        assert other.wait(100) == 0
    with pytest.raises(RanksMissing):
        run(recipe, out=tmp_path / "out")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    same = [sys.executable, "-c", RANK, "0", *args, "0/2"]
    twice = [subprocess.Popen(same, cwd=tmp_path / "elsewhere") for _ in range(2)]
    assert [one.wait(100) for one in twice] == [0, 0]  # the same rank twice at the same time
    assert tables(run(recipe, out=tmp_path / "out").path) == alone


def test_what_is_refused(small: Path, tmp_path: Path, recipe_file: Any) -> None:
    out = tmp_path / "out"
    run_rank(small, Rank(1, 3), out=out)
    with pytest.raises(RanksMissing) as missing:
        run(small, out=out)
    assert str(missing.value) == (
        f"{out} is shared by 3 ranks, and not finished by 0/3, 2/3: start what is missing with "
        "--rank, or make all of it here with --fresh"
    )
    with pytest.raises(RunDirectoryError) as other:
        run_rank(small, Rank(1, 4), out=out)
    assert str(other.value) == (
        f"{out} is shared by 3 ranks, and this is rank 1/4: give the same number, or start again "
        "with `gen run --fresh` without --rank"
    )
    with pytest.raises(RunDirectoryError, match="belongs to another recipe; it differs in seed"):
        run_rank(small, Rank(2, 3), out=out, overrides={"seed": 43})
    ranks = out / PARTS / "ranks.json"
    ranks.write_text(ranks.read_text().replace('"retgen":"0', '"retgen":"9.0'))
    with pytest.raises(RunDirectoryError, match=r"other ranks have retgen 9.0.1.0, this one has"):
        run_rank(small, Rank(2, 3), out=out)
    with pytest.raises(UsageError, match="pieces of Parquet cannot be joined"):
        run_rank(small, Rank(0, 2), out=tmp_path / "p", overrides={"output.format": "parquet"})
    with pytest.raises(UsageError, match="--rank: this recipe asks a model"):
        run_rank("multiconir_movies", Rank(0, 2), out=tmp_path / "m",
                 overrides={"model": "openai:gpt-5-mini"})  # fmt: skip
    run(small, out=out, fresh=True)
    again = run_rank(small, Rank(0, 3), out=out)  # queued anew, after the merge
    assert again == (str(out), Rank(0, 3), 0, True)


def test_what_a_rank_says(gen: Gen, small: Path) -> None:
    done = gen("run", small, "--out", "out", "--rank", "0/2", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = gen("run", small, "--out", "out", "--rank=1/2")
    assert (done.returncode, done.stdout) == (
        0,
        "out: rank 1/2 has made and proven its 0 pieces. When all 2 ranks have ended, merge them "
        f"with\n  gen run {small} --out out\n",
    )
    assert gen("run", small, "--out", "out", "--rank", "1/2", "--engine", "ray").stderr == (
        "gen: --rank: goes without --fresh, --engine and --pilot\n"
    )


@pytest.mark.slow
def test_the_scripts_of_the_page_as_slurm_starts_them(tmp_path: Path) -> None:
    """The array of docs/cluster.md, in any order, with the variables that Slurm sets; then the merge."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    script = page.partition("```bash\n#!/bin/bash\n")[2].partition("```")[0]
    merge = page.partition('--wrap "')[2].partition('"')[0]
    small = "--set params.docs=3000 --out"
    script, merge = (
        one.replace("/shared", str(tmp_path)).replace("--out", small) for one in (script, merge)
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    slurm = {"SLURM_ARRAY_TASK_COUNT": "3", "SLURM_CPUS_PER_TASK": "1", "PATH": path}
    for number in ("2", "0", "1"):
        env = {**os.environ, **slurm, "SLURM_ARRAY_TASK_ID": number}
        subprocess.run(["bash", "-euc", script], env=env, check=True, cwd=tmp_path)
    subprocess.run(["bash", "-euc", merge], env={**os.environ, **slurm}, check=True, cwd=tmp_path)
    alone = run("limit_5m", out=tmp_path / "alone", overrides={"params.docs": 3000}).path
    assert tables(tmp_path / "limit_5m") == tables(alone)


# --- on a cluster ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that each node sees at another place."""
    folder = tmp_path_factory.mktemp("disk")
    (folder / "disk").mkdir()
    for name in ("head", "node0", "node1"):
        (folder / name).symlink_to(folder / "disk")
    return folder


@pytest.fixture(scope="module")
def cluster(shared_disk: Path) -> Iterator[Any]:
    before = dict(os.environ)
    os.environ |= RAY
    import ray
    from ray.cluster_utils import Cluster

    result = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for name in ("node0", "node1"):
        add_node(result, shared_disk / name)
    os.environ["RETGEN_SHARED"] = str(shared_disk / "head")
    yield result
    ray.shutdown()
    result.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_paths_are_those_of_each_node(shared_disk: Path, cluster: Any) -> None:
    """Also of a path whose links were followed, as a run does."""
    engine = RayCluster(cluster.address, 2)
    nodes = {str(shared_disk / name / "runs") for name in ("node0", "node1")}
    for path in (shared_disk / "head" / "runs", shared_disk / "disk" / "runs"):
        tasks = {str(i): i for i in range(6)}
        seen = {result.tobytes().decode() for _, result in engine.map(where, path, tasks)}
        assert {one.partition(" ")[2] for one in seen} <= nodes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("loss", ["nobody", "worker", "node"])
def test_on_a_cluster(
    recipe: Path, alone: dict[str, bytes], shared_disk: Path, cluster: Any, loss: str
) -> None:
    """Two nodes that see the shared disk at different places; a worker, or a node, is killed."""
    if loss != "nobody" and not LONG and not recipe.parent.name.startswith("limit"):
        pytest.skip("make proof")
    out = shared_disk / "head" / f"{recipe.parent.name}-{loss}"
    ended = threading.Event()
    thread = threading.Thread(target=lose, args=(loss, cluster, out, ended))
    thread.start()
    try:
        made = run(recipe, out=out, engine=cluster.address).path
    finally:
        ended.set()
        thread.join()
        if loss == "node":  # in the main thread, where Ray may set its signals
            add_node(cluster, shared_disk / "node0")
    assert tables(made) == alone


def add_node(cluster: Any, disk: Path) -> None:
    """A node with one CPU that sees the shared disk at `disk`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETGEN_SHARED", str(disk))
        cluster.add_node(num_cpus=1)


def lose(loss: str, cluster: Any, out: Path, ended: threading.Event) -> None:
    """Kill a worker, or a node, while the run is under way."""
    while not (out / "recipe.yaml").exists() and not ended.is_set():
        time.sleep(0.01)
    time.sleep(0.5)
    if loss == "worker":
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if path.read_bytes().startswith(b"ray::_do"):
                os.kill(int(path.parent.name), signal.SIGKILL)
                break
    elif loss == "node":
        nodes = [node for node in cluster.list_all_nodes() if node != cluster.head_node]
        cluster.remove_node(nodes[0], allow_graceful=False)


def test_the_job_for_kubernetes_is_yaml() -> None:
    """All pods are alike, mount what they name, and run the command of the page."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    job = yaml.safe_load(text)
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for pod in (group["template"]["spec"] for group in groups):
        (container,) = pod["containers"]
        mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        assert mounted == {"shared": "/shared"}
        assert [one["name"] for one in pod["volumes"]] == ["shared"]
    assert job["spec"]["entrypoint"].split()[:4] == "gen run limit_5m --out".split()
