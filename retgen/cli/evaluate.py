"""`gen eval` and `gen capacity`: systems scored; what fits in d dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    SplitOption,
    TrustOption,
    check_datasets,
    check_only_for_apis,
    command,
    complete_model,
    complete_protocol,
    fail_of_systems,
    given_command,
    given_path,
    interruptible,
    model_options_of,
    overrides_of,
    parse_numbers,
    print_result,
    shown_progress,
)
from retgen.errors import UsageError
from retgen.progress import usable_cores
from retgen.work import engine_named


@command(
    "eval",
    "gen eval outputs/limit_small --model bm25 --model minilm --dims 32,64",
    "gen eval ~/beir/scifact --model owner/name --metric nDCG@10",
    "gen eval outputs/limit_small --run mine.trec",
    "gen eval outputs/kb ~/beir/scifact --model bm25 --model minilm",
    "gen eval limit_patterns_by_dimension",
    "gen eval outputs/multiconir_people --model minilm --model llm:openai:gpt-5-mini --limit 20",
    "gen eval outputs/sealed_world_small --sealed --run submission.trec",
)
def eval_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=given_path,
            metavar="PATH...",
            show_default=False,
            help="Run directories, data sets in MTEB, BEIR or Hub layout, "
            "mteb:NAME (a data set of MTEB); or a study (gen recipes lists them).",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            autocompletion=complete_model,
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
    worst: Annotated[
        bool,
        typer.Option(
            "--worst",
            help="Show the worst queries of each system, and what it ranks first instead.",
        ),
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="All pairs are judged: no qrel means not relevant."),
    ] = False,
    sealed: Annotated[
        bool,
        typer.Option(
            "--sealed",
            help="PATH is a sealed set, or its reveal.json: --run is a submission, which must rank "
            "documents for every query; only measures are printed.",
        ),
    ] = False,
    split: SplitOption = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default RUN/eval, else outputs/eval_NAME."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Repeat over N seeds of the generator; PATH is a run or recipe."),
    ] = None,
    device: DeviceOption = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="Whose workers encode for embedders, on GPUs if they have some; see gen run.",
        ),
    ] = "local",
    dtype: DtypeOption = None,
    batch_size: BatchSizeOption = None,
    max_length: MaxLengthOption = None,
    query_prompt: QueryPromptOption = None,
    document_prompt: DocumentPromptOption = None,
    attn_implementation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of transformers: sdpa, eager, flash_attention_2, ..."),
    ] = None,
    trust_remote_code: TrustOption = False,
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
    max_usd: MaxUsdOption = None,
    price: PriceOption = None,
    ledger: LedgerOption = None,
    no_cache: NoCacheOption = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Of a study: override a key of all its recipes, e.g. params.docs=50000. "
            "Repeatable.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score retrievers and TREC runs, with query-blind baselines, intervals and pictures."""
    from retgen.recipes import find_study

    study = find_study(paths[0]) if len(paths) == 1 and seeds is None else None
    if settings and study is None:
        raise UsageError("--set: changes the recipes of a study, and PATH is none")
    if sealed:
        unfit = {
            "--by": by,
            "--worst": worst,
            "--seeds": seeds,
            "the study": study,
            "the second PATH": paths[1:],
        }
        if names := [name for name, value in unfit.items() if value]:
            raise UsageError(
                "--sealed prints the measures of one set, and nothing that tells of its qrels: "
                f"leave out {', '.join(names)}"
            )
    elif study is None and seeds is None:
        check_datasets(*paths)
    from retgen.evaluation.retrievers import Options, asked_models, check_name
    from retgen.evaluation.scoring.analyses import Analyses
    from retgen.evaluation.tasks import paper_prompt as task_instruction

    if paper_prompt and query_prompt is not None:
        raise UsageError("--paper-prompt and --query-prompt both say what stands before a query")
    for name in model or ():
        check_name(name)  # before an option of models is refused for a name that means nothing
    if any(asked_models(name) for name in model or ()):
        interruptible()
    else:
        asked_of_apis = {"--max-usd": max_usd, "--price": price}
        if study is not None:
            asked_of_apis["--limit"] = limit
        check_only_for_apis(asked_of_apis, "openai:text-embedding-3-small or llm:PROVIDER:NAME")
    model_options = model_options_of(str(paths[0]), max_usd, price, None, ledger)
    asked = {
        "--by": by,
        "--worst": worst,
        "--complete": complete,
    }
    if study is not None and (unused := [name for name, value in asked.items() if value]):
        raise UsageError(f"{', '.join(unused)}: about data sets; a study makes its own")
    options = Options(
        device=device,
        engine=None if engine == "local" else engine_named(engine, usable_cores(), gpu=True),
        dtype=dtype,
        batch_size=batch_size,
        max_length=max_length,
        query_prompt=task_instruction() if paper_prompt else query_prompt,
        document_prompt=document_prompt,
        rerank=rerank_depth,
        attn_implementation=attn_implementation,
        trust_remote_code=trust_remote_code,
    )
    analyses = Analyses(tuple(dict.fromkeys(by or ())), worst=worst, complete=complete)
    cut = parse_numbers("--dims", dims)
    result: Any
    with shown_progress(quiet, json) as progress:
        if study is not None:
            from retgen.studies.run import run_study

            if run or split:
                raise UsageError("--run and --split are about data sets; a study makes its own")
            result = run_study(
                study,
                models=model or (),
                dims=cut,
                metrics=metric or (),
                overrides=overrides_of(settings),
                out=out,
                options=options,
                cache=not no_cache,
                model_options=model_options,
                command=given_command(),
                progress=progress,
            )
        else:
            wanted: dict[str, Any] = {
                "models": model or (),
                "runs": run or (),
                "metrics": metric or (),
                "dims": cut,
                "split": split,
                "out": out,
                "analyses": analyses,
                "options": options,
                "cache": not no_cache,
                "limit": limit,
                "model_options": model_options,
                "command": given_command(),
                "progress": progress,
            }
            if seeds is not None:
                from retgen.studies.run import evaluate_seeds

                if len(paths) != 1:
                    raise UsageError("--seeds: give one run directory or recipe, not several")
                result = evaluate_seeds(paths[0], seeds, **wanted)
            elif sealed:
                from retgen.sealed.verify import evaluate_sealed

                result, opened = evaluate_sealed(paths[0], **wanted)
            else:
                from retgen.evaluation.scoring.evaluate import evaluate

                result = evaluate(paths, **wanted)
    if sealed:
        from retgen.cli.sealed import print_scores

        print_scores(result, opened, json, quiet)
    else:
        print_result(result, lambda: _text(result), json, quiet)
    fail_of_systems(result.failures, 2 if study is not None else result.exit_code)


