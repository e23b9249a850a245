"""`gen eval`: retrievers and TREC runs scored."""

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
    check_datasets,
    complete_model,
    fail,
    given_path,
    interruptible,
    model_options_of,
    parse_numbers,
    print_json,
    report_errors,
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
@report_errors
def eval_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=given_path, metavar="PATH...", show_default=False,
            help="Run directories, data sets in MTEB, BEIR or Hub layout, mteb:NAME (a data set "
            "of MTEB); or a study (gen recipes lists them).",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M", autocompletion=complete_model,
            help="{retrievers}. Default bm25; on candidate sets bm25-paper and bm25. Repeatable.",
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(parser=given_path, metavar="FILE", help="A TREC run. Repeatable."),
    ] = None,
    dims: Annotated[
        str | None, typer.Option(metavar="D,D,...", help="Truncate embeddings to these dimensions.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="recall@10, nDCG@10, MRR@10, MAP, ... Repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Break scores down by a query column (type, kind, language, ...), with wins and "
            "losses against BM25. Repeatable.",
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="X|best",
            help="Precision, recall, F1 and F2 of embedders at this cosine, and at the best one.",
        ),
    ] = None,
    misses: Annotated[
        bool, typer.Option("--misses", help="List missed and irrelevant documents in the first 10.")
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="All pairs are judged: no qrel means not relevant."),
    ] = False,
    split: Annotated[
        str | None, typer.Option(help="Which qrels; default test, else the first.")
    ] = None,
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
        bool, typer.Option("--trust-remote-code", help="Run code shipped with a model.")
    ] = False,
    rerank_depth: Annotated[
        int, typer.Option(min=1, help="Documents per query that a re-ranker sees.")
    ] = 100,
    paper_prompt: Annotated[
        bool,
        typer.Option("--paper-prompt", help="Put {instructions} before every query."),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="{items} per domain that an llm: model orders; in haystacks, questions for every "
            "model. Default: all.",
        ),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", min=0.0, help="Hard limit on the cost of llm: models, dollars."),
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
    """Score retrievers and TREC runs, with query-blind baselines, intervals and pictures."""
    from retgen.errors import UsageError
    from retgen.recipes import find_study

    study = find_study(paths[0]) if len(paths) == 1 and seeds is None else None
    if study is None and seeds is None:
        check_datasets(*paths)
    from retgen.evaluation.retrievers import Options
    from retgen.evaluation.scoring.analyses import Analyses
    from retgen.evaluation.tasks import paper_prompt as task_instruction

    if paper_prompt and query_prompt is not None:
        raise UsageError("--paper-prompt and --query-prompt both say what stands before a query")
    model_options = None
    if any(name.startswith("llm:") for name in model or ()):
        interruptible()
        model_options = model_options_of(str(paths[0]), max_usd, price, None, ledger)
    else:
        asked_of_chats = {"--max-usd": max_usd, "--price": price}
        if study is not None:
            asked_of_chats["--limit"] = limit
        for option, given in asked_of_chats.items():
            if given not in (None, []):
                raise UsageError(f"{option} is about chat models: name one, as llm:PROVIDER:NAME")
    asked = {"--by": by, "--threshold": threshold, "--misses": misses, "--complete": complete}
    if study is not None and (unused := [name for name, value in asked.items() if value]):
        raise UsageError(f"{', '.join(unused)}: about data sets; a study makes its own")
    options = Options(
        device=device, dtype=dtype, batch_size=batch_size, max_length=max_length,
        query_prompt=task_instruction() if paper_prompt else query_prompt,
        document_prompt=document_prompt, rerank=rerank_depth,
        attn_implementation=attn_implementation, trust_remote_code=trust_remote_code,
    )  # fmt: skip
    analyses = Analyses(
        tuple(dict.fromkeys(by or ())), _threshold(threshold), misses=misses, complete=complete
    )
    command, cut = shlex.join(["gen", *sys.argv[1:]]), parse_numbers("--dims", dims)
    result: Any
    with shown_progress(quiet, json) as progress:
        if study is not None:
            from retgen.studies.run import run_study

            if run or split:
                raise UsageError("--run and --split are about data sets; a study makes its own")
            result = run_study(
                study, models=model or (), dims=cut, metrics=metric or (), out=out,
                options=options, cache=not no_cache, command=command, progress=progress,
            )  # fmt: skip
        else:
            wanted: dict[str, Any] = {
                "models": model or (), "runs": run or (), "metrics": metric or (), "dims": cut,
                "split": split, "out": out, "analyses": analyses, "options": options,
                "cache": not no_cache,
                "limit": limit, "model_options": model_options, "command": command,
                "progress": progress,
            }  # fmt: skip
            if seeds is not None:
                from retgen.studies.run import evaluate_seeds

                if len(paths) != 1:
                    raise UsageError("--seeds: give one run directory or recipe, not several")
                result = evaluate_seeds(paths[0], seeds, **wanted)
            else:
                from retgen.evaluation.scoring.evaluate import evaluate

                result = evaluate(paths, **wanted)
    if json:
        print_json(result.to_json())
    elif not quiet:
        print(_text(result))
    if result.failures:
        code = 2 if study is not None else result.exit_code
        message = "\n".join(result.failures.values())
        fail(message + (f"\nResume with:\n  {again()}" if code in (3, 4) else ""), code)


def _threshold(given: str | None) -> Any:
    """A cosine, or "best"."""
    from retgen.errors import UsageError

    if given is None or given == "best":
        return given
    try:
        value = float(given)
    except ValueError:
        value = 2.0
    if not -1 <= value <= 1:
        raise UsageError(f"--threshold {given}: is a cosine from -1 to 1, or best")
    return value


def _text(result: Any) -> str:
    """An evaluation, or the trainings of a study, for a terminal."""
    from retgen.studies.page import Trainings

    if isinstance(result, Trainings):
        from retgen.studies.page import terminal_text

        return terminal_text(result)
    from retgen.evaluation.scoring.page import text

    return text(result)
