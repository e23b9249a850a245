"""Five million documents: rate, against the rate at 50,000 documents, and peak memory.

make bench-large
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rates = {}
        for name, documents in (("limit_dense", 50_000), ("limit_5m", 5_000_000)):
            out = Path(folder) / name
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "retgen.cli", "run", name, "--out", str(out)], check=True
            )
            seconds = time.perf_counter() - began
            rates[name] = documents / seconds
            print(
                f"{documents:,} documents generated, proven and written in {seconds:.1f} s: "
                f"{rates[name]:,.0f} documents/s"
            )
            shutil.rmtree(out)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"rate at 5,000,000 / rate at 50,000: {rates['limit_5m'] / rates['limit_dense']:.2f}")
        print(f"largest single process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
