"""`gen sealed verify` and `gen eval --sealed`: a set made again from its reveal, and scored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.errors import ChecksFailed, RecipeError, SealBroken, UsageError
from retgen.progress import Progress, no_progress
from retgen.recipe import load_recipe, written_out
from retgen.run import run
from retgen.sealed.make import sealed_folder, table_digests, unsealable
from retgen.sealed.public import check_submission, write_public
from retgen.sealed.statements import (
    COMMITMENT,
    PRIVATE,
    REVEAL,
    FileDigest,
    Reveal,
    check_package,
    check_pair,
    check_previous,
    read_reveal,
)
from retgen.write import file_info, make_folder, scratch_folder, write_file
from retgen.yaml_text import to_yaml

if TYPE_CHECKING:  # slow to import
    from retgen.evaluation.scoring.result import Evaluation

_INPUT = re.compile(r"inputs/[^/\\\x00]+")


@dataclass(frozen=True)
class Verified:
    """A set that is what was committed to; `path`: where it was kept."""

    name: str
    commitment: str
    round: int
    files: int
    bytes: int
    path: Path | None

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen sealed verify --json` prints."""
        path = None if self.path is None else str(self.path)
        return {"ok": True, **vars(self), "path": path}


def verify_sealed(
    commitment: str | Path,
    reveal: str | Path,
    *,
    previous: str | Path | None = None,
    public: str | Path | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Verified:
    """Check a reveal against its commitment, and make its set again: is each byte the same?

    `previous`: commitment.json of the round before. `public`: the folder that submitters were
    given. `out`: where the set is kept as a run directory, by default nowhere. Raises `SealBroken`
    by the name of what is wrong, and `SealUnchecked` where this package is not the one that made
    the set.
    """
    stated = check_pair(Path(commitment), Path(reveal))
    check_package(stated)
    if previous is not None:
        check_previous(stated, Path(previous))
    if public is not None:
        _compare(stated.says.public, _found(Path(public), stated.says.public), "sealed/public",
                 f"{public} is not what was committed to")  # fmt: skip
    with scratch_folder("retgen-sealed-") as scratch:
        made = _make_again(stated, Path(out) if out else scratch / "run", workers, progress)
        found = {name: FileDigest(**info._asdict())
                 for name, info in write_public(made, scratch / "public").items()}  # fmt: skip
        _compare(stated.says.public, found, "sealed/public",
                 "what submitters were given does not follow from the set")  # fmt: skip
    sizes = [info.bytes for info in stated.says.files.values()]
    return Verified(
        stated.name, stated.commitment, stated.says.round, len(sizes), sum(sizes),
        Path(out) if out else None,
    )  # fmt: skip


@dataclass(frozen=True)
class OpenedSet:
    """A sealed set that can be scored. `run`: with its qrels. `revealed`: they are public."""

    run: Path
    reveal: Reveal
    revealed: bool


def open_sealed(
    path: str | Path, workers: int | None = None, progress: Progress = no_progress
) -> OpenedSet:
    """Its holder's set as it lies in private/, or one made again from its reveal.json.

    The latter is made in outputs/sealed_NAME_HASH, once. Raises as `verify_sealed` does.
    """
    path = Path(path)
    if path.is_file():
        beside = path.parent / COMMITMENT
        stated = check_pair(beside, path) if beside.is_file() else read_reveal(path)
    else:
        folder = sealed_folder(path)
        holder = (folder / PRIVATE / REVEAL).is_file()
        if not holder and not (folder / REVEAL).is_file():
            raise UsageError(
                f"{folder} holds neither private/ nor {REVEAL}: until it is revealed, only its "
                "holder can score"
            )
        place = folder / PRIVATE if holder else folder
        stated = check_pair(folder / COMMITMENT, place / REVEAL)
        if holder:
            check_package(stated)
            home = place / stated.name
            _compare(stated.says.files, _found(home, stated.says.files), "sealed/bytes",
                     f"{home} was changed since it was sealed")  # fmt: skip
            return OpenedSet(home, stated, (folder / REVEAL).is_file())
    check_package(stated)
    home = Path("outputs") / f"sealed_{stated.name}_{stated.commitment[:12]}"
    return OpenedSet(_make_again(stated, home, workers, progress), stated, True)


def evaluate_sealed(
    path: str | Path,
    *,
    runs: Sequence[str | Path] = (),
    models: Sequence[str] = (),
    progress: Progress = no_progress,
    **given: Any,
) -> tuple[Evaluation, OpenedSet]:
    """Score submissions (TREC runs) and models on a sealed set, before or after its reveal.

    What is written tells of the qrels, and lies with the run. `given`: as `evaluate` takes it.
    Raises `DatasetError` for a submission that is not one of this set.
    """
    from retgen.evaluation.scoring.evaluate import evaluate

    opened = open_sealed(path, progress=progress)
    for file in runs:
        check_submission(opened.run, Path(file))
    return evaluate(opened.run, runs=runs, models=models, progress=progress, **given), opened


def _make_again(stated: Reveal, home: Path, workers: int | None, progress: Progress) -> Path:
    """The run of a reveal, in `home`; every table has the stated digest."""
    says = stated.says
    for name in says.inputs:
        if not _INPUT.fullmatch(name) or name in ("inputs/.", "inputs/.."):
            raise SealBroken("sealed/recipe", f"the reveal names a file {name!r} outside inputs/")
    with scratch_folder("retgen-recipe-") as scratch:
        make_folder(scratch / "inputs")
        for name, text in says.inputs.items():
            write_file(scratch / name, text)
        write_file(scratch / "recipe.yaml", to_yaml(says.recipe))
        try:
            recipe = load_recipe(scratch / "recipe.yaml")
            reason = unsealable(recipe)
            named = {path.resolve() for path in written_out(recipe)[1].values()}
            if named - {(scratch / name).resolve() for name in says.inputs}:
                reason = "it names files that the reveal does not hold"
            if reason:
                raise SealBroken("sealed/recipe", f"the recipe of the reveal is none: {reason}")
            result = run(scratch / "recipe.yaml", out=home, workers=workers, progress=progress)
        except RecipeError as error:
            raise SealBroken(
                "sealed/recipe", f"the recipe of the reveal cannot be made: {error}"
            ) from error
        except ChecksFailed as error:
            raise SealBroken(
                "sealed/recipe", f"the recipe of the reveal makes no good set: {error}"
            ) from error
    changed = f"{home} was changed since it was made; remove it, and run the same command again"
    what = changed if result.repeated else "made again, the set is another"
    here = result.manifest["word_lists"]
    if words := [name for name, sha in says.word_lists.items() if here.get(name) != sha]:
        made_with = ", ".join(f"{name} {version}" for name, version in says.versions.items())
        what += f" (other word lists: {', '.join(words)}; it was made with {made_with})"
    _compare(says.files, table_digests(result.manifest), "sealed/bytes", what)
    _compare(says.files, _found(home, says.files), "sealed/bytes", changed)
    return home


def _found(folder: Path, names: Mapping[str, FileDigest]) -> dict[str, FileDigest]:
    return {
        name: FileDigest(**file_info(folder / name)._asdict())
        for name in names
        if (folder / name).is_file()
    }


def _compare(
    stated: Mapping[str, FileDigest], found: Mapping[str, FileDigest], name: str, what: str
) -> None:
    """Raise `SealBroken`, naming each file that differs."""
    other = [one for one in sorted({*stated, *found}) if stated.get(one) != found.get(one)]
    if other:
        lines = [_difference(one, stated.get(one), found.get(one)) for one in other]
        raise SealBroken(name, f"{what}:\n  " + "\n  ".join(lines))


def _difference(name: str, stated: FileDigest | None, found: FileDigest | None) -> str:
    if stated is None or found is None:
        return f"{name}: {'not committed to' if stated is None else 'missing'}"
    return (
        f"{name}: SHA-256 {found.sha256} ({found.bytes:,} bytes), committed "
        f"{stated.sha256} ({stated.bytes:,} bytes)"
    )

