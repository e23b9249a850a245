"""The command line, `gen`. Every command is a function of the package as well (`retgen.run`, ...).

Results go to stdout, progress (only on a terminal) and errors to stderr. Exit codes: 0 done; 1 the
data failed its checks; 2 usage, recipe or input error; 3 stopped at the budget; 4 the model did not
answer; 130 interrupted. The last three are resumable.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from retgen.errors import RetgenError
from retgen.progress import Progress, silent
from retgen.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="gen",
    help="Make synthetic retrieval data sets from recipes, and prove that they are right.",
    epilog="Begin with: [bold]gen run limit_dense[/bold]   Exit codes: 0 done, 1 checks failed, "
    "2 input error, 3 budget reached, 4 model failed, 130 interrupted (3, 4, 130: resumable).",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

P = ParamSpec("P")
R = TypeVar("R")


def _complete_recipe(incomplete: str) -> list[str]:
    from retgen.recipe import bundled

    files = [str(path) for path in Path().glob(f"{incomplete}*.yaml")]
    return [name for name in bundled() if name.startswith(incomplete)] + files


def _complete_family(incomplete: str) -> list[str]:
    from retgen.generators import families

    return [name for name in families() if name.startswith(incomplete)]


def _complete_model(incomplete: str) -> list[str]:
    from retgen.evaluation.retrievers.names import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def _complete_protocol(incomplete: str) -> list[str]:
    return [name for name in ("paper", "best") if name.startswith(incomplete)]


RecipeArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="A recipe file, or the name of a bundled recipe.",
        autocompletion=_complete_recipe,
        show_default=False,
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. params.k=3. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no summary.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show tracebacks of errors.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes; default all cores. Never changes a byte.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="Who does the agents' work, e.g. openai:gpt-5-mini or offline."
    ),
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="IN,OUT",
        help="Dollars per million tokens, where no table says; MODEL=IN,OUT for one of several.",
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(
        envvar="RETGEN_LEDGER", help="Ledger of all calls; default ledger.sqlite beside the run."
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)
]


def _expected(function: Callable[P, R]) -> Callable[P, R]:
    """Expected failures become one message and their exit code; Ctrl-C says how to resume."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RetgenError as error:
            told = str(error) + _hint(error)
            if error.exit_code in (3, 4):
                told += f"\nResume with:\n  {_again()}"
            _fail(told, error.exit_code, verbose=bool(kwargs.get("verbose")))
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "retgen":
                raise
            _fail(f"this needs the package {error.name}: pip install 'retgen[eval]'", 2)
        except KeyboardInterrupt:
            _fail(f"interrupted; what is finished is kept. Resume with:\n  {_again()}", 130)
        except BrokenPipeError:
            # the reader of our output went away (| head); nothing is wrong
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return wrapped


def _again() -> str:
    """The command that resumes."""
    return shlex.join(["gen", *(word for word in sys.argv[1:] if word != "--fresh")])


def _hint(error: Exception) -> str:
    """What to do where a name that was given for a data set is that of a recipe."""
    from retgen.errors import DatasetMissing

    if not isinstance(error, DatasetMissing):
        return ""
    from retgen.messages import did_you_mean
    from retgen.recipe import bundled

    if error.name in bundled():
        return f" {error.name} is a recipe: `gen run {error.name}` makes outputs/{error.name}."
    near = did_you_mean(error.name.removeprefix("outputs/"), bundled())
    return f" `gen recipes` lists what `gen run` makes{near}" if near else ""


def _fail(message: str, code: int, *, verbose: bool = False) -> NoReturn:
    if verbose:
        traceback.print_exc()
    print(f"gen: {message}", file=sys.stderr)
    raise typer.Exit(code)


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """A bar a stage on stderr, if that is a terminal; else a line now and then for paid work."""
    if quiet:
        yield silent
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn()
    notes = TextColumn("{task.fields[note]}")
    with Bars(*columns, TimeRemainingColumn(), notes, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int, note: str = "", /) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield show


