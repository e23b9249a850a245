"""A run directory: whose it is, whether it is finished, and what a fresh run takes away."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import OutputError, RetgenError, RunDirectoryError
from retgen.generate import TABLES
from retgen.recipe import Recipe, compare, load_recipe, written_out
from retgen.validation.states import PROOF
from retgen.write import held, make_folder, remove_partial, size_text, write_file
from retgen.yaml_text import to_yaml

# recipe.yaml last: as long as it stands, what is left of a killed --fresh is still a run's
_OWN = ("manifest.json", "dataset", "training", "tables", "exports", "eval", "capacity", "mteb",
        "rejected.jsonl", "report.html", "report.json", "run.log", TABLES, "inputs", "sources",
        ".pilot", PROOF, ".replay.sqlite", ".replay.sqlite-wal", ".replay.sqlite-shm",
        "recipe.yaml")  # fmt: skip
LOCK, REJECTED = ".lock", "rejected.jsonl"
VERDICTS, REVIEW_LOCK = "verdicts.sqlite", ".review.lock"
_REVIEW = (REVIEW_LOCK, "review.html")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run directory; a second run into it is refused. A killed process lets go."""
    taken = f"{folder} is in use by another gen run; wait for it, or choose another --out"
    with held(folder / LOCK, lambda: taken):
        yield


def open_or_resume(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """Make the directory this recipe's, or see that it is; the manifest if it is finished."""
    tree, copies = written_out(recipe)
    path = folder / "recipe.yaml"
    if not path.is_file():
        remove_partial(folder)  # of a run that was killed before its recipe stood
        foreign = sorted(
            p.name
            for p in folder.iterdir()
            if p.name not in (LOCK, "inputs", REJECTED) and not _of_people(p)
        )
        if foreign:
            raise RunDirectoryError(
                f"{folder} is not a run directory: it holds {', '.join(foreign[:3])} but no "
                "recipe.yaml. Choose another --out."
            )
        for name, source in copies.items():
            make_folder((folder / name).parent)
            write_file(folder / name, source.read_bytes())
        header = (
            f"# gen run {path} --out ANOTHER_FOLDER\n"
            "# Every default and override of the run, written out.\n"
        )
        write_file(path, header + to_yaml(tree))
        return None
    old, old_copies = written_out(load_recipe(path, finished=True))
    keys = compare(old, tree)
    keys += [
        name
        for name, source in copies.items()
        if name in old_copies and _digest(old_copies[name]) != _digest(source)
    ]
    if keys:
        raise RunDirectoryError(
            f"{folder} belongs to another recipe; it differs in {', '.join(keys)}. "
            "Choose another --out, or throw away what is there with --fresh."
        )
    try:
        manifest: dict[str, Any] = orjson.loads((folder / "manifest.json").read_bytes())
        stated = {name: int(info["bytes"]) for name, info in manifest["files"].items()}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(
            f"{folder / 'manifest.json'} is damaged; make the run again with --fresh"
        ) from error
    for name, size in stated.items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise RunDirectoryError(
                f"{folder} is a finished run, but {name} was changed or removed since; "
                "make it again with --fresh"
            )
    return manifest


def clear(folder: Path, recipe: Recipe) -> Path | None:
    """Remove what a run writes, and nothing else. What people said is nobody's to remove.

    Verdicts stay where the same recipe makes the same data again; of another recipe's data they
    would be on other texts, so they are put aside, and it is said where.
    """
    if not (folder / "recipe.yaml").is_file():
        return None  # not a run: `open_or_resume` decides
    aside = None if _same(folder, recipe) else _put_aside(folder)
    (folder / "manifest.json").unlink(missing_ok=True)  # first: from here on it is not complete
    for name in _OWN:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return aside


def _of_people(path: Path) -> bool:
    """Whether a file is of a review, which may outlive the run it is of."""
    return path.name in _REVIEW or (path.name.startswith("verdicts") and ".sqlite" in path.name)


def _same(folder: Path, recipe: Recipe) -> bool:
    try:
        old = written_out(load_recipe(folder / "recipe.yaml", finished=True))[0]
    except RetgenError:
        return False
    return not compare(old, written_out(recipe)[0])


def _put_aside(folder: Path) -> Path | None:
    """Give the verdicts of a run another name; raises where somebody is judging."""
    path = folder / VERDICTS
    if not path.is_file():
        return None
    import filelock

    lock = filelock.FileLock(folder / REVIEW_LOCK)
    try:
        with lock.acquire(blocking=False):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            number = 1
            while (aside := folder / f"verdicts-{number}.sqlite").exists():
                number += 1
            path.rename(aside)
            for left in ("-wal", "-shm"):
                path.with_name(path.name + left).unlink(missing_ok=True)
    except (filelock.Timeout, sqlite3.Error) as error:
        raise RunDirectoryError(
            f"{path} holds what people said of the data that --fresh would replace, and it cannot "
            f"be put aside ({str(error) or 'it is in use'}). Stop `gen review {folder}`, or choose "
            "another --out"
        ) from error
    return aside


def check_space(folder: Path, needed: int) -> None:
    """Refuse before the first byte what cannot fit."""
    there = sum(path.stat().st_size for path in folder.glob("dataset/*") if path.is_file())
    free = shutil.disk_usage(folder).free
    if needed - there > free:
        raise OutputError(
            f"cannot write {folder}: the data set needs about {size_text(needed)}, "
            f"{size_text(free)} are free. Free some space, or choose another folder with --out."
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
