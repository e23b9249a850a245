"""Runs on a Ray cluster: the bytes of the run in one process."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retgen.generate
from retgen import run
from retgen.work.ray_cluster import RayCluster
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.work.work import RAY, where

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
        seen = {result.decode() for _, result in engine.map(where, path, tasks.items())}
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
