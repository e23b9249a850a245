"""Speed of the LIMIT family at the paper's size, as ratios against a plain Python script.

Each pair is measured in turn, A B A B ..., after one warm-up, and the ratio is taken pair by pair;
medians are printed. Nothing here is a test: machines differ.

    .venv/bin/python benchmarks/limit.py [--documents 50000] [--rounds 5]
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import plain
from common import in_turn, options, peak, ratio

from retgen.generate import write_dataset
from retgen.recipe import load_recipe
from retgen.work import Local


def main() -> None:
    given = options(__doc__, documents=50_000, rounds=5)
    documents, rounds = given.documents, given.rounds
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        recipe = load_recipe("limit_dense", {"params.docs": documents})

        def ours() -> None:
            run = root / "ours"
            shutil.rmtree(run, ignore_errors=True)
            run.mkdir()
            records = recipe.family.generate(recipe.job)
            write_dataset(recipe, records, run, Local(1))

        def reference() -> None:
            plain.main(root / "plain", documents)

        of = documents, rounds
        compare("generate and write", "plain script, in process", ours, reference, *of)

        command = [sys.executable, "-m", "retgen.cli", "run", "limit_dense", "--fresh", "-q"]
        command += ["--set", f"params.docs={documents}"]
        script = [sys.executable, str(Path(plain.__file__)), str(root / "plain"), str(documents)]

        def whole() -> None:
            subprocess.run([*command, "--out", str(root / "run")], check=True)

        def whole_reference() -> None:
            subprocess.run(script, check=True)

        compare(
            "whole command: start, generate, prove, report, write",
            "plain script, whole process",
            whole,
            whole_reference,
            *of,
        )
        print(f"largest process: {peak(resource.RUSAGE_CHILDREN):.0f} MB")


def compare(
    what: str,
    against: str,
    ours: Callable[[], None],
    theirs: Callable[[], None],
    documents: int,
    rounds: int,
) -> None:
    """Measure both in turn and print medians and the ratio theirs / ours."""
    times = in_turn({"ours": ours, "theirs": theirs}, rounds)
    mine, other = (statistics.median(column) for column in times.values())
    print(f"{what}\n    {mine:.3f} s, {documents / mine:,.0f} documents/s")
    print(f"    {other:.3f} s  {against}")
    print(f"    ratio {ratio(times['theirs'], times['ours'])}")


if __name__ == "__main__":
    main()
