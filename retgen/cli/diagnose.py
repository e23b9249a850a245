"""`gen diagnose`: what a retriever can and cannot do."""

from __future__ import annotations

from pathlib import Path

from retgen.cli.base import (
    Output,
    command,
    fail_of_systems,
    given_command,
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
    output: Output,
    against: list[str] | None = None,
    alone: bool = False,
    seed: int | None = None,
    ability: list[str] | None = None,
    quick: bool = False,
    out: Path | None = None,
) -> None:
    """Show what a retriever can and cannot do, ability by ability, on fresh proven data."""
    from retgen.diagnosis.diagnose import REFERENCES, diagnose

    spending.check([model, *(against or ())], "openai:text-embedding-3-small")
    with output.progress() as progress:
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

    output.print(result, lambda: terminal_text(result))
    fail_of_systems(result.failures, result.exit_code)
