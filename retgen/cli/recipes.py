"""`gen recipes`, `new`, `draft`, `schema`, `plan`, `preview` and `world`: what will be made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from retgen.cli.base import (
    MODEL,
    RECIPE,
    SETTING,
    Json,
    Output,
    app,
    command,
    overrides_of,
    print_json,
)
from retgen.cli.options import Spending


@command("recipes", "gen recipes")
def recipes_command(json: Json = False) -> None:
    """List the bundled recipes, and the studies for `gen eval`."""
    from retgen.recipes import bundled, bundled_studies

    rows = _add_descriptions(bundled())
    if json:
        print_json(rows)
        return
    studies = _add_descriptions(bundled_studies())
    width = max(len(row["name"]) for row in (*rows, *studies))
    print("All run without a key and without a GPU.")
    studies_title = "Studies, for gen eval (they score or train embedders: a GPU saves time)"
    for title, listed in (*_by_family(rows), (studies_title, studies)):
        print(f"\n{title}")
        for row in listed:
            print(f"  {row['name']:{width}}  {row['about']}")


def _by_family(rows: list[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Recipes by family, with what each family can be given."""
    from retgen.generators import families, family
    from retgen.yaml_text import read_yaml

    of = {row["name"]: read_yaml(Path(row["path"]))["family"] for row in rows}
    for name in families():
        one = family(name)
        takes = ["--model NAME, a chat model (`gen plan` counts its calls)"] * bool(one.agents)
        takes += [f"your documents, with gen new {name} --source PATH"] * one.takes_source
        options = f"\n  Optional: {'; '.join(takes)}." if takes else ""
        if listed := [row for row in rows if of[row["name"]] == name]:
            yield f"{name}: {one.summary}{options}", listed


def _add_descriptions(files: dict[str, Path]) -> list[dict[str, str]]:
    """Name, first sentence and path of some YAML files."""
    from retgen.recipes import about

    return [{"name": name, "about": about(p), "path": str(p)} for name, p in files.items()]


@command("schema", "gen schema > retgen.schema.json")
def schema_command() -> None:
    """Print the JSON Schema of recipes, for completion and checking in editors."""
    from retgen.recipe_file import json_schema

    print_json(json_schema())


@command(
    "new",
    "gen new limit --out my.yaml",
    "gen new capretrieval --source texts/ --licence CC-BY-4.0",
    "gen new capretrieval --source texts/ --queries asked.txt",
    options="""
        FAMILY          A family of data sets, for example limit.
        --out FILE      File; default my_FAMILY.yaml.
        --source PATH   Your documents: a file, a folder or hf:owner/name. The recipe is fitted to
                        them.
        --queries FILE  Questions that people asked, a line each, or .csv, .tsv or .jsonl with a
                        column question, and document for the id of one that answers. They make the
                        test set.
        --licence NAME  Licence of your documents, for example CC-BY-4.0.
        """,
)
def new_command(
    family: str,
    out: Path | None = None,
    source: str | None = None,
    queries: Path | None = None,
    licence: str | None = None,
) -> None:
    """Write a commented recipe to start from."""
    from retgen.scaffold import describe, write_recipe, write_sheet

    description = None
    if source is not None:
        description = describe(family, source, out)
        print("\n".join(description.lines()))
    path, plan = write_recipe(family, out, description, licence, queries)
    if plan is not None and queries is not None:
        print("\n".join([f"questions: {plan.queries:,}", *(f"note: {one}" for one in plan.notes)]))
    elif plan is not None and (sheet := write_sheet(family, path)):
        print(
            "no questions of people: the test set will hold lookup queries (titles, headings, "
            "names), which favour word match\n"
            f"  write about forty questions into {sheet} before you look at anything generated, "
            f"then:\n  gen new {family} --source {source} --queries {sheet} --out asked.yaml"
        )
    print(f"wrote {path}; look at it, then: gen plan {path}")


@command(
    "plan",
    "gen plan limit_dense",
    "gen plan my.yaml --set params.docs=1000000",
    options=f"""
        {RECIPE}
        {SETTING}
        {MODEL}
        --price IN,OUT  Dollars per million tokens of an unlisted model; MODEL=IN,OUT for one of
                        several.
        --batch         With the prices of batch APIs, as gen run --batch.
        """,
)
def plan_command(
    recipe: str,
    set_: list[str] | None = None,
    model: str | None = None,
    price: list[str] | None = None,
    batch: bool = False,
    json: Json = False,
) -> None:
    """Show what a recipe or a study will make and cost. Writes nothing, calls no model."""
    from retgen.recipes import find_study

    if (study := find_study(recipe)) is not None and model is None:
        _plan_study(study, overrides_of(set_), json)
        return
    from retgen.plan import plan

    print_plan(plan(recipe, overrides_of(set_, model), price or (), batch=batch), json)


def print_plan(result: Any, json: bool) -> None:
    if json:
        print_json(result.to_json())
        return
    from retgen.plan import plan_lines

    print("\n".join(plan_lines(result)))


