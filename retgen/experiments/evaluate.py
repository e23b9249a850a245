"""`gen eval`: retrievers and TREC runs scored on data sets of any layout, with floors beside them.

Everything that was finished is on disk before the next system begins; embeddings are cached, so a
run that was stopped is repeated in the time that is missing.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgen.data import open_dataset
from retgen.errors import RetgenError, UsageError
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.embeddings import default_folder
from retgen.evaluation.floors import floors
from retgen.evaluation.ladders.load import holds_ladders
from retgen.evaluation.ladders.scorers import check_scorer, no_embedder, only_ranks_candidates
from retgen.evaluation.measures import Measures, default_names, judged_names
from retgen.evaluation.mteb_files import measure, task_of, write_mteb
from retgen.evaluation.outside import located
from retgen.evaluation.rankings import read_run, spaced
from retgen.evaluation.results import Score, slug, write_score
from retgen.evaluation.retrievers import Options, Ranked, retriever
from retgen.evaluation.significance import Bootstrap, Comparison, relevance_matrix
from retgen.experiments.eval_page import model_notes, over_seeds, table, write_pages
from retgen.experiments.ladders import Ladders, Measured, together
from retgen.experiments.ladders_page import ladder_text
from retgen.pages import text_table
from retgen.progress import Progress, silent
from retgen.qrels.density import densities
from retgen.recipe import load_recipe
from retgen.run import run
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:
    from retgen.ask import Asking
    from retgen.experiments.chat_ranker import Chats

__all__ = ["Evaluation", "Scored", "evaluate"]


@dataclass
class Scored:
    """All systems on one data set. `ceiling`: the best that any ranking reaches, by measure.
    `ladders`: what it has of them, None where it holds none.
    """

    collection: Collection
    measures: Measures
    floors: dict[str, Any]
    ceiling: dict[str, float | None]
    scores: list[Score]
    comparisons: list[Comparison]
    clusters: str
    replicates: int
    densities: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    name: str = ""  # tells data sets of one call apart
    ladders: Ladders | None = None
    compared: int = 0  # replicates behind the p-values

    @property
    def told(self) -> list[str]:
        """What a reader of the scores must know."""
        return [*self.collection.notes, *self.notes, *(self.ladders.notes if self.ladders else ())]

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen eval --json` prints of one data set."""
        return {
            "dataset": str(self.collection.path),
            "split": self.collection.split,
            "documents": self.collection.documents,
            "queries": len(self.collection.queries),
            "complete": self.collection.complete,
            "results": self._results(),
            "ceiling": self.ceiling,
            "floors": self.floors,
            "densities": self.densities,
            "comparisons": [comparison._asdict() for comparison in self.comparisons],
            "bootstrap": {
                "level": 0.95,
                "drawn": self.clusters,
                "replicates": self.replicates,
                "replicates_of_comparisons": self.compared,
            },
            "notes": self.told,
        }

    def _results(self) -> list[dict[str, Any]]:
        """Every system once: `metrics` is empty where it only orders candidate sets."""
        climbed = {(m.model, m.dim): m for m in self.ladders.results} if self.ladders else {}
        found = []
        for score in self.scores:
            row = score.to_json()
            if one := climbed.pop((score.model, score.dim), None):
                row["ladders"] = one.to_json()
            found.append(row)
        for one in climbed.values():
            row = {"model": one.model, "dim": one.dim, "metrics": {}, "details": one.details}
            found.append(row | {"ladders": one.to_json()})
        return found


