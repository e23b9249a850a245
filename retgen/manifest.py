"""A run directory: the recipe it belongs to, what a fresh run removes from it, and its manifest."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sized
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from retgen.agents.models import model_description
from retgen.agents.report import Rejection, Rejections
from retgen.data import read_manifest
from retgen.errors import OutputError, RunDirectoryError
from retgen.generators.records import Records
from retgen.recipe import Recipe, compare, load_recipe, written_out
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.write import (
    FileInfo,
    file_info,
    is_partial,
    lock_file,
    make_folder,
    remove_partial,
    size_text,
    write_file,
)
from retgen.yaml_text import to_yaml

FORMAT_VERSION = 3  # one more whenever what stands beside the tables has other keys or files
# recipe.yaml last: as long as it stands, what is left of a killed --fresh is still a run's
_OWN = (
    "manifest.json dataset training tables exports eval capacity rejected.jsonl report.html "
    "report.json run.log inputs sources .pilot .replay.sqlite .replay.sqlite-wal "
    ".replay.sqlite-shm recipe.yaml"
).split()
PROOF = ".proof-"  # prefix of the folder that a run keeps the terms of its proof in
LOCK, REJECTED = ".lock", "rejected.jsonl"
VERDICTS = "verdicts.sqlite"
# what a folder may hold before its run: of a review, or of a run whose source was refused
_BESIDE = (LOCK, REJECTED, "inputs", ".review.lock", "review.html")


def run_lock(folder: Path) -> AbstractContextManager[object]:
    """Lock the run directory against a second run. The lock of a killed process is released."""
    taken = f"{folder} is in use by another gen run; wait for it, or choose another --out"
    return lock_file(folder / LOCK, taken)


def open_or_resume(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """Claim a new directory for a recipe, or check that it belongs to it.

    Returns the manifest of a finished run, None for a new or unfinished one. Raises
    `RunDirectoryError` for the run of another recipe, a folder that is no run, and a finished run
    whose files were changed.
    """
    tree, copies = written_out(recipe)
    path = folder / "recipe.yaml"
    if not path.is_file():
        others = sorted(one for one in folder.iterdir() if one.name not in _BESIDE)
        foreign = [one.name for one in others if not is_partial(one)]
        foreign = [name for name in foreign if not name.startswith(VERDICTS)]
        if foreign:
            raise RunDirectoryError(
                f"{folder} is not a run directory: it holds {', '.join(foreign[:3])} but no "
                "recipe.yaml. Choose another --out."
            )
        remove_partial(folder)
        for name, source in copies.items():
            make_folder((folder / name).parent)
            write_file(folder / name, source.read_bytes())
        header = (
            f"# gen run {path} --out ANOTHER_FOLDER\n"
            "# Every default and override of the run, written out.\n"
        )
        write_file(path, header + to_yaml(tree))
        return None
    if not (folder / "manifest.json").is_file():
        remove_partial(folder)
        remove_partial(folder, PROOF)
    old, old_copies = written_out(load_recipe(path, finished=True))
    keys = compare(old, tree)
    keys += [
        name
        for name, source in copies.items()
        if name in old_copies and file_info(old_copies[name]) != file_info(source)
    ]
    if keys:
        raise RunDirectoryError(
            f"{folder} belongs to another recipe; it differs in {', '.join(keys)}. "
            "Choose another --out, or throw away what is there with --fresh."
        )
    manifest = read_manifest(folder)
    for name, info in manifest["files"].items() if manifest else ():
        file = folder / name
        if not file.is_file() or file.stat().st_size != info["bytes"]:
            raise RunDirectoryError(
                f"{folder} is a finished run, but {name} was changed or removed since; "
                "make it again with --fresh"
            )
    return manifest


def clear_run(folder: Path, recipe: Recipe) -> None:
    """Remove the files that a run writes. Everything else, such as reviews, stays."""
    if not (folder / "recipe.yaml").is_file():
        return  # not a run: `open_or_resume` decides
    (folder / "manifest.json").unlink(missing_ok=True)  # first: from here on it is not complete
    inputs = (folder / "inputs").resolve()
    reads = any(inputs in path.resolve().parents for path in written_out(recipe)[1].values())
    for name in _OWN:
        if name == "inputs" and reads:  # the recipe is the run's own
            continue
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def rejected_by_agents(run: Path, of_tables: Sized) -> Rejections:
    """Read the records that agents rejected; those that tables left out come after them.

    `of_tables`: the latter, to count them.
    """
    lines = (run / REJECTED).read_bytes().splitlines()
    count = max(0, len(lines) - len(of_tables))
    try:
        return Rejections(Rejection(**orjson.loads(line)) for line in lines[:count])
    except (TypeError, ValueError) as error:
        raise RunDirectoryError(f"{run / REJECTED}: a row is no rejection: {error}") from error


def check_space(folder: Path, needed: int) -> None:
    """Raise `OutputError` if the disk has no room for `needed` bytes."""
    there = sum(path.stat().st_size for path in folder.glob("dataset/*") if path.is_file())
    free = shutil.disk_usage(folder).free
    if needed - there > free:
        raise OutputError(
            f"cannot write {folder}: the data set needs about {size_text(needed)}, "
            f"{size_text(free)} are free. Free some space, or choose another folder with --out."
        )


def manifest_of(
    recipe: Recipe,
    result: Validation,
    records: Records,
    files: Mapping[str, FileInfo],
    timings: Mapping[str, float],
    costs: Mapping[str, Any],
) -> dict[str, Any]:
    """Build the manifest of a run that ends now.

    `files`: by path below the run; `records.rejected`: by agents and tables; `timings`: seconds by
    stage; `costs`: tokens and dollars of all attempts at this run.
    """
    family = recipe.family
    counts = {name: result.statistics[name] for name in ("documents", "queries", "qrels")}
    models, prompts = models_and_prompts(recipe)
    return {
        "format_version": FORMAT_VERSION,
        "name": recipe.name,
        "family": family.name,
        "seed": recipe.file.seed,
        "counts": counts | {"rejected": len(records.rejected)},
        "evidence": {
            "structural": result.proven,
            "judged": result.judged,
            "human": result.human,
        },
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "retgen": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        **({"source_documents": n} if (n := records.source_documents) is not None else {}),
        "complete": records.complete,
        **({"breakdown": list(records.breakdown)} if records.breakdown else {}),
        **({"lineage": recipe.reviewed_records().lineage} if result.reviewed else {}),
        "judges": result.judges,
        "structure": family.structure,
        "proof": family.proof,
        "candidate_sets": family.candidate_sets,
        "tests": family.tests,
        "main_measure": family.measure(recipe.job),
        "models": models,
        "prompts": prompts,
        "word_lists": dict(records.word_lists),
        "tokens": costs["tokens"],
        "usd": costs["usd"],
        "timings": dict(timings),
        "licences": dict(records.licences),
        "languages": list(records.languages),
        "checks": {
            "errors": result.errors,
            "warnings": result.warnings,
            "switched_off": result.switched_off,
        },
        "card": list(records.card),
        "facts": dict(records.facts),
        "notes": dict(records.notes),
        "example": records.example._asdict() if records.example else None,
        "judged": family.label_source if result.judged else "",
        "floors": result.baselines,
        "origin": result.origin or None,
        "certificate": result.certificate,
        "files": {name: info._asdict() for name, info in sorted(files.items())},
        **({key: costs[key] for key in ("calls", "cache_hits", "unanswered")} if models else {}),
        **({"answers": costs["answers"]} if costs.get("answers") else {}),
    }


def models_and_prompts(recipe: Recipe) -> tuple[dict[str, Any], dict[str, str]]:
    """Describe (the model of each required agent, the SHA-256 of each prompt that is sent)."""
    family, settings = recipe.family, recipe.models
    required_agents = family.required_agents(recipe.job)
    agents = [agent for agent in family.agents if agent.name in required_agents]
    return (
        {agent.name: model_description(settings.get(agent.name)) for agent in agents},
        {agent.prompt.name: agent.prompt.sha256 for agent in agents if agent.name in settings},
    )


def recipe_files(recipe: Recipe, run: Path) -> dict[str, FileInfo]:
    """The resolved recipe of a run, and the files that it names."""
    names = ["recipe.yaml", *written_out(recipe)[1]]
    return {name: file_info(run / name) for name in names}
