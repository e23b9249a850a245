"""`gen eval`, `gen train` and `gen capacity`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    LedgerOption,
    NamingParts,
    PriceOption,
    Quiet,
    Verbose,
    again,
    app,
    asking_of,
    complete_model,
    complete_protocol,
    expected,
    fail,
    given_path,
    interruptible,
    overrides_of,
    print_json,
    shown_progress,
)


@app.command(
    "eval",
    cls=NamingParts,
    epilog="Examples:  gen eval outputs/limit_small --model bm25 --model minilm --dims 32,64  |  "
    "gen eval ~/beir/scifact --model owner/name --metric nDCG@10  |  "
    "gen eval outputs/limit_small --run mine.trec  |  gen eval limit_patterns  |  "
    "gen eval outputs/multiconir_people --model minilm --model llm:openai:gpt-5-mini --limit 20",
)
@expected
def eval_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=given_path, metavar="PATH...", show_default=False,
            help="Run directories, data sets in MTEB, BEIR or Hub layout, mteb:NAME; or a study.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M", autocompletion=complete_model,
            help="{retrievers}. Default bm25. Repeatable.",
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(parser=given_path, metavar="FILE", help="A TREC run. Repeatable."),
    ] = None,
    dims: Annotated[
        str | None, typer.Option(metavar="D,D,...", help="Cut embeddings to these dimensions.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="recall@10, nDCG@10, MRR@10, MAP, ... Repeatable."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Which qrels; default test.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default RUN/eval, else outputs/eval_NAME."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Repeat over N seeds of the generator; PATH is a run or recipe."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, cuda:0, mps; several (cuda:0,cuda:1) share the encoding."),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 (default), tf32, bf16, float16; auto: as it was saved."),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Texts encoded at a time.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Tokens a model reads.")] = None,
    query_prompt: Annotated[str | None, typer.Option(help="Put before every query.")] = None,
    document_prompt: Annotated[str | None, typer.Option(help="Put before every document.")] = None,
    attn_implementation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of transformers: sdpa, eager, flash_attention_2, ..."),
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that a model brings along.")
    ] = False,
    rerank_depth: Annotated[
        int, typer.Option(min=1, help="Documents a query that a re-ranker sees.")
    ] = 100,
    paper_prompt: Annotated[
        bool,
        typer.Option("--paper-prompt", help="Put MultiConIR's instruction before every query."),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Ladders of a domain that an llm: model orders; default all."),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", min=0.0, help="Stop before llm: models cost more than that."),
    ] = None,
    price: PriceOption = None,
    ledger: LedgerOption = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no embeddings on disk.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Score retrievers and TREC runs, with floors, intervals and pictures."""
    from retgen.errors import UsageError
    from retgen.recipes import find_study

    study = find_study(paths[0]) if len(paths) == 1 and seeds is None else None
    if study is None and seeds is None:
        _look_at(*paths)
    from retgen.evaluation.retrievers import Options
    from retgen.evaluation.tasks.multiconir import INSTRUCTION

    if paper_prompt and query_prompt is not None:
        raise UsageError("--paper-prompt and --query-prompt both say what stands before a query")
    asking = None
    if any(name.startswith("llm:") for name in model or ()):
        interruptible()
        asking = asking_of(str(paths[0]), max_usd, price, None, ledger)
    else:
        for option, given in (("--limit", limit), ("--max-usd", max_usd), ("--price", price)):
            if given not in (None, []):
                raise UsageError(f"{option} is about chat models: name one, as llm:PROVIDER:NAME")
    options = Options(
        device=device, dtype=dtype, batch_size=batch_size, max_length=max_length,
        query_prompt=INSTRUCTION if paper_prompt else query_prompt,
        document_prompt=document_prompt, rerank=rerank_depth,
        attn_implementation=attn_implementation, trust_remote_code=trust_remote_code,
    )  # fmt: skip
    command, numbers = shlex.join(["gen", *sys.argv[1:]]), _numbers("--dims", dims)
    found: Any
    with shown_progress(quiet, json) as progress:
        if study is not None:
            from retgen.studies.run import run_study

            if run or split:
                raise UsageError("--run and --split are about data sets; a study makes its own")
            found = run_study(
                study, models=model or (), dims=numbers, metrics=metric or (), out=out,
                options=options, cache=not no_cache, command=command, progress=progress,
            )  # fmt: skip
        else:
            wanted: dict[str, Any] = {
                "models": model or (), "runs": run or (), "metrics": metric or (), "dims": numbers,
                "split": split, "out": out, "options": options, "cache": not no_cache,
                "limit": limit, "asking": asking, "command": command, "progress": progress,
            }  # fmt: skip
            if seeds is not None:
                from retgen.studies.seeds import evaluate_seeds

                if len(paths) != 1:
                    raise UsageError("--seeds: give one run directory or recipe, not several")
                found = evaluate_seeds(paths[0], seeds, **wanted)
            else:
                from retgen.evaluation.scoring.evaluate import evaluate

                found = evaluate(paths, **wanted)
    if json:
        print_json(found.to_json())
    elif not quiet:
        print(_text(found))
    if found.failures:
        code = 2 if study is not None else found.exit_code
        told = "\n".join(found.failures.values())
        fail(told + (f"\nResume with:\n  {again()}" if code in (3, 4) else ""), code)