def _text(result: Any) -> str:
    """An evaluation, or the trainings of a study, for a terminal."""
    from retgen.studies.page import Trainings, page_of

    if isinstance(result, Trainings):
        return page_of(result).terminal(result.folder / "study.html")
    from retgen.evaluation.scoring.page import text

    return text(result)


@command(
    "capacity",
    "gen capacity outputs/limit_small",
    "gen capacity --protocol paper --dims 4-12",
    "gen capacity --protocol best --minutes 20",
    "gen capacity --construct",
)
def capacity_command(
    path: Annotated[
        Path | None,
        typer.Argument(
            parser=given_path,
            metavar="[PATH]",
            show_default=False,
            help="A data set or mteb:NAME, to bound the dimensions that its qrels need.",
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P",
            autocompletion=complete_protocol,
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
    minutes: Annotated[float, typer.Option(help="Time limit of each search.")] = 10.0,
    split: SplitOption = None,
    device: DeviceOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            help="Folder; default RUN/capacity, outputs/capacity_NAME, outputs/capacity.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How many documents fit in d dimensions; certificates for a data set's qrels."""

    wanted = parse_numbers("--dims", dims)
    result: Any
    text: Any
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
        from retgen.evaluation.capacity.all_pairs_page import text as all_pairs_text

        with shown_progress(quiet, json) as progress:
            result = capacity(
                protocols=protocol or (),
                closed_form=construct,
                dims=wanted,
                seeds=seeds,
                minutes=minutes,
                device=device,
                out=out,
                command=given_command(),
                progress=progress,
            )
        text = all_pairs_text
    else:
        if protocol or construct:
            raise UsageError("--protocol and --construct are about all pairs: leave PATH out")
        check_datasets(path)
        from retgen.evaluation.capacity.certify import certify
        from retgen.evaluation.capacity.certify_page import text as certificate_text

        with shown_progress(quiet, json) as progress:
            result = certify(
                path,
                split=split,
                dims=wanted,
                margin=margin,
                seeds=seeds,
                minutes=minutes,
                device=device,
                out=out,
                command=given_command(),
                progress=progress,
            )
        text = certificate_text
    print_result(result, lambda: text(result), json, quiet)
