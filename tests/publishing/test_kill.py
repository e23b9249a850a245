"""A publish that is killed at any moment: the rerun ends it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.with_agents.conftest import contents


@pytest.mark.slow
def test_a_folder_is_completed_by_the_next_publish(kb: Path, tmp_path: Path) -> None:
    place, room = tmp_path / "place" / "kb", tmp_path / "room"
    room.mkdir()
    changed = Path(shutil.copytree(kb, tmp_path / "changed"))
    (changed / "recipe.yaml").write_text((kb / "recipe.yaml").read_text() + "# another\n")
    env = {**os.environ, "TMPDIR": str(room)}
    command = [sys.executable, "-m", "retgen.cli", "publish"]
    to = [f"file:{place}", "--force", "-q"]

    def publish(run: Path, after: float | None = None) -> int:
        with subprocess.Popen([*command, str(run), *to], env=env) as process:
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        return process.returncode

    assert publish(kb) == 0
    old = contents(place)
    began = time.monotonic()
    assert publish(changed) == 0
    took, new = time.monotonic() - began, contents(place)
    assert old != new
    chance = random.Random(5)
    for _ in range(5):
        assert publish(kb) == 0
        publish(changed, chance.uniform(0.3, 1.0) * took)
        whole = {path: data for path, data in contents(place).items() if ".partial" not in path}
        assert set(whole.items()) <= {*old.items(), *new.items()}  # no file is half written
    assert publish(changed) == 0
    assert contents(place) == new
    assert [path.name for path in place.parent.iterdir()] == ["kb"]
