"""`gen sealed make` and `gen sealed reveal`: a set drawn, committed to, and opened."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.errors import DatasetMissing, RunDirectoryError, SealBroken, UsageError
from retgen.manifest import run_lock
from retgen.progress import Progress, no_progress
from retgen.recipe import Recipe, compare, load_recipe, written_out
from retgen.run import run
from retgen.sealed.package import package_commit, package_digest
from retgen.sealed.public import write_public
from retgen.sealed.statements import (
    COMMITMENT,
    PRIVATE,
    PUBLIC,
    REVEAL,
    RUN,
    FileDigest,
    Package,
    Reveal,
    check_pair,
    commitment_digest,
)
from retgen.version import __version__
from retgen.write import FileInfo, make_folder, write_file

_DRAWN = "drawn.json"  # nonce and seed of a set that is being made


class SealedSet(NamedTuple):
    """A sealed set in the folder `path`. `repeated`: it was there before, nothing was done."""

    path: str
    name: str
    commitment: str
    round: int
    repeated: bool = False


def make_sealed(
    source: str | Path,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    round_number: int = 1,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> SealedSet:
    """Draw a seed, make and prove the set, and commit to it in `out`/round-N.

    `out` defaults to outputs/sealed_NAME. The seed comes from the system's source of randomness,
    never from the recipe. A call that was stopped is taken up where it was, with the same seed.
    Raises `UsageError` for a recipe that cannot be sealed, and as `run` does.
    """
    if "seed" in (overrides or {}):
        raise UsageError(
            "--set seed: the seed of a sealed set is drawn here, and known to nobody; leave it out"
        )
    recipe = load_recipe(source, overrides)
    if reason := unsealable(recipe):
        raise UsageError(f"{recipe.name} cannot be sealed: {reason}")
    rounds = Path(out) if out is not None else Path("outputs") / f"sealed_{recipe.name}"
    folder = rounds / f"round-{round_number}"
    previous = _previous(rounds, round_number)
    private = folder / PRIVATE
    make_folder(private)
    private.chmod(0o700)
    with run_lock(private):
        repeated = (folder / COMMITMENT).is_file()
        if repeated:
            reveal = check_pair(folder / COMMITMENT, private / REVEAL)
            _refuse_other(folder, recipe, reveal)
        else:
            reveal = _seal(
                source, overrides, folder, recipe.name, round_number, previous, workers, progress
            )
    return SealedSet(str(folder), reveal.name, reveal.commitment, round_number, repeated)


def _seal(
    source: str | Path,
    overrides: Mapping[str, Any] | None,
    folder: Path,
    name: str,
    number: int,
    previous: str | None,
    workers: int | None,
    progress: Progress,
) -> Reveal:
    private = folder / PRIVATE
    if not (private / _DRAWN).is_file():
        _write_private(
            private / _DRAWN,
            orjson.dumps(
                {
                    "nonce": secrets.token_hex(32),
                    "seed": secrets.token_hex(32),
                    "package": package_digest(),
                }
            ),
        )
    drawn = orjson.loads((private / _DRAWN).read_bytes())
    home = private / RUN / name
    seeded = {**(overrides or {}), "seed": drawn["seed"]}
    manifest = run(source, out=home, overrides=seeded, workers=workers, progress=progress).manifest
    if package_digest() != drawn["package"]:
        raise RunDirectoryError(
            f"{folder} was begun by other code of retgen, so parts of it may be of that: remove "
            "it, and make the set again"
        )
    tree, copies = written_out(load_recipe(home, finished=True))
    reveal = Reveal(
        nonce=drawn["nonce"],
        round=number,
        previous=previous,
        package=Package(version=__version__, commit=package_commit(), sha256=drawn["package"]),
        versions={key: one for key, one in manifest["versions"].items() if key != "retgen"},
        recipe=tree,
        inputs={key: _text_of(path) for key, path in copies.items()},
        word_lists=manifest["word_lists"],
        files=table_digests(manifest),
        public=digests(write_public(home, folder / PUBLIC)),
    )
    _write_private(private / REVEAL, reveal.raw())
    write_file(folder / COMMITMENT, reveal.commitment_file())  # last: now it is sealed
    (private / _DRAWN).unlink()
    return reveal


def reveal_sealed(folder: str | Path) -> SealedSet:
    """Write reveal.json beside the commitment of a sealed set: from now on it is public.

    Raises `SealBroken` where what is private is not what was committed to.
    """
    folder = sealed_folder(Path(folder))
    reveal, target = check_pair(folder / COMMITMENT, folder / PRIVATE / REVEAL), folder / REVEAL
    repeated = target.is_file()
    if repeated and target.read_bytes() != reveal.raw():
        raise SealBroken("sealed/reveal", f"{target} was changed; remove it, and reveal again")
    write_file(target, reveal.raw())
    return SealedSet(str(folder), reveal.name, reveal.commitment, reveal.round, repeated)


def sealed_folder(folder: Path) -> Path:
    """The folder of a round, which may be the only one of a sealed set. Raises `UsageError`."""
    if (folder / COMMITMENT).is_file():
        return folder
    rounds = sorted(folder.glob(f"round-*/{COMMITMENT}"))
    if len(rounds) > 1:
        raise UsageError(f"{folder} holds {len(rounds)} rounds: name one, as {rounds[0].parent}")
    if not rounds:
        raise DatasetMissing(
            f"{folder} is no sealed set: it holds no {COMMITMENT}. `gen sealed make` makes one",
            str(folder),
        )
    return rounds[0].parent


def unsealable(recipe: Recipe) -> str | None:
    """Why the bytes of a recipe do not follow from its seed and this package; None if they do."""
    family = recipe.family
    if not type(family).__module__.startswith("retgen."):
        return f"the family {family.name} comes with another package, which is not committed to"
    if recipe.live:
        return f"a model is asked ({', '.join(sorted(recipe.live))}), and its answers have no seed"
    given = family.from_user(recipe.job) != "nothing" or not family.repeatable(recipe.job)
    if given or getattr(recipe.file.params, "source", None) is not None:
        return "its documents are given, so whoever has them needs no seed"
    if recipe.file.review:
        return "people's decisions are about the records of one seed, and each seal has another"
    if recipe.file.output.format != "jsonl":
        return "the bytes of Parquet depend on Arrow's version; use --set output.format=jsonl"
    return None


def table_digests(manifest: Mapping[str, Any]) -> dict[str, FileDigest]:
    """Digests of the tables of a run: dataset/ and tables/. training/ is Parquet."""
    names = [one for one in manifest["files"] if one.startswith(("dataset/", "tables/"))]
    return digests({name: FileInfo(**manifest["files"][name]) for name in names})


def digests(files: Mapping[str, FileInfo]) -> dict[str, FileDigest]:
    """Hashes and sizes of files as statements have them."""
    return {name: FileDigest(**info._asdict()) for name, info in files.items()}


def _previous(rounds: Path, number: int) -> str | None:
    """SHA-256 of the commitment of the round before."""
    path = rounds / f"round-{number - 1}" / COMMITMENT
    if number > 1 and not path.is_file():
        raise UsageError(
            f"--round {number}: a round names the commitment of the one before, and there is no "
            f"{path}. Make round {number - 1} first"
        )
    return commitment_digest(path)[0] if number > 1 else None


def _refuse_other(folder: Path, recipe: Recipe, reveal: Reveal) -> None:
    keys = [key for key in compare(reveal.recipe, written_out(recipe)[0]) if key != "seed"]
    if keys:
        raise RunDirectoryError(
            f"{folder} is sealed with another recipe; it differs in {', '.join(keys)}. Draw the "
            f"next round with --round {reveal.round + 1}, or choose another --out"
        )


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text, as which a reveal would hold it") from error


def _write_private(path: Path, data: bytes) -> None:
    write_file(path, data)  # in a folder that nobody else can enter
    path.chmod(0o600)
