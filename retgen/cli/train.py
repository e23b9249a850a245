"""`gen train`: a model fine-tuned on a data set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from retgen.cli.base import (
    Output,
    check_datasets,
    command,
    given_command,
    overrides_of,
)


@command(
    "train",
    "gen train outputs/limit_train --model minilm --test outputs/limit_small --preset limit",
    "gen train ~/mine --model owner/name --set epochs=3 --outside ~/beir/scifact",
    options="""
        PATH                    A run directory or data set: its training pairs, else its qrels.
        --model M               minilm, static:minilm, a sentence-transformers folder or id; behind
                                sparse:, late: or cross: for a sparse encoder, late interaction or a
                                cross-encoder.
        --test PATH             Test set; default PATH.
        --outside PATH          Scored too, before and after: a folder or mteb:NAME. Repeatable.
        --data NAME             Which of training/*.parquet to train on; default all with pairs.
                                Repeatable.
        --preset NAME           Hyper-parameters by name: limit, capretrieval (papers'), cpu
                                (short).
        --set KEY=VALUE         A hyper-parameter: epochs, batch_size, learning_rate, dtype,
                                dimension, hard_negatives, lora, ...
                                (docs/evaluation_reference.md). Repeatable.
        --query-prompt TEXT     Text before every query, saved with the model; default its own.
        --document-prompt TEXT  The same, before every document.
        --metric NAME           As in gen eval. Repeatable.
        --split NAME            Qrels to train on; default training pairs, train, test.
        --limit N               The first N pairs only.
        --device NAME           cpu, cuda, cuda:0, mps.
        --trust-remote-code     Run code shipped with the model.
        --out DIR               Folder; default outputs/train_NAME_MODEL.
        --fresh                 Discard earlier results.
        """,
)
def train_command(
    path: Path,
    output: Output,
    model: str = "minilm",
    test: str | None = None,
    outside: list[str] | None = None,
    data: list[str] | None = None,
    preset: str | None = None,
    set_: list[str] | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    metric: list[str] | None = None,
    split: str | None = None,
    limit: int | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    out: Path | None = None,
    fresh: bool = False,
) -> None:
    """Fine-tune a model on a data set, scored before and after."""
    if os.environ.get("RANK", "0") != "0":  # of several processes the first one speaks
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    check_datasets(path, test, *(outside or ()))
    chosen = overrides_of(set_)
    prompts = {"query_prompt": query_prompt, "document_prompt": document_prompt}
    chosen |= {name: text for name, text in prompts.items() if text is not None}
    from retgen.evaluation.training.page import text
    from retgen.evaluation.training.train import train

    with output.progress() as progress:
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
    output.print(result, lambda: text(result))
