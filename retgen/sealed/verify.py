"""`gen sealed verify`: a set made again from its reveal, and compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from retgen.errors import ChecksFailed, RecipeError, SealBroken, UsageError
from retgen.progress import Progress, no_progress
from retgen.recipe import load_recipe, written_out
from retgen.run import run
from retgen.sealed.make import table_digests, unsealable, write_public
from retgen.sealed.statements import FileDigest, Reveal, check_package, check_pair, digest_of
from retgen.write import make_folder, scratch_folder, write_file
from retgen.yaml_text import to_yaml


class Verification(NamedTuple):
    """A set that is what was committed to: so many files and bytes, made again in `path`."""

    name: str
    commitment: str
    round: int
    files: int
    bytes: int
    path: str | None


def verify_sealed(
    commitment: str | Path,
    reveal: str | Path,
    *,
    public: str | Path | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Check a reveal against its commitment, and make its set again: is each byte the same?

    `public`: the folder that submitters were given. `out`: where the set is kept as a run
    directory, by default nowhere. Raises `SealBroken` by the name of what is wrong, and
    `SealUnchecked` where this package is not the one that made the set.
    """
    stated = check_pair(Path(commitment), Path(reveal))
    check_package(stated.package)
    if public is not None:
        what = f"{public} is not what was committed to"
        _compare(stated.public, _found(Path(public)), "sealed/public", what)
    if out is not None and Path(out).exists() and any(Path(out).iterdir()):
        raise UsageError(f"--out {out}: is not empty, and the set must be made anew; name another")
    with scratch_folder("retgen-sealed-") as scratch:
        made = _make_again(stated, Path(out or scratch / "run"), workers, progress)
        found = write_public(made, scratch / "public")
    what = "what was committed to as public does not follow from the set"
    _compare(stated.public, found, "sealed/public", what)
    size = sum(info.bytes for info in stated.files.values())
    kept = str(out) if out else None
    count = len(stated.files)
    return Verification(stated.name, stated.commitment, stated.round, count, size, kept)


def _make_again(stated: Reveal, home: Path, workers: int | None, progress: Progress) -> Path:
    """The run of a reveal, in `home`; every table has the stated digest."""
    with scratch_folder("retgen-recipe-") as scratch:
        make_folder(scratch / "inputs")
        for name, text in stated.inputs.items():
            write_file(scratch / name, text)
        try:
            write_file(scratch / "recipe.yaml", to_yaml(stated.recipe))
            recipe = load_recipe(scratch / "recipe.yaml")
            named = {path.resolve() for path in written_out(recipe)[1].values()}
            reason = unsealable(recipe)
            if named - {(scratch / name).resolve() for name in stated.inputs}:
                reason = "it names files that the reveal does not hold"
            if reason:
                raise SealBroken("sealed/recipe", f"no set follows from the reveal: {reason}")
            made = run(scratch / "recipe.yaml", out=home, workers=workers, progress=progress)
        except (RecipeError, ChecksFailed, RecursionError) as error:
            raise SealBroken("sealed/recipe", f"no set follows from the reveal: {error}") from error
    what, here = "made again, the set is another", made.manifest["word_lists"]
    if words := [name for name, sha in stated.word_lists.items() if here.get(name) != sha]:
        what += f" (other word lists: {', '.join(words)})"
    _compare(stated.files, table_digests(made.manifest), "sealed/bytes", what)
    return home


def _found(folder: Path) -> dict[str, FileDigest]:
    """Digests of all files of a folder."""
    paths = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    return {path.relative_to(folder).as_posix(): digest_of(path) for path in paths}


def _compare(
    stated: Mapping[str, FileDigest], found: Mapping[str, FileDigest], name: str, what: str
) -> None:
    """Raise `SealBroken`, naming each file that differs, is missing, or is one too many."""
    lines = [
        f"\n  {one}: {_size_and_hash(found.get(one))}, committed {_size_and_hash(stated.get(one))}"
        for one in sorted({*stated, *found})
        if stated.get(one) != found.get(one)
    ]
    if lines:
        raise SealBroken(name, what + ":" + "".join(lines))


def _size_and_hash(file: FileDigest | None) -> str:
    return "no file" if file is None else f"{file.bytes:,} bytes of SHA-256 {file.sha256}"