class _Lines:
    """Plain lines about work that has something to say beside its count: calls and their price."""

    _EVERY = 10.0  # seconds

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._told = 0.0

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        now = time.monotonic()
        began = self._began.setdefault(stage, now)
        if not note or (now - self._told < self._EVERY and done < total):
            return
        self._told = now
        left = (now - began) / done * (total - done) if done else 0.0
        about = f", about {left:.0f} s left" if 0 < done < total else ""
        print(f"{stage}: {done:,} of {total:,}, {note}{about}", file=sys.stderr, flush=True)


def _overrides(settings: list[str] | None, model: str | None = None) -> dict[str, Any]:
    from retgen.recipe import parse_override

    found = dict(parse_override(text) for text in settings or [])
    return found if model is None else {**found, "model": model, "models": {}}


def _asking(
    recipe: str,
    max_usd: float | None,
    prices: list[str] | None,
    replay: Path | None,
    ledger: Path | None,
) -> Any:
    """How models are asked; None where nothing is said, since most runs ask none."""
    if Path(".env").is_file():  # keys, for whoever looks for them in the environment
        from dotenv import load_dotenv

        load_dotenv(Path(".env"), override=False)
    if max_usd is None and not prices and replay is None and ledger is None:
        return None
    from retgen.ask import Asking

    return Asking(ledger, max_usd, tuple(prices or ()), replay)


