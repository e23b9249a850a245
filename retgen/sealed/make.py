"""`gen sealed make` and `gen sealed reveal`: a set drawn, committed to, and opened."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import open_dataset
from retgen.errors import DatasetMissing, RunDirectoryError, SealBroken, UsageError
from retgen.manifest import run_lock
from retgen.on_disk import BlockList
from retgen.progress import Progress, no_progress
from retgen.recipe import Recipe, compare, load_recipe, written_out
from retgen.run import run
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
    digest_of,
    package_commit,
    package_digest,
)
from retgen.version import __version__
from retgen.write import make_folder, write_file, write_rows

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
    private = folder / PRIVATE
    make_folder(private)
    private.chmod(0o700)
    with run_lock(private):
        repeated = (folder / COMMITMENT).is_file()
        if repeated:
            reveal = check_pair(folder / COMMITMENT, private / REVEAL)
            stated, asked = ({**one, "seed": 0} for one in (reveal.recipe, written_out(recipe)[0]))
            if keys := compare(stated, asked):
                raise RunDirectoryError(
                    f"{folder} is sealed with another recipe; it differs in {', '.join(keys)}. "
                    f"Draw the next round with --round {reveal.round + 1}, or choose another --out"
                )
        else:
            drawn, home = _drawn(private), private / RUN / recipe.name
            seeded = {**(overrides or {}), "seed": drawn["seed"]}
            made = run(source, out=home, overrides=seeded, workers=workers, progress=progress)
            if package_digest() != drawn["package"]:
                raise RunDirectoryError(
                    f"{folder} was begun by other code of retgen, so parts of it may be of that: "
                    "remove it, and make the set again"
                )
            reveal = _revealed(drawn, home, made.manifest, folder / PUBLIC, round_number)
            _write_private(private / REVEAL, reveal.raw())
            write_file(folder / COMMITMENT, reveal.commitment_file())  # last: now it is sealed
            (private / _DRAWN).unlink()
    return SealedSet(str(folder), reveal.name, reveal.commitment, round_number, repeated)


def _drawn(private: Path) -> dict[str, str]:
    """Nonce, seed and the code's digest, drawn once: killing draws no other seed."""
    if not (private / _DRAWN).is_file():
        drawn = {"nonce": secrets.token_hex(32), "seed": secrets.token_hex(32)}
        _write_private(private / _DRAWN, orjson.dumps({**drawn, "package": package_digest()}))
    return dict(orjson.loads((private / _DRAWN).read_bytes()))


def _revealed(
    drawn: Mapping[str, str], home: Path, manifest: Mapping[str, Any], public: Path, number: int
) -> Reveal:
    tree, copies = written_out(load_recipe(home, finished=True))
    inputs = {}
    for key, path in copies.items():
        try:
            inputs[key] = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is no UTF-8 text, as which a reveal would hold it") from error
    return Reveal(
        nonce=drawn["nonce"],
        round=number,
        package=Package(version=__version__, commit=package_commit(), sha256=drawn["package"]),
        versions={key: one for key, one in manifest["versions"].items() if key != "retgen"},
        recipe=tree,
        inputs=inputs,
        word_lists=manifest["word_lists"],
        files=table_digests(manifest),
        public=write_public(home, public),
    )


def write_public(run: Path, folder: Path) -> dict[str, FileDigest]:
    """corpus.jsonl and queries.jsonl of a run: ids and texts alone, sorted by id.

    Metadata say what a record is drawn from, and the order of a corpus which documents were written
    together: neither is handed out. Ids are digits of a keyed bijection of the index.
    """
    dataset = open_dataset(run)
    make_folder(folder)

    def rows(name: str) -> Iterator[dict[str, str]]:
        if name == "queries.jsonl":
            for query in dataset.queries.records(run):
                yield {"_id": query.query_id, "text": query.text}
        else:
            for one in dataset.documents(strict=run):
                yield {"_id": one.doc_id, "title": one.title, "text": one.text}

    files = {}
    for name in ("corpus.jsonl", "queries.jsonl"):
        stored = BlockList(rows(name))  # on disk, so that a corpus is not in memory
        ids = [row["_id"] for row in stored]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        write_rows(folder / name, map(stored.__getitem__, order))
        files[name] = digest_of(folder / name)
    return files


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
    rounds = [folder] if (folder / COMMITMENT).is_file() else []
    rounds = rounds or sorted(one.parent for one in folder.glob(f"round-*/{COMMITMENT}"))
    if len(rounds) > 1:
        raise UsageError(f"{folder} holds {len(rounds)} rounds: name one, as {rounds[0]}")
    if not rounds:
        raise DatasetMissing(
            f"{folder} is no sealed set: it holds no {COMMITMENT}. `gen sealed make` makes one",
            str(folder),
        )
    return rounds[0]


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
    files = manifest["files"]
    names = [one for one in files if one.startswith(("dataset/", "tables/"))]
    return {name: FileDigest(**files[name]) for name in names}


def _write_private(path: Path, data: bytes) -> None:
    write_file(path, data)  # in a folder that nobody else can enter
    path.chmod(0o600)
