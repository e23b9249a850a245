"""`gen sealed make` and `gen sealed reveal`: a set drawn, committed to, and opened."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import DatasetMissing, RunDirectoryError, SealBroken, UsageError
from retgen.manifest import run_lock
from retgen.progress import Progress, no_progress
from retgen.recipe import Recipe, compare, load_recipe, written_out
from retgen.run import run
from retgen.sealed.package import library_versions, package_digest
from retgen.sealed.public import write_public
from retgen.sealed.statements import (
    COMMITMENT,
    FORMAT_VERSION,
    PRIVATE,
    PUBLIC,
    REVEAL,
    FileDigest,
    Package,
    Reveal,
    RevealFile,
    check_pair,
    read_commitment,
)
from retgen.version import __version__
from retgen.write import FileInfo, make_folder, write_file

_DRAWN = "drawn.json"  # nonce and seed of a set that is being made
_TABLES = ("dataset/", "tables/")  # training/ is Parquet, whose bytes depend on Arrow's version


@dataclass(frozen=True)
class SealedSet:
    """A sealed set in `path`. `repeated`: it was there before, and nothing was done."""

    path: Path
    name: str
    commitment: str
    round: int
    repeated: bool = False

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen sealed make --json` and `reveal --json` print."""
        return {**vars(self), "path": str(self.path)}


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
            "--set seed: the seed of a sealed set is drawn here and known to nobody; leave it out"
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
        if (folder / COMMITMENT).is_file():
            made = check_pair(folder / COMMITMENT, private / REVEAL)
            _refuse_other(folder, recipe, made)
            return SealedSet(folder, made.name, made.commitment, round_number, repeated=True)
        nonce, seed = _draw(private / _DRAWN)
        home = private / recipe.name
        manifest = run(
            source, out=home, overrides={**(overrides or {}), "seed": seed}, workers=workers,
            progress=progress,
        ).manifest  # fmt: skip
        tree, copies = written_out(load_recipe(home, finished=True))
        reveal = Reveal.of(RevealFile(
            format_version=FORMAT_VERSION,
            nonce=nonce,
            round=round_number,
            previous=previous,
            package=Package(name="retgen", version=__version__, sha256=package_digest()),
            versions=library_versions(),
            recipe=tree,
            inputs={name: _input(path) for name, path in copies.items()},
            word_lists=manifest["word_lists"],
            files=table_digests(manifest),
            public=_digests(write_public(home, folder / PUBLIC)),
        ))  # fmt: skip
        with _readable_by_owner():
            write_file(private / REVEAL, reveal.raw)
        write_file(folder / COMMITMENT, reveal.commitment_file())  # last: now it is sealed
        (private / _DRAWN).unlink(missing_ok=True)
    return SealedSet(folder, recipe.name, reveal.commitment, round_number)


def reveal_sealed(folder: str | Path) -> SealedSet:
    """Write reveal.json beside the commitment of a sealed set: from now on it is public.

    Raises `SealBroken` where what is private is not what was committed to.
    """
    folder = sealed_folder(Path(folder))
    made = check_pair(folder / COMMITMENT, folder / PRIVATE / REVEAL)
    repeated = (folder / REVEAL).is_file()
    if repeated and (folder / REVEAL).read_bytes() != made.raw:
        raise SealBroken(
            "sealed/reveal", f"{folder / REVEAL} was changed; remove it and reveal again"
        )
    write_file(folder / REVEAL, made.raw)
    return SealedSet(folder, made.name, made.commitment, made.says.round, repeated)


def sealed_folder(folder: Path) -> Path:
    """The folder of a round, which may be the only one of a sealed set. Raises `UsageError`."""
    if (folder / COMMITMENT).is_file():
        return folder
    rounds = sorted(folder.glob(f"round-*/{COMMITMENT}"))
    if len(rounds) == 1:
        return rounds[0].parent
    if rounds:
        raise UsageError(f"{folder} holds {len(rounds)} rounds: name one, as {rounds[-1].parent}")
    raise DatasetMissing(
        f"{folder} is no sealed set: it holds no {COMMITMENT}. Make one with `gen sealed make`",
        str(folder),
    )


def unsealable(recipe: Recipe) -> str | None:
    """Why the bytes of a recipe do not follow from its seed and this package; None if they do."""
    family = recipe.family
    if not type(family).__module__.startswith("retgen."):
        return f"the family {family.name} comes with another package, whose code is not committed to"
    if recipe.live:
        return f"a model does the work of {', '.join(sorted(recipe.live))}: its answers have no seed"
    if family.from_user(recipe.job) != "nothing" or not family.repeatable(recipe.job):
        return "its documents are given, so whoever has them needs no seed"
    if recipe.file.review:
        return "people's decisions are about the records of one seed, and each seal has another"
    if recipe.output.format != "jsonl":
        return (
            "the bytes of Parquet depend on the version of Arrow; use --set output.format=jsonl"
        )
    return None


def table_digests(manifest: Mapping[str, Any]) -> dict[str, FileDigest]:
    """Digests of the tables of a run: everything in dataset/ and tables/."""
    return {
        name: FileDigest(**info)
        for name, info in manifest["files"].items()
        if name.startswith(_TABLES)
    }


def _digests(files: Mapping[str, FileInfo]) -> dict[str, FileDigest]:
    return {name: FileDigest(**info._asdict()) for name, info in files.items()}


def _previous(rounds: Path, number: int) -> str | None:
    """SHA-256 of the commitment of the round before."""
    if number < 2:
        return None
    path = rounds / f"round-{number - 1}" / COMMITMENT
    if not path.is_file():
        raise UsageError(
            f"--round {number}: each round names the commitment of the one before, and there is no "
            f"{path}. Make round {number - 1} first"
        )
    return hashlib.sha256(read_commitment(path)[0]).hexdigest()


def _draw(path: Path) -> tuple[str, str]:
    """(nonce, seed), 256 bits each as hex digits, kept until the set is sealed."""
    if not path.is_file():
        with _readable_by_owner():
            drawn = {"nonce": secrets.token_hex(32), "seed": secrets.token_hex(32)}
            write_file(path, orjson.dumps(drawn))
    kept = orjson.loads(path.read_bytes())
    return kept["nonce"], kept["seed"]


def _refuse_other(folder: Path, recipe: Recipe, made: Reveal) -> None:
    keys = compare(made.says.recipe, written_out(recipe)[0])
    if keys := [key for key in keys if key != "seed"]:
        raise RunDirectoryError(
            f"{folder} is sealed with another recipe; it differs in {', '.join(keys)}. Draw the "
            f"next round with --round {made.says.round + 1}, or choose another --out"
        )


def _input(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is no UTF-8 text, and a reveal holds the files of its recipe as texts"
        ) from error


@contextlib.contextmanager
def _readable_by_owner() -> Iterator[None]:
    """Files that are made in the block have mode 0600 from their first byte on."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
