"""What code made a set: a digest of all files of this package, and where to find them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from retgen.write import file_info

# in a checkout they lie beside retgen/, in a wheel within it
_BESIDE = ("evaluation", "generators", "prompts", "recipes", "validators")


def package_digest() -> str:
    """SHA-256 over a line "DIGEST  PATH" for every file of the package, as `sha256sum` prints them.

    Lines are sorted by path, which begins with retgen/. A wheel and a checkout of the same commit
    agree; `__pycache__` and hidden files do not count.
    """
    files: dict[str, Path] = {}
    for name in ("retgen", *(f"retgen.{one}" for one in _BESIDE)):
        spec = find_spec(name)
        for place in (spec.submodule_search_locations if spec else None) or ():
            files |= {f"{name.replace('.', '/')}/{key}": path for key, path in _files(Path(place))}
    lines = (f"{file_info(files[key]).sha256}  {key}\n" for key in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def package_commit() -> str | None:
    """The commit of git that the package was installed from or lies in, where that is known.

    It helps to find the code again; what vouches for the code is `package_digest`.
    """
    with contextlib.suppress(PackageNotFoundError, ValueError):  # as pip notes it
        origin = json.loads(distribution("retgen").read_text("direct_url.json") or "{}")
        if commit := origin.get("vcs_info", {}).get("commit_id"):
            return str(commit)
    git = ["git", "-C", str(Path(__file__).parent)]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        # no commit of another repository, which holds a virtual environment
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", Path(__file__).name],
            check=True,
            capture_output=True,
            timeout=10,
        )
        found = subprocess.run(
            [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=10
        )
        return found.stdout.strip()
    return None


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for parent, folders, names in os.walk(folder):  # links within retgen/ are not followed
        folders[:] = [one for one in folders if one != "__pycache__" and not one.startswith(".")]
        for name in names:
            if not name.startswith(".") and not name.endswith(".pyc"):
                yield Path(parent, name).relative_to(folder).as_posix(), Path(parent, name)
