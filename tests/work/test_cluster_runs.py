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
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.work.work import RAY

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
    monkeypatch.setattr(retgen.generate, "PIECE", 1024)
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
def cluster() -> Iterator[Any]:
    before = dict(os.environ)
    os.environ |= RAY
    import ray
    from ray.cluster_utils import Cluster

    result = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        result.add_node(num_cpus=1)
    yield result
    ray.shutdown()
    result.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("loss", ["nobody", "worker", "node"])
def test_on_a_cluster(
    recipe: Path, alone: dict[str, bytes], tmp_path: Path, cluster: Any, loss: str
) -> None:
    """Two nodes; a worker, or a node, is killed."""
    if loss != "nobody" and not LONG and not recipe.parent.name.startswith("limit"):
        pytest.skip("make proof")
    out = tmp_path / "out"
    ended = threading.Event()
    thread = threading.Thread(target=lose, args=(loss, cluster, out, ended))
    thread.start()
    try:
        made = run(recipe, out=out, engine=cluster.address).path
    finally:
        ended.set()
        thread.join()
        if loss == "node":  # in the main thread, where Ray may set its signals
            cluster.add_node(num_cpus=1)
    assert tables(made) == alone


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
