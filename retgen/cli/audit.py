"""`gen audit`: what can be known of labels that others made; does a set stand for a real one?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import (
    DatasetArgument,
    DeviceOption,
    Json,
    LedgerOption,
    MaxUsdOption,
    PriceOption,
    Quiet,
    SplitOption,
    again,
    check_datasets,
    command,
    complete_model,
    fail,
    given_command,
    given_path,
    given_place,
    interruptible,
    model_options_of,
    print_result,
    shown_progress,
)


@command(
    "audit",
    "gen audit outputs/kb --real ~/beir/scifact --model bm25 --model minilm --model ./my-model",
)
def audit_command(
    path: DatasetArgument,
    real: Annotated[
        Path | None,
        typer.Option(
            parser=given_place, metavar="OTHER",
            help="A set of people's queries: does PATH order systems as it does?",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M", autocompletion=complete_model, help="{retrievers}. Repeatable.",
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="With --real: what systems are ordered by.")
    ] = "nDCG@10",
    split: SplitOption = None,
    out: Annotated[
        Path | None, typer.Option(parser=given_path, help="Folder; default outputs/audit_NAME.")
    ] = None,
    device: DeviceOption = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 (default), tf32, bf16, float16; auto: as it was saved."),
    ] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Tokens a model reads.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code shipped with a model.")
    ] = False,
    max_usd: MaxUsdOption = None,
    price: PriceOption = None,
    ledger: LedgerOption = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no embeddings on disk.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Say how far a benchmark's labels, or a synthetic set's order of systems, can be trusted."""
    check_datasets(path, real)
    from retgen.evaluation.retrievers import Options, asked_models, check_name

    for name in model or ():
        check_name(name)
    model_options = None
    if any(asked_models(name) for name in model or ()):
        interruptible()
        model_options = model_options_of(str(path), max_usd, price, None, ledger)
    options = Options(
        device=device, dtype=dtype, max_length=max_length, trust_remote_code=trust_remote_code
    )
    from retgen.audits.compare import audit_against
    from retgen.audits.compare_page import terminal_text

    with shown_progress(quiet, json) as progress:
        result = audit_against(
            path, real, models=model or (), metric=metric, split=split, out=out, options=options,
            model_options=model_options, cache=not no_cache, command=given_command(),
            progress=progress,
        )  # fmt: skip
    print_result(result, lambda: terminal_text(result), json, quiet)
    if result.failures:
        code = result.exit_code
        resume = f"\nResume with:\n  {again(more=code == 3)}" if code in (3, 4) else ""
        fail("\n".join(result.failures.values()) + resume, code)
