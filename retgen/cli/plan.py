"""`gen plan` and `gen preview`: what a recipe will make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    ModelOption,
    PriceOption,
    RecipeArgument,
    Setting,
    Verbose,
    app,
    overrides_of,
    print_json,
    report_errors,
)


@app.command(
    "plan", epilog="Examples:  gen plan limit_dense  |  gen plan my.yaml --set params.docs=1000000"
)
@report_errors
def plan_command(
    recipe: RecipeArgument,
    settings: Setting = None,
    model: ModelOption = None,
    price: PriceOption = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show what a recipe or a study will make and cost. Writes nothing, calls no model."""
    from retgen.recipes import find_study

    if (study := find_study(recipe)) is not None and not settings and model is None:
        _plan_study(study, json)
        return
    from retgen.plan import plan

    print_plan(plan(recipe, overrides_of(settings, model), price or ()), json)


def print_plan(result: Any, json: bool) -> None:
    if json:
        print_json(result.to_json())
        return
    from retgen.results.numbers import duration
    from retgen.write import size_text

    if result.unknown:
        for what in ("documents", "queries", "qrels"):
            print(f"{'not known':>12}  {what}")
        for agent, who in result.models.items():
            print(f"{'not known':>12}  calls of {agent}, {who}")
        _print_notes(result)
        return
    rows = [
        (
            f"{result.documents:,}",
            "documents"
            if (n := result.source_documents) is None
            else f"passages of {n:,} documents",
        ),
        (f"{result.queries:,}", "queries, at most about" if result.about else "queries"),
        (f"{result.qrels:,}", "qrels, about" if result.about else "qrels"),
        (f"{sum(result.calls.values()):,}", "model calls"),
    ]
    if result.calls:
        rows += [
            (f"{number:,}", f"  {agent}, {result.models[agent]}")
            for agent, number in result.calls.items()
        ]
        rows.append((f"{result.tokens['in']:,}", "tokens in, about"))
        rows.append((f"{result.tokens['out']:,}", "tokens out, about"))
        usd = result.usd
        rows.append(
            ("?" if usd is None else f"{_usd(usd[0])} to {_usd(usd[1])}", "at these prices")
        )
        rows.append((" to ".join(map(duration, result.seconds)), "for the calls"))
    else:
        rows.append(("$0.00", "no model calls"))
    rows.append((size_text(result.bytes), "on disk, about"))
    width = max(12, *(len(number) for number, _ in rows))
    for number, what in rows:
        print(f"{number:>{width}}  {what}")
    _print_notes(result)


def _print_notes(result: Any) -> None:
    for note in result.notes:
        print(f"note: {note}")


def _usd(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def _plan_study(path: Path, json: bool) -> None:
    from retgen.recipes import bundled_studies
    from retgen.studies import load_study, plan_study

    study = load_study(path)
    result = plan_study(study)
    if json:
        print_json({"datasets": {name: one.to_json() for name, one in result.items()}})
        return
    width = max(map(len, result))
    for name, one in result.items():
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


_SHOWN = 3  # relevant documents of a query


@app.command("preview", epilog="Example:  gen preview limit_dense -n 2")
@report_errors
def preview_command(
    recipe: RecipeArgument,
    n: Annotated[int, typer.Option("-n", min=1, max=100, help="Number of records.")] = 3,
    settings: Setting = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show a few records on the screen. Writes nothing."""
    from retgen.plan import preview

    result = preview(recipe, n, overrides_of(settings))
    if json:
        print_json(result)
        return
    if example := result["example"]:
        print(example["title"])
        _, *heads = example["head"]
        signs = ("- ", "+ ") if example["changed"] else [f"{name}: " for name in heads]
        for what, *pair in example["rows"]:
            print(f"\n{what}")
            for sign, text in zip(signs, pair, strict=True):
                print(f"  {sign}{text}")
        print("\nIts set begins with the queries:")
        for query in result["queries"]:
            print(f"\n{query['_id']}  {query['text']}")
        return
    texts = {row["_id"]: row["text"] for row in result["relevant"]}
    for query in result["queries"]:
        print(f"\n{query['_id']}  {query['text']}")
        relevant = [
            qrel["corpus-id"] for qrel in result["qrels"]
            if qrel["query-id"] == query["_id"] and qrel["score"] > 0
        ]  # fmt: skip
        for doc_id in relevant[:_SHOWN]:
            print(f"    {doc_id}  {texts.get(doc_id, '(further back in the corpus)')}")
        if len(relevant) > _SHOWN:
            print(f"    and {len(relevant) - _SHOWN:,} more: {len(relevant):,} are relevant")
    print("\nThe corpus begins:")
    for row in result["corpus"]:
        print(f"    {row['_id']}  {row['text']}")