@app.command(
    "train",
    epilog="Examples:  gen train outputs/limit_train --model minilm --test outputs/limit_small "
    "--preset limit  |  gen train ~/mine --model owner/name --set epochs=3 --set hard_negatives=2 "
    "--compare --outside ~/beir/scifact",
)
@expected
def train_command(
    path: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="PATH", show_default=False,
            help="A run directory or data set: its training pairs, else its qrels.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="M", autocompletion=complete_model,
            help="minilm, static:minilm, a sentence-transformers folder or id.",
        ),
    ] = "minilm",
    test: Annotated[
        str | None, typer.Option(metavar="PATH", help="What it is scored on; default PATH.")
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Scored too, before and after: a folder or mteb:NAME."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A paper's hyper-parameters: limit.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE",
            help="A hyper-parameter: loss, epochs, batch_size, learning_rate, dimension, "
            "hard_negatives, hold_out, ... (docs/evaluation.md). Repeatable.",
        ),
    ] = None,
    query_prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Before every query, and saved with it; default the model's own."
        ),
    ] = None,
    document_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The same, before every document.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Train also with in-batch negatives only.")
    ] = False,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="As in gen eval. Repeatable.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Qrels to train on; default training pairs, train, test.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N pairs only.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, mps.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default outputs/train_NAME_MODEL."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away what is there.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Fine-tune an embedder on a data set, scored before, during and after."""
    _look_at(path, test, outside)
    prompts = {
        name: text
        for name, text in (("query_prompt", query_prompt), ("document_prompt", document_prompt))
        if text is not None
    }
    from retgen.evaluation.training.train import train

    interruptible()
    with shown_progress(quiet, json) as progress:
        found = train(
            path, model, test=test, outside=outside, split=split, limit=limit, preset=preset,
            settings=training_settings(settings) | prompts, metrics=metric or (), compare=compare,
            out=out, device=device, fresh=fresh, command=shlex.join(["gen", *sys.argv[1:]]),
            progress=progress,
        )  # fmt: skip
    if json:
        print_json(found.to_json())
    elif not quiet:
        from retgen.evaluation.training.page import text

        print(text(found))


@app.command(
    "capacity",
    epilog="Examples:  gen capacity outputs/limit_small   gen capacity --protocol paper --dims 4-12"
    "   gen capacity --protocol best --minutes 20   gen capacity --construct",
)
@expected
def capacity_command(
    path: Annotated[
        Path | None,
        typer.Argument(
            parser=given_path, metavar="[PATH]", show_default=False,
            help="A data set: what is proven, and found, of the dimension that its qrels need.",
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P", autocompletion=complete_protocol,
            help="Without PATH: critical n of all pairs by `paper` (section 4) or `best` (the best "
            "optimiser). Repeatable.",
        ),
    ] = None,
    construct: Annotated[
        bool,
        typer.Option("--construct", help="The closed form of all pairs in four number formats."),
    ] = False,
    dims: Annotated[
        str | None,
        typer.Option(
            metavar="D,D,...",
            help="Dimensions, for example 4-12 or 4,8,16; default 4-45 for paper, 4-8 for best, "
            "4 to 64 in steps for --construct, doublings from the lower bound for PATH.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="With PATH: the fewest dimensions that reach this margin."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Random starts.")] = 3,
    minutes: Annotated[float, typer.Option(help="For each search.")] = 10.0,
    split: Annotated[str | None, typer.Option(help="Which qrels; default test.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:0, mps.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            help="Folder; default RUN/capacity, outputs/capacity_NAME, outputs/capacity.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """How many documents fit in d dimensions; certificates for a data set's qrels."""
    from retgen.errors import UsageError

    command = shlex.join(["gen", *sys.argv[1:]])
    wanted = _numbers("--dims", dims)
    found: Any
    if path is None:
        for option, given in (("--margin", margin), ("--split", split)):
            if given is not None:
                raise UsageError(f"{option} is about a data set: give its PATH")
        if not protocol and not construct:
            raise UsageError(
                "give a data set, or --protocol paper, --protocol best or --construct for all pairs"
                " of n documents (gen capacity --help)"
            )
        from retgen.evaluation.capacity.all_pairs import capacity
        from retgen.evaluation.capacity.all_pairs_page import text as text_of_all_pairs

        with shown_progress(quiet, json) as progress:
            found = capacity(
                protocols=protocol or (), closed_form=construct, dims=wanted, seeds=seeds,
                minutes=minutes, device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
        shown = text_of_all_pairs(found)
    else:
        if protocol or construct:
            raise UsageError("--protocol and --construct are about all pairs: leave PATH out")
        _look_at(path)
        from retgen.evaluation.capacity.certify import certify
        from retgen.evaluation.capacity.certify_page import text as text_of_certificate

        with shown_progress(quiet, json) as progress:
            found = certify(
                path, split=split, dims=wanted, margin=margin, seeds=seeds, minutes=minutes,
                device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
        shown = text_of_certificate(found)
    if json:
        print_json(found.to_json())
    elif not quiet:
        print(shown)


def _text(found: Any) -> str:
    """An evaluation, or the trainings of a study, for a terminal."""
    from retgen.studies.result import Trainings

    if isinstance(found, Trainings):
        from retgen.studies.page import text as of_study

        return of_study(found)
    from retgen.evaluation.scoring.page import text

    return text(found)


def training_settings(settings: list[str] | None) -> dict[str, Any]:
    """Hyper-parameters; "search:" is a text here, though YAML takes it for a mapping."""
    found = overrides_of(settings)
    for text in settings or ():
        key, _, value = text.partition("=")
        if isinstance(found[key.strip()], dict) and not value.lstrip().startswith("{"):
            found[key.strip()] = value
    return found


def _look_at(*paths: str | Path | None) -> None:
    """Raise `DatasetError` for what is no data set before what scores one is imported."""
    from retgen.data import open_dataset

    for path in paths:
        if path is not None and not str(path).startswith("mteb:"):
            open_dataset(path)


def _numbers(option: str, text: str | None) -> list[int]:
    """Numbers and ranges, both ends included: 4,8,16 or 4-12."""
    from retgen.errors import UsageError

    try:
        found: list[int] = []
        for part in text.split(",") if text else ():
            low, dash, high = part.strip().partition("-")
            if dash and low:
                if int(high) - int(low) > 100_000:
                    raise UsageError(f"{option} {text}: the range is too long")
                found += range(int(low), int(high) + 1)
            else:
                found.append(int(part))
    except ValueError:
        raise UsageError(f"{option} {text}: write numbers, for example 32,64,128") from None
    if text and not found:
        raise UsageError(f"{option} {text}: holds no number")
    return found
