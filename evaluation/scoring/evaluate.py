"""`gen eval`: retrievers and TREC runs scored on data sets of any layout, beside baselines.

Everything that was finished is on disk before the next system begins; embeddings are cached, so a
run that was stopped is repeated in the time that is missing.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.data import open_dataset
from retgen.errors import RetgenError, UsageError
from retgen.evaluation.retrievers import (
    Options,
    asked_models,
    check_name,
    ranks_a_corpus,
    retriever,
    runs_a_model,
    type_of,
)
from retgen.evaluation.retrievers.llm import Chat
from retgen.evaluation.scoring.analyses import DEPTH, Analyses, Top, analyse
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures, default_names, judged_names
from retgen.evaluation.scoring.page import write_pages
from retgen.evaluation.scoring.result import (
    DENSITIES,
    DatasetScores,
    Evaluation,
    Score,
    at_largest,
    write_score,
)
from retgen.evaluation.scoring.significance import compare, relevance_matrix, units_of
from retgen.evaluation.tasks import task_of
from retgen.evaluation.tasks.measure import TaskResults
from retgen.evaluation.tasks.task import Task
from retgen.progress import Progress, no_progress
from retgen.qrels.density import densities
from retgen.search.base import SystemRanks, rank_corpus, slug
from retgen.search.collection import Collection, load
from retgen.search.embedders.options import ModelCalls
from retgen.search.mteb_tasks import dataset_folder
from retgen.search.rankings import read_run
from retgen.write import cache_folder, dump_json, make_folder, write_file


def evaluate(
    path: str | Path | Sequence[str | Path],
    *,
    models: Sequence[str] = (),
    runs: Sequence[str | Path] = (),
    metrics: Sequence[str] = (),
    dims: Sequence[int] = (),
    split: str | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    analyses: Analyses | None = None,
    cache: bool = True,
    limit: int | None = None,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    command: str | None = None,
    title: str = "",
    about: str = "",
    progress: Progress = no_progress,
) -> Evaluation:
    """Score systems on one or several data sets and write everything under `out`.

    `out` defaults to RUN/eval for one run directory, else to outputs/eval_NAME. `models` defaults
    to bm25 where no `runs` are given, or to those of a task with candidate sets. `analyses`: what
    is looked at beside means. `model_options` is about models behind an API: their ledger, cap and
    prices. `limit`: how many items of a domain they order, and in some tasks how many all systems
    are measured on. `title` and `about` head the page. Raises `UsageError` or `DatasetError` for
    what cannot be scored; a model that fails after others were scored lands in `failures` instead.
    """
    for name in models:
        check_name(name)  # before anything is fetched
    paths = [dataset_folder(p) for p in ([path] if isinstance(path, str | Path) else path)]
    if any(dim < 1 for dim in dims):
        raise UsageError("--dims: dimensions are whole numbers from 1, for example 32,64,128")
    options = replace(options or Options(), dims=tuple(sorted(set(dims))))
    _check_options(models, runs, options)
    if cache and options.cache is None:
        options = replace(options, cache=cache_folder())
    folder = Path(out) if out is not None else output_folder(paths)
    opened = {one: open_dataset(one) for one in paths}
    analyses = analyses or Analyses()
    analyses.check(opened)
    held = [task_of(opened[one]) for one in paths]
    for name in models:
        if None in held and not ranks_a_corpus(name):
            raise UsageError(
                f"--model {name}: orders the documents of candidate sets, and "
                f"{paths[held.index(None)]} holds none"
            )
    limits_all = any(task.limits_all for task in held if task is not None)
    chat = any(isinstance(type_of(name), Chat) for name in models)
    if limit is not None and not limits_all and not chat:
        raise UsageError("--limit is about chat models: name one, as llm:PROVIDER:NAME")
    # beside the run, as the ledger of what made it
    home = paths[0] if len(paths) == 1 and folder == paths[0] / "eval" else folder
    calls = model_calls(models, home, folder, model_options, limit)
    options = replace(options, calls=calls)
    results: list[DatasetScores] = []
    call = _Call(models, runs, options, progress, analyses)
    for one, task in zip(paths, held, strict=True):
        collection = load(one, split, progress)
        if analyses.complete:
            note = "a pair without a qrel counts as judged and not relevant (--complete)"
            notes = [*collection.notes, note]
            collection = replace(collection, complete=True, notes=notes)
        of_task = TaskResults(task, collection, calls, limit) if task is not None else None
        names = list(dict.fromkeys(models)) or _defaults(runs, task)
        measured = metrics or default_names(
            collection.page_count, collection.grades is not None, collection.main_measure
        )
        measures = Measures(measured)
        measures.check(collection)
        name = _unique(collection.name, one, paths)
        place = folder if len(paths) == 1 else folder / name
        if (folder / "eval.json").is_file():
            shutil.rmtree(folder / "figures", ignore_errors=True)  # of an earlier call
            shutil.rmtree(place / "figures", ignore_errors=True)
        make_folder(place)
        scored = _score(call, collection, of_task, measures, names, place)
        scored.name = name
        results.append(scored)
    errors = call.errors
    failures = {name: _failure(name, error) for name, error in errors.items()}
    codes = {name: getattr(error, "exit_code", 2) for name, error in errors.items()}
    code = max(codes.values(), default=0)
    if errors and not any(d.scores or (d.task and d.task.results) for d in results):
        if len(errors) == 1 or code > UsageError.exit_code:  # the latter can be resumed
            raise next(errors[name] for name in errors if codes[name] == code)
        raise UsageError("\n".join(failures.values()))
    message = command or shlex.join(["gen", "eval", *map(str, paths)])
    result = Evaluation(
        results,
        folder,
        failures,
        message,
        title=title,
        about=about,
        exit_code=code,
    )
    write_file(folder / "eval.json", dump_json(result.to_json()))
    write_pages(result)
    return result


def _check_options(models: Sequence[str], runs: Sequence[str | Path], options: Options) -> None:
    """Raise `UsageError` for options that no system of this call takes."""
    given = {
        "--dims": options.dims,
        **{f"--{name.replace('_', '-')}": value for name, value in options.settings().items()},
    }
    unused = [name for name, value in given.items() if value not in (None, ())]
    names = list(models) or ([] if runs else ["bm25"])
    if unused and not any(runs_a_model(name) for name in names):
        what = f"{', '.join(names)} {'is none' if len(names) == 1 else 'are none'}"
        raise UsageError(
            f"{', '.join(unused)}: for embedders, and {what if names else 'a TREC run is none'}. "
            "Name one, as --model minilm, or leave the option out"
        )


def _defaults(runs: Sequence[str | Path], task: Task | None) -> list[str]:
    if runs:
        return []
    return list(task.models) if task is not None else ["bm25"]


def model_calls(
    models: Sequence[str],
    home: Path,
    folder: Path,
    model_options: ModelOptions,
    limit: int | None = None,
) -> ModelCalls | None:
    """How models behind an API are asked; None where none is, since that is slow to import.

    `home`: beside which their ledger lies. Raises `UsageError` for a key, a provider or a price
    that is missing.
    """
    asked = [one for name in models for one in asked_models(name)]
    if not asked:
        return None
    from retgen.agents.session import check_model, ledger_of

    for settings in asked:
        check_model(settings, model_options)
    return ModelCalls(replace(model_options, ledger=ledger_of(home, model_options)), folder, limit)


def output_folder(paths: Sequence[Path]) -> Path:
    if len(paths) == 1:
        run = (paths[0] / "recipe.yaml").is_file() and (paths[0] / "dataset").is_dir()
        if run:
            return paths[0] / "eval"
        return Path("outputs") / f"eval_{paths[0].resolve().name}"
    return Path("outputs") / "eval"


def _unique(name: str, path: Path, paths: Sequence[Path]) -> str:
    same = [p for p in paths if p.resolve().name == name]
    return name if len(same) == 1 else f"{name}-{same.index(path) + 1}"


@dataclass
class _Call:
    """What one call scores, whatever the data set. `errors`: by system, why it could not be."""

    models: Sequence[str]
    runs: Sequence[str | Path]
    options: Options
    progress: Progress
    analyses: Analyses
    errors: dict[str, Exception] = field(default_factory=dict)


def _score(
    call: _Call,
    collection: Collection,
    of_task: TaskResults | None,
    measures: Measures,
    names: Sequence[str],
    folder: Path,
) -> DatasetScores:
    """Everything about one data set; every system is on disk before the next one begins."""
    judged = Measures([] if collection.complete else judged_names(measures.names))
    units = units_of(collection)
    depth = measures.depth(collection.documents)
    if call.analyses.worst:
        depth = max(depth, min(DEPTH, collection.documents))
    tops: list[tuple[Score, Top]] = []
    scores: list[Score] = []
    notes: list[str] = []
    coded = False
    for ranked in _systems(call, collection, of_task, names, folder, depth, notes):
        values = measures.per_query(collection, ranked.rankings)
        # over the queries that the measures count; of one without a ranking nothing is judged
        means = judged.per_query(collection, ranked.rankings).mean(axis=0)
        coverage = dict(zip(judged.names, map(float, means), strict=True))
        spans = units.interval(values)
        score = Score(
            ranked.model, ranked.dim, measures.names, values, spans, coverage, ranked.details
        )
        coded = write_score(folder, collection, score, ranked.rankings) or coded
        if call.analyses.worst:
            tops.append((score, ranked.rankings.documents[:, :DEPTH]))
        scores.append(score)
        if unranked := int((ranked.rankings.documents < 0).all(axis=1).sum()):
            of = f"{unranked:,} of {len(collection.queries):,} queries"
            notes.append(f"{score.label}: ranks no document for {of}, which count as 0")
    if coded:
        notes.append("ids with white space are percent-encoded in runs/*.trec")
    graph = densities(relevance_matrix(collection))
    return DatasetScores(
        collection,
        measures,
        baselines(collection, measures, call.progress),
        measures.ceiling(collection) | judged.ceiling(collection),
        scores,
        compare(units, {s.label: s.values for s in at_largest(scores)}, measures.names),
        units,
        {key: getattr(graph, key) for key in DENSITIES},
        notes,
        task=of_task,
        parts=analyse(call.analyses, collection, scores, tops, units),
    )


def _systems(
    call: _Call,
    collection: Collection,
    of_task: TaskResults | None,
    models: Sequence[str],
    folder: Path,
    depth: int,
    notes: list[str],
) -> Iterator[SystemRanks]:
    """The rankings of every system; what fails lands in `call.errors`."""
    for name in models:
        if name in call.errors:
            continue
        try:
            result = retriever(name, call.options) if ranks_a_corpus(name) else None
            if result is not None:
                yield from rank_corpus(result, collection, depth, call.progress)
            if of_task is not None:
                of_task.measure(name, result, call.options, folder, call.progress)
        except Exception as error:  # whatever libraries raise: it is this system's alone
            call.errors[name] = error
    for file, name in _run_names(call.runs, models).items():
        try:
            rankings, run_notes = read_run(file, collection, collection.reach(depth))
            rankings = rankings.by_page(collection, depth)
        except RetgenError as error:
            call.errors[name] = error
            continue
        notes += [f"{file}: {note}" for note in run_notes]
        yield SystemRanks(name, None, rankings, {"run": str(file), "notes": run_notes})


def _failure(name: str, error: Exception) -> str:
    if isinstance(error, RetgenError):
        return str(error)
    return f"{name}: {type(error).__name__}: {error}. Score it alone to see where that comes from"


def _run_names(runs: Sequence[str | Path], models: Sequence[str]) -> dict[Path, str]:
    """A name for each TREC run: that of its file, unless something else has it already."""
    files = list(dict.fromkeys(map(Path, runs)))
    stems = [file.stem for file in files]
    taken = {slug(name) for name in models}
    return {
        file: stem if stems.count(stem) == 1 and slug(stem) not in taken else str(file)
        for file, stem in zip(files, stems, strict=True)
    }