def _plan_study(path: Path, overrides: dict[str, Any], json: bool) -> None:
    from retgen.recipes import bundled_studies
    from retgen.studies import load_study, plan_study

    study = load_study(path, overrides)
    result = plan_study(study)
    if json:
        print_json({"datasets": {name: one.to_json() for name, one in result.items()}})
        return
    width = max(map(len, study.datasets))
    for name, of in study.datasets.items():
        if of.path:
            print(f"{name:{width}}  as it is: {of.path}")
        elif result[name].unknown:
            print(f"{name:{width}}  {'not known':>9}")
        else:
            one = result[name]
            print(f"{name:{width}}  {one.documents:>9,} documents  {one.queries:>7,} queries")
    if study.models:
        dims = f" in {len(study.dims)} dimensions" if study.dims else ""
        print(f"models: {', '.join(study.models)}{dims}")
    if study.train:
        count = len(study.train.sources) * (len(study.train.dims) or 1)
        print(f"trainings: {count} of {study.train.model}")
    print(f"measured by: gen eval {path.stem if path in bundled_studies().values() else path}")


@command(
    "draft",
    'gen draft "court rulings in German, harder than the paper\'s" --model openai:gpt-5-mini',
    'gen draft "questions about manuals" --source manuals/ --model openai:gpt-5-mini --max-usd 1',
    options="""
        SENTENCE               Which data set is wanted.
        --model PROVIDER:NAME  The chat model that drafts.
        --source PATH          Documents that the recipe may use. What kinds and columns they have
                               is sent to the model. Repeatable.
        --out FILE             File; default draft.yaml.
        """,
)
def draft_command(
    sentence: str,
    model: str,
    spending: Spending,
    output: Output,
    source: list[str] | None = None,
    out: Path | None = None,
) -> None:
    """Have a chat model write a recipe from a sentence, checked and with its price."""
    from retgen.draft.draft import draft

    with output.progress() as progress:
        result = draft(
            sentence,
            model,
            sources=source or (),
            out=out or "draft.yaml",
            model_options=spending.options(),
            progress=progress,
        )
    output.print(result, lambda: _drafted(result))


def _drafted(result: Any) -> str:
    from retgen.plan import plan_lines

    usd = result.costs["usd"]
    cost = "at a price that is not known" if usd is None else f"for ${usd:.4f}"
    return "\n".join(
        [
            f"wrote {result.path}",
            *(f"  - {one}" for one in result.choices),
            *plan_lines(result.plan),
            f"drafted in {result.costs['calls']:,} calls, {cost}",
            f"look at it, then: gen run {result.path}",
        ]
    )


_SHOWN = 3  # relevant documents of a query


@command(
    "preview",
    "gen preview limit_dense -n 2",
    options=f"""
        {RECIPE}
        -n N  Number of records.
        {SETTING}
        """,
)
def preview_command(
    recipe: str, n: int = 3, set_: list[str] | None = None, json: Json = False
) -> None:
    """Show a few records on the screen. Writes nothing."""
    from retgen.plan import preview

    result = preview(recipe, n, overrides_of(set_))
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
            qrel["corpus-id"]
            for qrel in result["qrels"]
            if qrel["query-id"] == query["_id"] and qrel["score"] > 0
        ]
        for doc_id in relevant[:_SHOWN]:
            print(f"    {doc_id}  {texts.get(doc_id, '(further back in the corpus)')}")
        if len(relevant) > _SHOWN:
            print(f"    and {len(relevant) - _SHOWN:,} more: {len(relevant):,} are relevant")
    print("\nThe corpus begins:")
    for row in result["corpus"]:
        print(f"    {row['_id']}  {row['text']}")


commands = typer.Typer(
    help="Domains of the family world: what documents and queries can be about.",
    epilog="Examples:  gen world check my_domain.yaml  |  gen world check films --documents 5",
    no_args_is_help=True,
)
app.add_typer(commands, name="world")


@command(
    "check",
    "gen world check my_domain.yaml",
    "docs/own_domain.md is one, line by line",
    options="""
        DOMAIN         A .yaml file of your own, or the name of a bundled domain.
        --documents N  Documents to show.
        --seed NUMBER  Seed of what is shown.
        """,
    group=commands,
)
def check_command(domain: str, documents: int = 2, seed: int = 42, json: Json = False) -> None:
    """Check a domain file, compose a few documents, ask a query of every operator.

    Draws 10,000 entities and lists what the file's own rules forbid: values that none can have,
    entities that can have none. Also lists numbers of answers that its queries cannot have, and
    what the proof of a run could not read. Exit code 1: rules contradict, or a text is not read.
    """
    from retgen.generators.world.trial import trial

    result = trial(domain, seed, documents)
    Output(json).print(result, lambda: "\n".join(result.lines()))
    if not result.sound:
        raise typer.Exit(1)
