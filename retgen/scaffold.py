"""`gen new`: a commented recipe to start from, of a source where one is given."""

from __future__ import annotations

import os
import re
from pathlib import Path

from retgen.errors import OutputError, RetgenError, UsageError
from retgen.generators import families, family
from retgen.generators.family import Plan
from retgen.generators.source import SourceDescription, describe_source
from retgen.messages import did_you_mean
from retgen.plan import NOT_STATED, plan
from retgen.reporting.card import check_licence
from retgen.write import write_file
from retgen.yaml_text import to_yaml

SHEET = "asked.txt"


def new_recipe(
    family_name: str,
    out: str | Path | None = None,
    source: SourceDescription | str | Path | None = None,
    licence: str | None = None,
    queries: str | Path | None = None,
) -> Path:
    """Write a family's scaffold to `out` (default my_FAMILY.yaml). Never overwrites.

    `source`: documents that the recipe is for; nothing is written where the family cannot use them.
    `licence`: of these documents. `queries`: a file of questions that people asked about them.
    """
    return write_recipe(family_name, out, source, licence, queries)[0]


def write_recipe(
    family_name: str,
    out: str | Path | None = None,
    source: SourceDescription | str | Path | None = None,
    licence: str | None = None,
    queries: str | Path | None = None,
) -> tuple[Path, Plan | None]:
    """As `new_recipe`, with the plan of a recipe that has a source."""
    path = _free(family_name, out)
    if source is None:
        for option, given in (("licence", licence), ("queries", queries)):
            if given is not None:
                what = "that of" if option == "licence" else "about"
                raise UsageError(f"--{option} is {what} your documents: name them with --source")
        _write(path, family(family_name).scaffold())
        return path, None
    if queries is not None:
        _check_queries(family_name, queries)
    if not isinstance(source, SourceDescription):
        source = describe(family_name, source, path)
    text = family(family_name).scaffold(source)
    if queries is not None:
        text = family(family_name).with_queries(text, _relative(Path(queries), path.parent))
    _write(path, text, licence)
    try:
        return path, plan(path)
    except RetgenError:
        path.unlink()
        raise


def _check_queries(family_name: str, queries: str | Path) -> None:
    if not family(family_name).sheet:
        able = [name for name in families() if family(name).sheet]
        raise UsageError(
            f"{family_name} takes no questions of people. Families that do: {', '.join(able)}"
        )
    if not Path(queries).exists():
        raise UsageError(
            f"--queries: there is no {queries}. Write about forty questions into it, one a line; "
            f"without --queries a sheet to fill in, {SHEET}, is written"
        )


def _relative(path: Path, folder: Path) -> str:
    """A path as a recipe in `folder` says it."""
    if path.is_absolute():
        return str(path)
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def write_sheet(family_name: str, recipe: Path) -> Path | None:
    """Write a sheet for questions beside a recipe, unless it is there; None where it has no use."""
    path = recipe.parent / SHEET
    if not family(family_name).sheet:
        return None
    if not path.exists():
        write_file(path, family(family_name).sheet)
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
