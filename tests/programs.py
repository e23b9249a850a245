"""Programs that some tests need and a machine may lack."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.project import ROOT


def needed(*names: str, package: str) -> list[str]:
    """Return the paths of programs, or skip the test and name the package that brings them."""
    paths = [path for name in names if (path := shutil.which(name))]
    if len(paths) < len(names):
        pytest.skip(f"needs {' and '.join(names)}: install {package}")
    return paths


def git(*words: str) -> str:
    """Return what git prints in this checkout, or skip the test where git knows no repository."""
    needed("git", package="git")
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:  # files without a repository, or one that another user owns
        pytest.skip(f"needs a git repository: {done.stderr.strip()}")
    return done.stdout
