"""`gen train`: a model fine-tuned on a data set."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

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
            help="A hyper-parameter: epochs, batch_size, learning_rate, dtype, dimension, "
            "hard_negatives, lora, ... (docs/evaluation_reference.md). Repeatable.",
        ),
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
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="As in gen eval. Repeatable.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Qrels to train on; default training pairs, train, test.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N pairs only.")] = None,
    device: DeviceOption = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code shipped with the model.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default outputs/train_NAME_MODEL."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard earlier results.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fine-tune a model on a data set, scored before and after."""
    if os.environ.get("RANK", "0") != "0":  # of several processes the first one speaks
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    check_datasets(path, test, *(outside or ()))
    chosen = overrides_of(settings)
    prompts = {"query_prompt": query_prompt, "document_prompt": document_prompt}
    chosen |= {name: text for name, text in prompts.items() if text is not None}
    from retgen.evaluation.training.page import text
    from retgen.evaluation.training.train import train

    interruptible()
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
            settings=chosen,
            metrics=metric or (),
            out=out,
            device=device,
            trust_remote_code=trust_remote_code,
            fresh=fresh,
            command=given_command(),
            progress=progress,
        )
    print_result(result, lambda: text(result), json, quiet)
