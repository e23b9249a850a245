"""`gen eval` and `gen capacity`: systems scored; what fits in d dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retgen.cli.base import (
    Output,
    SplitOption,
    check_datasets,
    command,
    fail,
    fail_of_systems,
    given_command,
    overrides_of,
    parse_numbers,
)
from retgen.cli.options import Encoding, Spending, refuse_given
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
    options="""
        PATH...        Run directories, data sets in MTEB, BEIR or Hub layout, mteb:NAME (a data set
                       of MTEB); or a study (gen recipes lists them).
        --model M      {retrievers}. Default bm25; on candidate sets bm25-paper and bm25.
                       Repeatable.
        --run FILE     A TREC run. Repeatable.
        --dims D,D,...  Truncate embeddings to these dimensions.
        --metric NAME  recall@10, nDCG@10, MRR@10, MAP, ... Repeatable.
        --by COLUMN    Break scores down by a query column (type, kind, language, ...), with wins
                       and losses against BM25. Repeatable.
        --worst        Show the worst queries of each system, and what it ranks first instead.
        --complete     All pairs are judged: no qrel means not relevant.
        --fail-if TEXT  "nDCG@10 < FOLDER": exit 1 where a system is surely worse than in a kept
                       folder of gen eval.
        --out DIR      Folder; default RUN/eval, else outputs/eval_NAME.
        --engine ENGINE  Whose workers encode for embedders, on GPUs if they have some; see gen run.
        --paper-prompt  Put {instructions} before every query.
        --limit N      {items} per domain that an llm: model orders; in haystacks, questions for
                       every model. Default: all.
        --set KEY=VALUE  Of a study: override a key of all its recipes, e.g. params.docs=50000.
                       Repeatable.
        """,
    apart={
        "--paper-prompt": ("--query-prompt", "says what stands before a query"),
    },
)
def eval_command(
    path: list[Path],
    encoding: Encoding,
    spending: Spending,
    output: Output,
    model: list[str] | None = None,
    run: list[Path] | None = None,
    dims: str | None = None,
    metric: list[str] | None = None,
    by: list[str] | None = None,
    worst: bool = False,
    complete: bool = False,
    fail_if: str | None = None,
    split: SplitOption = None,
    out: Path | None = None,
    engine: str = "local",
    paper_prompt: bool = False,
    limit: int | None = None,
    set_: list[str] | None = None,
) -> None:
    """Score retrievers and TREC runs, with query-blind baselines, intervals and pictures."""
    from retgen.recipes import find_study

    study = find_study(path[0]) if len(path) == 1 else None
    if study is None:
        refuse_given({"--set": set_}, "changes the recipes of a study, and PATH is none")
        check_datasets(*path)
    else:
        own = {"--by": by, "--worst": worst, "--complete": complete, "--run": run, "--split": split}
        refuse_given(own | {"--fail-if": fail_if}, "about data sets; a study makes its own")
    from retgen.evaluation.scoring.analyses import Analyses
    from retgen.evaluation.scoring.guard import kept_result, surely_lower
    from retgen.evaluation.tasks import paper_prompt as task_instruction

    kept = kept_result(fail_if, path, metric or ()) if fail_if is not None else None
    of_study = {"--limit": limit} if study is not None else {}
    named = "openai:text-embedding-3-small or llm:PROVIDER:NAME"
    spending.check(model or [], named, **of_study)
    more: dict[str, Any] = {"query_prompt": task_instruction()} if paper_prompt else {}
    if engine != "local":
        more["engine"] = engine_named(engine, usable_cores(), gpu=True)
    shared: dict[str, Any] = {
        "models": model or (),
        "metrics": metric or (),
        "dims": parse_numbers("--dims", dims),
        "out": out,
        "options": encoding.options(**more),
        "cache": not encoding.no_cache,
        "model_options": spending.options(),
        "command": given_command(),
    }
    of_sets: dict[str, Any] = {
        "runs": run or (),
        "split": split,
        "analyses": Analyses(tuple(dict.fromkeys(by or ())), worst=worst, complete=complete),
        "limit": limit,
    }
    result: Any
    with output.progress() as progress:
        shared["progress"] = progress
        if study is not None:
            from retgen.studies.run import run_study

            result = run_study(study, overrides=overrides_of(set_), **shared)
        else:
            from retgen.evaluation.scoring.evaluate import evaluate

            result = evaluate(path, **shared, **of_sets)
    output.print(result, lambda: _text(result))
    fail_of_systems(result.failures, 2 if study is not None else result.exit_code)
    if kept is not None and (worse := surely_lower(result, kept)):
        fail("\n".join(worse), 1)


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
    options="""
        [PATH]         A data set or mteb:NAME, to bound the dimensions that its qrels need.
        --protocol P   Without PATH: critical n of all pairs by `paper` (section 4) or `best` (the
                       best optimiser). Repeatable.
        --construct    The closed form of all pairs in four number formats.
        --dims D,D,...  Dimensions, for example 4-12 or 4,8,16; default 4-45 for paper, 4-8 for
                       best, 4 to 64 in steps for --construct.
        --seeds N      Random starts.
        --minutes X    Time limit of each search.
        --device NAME  cpu, cuda, cuda:0, mps.
        --out DIR      Folder; default RUN/capacity, outputs/capacity_NAME, outputs/capacity.
        """,
)
def capacity_command(
    output: Output,
    path: Path | None = None,
    protocol: list[str] | None = None,
    construct: bool = False,
    dims: str | None = None,
    seeds: int = 3,
    minutes: float = 10.0,
    split: SplitOption = None,
    device: str | None = None,
    out: Path | None = None,
) -> None:
    """How many documents fit in d dimensions; certificates for a data set's qrels."""
    shared: dict[str, Any] = {
        "seeds": seeds,
        "minutes": minutes,
        "device": device,
        "out": out,
        "command": given_command(),
    }
    result: Any
    if path is None:
        refuse_given({"--split": split}, "about a data set: give its PATH")
        if not protocol and not construct:
            raise UsageError(
                "give a data set, or --protocol paper, --protocol best or --construct for all pairs"
                " of n documents (gen capacity --help)"
            )
        from retgen.evaluation.capacity.all_pairs import capacity
        from retgen.evaluation.capacity.all_pairs import text as all_pairs_text

        with output.progress() as progress:
            result = capacity(
                protocols=protocol or (),
                closed_form=construct,
                dims=parse_numbers("--dims", dims),
                progress=progress,
                **shared,
            )
        text: Any = all_pairs_text
    else:
        given = {"--protocol": protocol, "--construct": construct, "--dims": dims}
        refuse_given(given, "about all pairs: leave PATH out")
        check_datasets(path)
        from retgen.evaluation.capacity.certify import certify
        from retgen.evaluation.capacity.certify import text as certificate_text

        with output.progress() as progress:
            result = certify(path, split=split, progress=progress, **shared)
        text = certificate_text
    output.print(result, lambda: text(result))