@dataclass
class Evaluation:
    """What `evaluate` found. `failures`: systems that could not be scored, with the reason.

    `exit_code`: the highest of these reasons', 0 where there are none.
    """

    datasets: list[Scored]
    folder: Path
    failures: dict[str, str]
    command: str
    seeds: bool = False
    title: str = ""
    about: str = ""
    exit_code: int = 0

    @property
    def ladders(self) -> list[Measured]:
        """Systems on the ladders of all data sets that hold some."""
        return together((d.name, d.ladders) for d in self.datasets if d.ladders is not None)

    def to_json(self) -> dict[str, Any]:
        """One data set's keys, or {"datasets": [...]} of several."""
        found = [scored.to_json() for scored in self.datasets]
        content = found[0] if len(found) == 1 else {"datasets": found}
        if sum(d.ladders is not None for d in self.datasets) > 1:
            over = [{"model": one.model, "dim": one.dim} | one.to_json() for one in self.ladders]
            content["ladders"] = over
        if self.failures:
            content = content | {"failures": self.failures}
        return content

    def to_text(self) -> str:
        """The tables, for a terminal."""
        ranked = [d for d in self.datasets if d.scores]
        parts = [over_seeds(self.datasets)] if self.seeds else [table(d) for d in ranked]
        names = ["" if self.seeds else f"{d.collection.path}\n" for d in ranked]
        texts = [name + text_table(part) for name, part in zip(names, parts, strict=False)]
        if self.ladders:
            texts.append(ladder_text(self.ladders))
        text = "\n\n".join(texts)
        notes = dict.fromkeys(
            note for d in self.datasets for note in (*d.told, *model_notes(d.scores))
        )
        told = "".join(f"note: {note}\n" for note in notes)
        return f"{text}\n{told}page: {self.folder / 'eval.html'}"


def evaluate(
    path: str | Path | Sequence[str | Path],
    *,
    models: Sequence[str] = (),
    runs: Sequence[str | Path] = (),
    metrics: Sequence[str] = (),
    dims: Sequence[int] = (),
    split: str | None = None,
    out: str | Path | None = None,
    seeds: int | None = None,
    options: Options | None = None,
    cache: bool = True,
    replicates: int = 5000,
    limit: int | None = None,
    asking: Asking | None = None,
    command: str | None = None,
    title: str = "",
    about: str = "",
    progress: Progress = silent,
) -> Evaluation:
    """Score systems on one or several data sets and write everything under `out`.

    `out` defaults to RUN/eval for one run directory, else to outputs/eval_NAME. `models` defaults
    to bm25 where no `runs` are given, and on ladders to bm25-paper and bm25. `seeds`: `path` is a
    run or a recipe, made anew under so many seeds (under `out`/seeds), all of them scored. `limit`
    and `asking` are about chat models (llm:): how many ladders of a domain they order, and their
    ledger, cap and prices. `title` and `about` head the page. Raises `UsageError` or `DatasetError`
    for what cannot be scored; a model that fails after others were scored lands in `failures`
    instead.
    """
    paths = [located(p) for p in ([path] if isinstance(path, str | Path) else path)]
    for name in models:
        check_scorer(name)
    if any(dim < 1 for dim in dims):
        raise UsageError("--dims: dimensions are whole numbers from 1, for example 32,64,128")
    options = replace(options or Options(), dims=tuple(sorted(set(dims))))
    _check_options(models, runs, options)
    if cache and options.cache is None:
        options = replace(options, cache=default_folder())
    folder = Path(out) if out is not None else _default_folder(paths)
    if seeds is not None:
        paths = _seeds(paths, seeds, folder, progress)
    climbed = [holds_ladders(open_dataset(one)) for one in paths]
    for name in filter(only_ranks_candidates, models):
        if not all(climbed):
            raise UsageError(
                f"--model {name}: orders the documents of a ladder, and "
                f"{paths[climbed.index(False)]} holds none"
            )
    chats = _chats(models, paths, folder, limit, asking)
    found: list[Scored] = []
    errors: dict[str, RetgenError] = {}
    for one, with_ladders in zip(paths, climbed, strict=True):
        collection = load(one, split, progress)
        ladders = Ladders(collection, chats) if with_ladders else None
        names = list(dict.fromkeys(models)) or _defaults(runs, with_ladders)
        measured = metrics or default_names(collection.documents, collection.grades is not None)
        measures = Measures(measured)
        measures.check(collection)
        name = _unique(collection.name, one, paths)
        place = folder if len(paths) == 1 else folder / name
        make_folder(place)
        scored = _score(
            collection, ladders, measures, names, runs, options, place, replicates, errors, progress
        )
        scored.name = name
        found.append(scored)
    failures = {name: str(error) for name, error in errors.items()}
    code = max((error.exit_code for error in errors.values()), default=0)
    if errors and not any(d.scores or (d.ladders and d.ladders.results) for d in found):
        if code > UsageError.exit_code:  # it can be resumed
            raise next(error for error in errors.values() if error.exit_code == code)
        raise UsageError("\n".join(failures.values()))
    told = command or shlex.join(["gen", "eval", *map(str, paths)])
    result = Evaluation(
        found, folder, failures, told, seeds=seeds is not None, title=title, about=about,
        exit_code=code,
    )  # fmt: skip
    if (folder / "eval.json").is_file():
        shutil.rmtree(folder / "figures", ignore_errors=True)  # of an earlier call
    write_file(folder / "eval.json", dump_json(result.to_json()))
    write_pages(result)
    return result


