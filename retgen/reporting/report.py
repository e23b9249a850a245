"""`gen report`: report.json, and the page that shows it.

What the page says is decided in view.py; `results` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.dataset_files import enclosing_dataset_hint
from retgen.errors import DatasetError, DatasetMissing
from retgen.recipe import Recipe, written_out
from retgen.reporting.evidence import solved_blindly
from retgen.reporting.view import run_page
from retgen.validators.validation import Validation
from retgen.write import dump_json, write_file


def collect_report(
    folder: Path, recipe: Recipe, manifest: Mapping[str, Any], result: Validation
) -> dict[str, Any]:
    """All that the page shows, as report.json keeps it."""
    return {
        **statements(recipe, manifest, result),
        "folder": folder.resolve().name,
        "samples": result.samples,
    }


def statements(recipe: Recipe, manifest: Mapping[str, Any], result: Validation) -> dict[str, Any]:
    """What is known of a run without its files: for its page and its card."""
    family = recipe.family
    return {
        "name": recipe.name,
        "family": recipe.family.name,
        "summary": family.about(recipe.job),
        "paper": family.paper,
        "own": family.from_user(recipe.job),
        "recipe": written_out(recipe)[0],
        "manifest": {key: one for key, one in manifest.items() if key not in _ELSEWHERE},
        "card": list(manifest.get("card", ())),
        "solved_blindly": None if recipe.family.traces_labels else solved_blindly(result.baselines),
        **result.to_json(),
    }


# of the manifest, what stands in the report by itself or says nothing on its page
_ELSEWHERE = frozenset(
    {"name", "family", "seed", "card", "floors", "origin", "certificate", "checks", "prompts"}
)


def write_report(folder: Path, content: Mapping[str, Any]) -> None:
    """Write report.json and report.html of a run."""
    write_file(folder / "report.json", dump_json(content))
    write_file(folder / "report.html", report_page(content))


def report_page(content: Mapping[str, Any]) -> str:
    """The page of a report.json."""
    return run_page(content).html()


def report(path: str | Path) -> Path:
    """Make the page of a run again, from its report.json. Returns the page's path."""
    if not str(path).strip():
        raise DatasetError("the path is empty: give the folder of a run")
    folder = Path(path)
    if not folder.exists():
        raise DatasetMissing(f"{folder} does not exist. Give the folder of a run.", str(folder))
    if folder.is_file():
        raise DatasetError(
            f"{folder} is a file. Give the folder of a run{enclosing_dataset_hint(folder)}."
        )
    try:
        content = orjson.loads((folder / "report.json").read_bytes())
        if not isinstance(content, dict):
            raise ValueError("report.json is not an object")
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{folder} holds no readable report.json; `gen validate {folder}` checks it anew"
        ) from error
    write_report(folder, content)
    return folder / "report.html"
