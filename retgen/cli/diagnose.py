"""`gen diagnose`: what a retriever can and cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import (
    BatchSizeOption,
    DeviceOption,
    DocumentPromptOption,
    DtypeOption,
    Json,
    LedgerOption,
    MaxLengthOption,
    MaxUsdOption,
    NoCacheOption,
    PriceOption,
    QueryPromptOption,
    Quiet,
    TrustOption,
    check_only_for_apis,
    command,
    complete_model,
    fail_of_systems,
    given_command,
    given_path,
    interruptible,
    model_options_of,
    print_result,
    shown_progress,
)


@command(
    "diagnose",
    "gen diagnose minilm",
    "gen diagnose ./my-model --against static:minilm --seed 7",
    "gen diagnose ./after --against ./before --ability exclusions --ability ranges",
    "gen diagnose openai:text-embedding-3-large --max-usd 2",
)
def diagnose_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", autocompletion=complete_model, help="{retrievers}.")
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            autocompletion=complete_model,
            help="Another system, beside bm25 and minilm. Repeatable.",
        ),
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Without bm25 and minilm.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Of the test data. Default: a new one, kept in the folder."),
    ] = None,
    ability: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this one: {abilities}. Repeatable."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quarter of the data: wider intervals.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default outputs/diagnose_MODEL."),
    ] = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    batch_size: BatchSizeOption = None,
    max_length: MaxLengthOption = None,
    query_prompt: QueryPromptOption = None,
    document_prompt: DocumentPromptOption = None,
    trust_remote_code: TrustOption = False,
    max_usd: MaxUsdOption = None,
    price: PriceOption = None,
    ledger: LedgerOption = None,
    no_cache: NoCacheOption = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a retriever can and cannot do, ability by ability, on fresh proven data."""
    from retgen.diagnosis.diagnose import REFERENCES, diagnose
    from retgen.evaluation.retrievers import Options, asked_models, check_name

    for name in (model, *(against or ())):
        check_name(name)
    if any(asked_models(name) for name in (model, *(against or ()))):
        interruptible()
    else:
        given = {"--max-usd": max_usd, "--price": price}
        check_only_for_apis(given, "openai:text-embedding-3-small")
    model_options = model_options_of(model, max_usd, price, None, ledger)
    options = Options(
        device=device,
        dtype=dtype,
        batch_size=batch_size,
        max_length=max_length,
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        trust_remote_code=trust_remote_code,
    )
    with shown_progress(quiet, json) as progress:
        result = diagnose(
            model,
            against=against or (),
            references=() if alone else REFERENCES,
            seed=seed,
            abilities=ability or (),
            quick=quick,
            out=out,
            options=options,
            model_options=model_options,
            cache=not no_cache,
            command=given_command(),
            progress=progress,
        )
    from retgen.diagnosis.page import terminal_text

    print_result(result, lambda: terminal_text(result), json, quiet)
    fail_of_systems(result.failures, result.exit_code)
