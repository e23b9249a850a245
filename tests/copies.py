"""A copy of the project in which files were added and nothing else changed, and calls of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.command import Done

_PARTS = ("retgen", "generators", "validators", "recipes", "evaluation", "prompts")


class Copy:
    """`added`: files by their path in the project. Calls are made in `folder`, beside the copy."""

    def __init__(self, folder: Path, added: Mapping[str, str]) -> None:
        root = Path(__file__).parent.parent
        for name in _PARTS:
            shutil.copytree(root / name, folder / "project" / name, symlinks=True)
        for name, text in added.items():
            file = folder / "project" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self._folder = folder
        # the copy comes first on the path: an editable installation is found after it
        self._env = {**os.environ, "PYTHONPATH": str(folder / "project"), "COLUMNS": "200"}

    def python(self, *args: str, **env: str) -> Done:
        return subprocess.run(
            [sys.executable, *args], capture_output=True, text=True, cwd=self._folder,
            env=self._env | env, timeout=120,
        )  # fmt: skip

    def gen(self, *args: str, **env: str) -> Done:
        return self.python("-m", "retgen.cli", *args, **env)
