"""The same run by a pool of processes and by Ray: seconds, in turn.

Both engines have as many processes. The start of the Ray cluster stands apart. `start`: the same
with 1,000 documents, which is a run's start, its connection to the cluster and its end; the last
line is without it.

.venv/bin/python benchmarks/engines.py [--documents 400000] [--processes 2] [--rounds 3]
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
    given = options(__doc__, documents=400_000, processes=2, rounds=3)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        with cluster(given.processes):
            works = {
                label + suffix: work
                for documents, suffix in ((given.documents, ""), (1_000, START))
                for label, work in runs(folder, documents, given.processes).items()
            }
            times = in_turn(works, given.rounds)
    print(f"{given.documents:,} documents of LIMIT, {given.processes} processes")
    for label, seconds in times.items():
        print(f"  {label}: {statistics.median(seconds):.1f} s")
    print(f"  ray / local: {ratio(times['ray'], times['local'])}")
    work, local = (
        [whole - start for whole, start in zip(times[one], times[one + START], strict=True)]
        for one in ("ray", "local")
    )
    print(f"  ray / local, without the start: {ratio(work, local)}")


def runs(folder: Path, documents: int, processes: int) -> dict[str, Callable[[], object]]:
    """The run by each engine."""
    recipe, out = folder / f"{documents}.yaml", folder / "out"
    recipe.write_text(
        "name: engines\nfamily: limit\nparams: {pattern: dense, "
        f"docs: {documents}, queries: 1000, k: 2, attributes_per_doc: 45}}\n"
    )
    command = [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", str(out), "-q"]

    def whole(*more: str) -> None:
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([*command, "--workers", str(processes), *more], check=True)

    return {"local": whole, "ray": lambda: whole("--engine", "ray")}


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
