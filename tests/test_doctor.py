"""`gen doctor`: what is installed, and what is missing."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import retgen
from retgen.generators import families
from tests.conftest import Gen


def test_doctor(gen: Gen) -> None:
    result = gen("doctor", "--json", env={"PATH": "", "OPENAI_API_KEY": "sk-secret-value"})
    checks = {check["what"]: check for check in json.loads(result.stdout)}
    assert checks["retgen"]["note"] == retgen.__version__
    assert checks["families"]["note"] == ", ".join(families())
    assert (checks["OPENAI_API_KEY"]["state"], checks["HF_TOKEN"]["state"]) == ("ok", "absent")
    assert checks["numpy"]["state"] == "ok"
    assert checks["accelerator"]["state"] in ("ok", "absent")
    assert "sk-secret-value" not in result.stdout
    assert result.returncode == 0


@pytest.mark.slow
def test_doctor_fails_where_a_package_is_missing(tmp_path: Path) -> None:
    """In an installation without two packages: one of the core, one of an extra."""
    gone = {"faker": "pip install --upgrade retgen", "torch": "pip install 'retgen[eval]'"}
    for entry in Path(importlib.import_module("numpy").__file__ or "").parent.parent.iterdir():
        if not entry.name.casefold().startswith(tuple(gone)) and entry.suffix != ".pth":
            (tmp_path / entry.name).symlink_to(entry)
    root = Path(retgen.__file__).parent.parent
    result = subprocess.run(
        [sys.executable, "-S", "-m", "retgen.cli", "doctor", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{root}:{tmp_path}"},
    )
    assert result.returncode == 1, result.stderr
    missing = {
        one["what"]: one["note"] for one in json.loads(result.stdout) if one["state"] == "missing"
    }
    assert missing == {name: f"not installed: {remedy}" for name, remedy in gone.items()}
