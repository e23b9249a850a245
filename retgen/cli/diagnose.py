"""`gen diagnose`: what a retriever can and cannot do."""

from __future__ import annotations

from pathlib import Path

from retgen.cli.base import (
    Json,
    Quiet,
    command,
    fail_of_systems,
    given_command,
    print_result,
    shown_progress,
)
from retgen.cli.options import Encoding, Spending


@command(
    "diagnose",
    "gen diagnose minilm",
    "gen diagnose ./my-model --against static:minilm --seed 7",
    "gen diagnose ./after --against ./before --ability exclusions --ability ranges",
    "gen diagnose openai:text-embedding-3-large --max-usd 2",
    options="""
        MODEL           {retrievers}.
        --against M     Another system, beside bm25 and minilm. Repeatable.
        --alone         Without bm25 and minilm.
        --seed NUMBER   Of the test data. Default: a new one, kept in the folder.
        --ability NAME  Only this one: {abilities}. Repeatable.
        --quick         A quarter of the data: wider intervals.
        --out DIR       Folder; default outputs/diagnose_MODEL.
        """,
)
def diagnose_command(
    model: str,
    encoding: Encoding,
    spending: Spending,
    against: list[str] | None = None,
    alone: bool = False,
    seed: int | None = None,
    ability: list[str] | None = None,
    quick: bool = False,
    out: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a retriever can and cannot do, ability by ability, on fresh proven data."""
    from retgen.diagnosis.diagnose import REFERENCES, diagnose

    spending.check([model, *(against or ())], "openai:text-embedding-3-small")
    with shown_progress(quiet, json) as progress:
        result = diagnose(
            model,
            against=against or (),
            references=() if alone else REFERENCES,
            seed=seed,
            abilities=ability or (),
            quick=quick,
            out=out,
            options=encoding.options(),
            model_options=spending.options(),
            cache=not encoding.no_cache,
            command=given_command(),
            progress=progress,
        )
    from retgen.diagnosis.page import terminal_text

    print_result(result, lambda: terminal_text(result), json, quiet)
    fail_of_systems(result.failures, result.exit_code)
