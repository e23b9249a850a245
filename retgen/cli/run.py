"""`gen run`: the data set of a recipe made."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retgen.cli.base import (
    ENGINE,
    MODEL,
    RECIPE,
    SETTING,
    WORKERS,
    Output,
    command,
    overrides_of,
)
from retgen.cli.options import Spending
from retgen.cli.recipes import print_plan


@command(
    "run",
    "gen run limit_dense",
    "gen run my.yaml --out /data/mine",
    "gen run limit_dense --set seed=7 --set params.docs=5000",
    "gen run kb.yaml --retry-refused",
    options=f"""
        {RECIPE}
        --out DIR           Run directory; default outputs/NAME.
        {SETTING}
        {WORKERS}
        {ENGINE}
        --limit N           At most N records; refused if the parameters fix their number.
        {MODEL}
        --batch/--no-batch  Ask models through the batch APIs of OpenAI and Gemini: half the price,
                            within a day a round. --no-batch: ask again what is in batches of this
                            run.
        --pilot N           Make N records only, and estimate the cost of the whole run.
        --replay FILE       Take answers from a file of gen ledger export; needs no key.
        --retry-refused     Ask again what models or servers have refused before.
        --fresh             Discard the existing run; models' answers stay in the ledger.
        --apply-review      Apply the review of the recipe's finished run, as a new run; default
                            NAME_v2.
        """,
    apart={
        "--apply-review": (
            "--set --limit --model --max-usd --price --pilot --replay --ledger --fresh --batch "
            "--retry-refused",
            "makes a new version of its run with what people decided",
        )
    },
)
def run_command(
    recipe: str,
    spending: Spending,
    output: Output,
    out: Path | None = None,
    set_: list[str] | None = None,
    workers: int | None = None,
    engine: str = "local",
    limit: int | None = None,
    model: str | None = None,
    batch: bool | None = None,
    pilot: int | None = None,
    replay: Path | None = None,
    retry_refused: bool = False,
    fresh: bool = False,
    apply_review: bool = False,
) -> None:
    """Make a data set: plan, generate, prove, write, report. A second call resumes."""
    from retgen.run import run

    if apply_review:
        _apply_review(recipe, out, workers, output)
        return
    overrides = overrides_of(set_, model)
    model_options = spending.options(replay=replay, batch=batch, retry_refused=retry_refused)
    if pilot is not None:
        from retgen.run import pilot as try_out

        with output.progress() as progress:
            planned = try_out(
                recipe,
                pilot,
                out=out,
                overrides=overrides,
                model_options=model_options,
                progress=progress,
            )
        print_plan(planned, output.json)
        if not output.json:
            words = [word for word in sys.argv[1:] if word != "--fresh"]
            at = next(i for i, word in enumerate(words) if word.startswith("--pilot"))
            del words[at : at + (1 if "=" in words[at] else 2)]
            print(f"All of it, with what was answered so far:\n  {shlex.join(['gen', *words])}")
        return
    with output.progress() as progress:
        result = run(
            recipe,
            out=out,
            overrides=overrides,
            workers=workers,
            engine=engine,
            limit=limit,
            fresh=fresh,
            model_options=model_options,
            progress=progress,
        )
    _print_run(result, output)


def _apply_review(recipe: str, out: Path | None, workers: int | None, output: Output) -> None:
    """A new version of the recipe's run. It has no other settings: the data are the run's."""
    from retgen.recipe import load_recipe
    from retgen.review.apply import apply_review

    path = Path(recipe)
    parent = path if path.is_dir() else path.parent
    if not (path.exists() and (parent / "recipe.yaml").is_file() and (parent / "dataset").is_dir()):
        parent = Path("outputs") / load_recipe(recipe, finished=True).name
    with output.progress() as progress:
        result = apply_review(parent, out=out, workers=workers, progress=progress)
    _print_run(result, output)


def _print_run(result: Any, output: Output) -> None:
    shown = {"path": str(result.path), "repeated": result.repeated, **result.manifest}
    output.print(shown, lambda: _summary(result))


def _by_split(path: Path) -> str:
    """How many queries have a qrel in each split."""
    from retgen.data import open_dataset

    dataset = open_dataset(path, checked=False)
    asked = {name: {row[0] for row in dataset.qrels[name].read()[0]} for name in dataset.qrels}
    if sum(map(len, asked.values())) > len(set().union(*asked.values())):
        return ""  # splits of documents, not of queries
    return f" ({', '.join(f'{len(ids):,} {name}' for name, ids in asked.items())})"


def _changed_source(run: Path) -> str:
    """What to do where a folder of documents has changed since a run was made of it, else ""."""
    from retgen.recipe import load_recipe

    source = getattr(load_recipe(run / "recipe.yaml", finished=True).job.params, "source", None)
    folder = Path(str(getattr(source, "path", "")) or "-")
    if not folder.is_dir():
        return ""
    made = (run / "manifest.json").stat().st_mtime
    # of a folder that gained or lost a file, its own time changes
    newer = [one for one in (folder, *folder.rglob("*")) if one.lstat().st_mtime > made]
    if not newer:
        return ""
    return f"{newer[-1]} is newer than this run; --fresh reads {folder} again"


def _summary(result: Any) -> str:
    from retgen.reporting import evidence

    path, manifest = result.path, result.manifest
    counts = manifest["counts"]
    split = evidence.split_counts(manifest["files"])
    corpus = evidence.corpus_counts(counts["documents"], manifest.get("source_documents"))
    head = (
        f"{manifest['name']}: {corpus}, {counts['queries']:,} queries"
        f"{_by_split(path) if split else ''}, {counts['qrels']:,} {split}qrels"
    )
    took = sum(manifest["timings"].values())
    head += ", finished before: nothing to do" if result.repeated else f" in {took:.1f} s"
    rows = [("verdict", evidence.verdict(manifest))]
    rows.append(("warning", _changed_source(path) if result.repeated else ""))
    rows += [*_labels(manifest, split), *manifest["notes"].items(), *_measures(manifest, path)]
    return "\n".join([head, *(f"  {name:<11} {text}" for name, text in rows if text)])


def _labels(manifest: dict[str, Any], split: str) -> Iterator[tuple[str, str]]:
    """What models answered, and where the labels come from."""
    from retgen.reporting import evidence

    labels, qrels = manifest["evidence"], manifest["counts"]["qrels"]
    poor, answers = evidence.model_answers(manifest)
    yield "warning", poor
    yield from (("answers", one) for one in answers)
    if labels["structural"]:
        traced = evidence.traces_labels(manifest["family"])
        shown = evidence.proven_labels(labels["structural"], qrels, manifest["proof"], split)
        yield "traced" if traced else "proven", shown
    if labels["judged"]:
        if structure := manifest.get("structure"):
            yield "proven", f"in all {manifest['counts']['documents']:,} documents: {structure}"
        judges = "; ".join(evidence.judge_lines(manifest["judges"], manifest["models"]))
        yield "judged", evidence.judged_labels(labels["judged"], qrels, judges)
    if labels["human"]:
        yield "human", evidence.human_labels(labels["human"], qrels)


def _measures(manifest: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    """What was rejected and spent, what the set can show, and where everything lies."""
    from retgen.plan import NOT_STATED
    from retgen.reporting import evidence

    if rejected := manifest["counts"]["rejected"]:
        yield "rejected", f"{rejected:,}, see {path}/rejected.jsonl"
    if any(one["model"] != "offline" for one in manifest["models"].values()):
        tokens, usd = manifest["tokens"], manifest["usd"]
        price = "at a price not known" if usd is None else f"${usd:.4f}"
        asked = f"{manifest['calls']:,} calls, {manifest['cache_hits']:,} answers from the ledger"
        yield "models", f"{asked}, {tokens['in']:,} + {tokens['out']:,} tokens, {price}"
    # where a score is of something else, what is true of the whole corpus says nothing
    elsewhere, candidate_sets = bool(manifest["tests"]), manifest["candidate_sets"]
    if not elsewhere:
        yield "dimensions", evidence.dimensions_needed(manifest["certificate"]) or ""
    # own documents are no set that was balanced against such rankings
    if not evidence.traces_labels(manifest["family"]) and (candidate_sets or not elsewhere):
        blind = evidence.query_blind(manifest["floors"], candidate_sets=candidate_sets)
        yield "baseline", blind or ""
    if origin := manifest.get("origin"):
        yield (
            "origin",
            f"AUC {origin['auc']:.3f} ({origin['low']:.3f} to {origin['high']:.3f}): positives "
            "against hard negatives, without the query; 0.5 is chance",
        )
    if unstated := [part for part, one in manifest["licences"].items() if one == NOT_STATED]:
        yield "licence", f"of the {', '.join(unstated)} not stated: `gen publish --licence` does"
    if any(name.startswith("training/") for name in manifest["files"]):
        yield "training", f"{path}/training"
    yield from (("data", f"{path}/dataset"), ("report", f"{path}/report.html"))
