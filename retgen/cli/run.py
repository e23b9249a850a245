"""`gen run`, `gen plan` and `gen preview`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    LedgerOption,
    ModelOption,
    PriceOption,
    Quiet,
    RecipeArgument,
    Setting,
    Verbose,
    Workers,
    app,
    asking_of,
    expected,
    given_path,
    interruptible,
    overrides_of,
    print_json,
    shown_progress,
)


@app.command(
    "run",
    epilog="Examples:  gen run limit_dense  |  gen run my.yaml --out /data/mine  |  "
    "gen run limit_dense --set seed=7 --set params.docs=5000",
)
@expected
def run_command(
    recipe: RecipeArgument,
    out: Annotated[
        Path | None, typer.Option(parser=given_path, help="Run directory; default outputs/NAME.")
    ] = None,
    settings: Setting = None,
    workers: Workers = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="At most N records; refused where a latent matrix fixes them."),
    ] = None,
    model: ModelOption = None,
    max_usd: Annotated[
        float | None,
        typer.Option(
            "--max-usd", min=0.0, help="Stop before the run costs more than so many dollars."
        ),
    ] = None,
    price: PriceOption = None,
    pilot: Annotated[
        int | None,
        typer.Option(min=1, help="Ask for N records only, and plan all from what that took."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            help="Take answers from this file, of gen ledger export; needs no key.",
        ),
    ] = None,
    ledger: LedgerOption = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Throw away what is there; answers of models stay in the ledger."
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a data set: plan, generate, prove, write, report. A second call resumes."""
    from retgen.run import run

    interruptible()
    overrides = overrides_of(settings, model)
    asking = asking_of(recipe, max_usd, price, replay, ledger)
    if pilot is not None:
        from retgen.run import pilot as try_out

        with shown_progress(quiet, json) as progress:
            planned = try_out(
                recipe, pilot, out=out, overrides=overrides, asking=asking, progress=progress
            )
        _print_plan(planned, json)
        if not json:
            words = [word for word in sys.argv[1:] if word != "--fresh"]
            at = next(i for i, word in enumerate(words) if word.startswith("--pilot"))
            del words[at : at + (1 if "=" in words[at] else 2)]
            print(f"All of it, with what was answered so far:\n  {shlex.join(['gen', *words])}")
        return
    with shown_progress(quiet, json) as progress:
        result = run(
            recipe,
            out=out,
            overrides=overrides,
            workers=workers,
            limit=limit,
            fresh=fresh,
            asking=asking,
            progress=progress,
        )
    if json:
        print_json({"path": str(result.path), "repeated": result.repeated, **result.manifest})
    elif not quiet:
        print(_summary(result.path, result.manifest, result.repeated))


def _summary(path: Path, manifest: dict[str, Any], repeated: bool) -> str:
    from retgen.reporting import evidence as said

    counts, evidence = manifest["counts"], manifest["evidence"]
    head = (
        f"{manifest['name']}: {counts['documents']:,} documents, {counts['queries']:,} queries, "
        f"{counts['qrels']:,} qrels"
    )
    took = sum(manifest["timings"].values())
    head += ", finished before: nothing to do" if repeated else f" in {took:.1f} s"
    lines = [head]
    if evidence["structural"]:
        lines.append(f"  proven      {said.proven(evidence['structural'], counts['qrels'])}")
    if evidence["judged"]:
        if structure := manifest.get("structure"):
            lines.append(f"  proven      in all {counts['documents']:,} documents: {structure}")
        judges = "; ".join(said.judges(manifest["judges"], manifest["models"]))
        lines.append(f"  judged      {said.judged(evidence['judged'], counts['qrels'], judges)}")
    if counts["rejected"]:
        lines.append(f"  rejected    {counts['rejected']:,}, see {path / 'rejected.jsonl'}")
    if any(one["model"] != "offline" for one in manifest["models"].values()):
        tokens, usd = manifest["tokens"], manifest["usd"]
        price = "at a price not known" if usd is None else f"${usd:.4f}"
        lines.append(
            f"  models      {manifest['calls']:,} calls, {manifest['cache_hits']:,} answers from "
            f"the ledger, {tokens['in']:,} + {tokens['out']:,} tokens, {price}"
        )
    if needed := said.dimensions(manifest["certificate"]):
        lines.append(f"  dimensions  {needed}")
    if baseline := said.query_blind(manifest["floors"], candidate_sets=manifest["candidate_sets"]):
        lines.append(f"  baseline    {baseline}")
    if origin := manifest.get("origin"):
        lines.append(
            f"  origin      AUC {origin['auc']:.3f} ({origin['low']:.3f} to {origin['high']:.3f}): "
            "positives against hard negatives, without the query; 0.5 is chance"
        )
    if manifest["checks"]["warnings"]:
        lines.append(f"  warnings    {manifest['checks']['warnings']}, see the report")
    if any(name.startswith("training/") for name in manifest["files"]):
        lines.append(f"  training    {path / 'training'}")
    lines += [
        f"  data        {path / 'dataset'}",
        f"  report      {path / 'report.html'}",
    ]
    return "\n".join(lines)


