"""The same run by a pool of processes, by Ray and by ranks: seconds, in turn.

Every engine has as many processes. The start of a Ray cluster stands apart, and so does the merge
of ranks, which one process does.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import in_turn, options, ratio


def main() -> None:
    given = options(__doc__, documents=400_000, processes=2, rounds=3, ray=1)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        recipe = folder / "recipe.yaml"
        recipe.write_text(
            "name: engines\nfamily: limit\nparams: {pattern: dense, "
            f"docs: {given.documents}, queries: 1000, k: 2, attributes_per_doc: 45}}\n"
        )
        out = folder / "out"
        command = [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", str(out), "-q"]

        def whole(*more: str) -> None:
            shutil.rmtree(out, ignore_errors=True)
            subprocess.run([*command, "--workers", str(given.processes), *more], check=True)

        def shares() -> None:
            shutil.rmtree(out, ignore_errors=True)
            ranks = [
                subprocess.Popen([*command, "--workers", "1", "--rank", f"{i}/{given.processes}"])
                for i in range(given.processes)
            ]
            assert not any(rank.wait() for rank in ranks)

        works = {"local": whole, "ranks": shares}
        works["merge of ranks"] = lambda: subprocess.run([*command], check=True)
        with cluster(given.processes) if given.ray else nothing():
            if given.ray:
                works["ray"] = lambda: whole("--engine", "ray")
            times = in_turn(works, given.rounds)
    both = [sum(pair) for pair in zip(times["ranks"], times["merge of ranks"], strict=True)]
    print(f"{given.documents:,} documents of LIMIT, {given.processes} processes")
    for label, seconds in times.items():
        print(f"  {label}: {statistics.median(seconds):.1f} s")
    for label, seconds in (("ray", times.get("ray", [])), ("ranks, merged", both)):
        if seconds:
            print(f"  {label} / local: {ratio(seconds, times['local'])}")


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
