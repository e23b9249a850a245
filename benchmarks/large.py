"""Five million documents: rate, against the rate at 50,000 documents, and peak memory.

.venv/bin/python benchmarks/large.py [--documents 5000000] [--against 50000]
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import options, peak


def main() -> None:
    given = options(__doc__, documents=5_000_000, against=50_000)
    rates = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name, documents in (("limit_dense", given.against), ("limit_5m", given.documents)):
            out = Path(folder) / name
            command = [sys.executable, "-m", "retgen.cli", "run", name, "--out", str(out)]
            began = time.perf_counter()
            subprocess.run(
                [*command, "-q", "--set", f"params.docs={documents}"],
                check=True,
            )
            seconds = time.perf_counter() - began
            rates.append(documents / seconds)
            print(
                f"{documents:,} documents generated, proven and written in {seconds:.1f} s: "
                f"{rates[-1]:,.0f} documents/s"
            )
            shutil.rmtree(out)
    print(f"rate at {given.documents:,} / rate at {given.against:,}: {rates[1] / rates[0]:.2f}")
    print(f"largest single process: {peak(resource.RUSAGE_CHILDREN):.0f} MB")


if __name__ == "__main__":
    main()