def _print_json(value: Any) -> None:
    from retgen.write import dump_json

    sys.stdout.write(dump_json(value))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gen {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command(
    "run",
    epilog="Examples:  gen run limit_dense  |  gen run my.yaml --out /data/mine  |  "
    "gen run limit_dense --set seed=7 --set params.docs=5000",
)
@_expected
def run_command(
    recipe: RecipeArgument,
    out: Annotated[Path | None, typer.Option(help="Run directory; default outputs/NAME.")] = None,
    settings: Setting = None,
    workers: Workers = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="At most N records; refused where a latent matrix fixes them."),
    ] = None,
    model: ModelOption = None,
    max_usd: Annotated[
        float | None,
        typer.Option(
            "--max-usd", min=0.0, help="Stop before the run costs more than so many dollars."
        ),
    ] = None,
    price: PriceOption = None,
    pilot: Annotated[
        int | None,
        typer.Option(min=1, help="Ask for N records only, and plan all from what that took."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Take answers from this file, of gen ledger export; needs no key."),
    ] = None,
    ledger: LedgerOption = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Throw away what is there; answers of models stay in the ledger."
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a data set: plan, generate, prove, write, report. A second call resumes."""
    from retgen.run import run

    # a polite kill is an interruption like Ctrl-C: clean up, say how to resume
    signal.signal(signal.SIGTERM, _interrupt)
    overrides = _overrides(settings, model)
    asking = _asking(recipe, max_usd, price, replay, ledger)
    if pilot is not None:
        from retgen.run import pilot as try_out

        with _progress(quiet or json) as progress:
            planned = try_out(
                recipe, pilot, out=out, overrides=overrides, asking=asking, progress=progress
            )
        _print_plan(planned, json)
        if not json:
            words = [word for word in sys.argv[1:] if word != "--fresh"]
            at = next(i for i, word in enumerate(words) if word.startswith("--pilot"))
            del words[at : at + (1 if "=" in words[at] else 2)]
            print(f"All of it, with what was answered so far:\n  {shlex.join(['gen', *words])}")
        return
    with _progress(quiet or json) as progress:
        result = run(
            recipe,
            out=out,
            overrides=overrides,
            workers=workers,
            limit=limit,
            fresh=fresh,
            asking=asking,
            progress=progress,
        )
    if json:
        _print_json({"path": str(result.path), "repeated": result.repeated, **result.manifest})
    elif not quiet:
        print(_summary(result.path, result.manifest, result.repeated))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _summary(path: Path, manifest: dict[str, Any], repeated: bool) -> str:
    counts, evidence, bound = manifest["counts"], manifest["evidence"], manifest["certificate"]
    head = (
        f"{manifest['name']}: {counts['documents']:,} documents, {counts['queries']:,} queries, "
        f"{counts['qrels']:,} qrels"
    )
    took = sum(manifest["timings"].values())
    head += ", finished before: nothing to do" if repeated else f" in {took:.1f} s"
    lines = [head]
    if evidence["structural"]:
        lines.append(
            f"  proven      {evidence['structural']:,} of {counts['qrels']:,} qrels, rebuilt from "
            "the words of the documents"
        )
    if evidence["judged"]:
        lines.append(
            f"  judged      {evidence['judged']:,} of {counts['qrels']:,} qrels: "
            + _judges(manifest)
        )
    if counts["rejected"]:
        lines.append(f"  rejected    {counts['rejected']:,}, see {path / 'rejected.jsonl'}")
    if any(one["model"] != "offline" for one in manifest["models"].values()):
        tokens = manifest["tokens"]
        lines.append(
            f"  models      {manifest['calls']:,} calls, {manifest['cache_hits']:,} answers from "
            f"the ledger, {tokens['in']:,} + {tokens['out']:,} tokens, ${manifest['usd']:.4f}"
        )
    if bound:
        lines.append(
            f"  dimensions  {bound['lower']} to {bound['upper']} needed in row order; excludes no "
            f"embedder of {bound['upper']} or more dimensions"
        )
    best = manifest["floors"]["best"]
    if best:
        measure = [key for key in best if key.startswith("recall@")][-1]
        lines.append(
            f"  floor       {best['ranking']}, without reading the query: {measure} = "
            f"{best[measure]:.3f} (random {manifest['floors']['random'][measure]:.3f})"
        )
    if manifest["checks"]["warnings"]:
        lines.append(f"  warnings    {manifest['checks']['warnings']}, see the report")
    if any(name.startswith("training/") for name in manifest["files"]):
        lines.append(f"  training    {path / 'training'}")
    lines += [
        f"  data        {path / 'dataset'}",
        f"  report      {path / 'report.html'}",
    ]
    return "\n".join(lines)


def _judges(manifest: dict[str, Any]) -> str:
    """Whose word the labels rest on, and how often it was right where the answer was known."""
    told = []
    for agent, found in manifest["judges"].items():
        who = manifest["models"][agent]["model"]
        wrong, tried = found["named_another"], found["controls"]
        told.append(f"{agent} by {who}, wrong in {wrong} of {tried} controls")
    return "; ".join(told)


@app.command(
    "plan", epilog="Examples:  gen plan limit_dense  |  gen plan my.yaml --set params.docs=1000000"
)
@_expected
def plan_command(
    recipe: RecipeArgument,
    settings: Setting = None,
    model: ModelOption = None,
    price: PriceOption = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Say what a recipe or a study will make and cost. Touches nothing, calls nobody."""
    from retgen.experiments.study import find_study

    if (study := find_study(recipe)) is not None and not settings and model is None:
        _plan_study(study, json)
        return
    from retgen.plan import plan

    _print_plan(plan(recipe, _overrides(settings, model), price or ()), json)


def _print_plan(found: Any, json: bool) -> None:
    if json:
        _print_json(found.to_json())
        return
    rows = [
        (f"{found.documents:,}", "documents"),
        (f"{found.queries:,}", "queries"),
        (f"{found.qrels:,}", "qrels"),
        (f"{sum(found.calls.values()):,}", "model calls"),
    ]
    if found.calls:
        rows += [(f"{number:,}", f"  {agent}") for agent, number in found.calls.items()]
        rows.append((f"{found.tokens['in']:,}", "tokens in, about"))
        rows.append((f"{found.tokens['out']:,}", "tokens out, about"))
        low, high = found.usd or (None, None)
        rows.append(("?" if low is None else f"${low:.2f} to ${high:.2f}", "at these prices"))
        rows.append((f"{_time(found.seconds[0])} to {_time(found.seconds[1])}", "for the calls"))
    else:
        rows.append(("$0.00", "since nobody is asked"))
    rows.append((_bytes(found.bytes), "on disk, about"))
    width = max(12, *(len(number) for number, _ in rows))
    for number, what in rows:
        print(f"{number:>{width}}  {what}")
    for note in found.notes:
        print(f"note: {note}")


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _plan_study(path: Path, json: bool) -> None:
    from retgen.experiments.study import bundled_studies, load_study, plan_study

    study = load_study(path)
    found = plan_study(study)
    if json:
        _print_json({"datasets": {name: one.to_json() for name, one in found.items()}})
        return
    width = max(map(len, found))
    for name, one in found.items():
        print(f"{name:{width}}  {one.documents:>9,} documents  {one.queries:>7,} queries")
    if study.models:
        dims = f" in {len(study.dims)} dimensions" if study.dims else ""
        print(f"models: {', '.join(study.models)}{dims}")
    if study.train:
        print(f"trainings: {len(study.train.on) * len(study.train.dims)} of {study.train.model}")
    print(f"measured by: gen eval {path.stem if path in bundled_studies().values() else path}")


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.1f} {unit}" if unit != "B" else f"{number:.0f} B"
        number /= 1000
    return f"{number:.1f} TB"