def _check_options(models: Sequence[str], runs: Sequence[str | Path], options: Options) -> None:
    """Raise `UsageError` for options that no system of this call takes."""
    given = {
        "--dims": options.dims,
        "--attn-implementation": options.attn_implementation,
        **{f"--{name.replace('_', '-')}": value for name, value in options.settings().items()},
    }
    unused = [name for name, value in given.items() if value not in (None, ())]
    names = list(models) or ([] if runs else ["bm25"])
    if unused and all(no_embedder(name) for name in names):
        what = f"{', '.join(names)} {'is none' if len(names) == 1 else 'are none'}"
        raise UsageError(
            f"{', '.join(unused)}: for embedders, and {what if names else 'a TREC run is none'}. "
            "Name one, as --model minilm, or leave the option out"
        )
    if options.rerank != Options.rerank and not any(n.startswith("rerank:") for n in names):
        raise UsageError(
            "--rerank-depth: for re-rankers, and none is named (--model rerank:FIRST+CROSSENCODER)"
        )


def _defaults(runs: Sequence[str | Path], with_ladders: bool) -> list[str]:
    if runs:
        return []
    return ["bm25-paper", "bm25"] if with_ladders else ["bm25"]


def _chats(
    models: Sequence[str],
    paths: Sequence[Path],
    folder: Path,
    limit: int | None,
    asking: Asking | None,
) -> Chats | None:
    """How chat models are asked; None where none is named, since what they need is slow to import.

    Raises `UsageError` for a key, a provider or a price that is missing.
    """
    names = [name.removeprefix("llm:") for name in models if name.startswith("llm:")]
    if not names:
        return None
    from retgen.agents.models import settings_of
    from retgen.ask import Asking, check_model, ledger_of
    from retgen.experiments.chat_ranker import Chats

    asking = asking or Asking()
    for name in names:
        if settings := settings_of(name):
            check_model(settings, asking)
    # beside the run, as the ledger of what made it
    home = paths[0] if len(paths) == 1 and folder == paths[0] / "eval" else folder
    return Chats(replace(asking, ledger=ledger_of(home, asking)), folder, limit)


def _seeds(paths: Sequence[Path], count: int, folder: Path, progress: Progress) -> list[Path]:
    """Runs of one recipe under consecutive seeds; those that are there are not made again."""
    if len(paths) != 1:
        raise UsageError("--seeds: give one run directory or recipe, not several")
    recipe = load_recipe(paths[0])
    return [
        run(
            paths[0],
            out=folder / "seeds" / f"seed-{seed}",
            overrides={"seed": seed},
            progress=progress,
        ).path
        for seed in range(recipe.seed, recipe.seed + count)
    ]


def _default_folder(paths: Sequence[Path]) -> Path:
    if len(paths) == 1:
        if (paths[0] / "recipe.yaml").is_file() and (paths[0] / "dataset").is_dir():
            return paths[0] / "eval"
        return Path("outputs") / f"eval_{paths[0].resolve().name}"
    return Path("outputs") / "eval"


def _unique(name: str, path: Path, paths: Sequence[Path]) -> str:
    same = [p for p in paths if p.resolve().name == name]
    return name if len(same) == 1 else f"{name}-{same.index(path) + 1}"


