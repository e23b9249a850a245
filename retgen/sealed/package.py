"""What code made a set: a digest of all files of this package, and where to find them."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
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
        for place in map(Path, (spec.submodule_search_locations if spec else None) or ()):
            for path in place.rglob("*"):  # links within retgen/ are not followed
                parts = path.relative_to(place).parts
                hidden = any(one.startswith(".") or one == "__pycache__" for one in parts)
                if path.is_file() and not hidden and path.suffix != ".pyc":
                    files["/".join([*name.split("."), *parts])] = path
    lines = (f"{file_info(files[key]).sha256}  {key}\n" for key in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def package_commit() -> str | None:
    """The commit of the checkout that the package lies in; None where it lies in none.

    It helps to find the code again; what vouches for the code is `package_digest`.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    # no commit of another repository, which holds a virtual environment
    ours = [*git, "ls-files", "--error-unmatch", Path(__file__).name]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(ours, check=True, capture_output=True, timeout=10)
        head = [*git, "rev-parse", "HEAD"]
        found = subprocess.run(head, check=True, capture_output=True, text=True, timeout=10)
        return found.stdout.strip()
    return None
