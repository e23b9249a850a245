"""Every family at three sizes: time, memory, disk, and what each record adds.

Memory is that of the largest process without the pages of mapped files, which the system takes back
whenever it needs them; Linux alone tells them apart.

.venv/bin/python benchmarks/large.py [--families limit world] [--scale 1.0] [--engine local]
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import options
from own_documents import generated


class Grown(NamedTuple):
    """A recipe at several sizes. `option`: how its size is set; `least`: the smallest it takes."""

    recipe: str
    option: str
    unit: str
    sizes: tuple[int, ...]
    least: int = 1


FAMILIES = {
    "limit": Grown("limit_5m", "params.docs", "documents", (100_000, 5_000_000, 10_000_000), 50),
    "world": Grown(
        "world_small", "params.documents", "documents", (10_000, 50_000, 250_000), 10_000
    ),
    "world_twins": Grown("world_twins", "params.triples_per_cell", "triples a cell", (10, 50, 250)),
    "multiconir": Grown("multiconir_movies", "params.ladders", "ladders", (400, 2_000, 10_000), 2),
    "niah": Grown("niah", "params.places", "places", (2, 5, 10), 2),
    "album": Grown(
        "capretrieval_album", "params.captions", "captions", (3_024, 12_000, 48_000), 100
    ),
    "capretrieval": Grown("", "", "own documents", (2_000, 8_000, 32_000), 40),
}


class Cost(NamedTuple):
    """Of a run: seconds, megabytes of its largest process, megabytes on disk."""

    seconds: float
    memory: float
    disk: float


def main() -> None:
    given = options(__doc__, families=list(FAMILIES), scale=1.0, engine="local")
    print("| family | size | time | memory | disk |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for name in given.families:
        one = FAMILIES[name]
        sizes = [max(one.least, round(size * given.scale)) for size in one.sizes]
        costs = []
        for size in sizes:
            costs.append(cost(one, size, given.engine))
            seconds, memory, disk = costs[-1]
            print(
                f"| {name} | {size:,} {one.unit} | {seconds:.1f} s | {memory:,.0f} MB "
                f"| {disk:,.1f} MB |",
                flush=True,
            )
        if sizes[-1] > sizes[-2]:
            more = [(b - a) / (sizes[-1] - sizes[-2]) for a, b in zip(*costs[-2:], strict=True)]
            print(
                f"| | each of the last | {more[0] * 1e3:.3g} ms | {more[1] * 1e3:.3g} kB "
                f"| {more[2] * 1e3:.3g} kB |",
                flush=True,
            )


def cost(one: Grown, size: int, engine: str) -> Cost:
    """One run of a recipe of this size, in a process of its own."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        recipe, more = one.recipe, ["--set", f"{one.option}={size}"]
        if not recipe:
            source = generated(folder / "kb.jsonl", size)
            recipe, more = str(folder / "kb.yaml"), []
            Path(recipe).write_text(
                f"name: kb\nfamily: capretrieval\nparams:\n  source: {{path: {source}}}\n"
            )
        out = folder / "run"
        command = [sys.executable, "-m", "retgen.cli", "run", recipe, "--out", str(out), "-q"]
        command += ["--engine", engine, *more]
        began = time.perf_counter()
        process, memory = subprocess.Popen(command), 0.0
        while process.poll() is None:
            memory = max(memory, *map(own_memory, tree(process.pid)))
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
        disk = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6
        shutil.rmtree(out)
    return Cost(seconds, memory, disk)


def tree(process: int) -> Iterator[int]:
    """A process, and all it has started, as far as they still run."""
    yield process
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
                yield from tree(int(child))


def own_memory(process: int) -> float:
    """Megabytes of a process that are pages of no file; 0 where it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