def _score(
    collection: Collection,
    ladders: Ladders | None,
    measures: Measures,
    models: Sequence[str],
    runs: Sequence[str | Path],
    options: Options,
    folder: Path,
    replicates: int,
    errors: dict[str, RetgenError],
    progress: Progress,
) -> Scored:
    judged = [] if collection.complete else judged_names(measures.names)
    beside = Measures(judged) if judged else None
    bootstrap = Bootstrap(collection, replicates)
    main = Measures([name] if (name := measure(task_of(collection).main_score)) else [])
    depth = max(measures.depth(collection.documents), main.depth(collection.documents))
    scores: list[Score] = []
    notes: list[str] = []
    began = time.perf_counter()
    systems = _systems(
        collection, ladders, models, runs, options, folder, depth, errors, notes, progress
    )
    for ranked in systems:
        values = measures.per_query(collection, ranked.rankings)
        coverage = {}
        if beside:
            # over the queries that the measures count; of one without a ranking nothing is judged
            means = beside.per_query(collection, ranked.rankings).mean(axis=0)
            coverage = dict(zip(judged, map(float, means), strict=True))
        score = Score(
            ranked.model, ranked.dim, measures.names, values, bootstrap.interval(values),
            coverage, ranked.details,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        write_score(folder, collection, score, ranked.rankings)
        at = main if main.names else measures  # of a score without a counterpart, the first asked
        own = float(at.per_query(collection, ranked.rankings)[:, 0].mean())
        write_mteb(folder, collection, score, own, options.settings(), seconds)
        scores.append(score)
        began = time.perf_counter()
    if scores and spaced(collection.doc_ids):
        notes.append("ids with white space stand in runs/*.trec with %20 and %09 in its place")
    found = floors(collection, measures, progress)
    graph = densities(relevance_matrix(collection))
    return Scored(
        collection, measures, found,
        measures.ceiling(collection) | (beside.ceiling(collection) if beside else {}), scores,
        bootstrap.compare(_full(scores), measures.names),
        bootstrap.unit,
        bootstrap.replicates,
        {
            "document_graph_density": graph.document_graph_density,
            "query_graph_density": graph.query_graph_density,
            "average_query_strength": graph.average_query_strength,
        },
        notes,
        ladders=ladders,
        compared=bootstrap.compared,
    )  # fmt: skip


def _full(scores: Sequence[Score]) -> dict[str, NDArray[np.float64]]:
    """What is compared: a model once, at its largest dimension."""
    best: dict[str, Score] = {}
    for score in scores:
        if score.model not in best or (score.dim or 0) > (best[score.model].dim or 0):
            best[score.model] = score
    return {score.label: score.values for score in best.values()}


def _systems(
    collection: Collection,
    ladders: Ladders | None,
    models: Sequence[str],
    runs: Sequence[str | Path],
    options: Options,
    folder: Path,
    depth: int,
    errors: dict[str, RetgenError],
    notes: list[str],
    progress: Progress,
) -> Iterator[Ranked]:
    names = _run_names(runs, models)
    for name in models:
        if name in errors:
            continue
        try:
            found = None if only_ranks_candidates(name) else retriever(name, options)
            if found is not None:
                yield from found.rank(collection, depth, progress)
            if ladders is not None:
                ladders.measure(name, found, options, folder, progress)
        except RetgenError as error:
            errors[name] = error
    for file, name in names.items():
        rankings, told = read_run(file, collection, depth)
        notes += [f"{file}: {note}" for note in told]
        yield Ranked(name, None, rankings, {"run": str(file), "notes": told})


def _run_names(runs: Sequence[str | Path], models: Sequence[str]) -> dict[Path, str]:
    """A name for each TREC run: that of its file, unless something else has it already."""
    files = list(dict.fromkeys(map(Path, runs)))
    stems = [file.stem for file in files]
    taken = {slug(name) for name in models}
    return {
        file: stem if stems.count(stem) == 1 and slug(stem) not in taken else str(file)
        for file, stem in zip(files, stems, strict=True)
    }
