"""Ray on two nodes of this machine: the same results, with a worker or a node killed."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.errors import DatasetError, WorkerLost
from retgen.search import mining
from retgen.search.mining import mine
from retgen.validators import decontamination
from retgen.validators.decontamination import HeldOut, drop_overlapping
from retgen.work.ray_cluster import RayCluster
from tests.conftest import Gen
from tests.work import work
from tests.work.test_engines import TASKS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without CPUs, and two nodes of one each."""
    before = dict(os.environ)
    os.environ |= work.RAY
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


@pytest.fixture
def engine(cluster: Any) -> RayCluster:
    return RayCluster(cluster.address, 2)


def test_every_task_once(engine: RayCluster) -> None:
    right = {f"t{i}": f"7 {2 * i}".encode() for i in range(12)}
    assert list(engine.map(work.double, 7, TASKS.items())) == list(right.items())
    assert engine.workers == 2
    assert str(engine) == "2 workers of a Ray cluster"


def test_an_error_is_raised_as_it_is(engine: RayCluster) -> None:
    with pytest.raises(DatasetError, match=r"^row 3 is no document$"):
        list(engine.map(work.fail, None, TASKS.items()))


def test_one_is_started_beside_one_that_runs_here(
    cluster: Any, gen_process: Gen, small: Path
) -> None:
    """Ray would take the cluster that was started here last, if it is not told."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        noted = Path(folder, "ray", "ray_current_cluster")
        noted.parent.mkdir()
        noted.write_text(cluster.address)
        env = {**os.environ, "RAY_TMPDIR": folder}
        done = gen_process("run", small, "--out", "out", "--engine", "ray", "-q", env=env)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_worker(engine: RayCluster, tmp_path: Path) -> None:
    made = dict(engine.map(work.die_once, tmp_path, TASKS.items()))
    assert made == {name: str(task).encode() for name, task in TASKS.items()}
    with pytest.raises(WorkerLost, match=r"^workers of the Ray cluster were lost again and again"):
        list(engine.map(work.die, None, TASKS.items()))


def test_a_killed_node(engine: RayCluster, cluster: Any, tmp_path: Path) -> None:
    nodes = [node for node in cluster.list_all_nodes() if node != cluster.head_node]

    def kill() -> None:
        while len(list(tmp_path.iterdir())) < 3:
            time.sleep(0.01)
        cluster.remove_node(nodes[0], allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    made = dict(engine.map(work.slow, tmp_path, TASKS.items()))
    thread.join()
    assert made == {name: str(task).encode() for name, task in TASKS.items()}
    cluster.add_node(num_cpus=1)


def test_mining_and_decontamination(engine: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    words = [f"word{i}" for i in range(60)]
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(300)]
    asked = [" ".join(text.split()[:4]) for text in texts[:50]]
    held = [HeldOut("test", {str(i): text[:60] for i, text in enumerate(texts[:30])}, {})]
    own = {str(i): text for i, text in enumerate(texts)}
    alone = list(mine(texts, asked, [[i] for i in range(50)])), drop_overlapping(own, held)
    assert len(alone[1]) == 30
    for module, name, size in (
        (mining, "TEXTS", 64),
        (mining, "QUERIES", 7),
        (decontamination, "PART", 40),
    ):
        monkeypatch.setattr(module, name, size)
    mined = list(mine(texts, asked, [[i] for i in range(50)], engine=engine))
    assert (mined, drop_overlapping(own, held, engine=engine)) == alone


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_that_does_not_answer(gen_process: Gen, small: Path, scheme: str) -> None:
    done = gen_process("run", small, "--out", "out", "--engine", f"{scheme}127.0.0.1:9")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(
        f"gen: --engine {scheme}127.0.0.1:9: no Ray cluster answers there (Connection refused); "
        "start one with `ray start --head`, or see its address with `ray status`\n"
    )
