"""The bundled recipes: data, not code. Each opens with the command that runs it.

What is here is listed without importing what reads it.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["about", "bundled", "bundled_studies", "find_study"]


def about(path: Path) -> str:
    """What a recipe says of itself: the first sentence on top, behind the command."""
    lines = []
    for line in path.read_text("utf-8").splitlines()[1:]:
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(lines))[0]


def bundled() -> dict[str, Path]:
    """Name to path of the bundled recipes, sorted by name."""
    return _listed(".")


def bundled_studies() -> dict[str, Path]:
    """Name to path of the bundled studies, sorted by name."""
    return _listed("studies")


def find_study(source: str | Path) -> Path | None:
    """The file of a study, if that is what a path or a bundled name stands for."""
    path = Path(source)
    if path.exists():
        is_text = path.suffix in (".yaml", ".yml") and path.is_file()
        return path if is_text and b"\nstudy:" in b"\n" + path.read_bytes() else None
    return bundled_studies().get(str(source))


def _listed(folder: str) -> dict[str, Path]:
    files = sorted((Path(next(iter(__path__))) / folder).glob("*.yaml"))
    return {path.stem: path for path in files}
