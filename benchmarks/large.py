"""Every family at three sizes: time of each stage, memory, disk, and what each record adds.

Memory is that of the largest process without the pages of mapped files, which the system takes back
whenever it needs them; Linux alone tells them apart.

.venv/bin/python benchmarks/large.py [--families limit world] [--scale 1.0] [--engine local]
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import entries, options

from retgen.streams import Stream

# recipe, how its size is set, unit, sizes, the smallest size that it takes
FAMILIES = {
    "limit": ("limit_5m", "params.docs", "documents", (100_000, 5_000_000, 10_000_000), 50),
    "world": ("world_small", "params.documents", "documents", (10_000, 50_000, 250_000), 10_000),
    "world_twins": ("world_twins", "params.triples_per_cell", "triples a cell", (10, 50, 250), 1),
    "multiconir": ("multiconir_movies", "params.ladders", "ladders", (400, 2_000, 10_000), 2),
    "niah": ("niah", "params.places", "places", (2, 5, 10), 2),
    "album": ("capretrieval_album", "params.captions", "captions", (3_024, 12_000, 48_000), 100),
    "capretrieval": ("", "", "own documents", (2_000, 8_000, 32_000), 40),
}


def main() -> None:
    given = options(__doc__, families=list(FAMILIES), scale=1.0, engine="local")
    print("| family | size | time | memory | disk | stages |")
    print("|---|---:|---:|---:|---:|---|", flush=True)
    for name in given.families:
        recipe, option, unit, steps, least = FAMILIES[name]
        sizes = [max(least, round(size * given.scale)) for size in steps]
        costs = []
        for size in sizes:
            *taken, timings = cost(recipe, option, size, given.engine)
            costs.append(taken)
            seconds, memory, disk = taken
            shown = f"{seconds:.1f} s | {memory:,.0f} MB | {disk:,.1f} MB"
            stages = ", ".join(f"{stage} {took:.2f}" for stage, took in timings.items())
            print(f"| {name} | {size:,} {unit} | {shown} | {stages} |", flush=True)
        if sizes[-1] > sizes[-2]:
            more = [(b - a) / (sizes[-1] - sizes[-2]) for a, b in zip(*costs[-2:], strict=True)]
            ms, *kilobytes = (f"{one * 1e3:.3g}" for one in more)
            print(f"| | each of the last | {ms} ms | {' kB | '.join(kilobytes)} kB | |", flush=True)


def cost(
    recipe: str, option: str, size: int, engine: str
) -> tuple[float, float, float, dict[str, float]]:
    """Seconds, megabytes of the largest process and on disk of one run; seconds of its stages."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        more = ["--set", f"{option}={size}"]
        if not recipe:
            recipe, more = str(own_documents(folder, size)), []
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
        timings = json.loads((out / "manifest.json").read_text())["timings"]
        shutil.rmtree(out)
    return seconds, memory, disk, timings


def own_documents(folder: Path, documents: int) -> Path:
    """A recipe over so many documents of 60 words: catalogued things, in sentences of twelve."""
    things = sorted(set(entries()))
    picks = Stream(42, "benchmarks/own_documents").integers(len(things), documents * 60)
    with open(folder / "kb.jsonl", "w") as file:
        for i, row in enumerate(picks.reshape(documents, 60).tolist()):
            cut = " ".join(things[j] for j in row).split()[:60]
            text = ". ".join(" ".join(cut[at : at + 12]) for at in range(0, 60, 12)) + "."
            file.write(json.dumps({"_id": f"d{i}", "title": "", "text": text}) + "\n")
    path = folder / "kb.yaml"
    path.write_text("name: kb\nfamily: capretrieval\nparams:\n  source: {path: kb.jsonl}\n")
    return path


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
