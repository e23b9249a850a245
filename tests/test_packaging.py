"""The wheel holds what the repository holds, and works where there are no links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.programs import git

pytestmark = pytest.mark.slow  # the wheel is built
ROOT = Path(__file__).parent.parent
LINKS = ("generators", "prompts", "validators", "evaluation", "recipes")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy without the links inside retgen/."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"
    copy.mkdir()
    for name in ("retgen", *LINKS):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    for name in LINKS:
        (copy / "retgen" / name).unlink(missing_ok=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, copy],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_what_git_holds(wheel: Path) -> None:
    tracked = git("ls-files", "retgen", *LINKS).split()
    wanted = {
        path if path.startswith("retgen/") else f"retgen/{path}"
        for path in tracked
        if path not in {f"retgen/{name}" for name in LINKS}  # the links themselves
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {
            name for name in archive.namelist() if not re.match(r"retgen-[^/]*dist-info/", name)
        }
    assert held == wanted
    assert "retgen/generators/limit/catalogue/animals.txt" in held
    assert "retgen/recipes/limit_dense.yaml" in held


def test_the_wheel_works(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import retgen; print(retgen.__file__); from retgen.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "run", "limit_small", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(str(tmp_path / "site" / "retgen" / "__init__.py"))
    assert (tmp_path / "outputs" / "limit_small" / "manifest.json").exists()


def test_links_are_there_for_editors() -> None:
    for name in LINKS:
        assert os.readlink(ROOT / "retgen" / name) == f"../{name}"