@app.command("preview", epilog="Example:  gen preview limit_dense -n 2")
@_expected
def preview_command(
    recipe: RecipeArgument,
    n: Annotated[int, typer.Option("-n", min=1, max=100, help="How many.")] = 3,
    settings: Setting = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show a few records on the screen. Writes nothing."""
    from retgen.preview import preview

    found = preview(recipe, n, _overrides(settings))
    if json:
        _print_json(found)
        return
    texts = {row["_id"]: row["text"] for row in found["relevant"]}
    for query in found["queries"]:
        print(f"\n{query['_id']}  {query['text']}")
        for qrel in found["qrels"]:
            if qrel["query-id"] == query["_id"]:
                doc_id = qrel["corpus-id"]
                print(f"    {doc_id}  {texts.get(doc_id, '(further back in the corpus)')}")
    print("\nThe corpus begins:")
    for row in found["corpus"]:
        print(f"    {row['_id']}  {row['text']}")


@app.command("recipes", epilog="Example:  gen recipes")
@_expected
def recipes_command(json: Json = False) -> None:
    """List the bundled recipes, and the studies for `gen eval`."""
    from retgen.recipe import bundled

    rows = _with_abouts(bundled())
    if json:
        _print_json(rows)
        return
    from retgen.experiments.study import bundled_studies

    for title, found in (("", rows), ("\nStudies, for gen eval:", _with_abouts(bundled_studies()))):
        if title:
            print(title)
        width = max(len(row["name"]) for row in found)
        for row in found:
            print(f"{row['name']:{width}}  {row['about']}")


def _with_abouts(files: dict[str, Path]) -> list[dict[str, str]]:
    """Name, second line and path of some YAML files."""
    return [
        {
            "name": name,
            "about": path.read_text("utf-8").splitlines()[1].lstrip("# "),
            "path": str(path),
        }
        for name, path in files.items()
    ]


@app.command("schema", epilog="Example:  gen schema > retgen.schema.json")
@_expected
def schema_command() -> None:
    """Print the JSON Schema of recipes, for completion and checking in editors."""
    from retgen.recipe import json_schema

    _print_json(json_schema())


@app.command("new", epilog="Example:  gen new limit --out my.yaml")
@_expected
def new_command(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY", autocompletion=_complete_family, show_default=False,
            help="A family of data sets, for example limit.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="File; default my_FAMILY.yaml.")] = None,
) -> None:  # fmt: skip
    """Write a commented recipe to start from."""
    from retgen.scaffold import new_recipe

    path = new_recipe(family, out)
    print(f"wrote {path}; look at it, then: gen plan {path}")


@app.command(
    "validate",
    epilog="Examples:  gen validate outputs/limit_dense  |  gen validate ~/beir/scifact --json",
)
@_expected
def validate_command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", show_default=False,
            help="A run directory, or any data set in MTEB, BEIR or Hub layout.",
        ),
    ],
    split: Annotated[str | None, typer.Option(help="Which qrels; default test.")] = None,
    workers: Workers = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Check a data set: all rules, and for a run the structural proof. Exit 1 on errors."""
    from retgen.validate import validate

    with _progress(quiet or json) as progress:
        found = validate(path, workers=workers, progress=progress, split=split)
    if json:
        _print_json(found.to_json())
    elif not quiet:
        print(_findings(path, found))
    if not found.ok:
        raise typer.Exit(1)


def _findings(path: Path, found: Any) -> str:
    counts = found.statistics
    lines = [
        f"{path}: {counts['documents']:,} documents, {counts['queries']:,} queries, "
        f"{counts['qrels']:,} qrels"
    ]
    for finding in found.findings[:50]:
        lines.append(f"  {finding.severity:8}{finding.rule}: {finding.message}")
    if len(found.findings) > 50:
        lines.append(f"  ... and {len(found.findings) - 50} more; --json prints all")
    for rule, reason in found.switched_off.items():
        lines.append(f"  off     {rule}: {reason}")
    if found.proven:
        lines.append(f"  proven: {found.proven:,} qrels, rebuilt from the words of the documents")
    verdict = "ok" if found.ok else "not ok"
    lines.append(f"{verdict}: {found.errors} errors, {found.warnings} warnings")
    return "\n".join(lines)


@app.command("report", epilog="Example:  gen report outputs/limit_dense")
@_expected
def report_command(run: RunArgument, verbose: Verbose = False) -> None:
    """Make the HTML page of a run again."""
    from retgen.report import report

    print(report(run))


@app.command(
    "export",
    epilog="Examples:  gen export outputs/limit_dense --to beir  |  "
    "gen export outputs/limit_dense --to mteb --out ~/limit",
)
@_expected
def export_command(
    run: RunArgument,
    to: Annotated[str, typer.Option(help="beir or mteb.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Folder; default RUN/exports/TO.")] = None,
    verbose: Verbose = False,
) -> None:
    """Write a data set in another layout."""
    from retgen.export import export

    print(export(run, to, out))


@app.command(
    "eval",
    epilog="Examples:  gen eval outputs/limit_small --model bm25 --model minilm --dims 32,64  |  "
    "gen eval ~/beir/scifact --model owner/name --metric nDCG@10  |  "
    "gen eval outputs/limit_small --run mine.trec  |  gen eval limit_patterns",
)
@_expected
def eval_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", show_default=False,
            help="Run directories, data sets in MTEB, BEIR or Hub layout, mteb:NAME; or a study.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M", autocompletion=_complete_model,
            help="bm25, rank-bm25, tfidf, minilm, static:minilm, a sentence-transformers folder or "
            "id, mteb:NAME, late:M, hybrid:A+B, rerank:FIRST+CROSSENCODER. Default bm25. "
            "Repeatable.",
        ),
    ] = None,
    run: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A TREC run. Repeatable.")
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
        Path | None, typer.Option(help="Folder; default RUN/eval, else outputs/eval_NAME.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Repeat over N seeds of the generator; PATH is a run or recipe."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:0, mps.")] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float32 (default), tf32, bf16, float16.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Texts encoded at a time.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Tokens a model reads.")] = None,
    query_prompt: Annotated[str | None, typer.Option(help="Put before every query.")] = None,
    document_prompt: Annotated[str | None, typer.Option(help="Put before every document.")] = None,
    rerank_depth: Annotated[
        int, typer.Option(min=1, help="Documents a query that a re-ranker sees.")
    ] = 100,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no embeddings on disk.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Score retrievers and TREC runs, with floors, intervals and pictures."""
    from retgen.errors import UsageError
    from retgen.evaluation.retrievers import Options
    from retgen.experiments.evaluate import evaluate
    from retgen.experiments.study import find_study, run_study

    options = Options(
        device=device, dtype=dtype, batch_size=batch_size, max_length=max_length,
        query_prompt=query_prompt, document_prompt=document_prompt, rerank=rerank_depth,
    )  # fmt: skip
    command, numbers = shlex.join(["gen", *sys.argv[1:]]), _numbers("--dims", dims)
    study = find_study(paths[0]) if len(paths) == 1 and seeds is None else None
    found: Any
    with _progress(quiet or json) as progress:
        if study is not None:
            if run or split:
                raise UsageError("--run and --split are about data sets; a study makes its own")
            found = run_study(
                study, models=model or (), dims=numbers, metrics=metric or (), out=out,
                options=options, cache=not no_cache, command=command, progress=progress,
            )  # fmt: skip
        else:
            found = evaluate(
                paths, models=model or (), runs=run or (), metrics=metric or (), dims=numbers,
                split=split, out=out, seeds=seeds, options=options, cache=not no_cache,
                command=command, progress=progress,
            )  # fmt: skip
    if json:
        _print_json(found.to_json())
    elif not quiet:
        print(found.to_text())
    if found.failures:
        _fail("\n".join(found.failures.values()), 2)


@app.command(
    "train",
    epilog="Examples:  gen train outputs/limit_train --model minilm --test outputs/limit_small "
    "--preset limit  |  gen train ~/mine --model owner/name --set epochs=3 --set hard_negatives=2 "
    "--compare --outside ~/beir/scifact",
)
@_expected
def train_command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", show_default=False,
            help="A run directory or data set: its training pairs, else its qrels.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="M", autocompletion=_complete_model,
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
        Path | None, typer.Option(help="Folder; default outputs/train_NAME_MODEL.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away what is there.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Fine-tune an embedder on a data set, scored before, during and after."""
    from retgen.experiments.train import train

    signal.signal(signal.SIGTERM, _interrupt)
    with _progress(quiet or json) as progress:
        found = train(
            path, model, test=test, outside=outside, split=split, limit=limit, preset=preset,
            settings=_overrides(settings), metrics=metric or (), compare=compare, out=out,
            device=device, fresh=fresh, command=shlex.join(["gen", *sys.argv[1:]]),
            progress=progress,
        )  # fmt: skip
    if json:
        _print_json(found.to_json())
    elif not quiet:
        print(found.to_text())


