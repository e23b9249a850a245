"""`gen` in a process of its own, forked from one that has its imports: dozens of them can be killed."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    "retgen.cli retgen.run retgen.validation retgen.agents.session retgen.generators.limit "
    "retgen.generators.capretrieval retgen.generators.multiconir "
    "retgen.generators.world openai uvloop trio httpcore2 faker numpy.random".split()
)


def start(folder: Path, env: Mapping[str, str], *args: str | Path) -> BaseProcess:
    """`gen ARGS` in a folder, with this whole environment."""
    process = _CONTEXT.Process(target=_gen, args=(folder, dict(env), [*map(str, args)]))
    process.start()
    return process


def _gen(folder: Path, env: Mapping[str, str], words: list[str]) -> None:
    from retgen.cli import app

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["gen", *words]
    app(words, prog_name="gen")