@app.command(
    "plan", epilog="Examples:  gen plan limit_dense  |  gen plan my.yaml --set params.docs=1000000"
)
@expected
def plan_command(
    recipe: RecipeArgument,
    settings: Setting = None,
    model: ModelOption = None,
    price: PriceOption = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Say what a recipe or a study will make and cost. Touches nothing, calls nobody."""
    from retgen.recipes import find_study

    if (study := find_study(recipe)) is not None and not settings and model is None:
        _plan_study(study, json)
        return
    from retgen.plan import plan

    _print_plan(plan(recipe, overrides_of(settings, model), price or ()), json)


def _print_plan(found: Any, json: bool) -> None:
    if json:
        print_json(found.to_json())
        return
    from retgen.write import size_text

    if found.unknown:
        for what in ("documents", "queries", "qrels"):
            print(f"{'not known':>12}  {what}")
        for agent, who in found.models.items():
            print(f"{'not known':>12}  calls of {agent}, {who}")
        _print_notes(found)
        return
    rows = [
        (f"{found.documents:,}", "documents"),
        (f"{found.queries:,}", "queries"),
        (f"{found.qrels:,}", "qrels"),
        (f"{sum(found.calls.values()):,}", "model calls"),
    ]
    if found.calls:
        rows += [
            (f"{number:,}", f"  {agent}, {found.models[agent]}")
            for agent, number in found.calls.items()
        ]
        rows.append((f"{found.tokens['in']:,}", "tokens in, about"))
        rows.append((f"{found.tokens['out']:,}", "tokens out, about"))
        usd = found.usd
        rows.append(
            ("?" if usd is None else f"{_usd(usd[0])} to {_usd(usd[1])}", "at these prices")
        )
        rows.append((f"{_time(found.seconds[0])} to {_time(found.seconds[1])}", "for the calls"))
    else:
        rows.append(("$0.00", "since nobody is asked"))
    rows.append((size_text(found.bytes), "on disk, about"))
    width = max(12, *(len(number) for number, _ in rows))
    for number, what in rows:
        print(f"{number:>{width}}  {what}")
    _print_notes(found)


def _print_notes(found: Any) -> None:
    for note in found.notes:
        print(f"note: {note}")


def _usd(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _plan_study(path: Path, json: bool) -> None:
    from retgen.recipes import bundled_studies
    from retgen.studies.study import load_study, plan_study

    study = load_study(path)
    found = plan_study(study)
    if json:
        print_json({"datasets": {name: one.to_json() for name, one in found.items()}})
        return
    width = max(map(len, found))
    for name, one in found.items():
        if one.unknown:
            print(f"{name:{width}}  {'not known':>9}")
            continue
        print(f"{name:{width}}  {one.documents:>9,} documents  {one.queries:>7,} queries")
    if study.models:
        dims = f" in {len(study.dims)} dimensions" if study.dims else ""
        print(f"models: {', '.join(study.models)}{dims}")
    if study.train:
        print(f"trainings: {len(study.train.on) * len(study.train.dims)} of {study.train.model}")
    print(f"measured by: gen eval {path.stem if path in bundled_studies().values() else path}")


@app.command("preview", epilog="Example:  gen preview limit_dense -n 2")
@expected
def preview_command(
    recipe: RecipeArgument,
    n: Annotated[int, typer.Option("-n", min=1, max=100, help="How many.")] = 3,
    settings: Setting = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show a few records on the screen. Writes nothing."""
    from retgen.preview import preview

    found = preview(recipe, n, overrides_of(settings))
    if json:
        print_json(found)
        return
    if example := found["example"]:
        print(example["title"])
        for what, before, after in example["rows"]:
            print(f"\n{what}\n  - {before}\n  + {after}")
        print("\nIts set begins with the queries:")
        for query in found["queries"]:
            print(f"\n{query['_id']}  {query['text']}")
        return
    texts = {row["_id"]: row["text"] for row in found["relevant"]}
    for query in found["queries"]:
        print(f"\n{query['_id']}  {query['text']}")
        for qrel in found["qrels"]:
            if qrel["query-id"] == query["_id"] and qrel["score"] > 0:
                doc_id = qrel["corpus-id"]
                print(f"    {doc_id}  {texts.get(doc_id, '(further back in the corpus)')}")
    print("\nThe corpus begins:")
    for row in found["corpus"]:
        print(f"    {row['_id']}  {row['text']}")
