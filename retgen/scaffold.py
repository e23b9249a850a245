"""`gen new`: a commented recipe to start from, of a source where one is given."""

from __future__ import annotations

import re
from pathlib import Path

from retgen.errors import OutputError, RetgenError, UsageError
from retgen.generators import families, family
from retgen.generators.source import SourceDescription, describe_source
from retgen.messages import did_you_mean
from retgen.plan import NOT_STATED, plan
from retgen.reporting.card import check_licence
from retgen.write import write_file
from retgen.yaml_text import to_yaml


def new_recipe(
    family_name: str,
    out: str | Path | None = None,
    source: SourceDescription | str | Path | None = None,
    licence: str | None = None,
) -> Path:
    """Write a family's scaffold to `out` (default my_FAMILY.yaml). Never overwrites.

    `source`: documents that the recipe is for; nothing is written where the family cannot use them.
    `licence`: of these documents.
    """
    path = _free(family_name, out)
    if source is None:
        if licence is not None:
            raise UsageError("--licence is that of your documents: name them with --source")
        _write(path, family(family_name).scaffold())
        return path
    if not isinstance(source, SourceDescription):
        source = describe(family_name, source, path)
    _write(path, family(family_name).scaffold(source), licence)
    try:
        plan(path)
    except RetgenError:
        path.unlink()
        raise
    return path


def describe(
    family_name: str, source: str | Path, out: str | Path | None = None
) -> SourceDescription:
    """Look at a source for a recipe of a family. Raises `UsageError` where it takes none."""
    path = _free(family_name, out)
    if not family(family_name).takes_source:
        able = [name for name in families() if family(name).takes_source]
        raise UsageError(
            f"{family_name} takes no documents of yours. Families that do: {', '.join(able)}"
        )
    if not str(source).strip():
        raise UsageError("--source is empty: give a file, a folder, or hf:owner/name")
    return describe_source(source, path.parent)


def _free(family_name: str, out: str | Path | None) -> Path:
    if family_name not in families():
        hint = did_you_mean(family_name, families()) or "."
        raise UsageError(
            f"there is no family {family_name!r}{hint} Families: {', '.join(families())}"
        )
    path = Path(out) if out is not None else Path(f"my_{family_name}.yaml")
    if path.exists():
        raise OutputError(f"{path} is there already; choose another file with --out")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent} to write {path.name} in; make it")
    return path


def _write(path: Path, text: str, licence: str | None = None) -> None:
    if licence is not None:
        stated = to_yaml({"licence": check_licence(licence)}).strip()
        text = re.sub(rf"licence: {NOT_STATED}.*", lambda _: stated, text)
    name = re.sub(r"[^a-z0-9_.-]+", "_", path.stem.lower()).lstrip("_.-") or "mine"
    write_file(path, text.replace("<path>", str(path)).replace("<name>", name))
