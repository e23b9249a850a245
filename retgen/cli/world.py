"""`gen world`: a domain file of one's own, checked and shown, and a lexicon for its proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import Json, Verbose, app, print_json, report_errors

commands = typer.Typer(
    help="Domains of the family world: what documents and queries can be about.",
    epilog="Examples:  gen world check my_domain.yaml  |  gen world check films --documents 5",
    no_args_is_help=True,
)
app.add_typer(commands, name="world")


@commands.command(
    "check",
    epilog="Example:  gen world check my_domain.yaml  |  docs/own_domain.md is one, line by line",
)
@report_errors
def check_command(
    domain: Annotated[
        str,
        typer.Argument(
            metavar="DOMAIN", show_default=False,
            help="A .yaml file of your own, or the name of a bundled domain.",
        ),
    ],
    documents: Annotated[
        int, typer.Option("--documents", min=1, max=100, help="Documents to show.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of what is shown.")] = 42,
    json: Json = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Check a domain file, compose a few documents, ask a query of every operator.

    Draws 10,000 entities and lists what the file's own rules forbid: values that none can have,
    entities that can have none. Also lists numbers of answers that its queries cannot have, and
    what the proof of a run could not read. Exit code 1: rules contradict, or a text is not read.
    """
    from retgen.generators.world.trial import trial

    result = trial(domain, seed, documents)
    if json:
        print_json(result.to_json())
    else:
        print("\n".join(result.lines()))
    if not result.sound:
        raise typer.Exit(1)


@commands.command(
    "lexicon", epilog="Example:  gen world lexicon my_domain.yaml > my_domain.lexicon.yaml"
)
@report_errors
def lexicon_command(
    domain: Annotated[
        Path, typer.Argument(metavar="DOMAIN", show_default=False, help="A .yaml file of your own.")
    ],
    verbose: Verbose = False,
) -> None:
    """Print a lexicon to start from: each slot with its name, what it is about and its unit.

    The proof reads a sentence only where phrases of the lexicon hold every word of it.
    """
    from retgen.validators.world.definitions import read_definition
    from retgen.validators.world.lexicon import lexicon_template

    print(lexicon_template(read_definition(domain)), end="")
