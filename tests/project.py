"""A copy of the project with a few more files, and `gen` of that copy: nothing else is edited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.command import Done

ROOT = Path(__file__).parent.parent
CALLS = """
import json, sys
from tests.command import in_process
for line in sys.stdin:
    call = in_process(*json.loads(line))
    print(json.dumps([call.args, call.returncode, call.stdout, call.stderr]), flush=True)
"""


class Project:
    """The copy stands in `project` of a folder, in which its commands are run."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder, self.copy = folder, folder / "project"
        for name in ("retgen", "generators", "validators", "recipes", "evaluation", "prompts"):
            shutil.copytree(ROOT / name, self.copy / name, symlinks=True)
        for name, text in files.items():
            path = self.copy / name
            path.parent.mkdir(exist_ok=True)
            assert not path.exists()
            path.write_text(text)

    def python(self, code: str, given: str = "", **env: str) -> str:
        """What Python code prints; the copy comes first on the path, the tests' helpers after it."""
        path = os.pathsep.join(map(str, (self.copy, ROOT)))
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", **env},
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def gen(self, *calls: Sequence[str | Path], **env: str) -> list[Done]:
        """What each `gen ARGS` prints and its exit code, one after another in one new process."""
        given = "".join(json.dumps([*map(str, words)]) + "\n" for words in calls)
        lines = self.python(CALLS, given, **env).splitlines()
        assert len(lines) == len(calls)
        return [subprocess.CompletedProcess(*json.loads(line)) for line in lines]
