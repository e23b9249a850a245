"""The same run by a pool of processes, by Ray and by ranks: seconds, in turn.

Every engine has as many processes. The start of a Ray cluster stands apart, and so does the merge
of ranks, which one process does. `start`: the same with 1,000 documents, which is a run's start,
its connection to the cluster and its end; the last lines are without it.

.venv/bin/python benchmarks/engines.py [--documents 400000] [--processes 2] [--rounds 3] [--ray 1]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common import in_turn, options, ratio

START = ", start"


def main() -> None:
    given = options(__doc__, documents=400_000, processes=2, rounds=3, ray=1)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        with cluster(given.processes) if given.ray else nothing():
            works = {
                label + suffix: work
                for documents, suffix in ((given.documents, ""), (1_000, START))
                for label, work in runs(folder, documents, given.processes, given.ray).items()
            }
            times = in_turn(works, given.rounds)
    print(f"{given.documents:,} documents of LIMIT, {given.processes} processes")
    for label, seconds in times.items():
        print(f"  {label}: {statistics.median(seconds):.1f} s")
    for suffix in ("", START):
        ranks = zip(times["ranks" + suffix], times["merge" + suffix], strict=True)
        times["ranks, merged" + suffix] = [sum(pair) for pair in ranks]
    others = ["ray"] * given.ray + ["ranks, merged"]
    for label in others:
        print(f"  {label} / local: {ratio(times[label], times['local'])}")
    for label in others:
        work, local = (
            [whole - start for whole, start in zip(times[one], times[one + START], strict=True)]
            for one in (label, "local")
        )
        print(f"  {label} / local, without the start: {ratio(work, local)}")


def runs(folder: Path, documents: int, processes: int, ray: int) -> dict[str, Callable[[], object]]:
    """The run by each engine; the merge of ranks is for those that were made before it."""
    recipe, out = folder / f"{documents}.yaml", folder / "out"
    recipe.write_text(
        "name: engines\nfamily: limit\nparams: {pattern: dense, "
        f"docs: {documents}, queries: 1000, k: 2, attributes_per_doc: 45}}\n"
    )
    command = [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", str(out), "-q"]

    def whole(*more: str) -> None:
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([*command, "--workers", str(processes), *more], check=True)

    def shares() -> None:
        shutil.rmtree(out, ignore_errors=True)
        ranks = [
            subprocess.Popen([*command, "--workers", "1", "--rank", f"{i}/{processes}"])
            for i in range(processes)
        ]
        assert not any(rank.wait() for rank in ranks)

    def merge() -> None:
        subprocess.run([*command], check=True)

    works: dict[str, Callable[[], object]] = {"local": whole, "ranks": shares, "merge": merge}
    if ray:
        works["ray"] = lambda: whole("--engine", "ray")
    return works


@contextmanager
def nothing() -> Iterator[None]:
    yield


@contextmanager
def cluster(cpus: int) -> Iterator[None]:
    """A Ray cluster on this machine, which RAY_ADDRESS names."""
    os.environ["RAY_AUTH_MODE"] = "disabled"  # on this machine alone
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    began = time.perf_counter()
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus})
    print(f"Ray started in {time.perf_counter() - began:.1f} s")
    os.environ["RAY_ADDRESS"] = made.address
    try:
        yield
    finally:
        made.shutdown()  # `ray stop` would end the clusters of others as well


if __name__ == "__main__":
    main()
