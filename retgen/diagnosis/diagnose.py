"""`gen diagnose`: test data made and proven, systems scored ability by ability, a page written.

What is finished is on disk before the next ability begins, so a call that was stopped goes on.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbelow
from typing import Any

import numpy as np
import orjson
import xxhash

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.diagnosis.abilities import ABILITIES, DATA, Ability, Choice
from retgen.diagnosis.page import write_page
from retgen.diagnosis.scores import AbilityScores, Array, Diagnosis, score
from retgen.errors import OutputError, RetgenError, RunDirectoryError, UsageError
from retgen.evaluation.retrievers import check_name, ranks_a_corpus, systems
from retgen.evaluation.scoring.evaluate import model_calls
from retgen.messages import did_you_mean
from retgen.progress import Progress, no_progress
from retgen.run import run
from retgen.search.base import System, slug
from retgen.search.collection import Collection, load
from retgen.search.embedders.options import Options
from retgen.version import __version__
from retgen.write import cache_folder, dump_json, make_folder, write_file

REFERENCES = ("bm25", "minilm")  # beside every system
_SEEDS = 2**31


def diagnose(
    model: str,
    *,
    against: Sequence[str] = (),
    references: Sequence[str] = REFERENCES,
    seed: int | None = None,
    abilities: Sequence[str] = (),
    quick: bool = False,
    out: str | Path | None = None,
    options: Options | None = None,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    cache: bool = True,
    command: str | None = None,
    progress: Progress = no_progress,
) -> Diagnosis:
    """Score a system on every ability, beside `references` and those that it is compared `against`.

    `seed`: of the test data; default: the one of the folder, or a new one that nobody has seen.
    `abilities`: names of `ABILITIES`, default all. `quick`: a quarter of the data, wider intervals.
    `out` defaults to outputs/diagnose_MODEL. Raises `UsageError` for what is not there; a system
    that fails lands in `failures`, unless it is the only one.
    """
    names = list(dict.fromkeys((model, *against, *references)))
    for name in names:
        check_name(name)
        if not ranks_a_corpus(name) and name.startswith("llm:"):
            raise UsageError(
                f"--model {name}: orders lists and gives no score to a pair, which a diagnosis "
                "compares; name an embedder, a re-ranker or a lexical retriever"
            )
    wanted = chosen(abilities)
    folder = Path(out) if out is not None else Path("outputs") / f"diagnose_{slug(model)}"
    seed = _seed_of(folder, seed, quick)
    options = options or Options()
    if cache and options.cache is None:
        options = replace(options, cache=cache_folder())
    options = replace(options, calls=model_calls(names, folder, folder, model_options))
    given = command or shlex.join(["gen", "diagnose", model])
    result = Diagnosis(names, wanted, folder, seed, quick, given)
    read = _Choices(folder, seed, quick, progress)
    for name in names:
        try:
            for ability, won in _scored(name, wanted, read, folder, options, result, progress):
                of = result.scores.setdefault(name, {})
                of[ability.name] = AbilityScores(won, read.of(ability))
        except RetgenError as error:
            result.failures[name] = str(error)
            result.exit_code = max(result.exit_code, error.exit_code)
            if name == model and not result.scores.get(name):
                raise
    for name, of in result.scores.items():
        result.scores[name] = {one.name: of[one.name] for one in wanted if one.name in of}
    write_file(folder / "diagnosis.json", dump_json(result.to_json()))
    write_page(result)
    return result


def chosen(names: Sequence[str]) -> list[Ability]:
    """The abilities of some names, all where there is none. Raises `UsageError`."""
    known = {one.name: one for one in ABILITIES}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--ability {name}: there is none{hint or '.'} Abilities: {', '.join(known)}"
            )
    return [one for one in ABILITIES if not names or one.name in names]


def _seed_of(folder: Path, seed: int | None, quick: bool) -> int:
    """The seed of a folder, kept there. Raises `OutputError` where it holds another diagnosis."""
    path = folder / "data.json"
    given = {"seed": seed, "quick": quick, "version": __version__}
    if not path.is_file():
        seed = randbelow(_SEEDS) if seed is None else seed
        make_folder(folder)
        write_file(path, dump_json(given | {"seed": seed}))
        return seed
    try:
        kept = orjson.loads(path.read_bytes())
        apart = [
            f"{key} {kept[key]} (asked: {value})"
            for key, value in given.items()
            if value is not None and kept[key] != value
        ]
        seed = int(kept["seed"])
    except (ValueError, TypeError, KeyError) as error:
        raise OutputError(
            f"{path}: is damaged; remove {folder}, or choose another --out"
        ) from error
    if apart:
        raise OutputError(
            f"{folder} holds a diagnosis with {', '.join(apart)}. Choose another --out, or "
            "remove the folder"
        )
    return seed


class _Choices:
    """The choices of abilities, read once; their data sets are made when they are first needed."""

    def __init__(self, folder: Path, seed: int, quick: bool, progress: Progress) -> None:
        self._folder, self._seed, self._quick = folder / "data", seed, quick
        self._progress = progress
        self._collections: dict[str, Collection] = {}
        self._known: dict[str, list[Choice]] = {}

    def of(self, ability: Ability) -> list[Choice]:
        if ability.name not in self._known:
            collections = [self._collection(name) for name in ability.data]
            self._known[ability.name] = list(ability.read(*collections))
        return self._known[ability.name]

    def _collection(self, name: str) -> Collection:
        if name not in self._collections:
            data = DATA[name]
            changes = {**data.changes, **(data.quick if self._quick else {}), "seed": self._seed}
            try:
                made = run(
                    data.recipe,
                    out=self._folder / name,
                    overrides=changes,
                    progress=self._progress,
                )
            except RunDirectoryError as error:
                raise OutputError(
                    f"{self._folder / name}: something else stands there. Choose another --out, "
                    f"or remove {self._folder}. ({error})"
                ) from error
            self._collections[name] = load(made.path, progress=self._progress)
        return self._collections[name]


def _scored(
    name: str,
    abilities: Sequence[Ability],
    read: _Choices,
    folder: Path,
    options: Options,
    result: Diagnosis,
    progress: Progress,
) -> Iterator[tuple[Ability, Array]]:
    """Shares won on each ability: from disk where they are there."""
    place = folder / "systems" / slug(name)
    system: System | None = None
    if not all((place / f"{ability.name}.json").is_file() for ability in abilities):
        system = _system(name, options)  # what cannot be loaded is said before data is made
    for done, ability in enumerate(abilities):
        progress(f"{name}: abilities", done, len(abilities))
        choices = read.of(ability)
        settings = _settings(name, choices, options)
        kept = _kept(place, ability, settings)
        if kept is None:
            system = system or _system(name, options)
            won = score(system, choices, progress)
            kept = won, _plain(system.details())
            make_folder(place)
            value = {"settings": settings, "details": kept[1], "won": won.tolist()}
            write_file(place / f"{ability.name}.json", dump_json(value))
        result.details[name] = kept[1]
        yield ability, kept[0]


def _settings(name: str, choices: Sequence[Choice], options: Options) -> dict[str, Any]:
    """What scores depend on."""
    digest = xxhash.xxh3_128(orjson.dumps([list(one) for one in choices])).hexdigest()
    return {"model": name, "choices": digest, "count": len(choices), **options.settings()}


def _kept(
    place: Path, ability: Ability, settings: Mapping[str, Any]
) -> tuple[Array, dict[str, Any]] | None:
    """Shares won and details of an earlier call; None where there are none that fit."""
    try:
        kept = orjson.loads((place / f"{ability.name}.json").read_bytes())
        won = np.array(kept["won"], np.float64)
        if kept["settings"] != settings or won.shape != (settings["count"],):
            return None
        return won, dict(kept["details"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader of the page must know of how a system runs."""
    named = ("max_length", "dtype", "device", "query_prompt", "document_prompt", "notes")
    return {key: details[key] for key in named if details.get(key) not in (None, [], "")}


def _system(name: str, options: Options) -> System:
    """The scorer of a name at its full dimension. Raises `UsageError` for one without."""
    found = systems(name, options)
    if not found:
        raise UsageError(
            f"--model {name}: gives no score to a single pair of query and document, which a "
            "diagnosis compares; name its parts instead"
        )
    return max(found, key=lambda one: one.dim or 0)
