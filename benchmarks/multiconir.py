"""Ladders a second: drawing, writing and proving them with all exported tables, at flat memory.

Each size is a process of its own, and goes through what `gen run` does: sources/, dataset/, the
paper's flat tables, training/, then the proof from the written files.

    .venv/bin/python benchmarks/multiconir.py [--sizes 500 5000 50000] [--domain books]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import peak

DOMAINS = ("people", "books", "movies", "medical", "legal")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 50_000])
    parser.add_argument("--domain", choices=DOMAINS, default="movies")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        for size in given.sizes:
            run = Path(folder) / str(size)
            prepare(run, given.domain, size)
            command = [sys.executable, __file__, "--one", str(run)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            result = json.loads(done.stdout)
            total = result["write"] + result["prove"]
            print(
                f"{size:>6,} ladders: written in {result['write']:.1f} s "
                f"({result['bytes'] / 1e6:,.0f} MB), proven in {result['prove']:.1f} s; "
                f"{size / total:,.0f} ladders/s, peak memory {result['peak']:,.0f} MB",
                flush=True,
            )
            shutil.rmtree(run)


def prepare(run: Path, domain: str, size: int) -> None:
    """A run directory with a recipe."""
    run.mkdir()
    (run / "recipe.yaml").write_text(
        f"name: many\nfamily: multiconir\nparams: {{domain: {domain}, ladders: {size}}}\n"
    )


def measure(run: Path) -> dict[str, float]:
    """Seconds to draw and write and to prove, bytes written, and the peak of memory in MB."""
    from retgen.agents.models import ModelOptions
    from retgen.generate import generate_with_agents, write_dataset
    from retgen.progress import no_progress
    from retgen.recipe import load_recipe
    from retgen.validation.validate import prove
    from retgen.work import Local

    recipe = load_recipe(run).at(run)
    began = time.perf_counter()
    generate_with_agents(recipe, run, ModelOptions(), engine=Local(1))
    (run / "rejected.jsonl").touch()
    files, _ = write_dataset(recipe, recipe.family.generate(recipe.job), run, Local(1))
    written = time.perf_counter()
    after = peak()
    result = prove(run, recipe, Local(1), no_progress)
    wrong = [one.message for one in result.findings if one.severity == "error"]
    assert not wrong, wrong[:3]
    return {
        "write": written - began,
        "prove": time.perf_counter() - written,
        "bytes": sum(one.bytes for one in files.values()),
        "write_peak": after,
        "peak": peak(),
    }


if __name__ == "__main__":
    main()