@app.command(
    "capacity",
    epilog="Examples:  gen capacity outputs/limit_small   gen capacity --protocol paper --dims 4-12"
    "   gen capacity --protocol best --minutes 20   gen capacity --construct",
)
@_expected
def capacity_command(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]", show_default=False,
            help="A data set: what is proven, and found, of the dimension that its qrels need.",
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P", autocompletion=_complete_protocol,
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
        typer.Option(help="Folder; default RUN/capacity, outputs/capacity_NAME, outputs/capacity."),
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
        from retgen.experiments.capacity import capacity

        with _progress(quiet or json) as progress:
            found = capacity(
                protocols=protocol or (), closed_form=construct, dims=wanted, seeds=seeds,
                minutes=minutes, device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
    else:
        if protocol or construct:
            raise UsageError("--protocol and --construct are about all pairs: leave PATH out")
        from retgen.experiments.certify import certify

        with _progress(quiet or json) as progress:
            found = certify(
                path, split=split, dims=wanted, margin=margin, seeds=seeds, minutes=minutes,
                device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
    if json:
        _print_json(found.to_json())
    elif not quiet:
        print(found.to_text())


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


@app.command("doctor", epilog="Example:  gen doctor")
@_expected
def doctor_command(json: Json = False) -> None:
    """Say what is installed, what is missing, and how to get it. Exit 1 if something is missing."""
    from retgen.doctor import doctor

    checks = doctor()
    if json:
        _print_json([check._asdict() for check in checks])
    else:
        width = max(len(check.what) for check in checks)
        for check in checks:
            print(f"{check.state:8}{check.what:{width}}  {check.note}")
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the command `gen`."""
    app()


if __name__ == "__main__":
    main()
