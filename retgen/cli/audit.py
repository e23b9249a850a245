"""`gen audit`: what can be known of labels that others made; does a set stand for a real one?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    DatasetArgument,
    DeviceOption,
    DtypeOption,
    Json,
    LedgerOption,
    MaxLengthOption,
    MaxUsdOption,
    NoCacheOption,
    PriceOption,
    Quiet,
    SplitOption,
    TrustOption,
    check_datasets,
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
from retgen.errors import UsageError


@command(
    "audit",
    "gen audit ~/beir/scifact --run bm25.trec --run mine.trec",
    "gen audit ~/beir/scifact --run bm25.trec --labels judged.tsv --patch patch.tsv",
    "gen audit ~/beir/scifact --run bm25.trec --labels judged.tsv --judge openai:gpt-5-mini",
    "gen audit outputs/kb --real ~/beir/scifact --model bm25 --model minilm --model ./my-model",
)
def audit_command(
    path: DatasetArgument,
    real: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            metavar="OTHER",
            help="A set of people's queries: does PATH order systems as it does?",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            autocompletion=complete_model,
            help="{retrievers}. Without --model and --run: bm25 and minilm. Repeatable.",
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(parser=given_path, metavar="FILE", help="A TREC run of PATH. Repeatable."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="to_judge.tsv, filled from the top."),
    ] = None,
    patch: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="Write qrels that labels change."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A chat model that labels pairs too, e.g. openai:gpt-5-mini; people's labels "
            "correct it.",
        ),
    ] = None,
    judge_pairs: Annotated[
        int, typer.Option(min=1, help="Pairs that the judge labels, at most.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the order in which to judge.")] = 0,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="With --real: what systems are ordered by.")
    ] = "nDCG@10",
    split: SplitOption = None,
    out: Annotated[
        Path | None, typer.Option(parser=given_path, help="Folder; default outputs/audit_NAME.")
    ] = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    max_length: MaxLengthOption = None,
    trust_remote_code: TrustOption = False,
    max_usd: MaxUsdOption = None,
    price: PriceOption = None,
    ledger: LedgerOption = None,
    no_cache: NoCacheOption = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how far a benchmark's labels, or a synthetic set's order of systems, can be trusted."""
    check_datasets(path, real)
    from retgen.evaluation.retrievers import Options, asked_models, check_name

    for name in model or ():
        check_name(name)
    if judge or any(asked_models(name) for name in model or ()):
        interruptible()
    else:
        check_only_for_apis({"--max-usd": max_usd, "--price": price}, "--judge openai:gpt-5-mini")
    model_options = model_options_of(str(path), max_usd, price, None, ledger)
    options = Options(
        device=device, dtype=dtype, max_length=max_length, trust_remote_code=trust_remote_code
    )
    shared: dict[str, Any] = {
        "models": model or (),
        "split": split,
        "out": out,
        "options": options,
        "model_options": model_options,
        "cache": not no_cache,
        "command": given_command(),
    }
    result: Any
    text: Any
    with shown_progress(quiet, json) as progress:
        if real is None:
            from retgen.audits.benchmark import audit
            from retgen.audits.benchmark_page import terminal_text

            text = terminal_text
            result = audit(
                path,
                runs=run or (),
                labels=labels,
                patch=patch,
                judge=judge,
                judge_pairs=judge_pairs,
                seed=seed,
                progress=progress,
                **shared,
            )
        else:
            from retgen.audits.compare import audit_against
            from retgen.audits.compare_page import terminal_text as comparison_text

            text = comparison_text
            given = {"--run": run, "--labels": labels, "--patch": patch, "--judge": judge}
            if unfit := [name for name, value in given.items() if value]:
                raise UsageError(
                    f"{', '.join(unfit)}: of one data set; --real scores systems on both: --model"
                )
            result = audit_against(path, real, metric=metric, progress=progress, **shared)
    print_result(result, lambda: text(result), json, quiet)
    fail_of_systems(result.failures, result.exit_code)
