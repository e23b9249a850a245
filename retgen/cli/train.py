"""`gen train`: a model fine-tuned on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    DeviceOption,
    Json,
    Quiet,
    check_datasets,
    command,
    complete_model,
    given_command,
    given_path,
    interruptible,
    overrides_of,
    print_result,
    shown_progress,
)
from retgen.errors import UsageError


@command(
    "train",
    "gen train outputs/limit_train --model minilm --test outputs/limit_small --preset limit",
    "gen train ~/mine --model owner/name --set epochs=3 --outside ~/beir/scifact",
)
def train_command(
    path: Annotated[
        Path,
        typer.Argument(
            parser=given_path,
            metavar="PATH",
            show_default=False,
            help="A run directory or data set: its training pairs, else its qrels.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="M",
            autocompletion=complete_model,
            help="minilm, static:minilm, a sentence-transformers folder or id; behind sparse:, "
            "late: or cross: for a sparse encoder, late interaction or a cross-encoder.",
        ),
    ] = "minilm",
    test: Annotated[
        str | None, typer.Option(metavar="PATH", help="Test set; default PATH.")
    ] = None,
    outside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Scored too, before and after: a folder or mteb:NAME. Repeatable.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Which of training/*.parquet to train on; default all with pairs. Repeatable.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Hyper-parameters by name: limit, capretrieval (papers'), cpu (short)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A hyper-parameter: loss, epochs, batch_size, learning_rate, dimension, "
            "hard_negatives, lora, ... (docs/evaluation_reference.md). Repeatable.",
        ),
    ] = None,
    lr: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Learning rate; default by the kind of model."),
    ] = None,
    query_prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Text before every query, saved with the model; default its own."
        ),
    ] = None,
    document_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The same, before every document.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of training seeds; scores are their means.")
    ] = 1,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="As in gen eval. Repeatable.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Qrels to train on; default training pairs, train, test.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N pairs only.")] = None,
    device: DeviceOption = None,
    dtype: Annotated[
        str | None, typer.Option(help="Of the products: float32 (default), tf32, bf16.")
    ] = None,
    attn_implementation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of transformers: sdpa, eager, flash_attention_2, ..."),
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code shipped with the model.")
    ] = False,
    report_to: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Also log to trackio, wandb or tensorboard. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default outputs/train_NAME_MODEL."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard earlier results.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fine-tune a model on a data set, scored before, during and after."""
    check_datasets(path, test, *(outside or ()))
    given = {
        "query_prompt": query_prompt,
        "document_prompt": document_prompt,
        "dtype": dtype,
        "attn_implementation": attn_implementation,
        "trust_remote_code": trust_remote_code or None,
    }
    own = {name: value for name, value in given.items() if value is not None}
    chosen = training_settings(settings)
    if lr is not None and "learning_rate" in chosen:
        raise UsageError("--lr and --set learning_rate both give the learning rate; leave one out")
    if lr is not None:
        own |= training_settings([f"learning_rate={lr}"])
    from retgen.evaluation.training.distributed import group
    from retgen.evaluation.training.page import text
    from retgen.evaluation.training.train import train

    interruptible()
    with group(device, _follow) as is_rank_0:
        if not is_rank_0:
            return
        with shown_progress(quiet, json) as progress:
            result = train(
                path,
                model,
                test=test,
                outside=outside or (),
                split=split,
                data=data or (),
                limit=limit,
                preset=preset,
                settings=chosen | own,
                metrics=metric or (),
                seeds=seeds,
                out=out,
                device=device,
                fresh=fresh,
                command=given_command(),
                progress=progress,
                report_to=report_to or (),
            )
        print_result(result, lambda: text(result), json, quiet)


def _follow(task: Any) -> None:
    from retgen.evaluation.training.fit import follow

    follow(task)


def training_settings(settings: list[str] | None) -> dict[str, Any]:
    """Hyper-parameters; "search:" is a text here, though YAML takes it for a mapping."""
    result = overrides_of(settings)
    for text in settings or ():
        key, _, value = text.partition("=")
        if isinstance(result[key.strip()], dict) and not value.lstrip().startswith("{"):
            result[key.strip()] = value
    return result
