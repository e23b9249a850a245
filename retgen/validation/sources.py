"""Whether the files of `sources/` can be read: a family says what their rows hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from retgen.generators.family import RowType
from retgen.recipe import SOURCES, Recipe
from retgen.validators.rule import Finding

_WORDS = {"missing": " is missing", "extra_forbidden": " must not be there"}


def unreadable_sources(run: Path, recipe: Recipe, same: bool) -> Iterator[Finding]:
    """The first fault of each file that a job of this recipe leaves in `sources/`.

    `same`: this version of retgen wrote it; the rows of another may have other keys.
    """
    for name, row in recipe.family.sources(recipe.job).items():
        path, stated = run / SOURCES / name, f"{SOURCES}/{name}"
        try:
            fault = _fault(path, row, same)
        except (OSError, UnicodeDecodeError) as error:
            fault = (0, f"cannot be read: {getattr(error, 'strerror', None) or error}")
        if fault is not None:
            number, what = fault
            where = f"{stated}, row {number:,}:" if number else stated
            message = f"{where} {what}; without it the labels cannot be proven: put the file back"
            yield Finding("sources", "error", [stated], message)


def _fault(path: Path, kind: RowType, same: bool) -> tuple[int, str] | None:
    """(row from 1, what is wrong with it), None where every row is right."""
    if kind is None:
        return None if path.read_text("utf-8").strip() else (0, "is empty")
    row = _row(kind if same else {}, "forbid" if same else "ignore")
    number = 0
    with open(path, "rb") as file:
        for line in [file.read()] if path.suffix == ".json" else file:
            number += 1
            try:
                row.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                key = ".".join(map(str, first["loc"])) or "it"
                message = first["msg"][:1].lower() + first["msg"][1:]
                return number, key + _WORDS.get(first["type"], f": {message}")
            if not line.endswith(b"\n"):
                return number, "is cut off: a line break must end it"
    return None if number else (0, "is empty")


def _row(kind: type[Any] | Mapping[str, Any], extra: Any) -> type[BaseModel]:
    keys = get_type_hints(kind) if isinstance(kind, type) else kind
    fields: dict[str, Any] = {
        key.rstrip("?"): (one, None if key.endswith("?") else ...) for key, one in keys.items()
    }
    return create_model("Row", __config__=ConfigDict(extra=extra, strict=True), **fields)
