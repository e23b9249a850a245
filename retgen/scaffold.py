"""`gen new`: a commented recipe to start from."""

from __future__ import annotations

from pathlib import Path

from retgen.errors import OutputError, UsageError
from retgen.generators import families, family
from retgen.write import write_file


def new_recipe(family_name: str, out: str | Path | None = None) -> Path:
    """Write a family's scaffold to `out` (default my_FAMILY.yaml). Never overwrites."""
    if family_name not in families():
        raise UsageError(f"there is no family {family_name!r}. Families: {', '.join(families())}")
    path = Path(out) if out is not None else Path(f"my_{family_name}.yaml")
    if path.exists():
        raise OutputError(f"{path} is there already; choose another file with --out")
    text = family(family_name).scaffold()
    write_file(path, text.replace("<path>", str(path)).replace("<name>", path.stem))
    return path
