"""`gen recipes`, `gen schema` and `gen new`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import Json, app, complete_family, given_path, print_json, report_errors


@app.command("recipes", epilog="Example:  gen recipes")
@report_errors
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


@app.command("schema", epilog="Example:  gen schema > retgen.schema.json")
@report_errors
def schema_command() -> None:
    """Print the JSON Schema of recipes, for completion and checking in editors."""
    from retgen.recipe_file import json_schema

    print_json(json_schema())


@app.command(
    "new",
    epilog="Examples:  gen new limit --out my.yaml  |  "
    "gen new capretrieval --source texts/ --licence CC-BY-4.0",
)
@report_errors
def new_command(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY", autocompletion=complete_family, show_default=False,
            help="A family of data sets, for example limit.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(parser=given_path, help="File; default my_FAMILY.yaml.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", show_default=False,
            help="Your documents: a file, a folder or hf:owner/name. The recipe is fitted to them.",
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", show_default=False,
            help="Licence of your documents, for example CC-BY-4.0.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Write a commented recipe to start from."""
    from retgen.scaffold import describe, new_recipe

    if source is None:
        path = new_recipe(family, out, licence=licence)
    else:
        description = describe(family, source, out)
        print("\n".join(description.lines()))
        path = new_recipe(family, out, description, licence)
    print(f"wrote {path}; look at it, then: gen plan {path}")
