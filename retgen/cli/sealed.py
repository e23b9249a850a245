"""`gen sealed`: a test set committed to, opened, and made again by anybody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    Quiet,
    RecipeArgument,
    Setting,
    Workers,
    app,
    command,
    given_path,
    interruptible,
    overrides_of,
    plural,
    print_json,
    print_result,
    shown_progress,
)
from retgen.errors import SealBroken, SealUnchecked

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.sealed.make import SealedSet
    from retgen.sealed.verify import OpenedSet, Verified

commands = typer.Typer(
    help="Test sets that are committed to, opened after a round, and made again by anybody.",
    epilog="Examples:  gen sealed make world_small  |  gen sealed reveal outputs/sealed_world_small"
    "  |  gen sealed verify commitment.json reveal.json",
    no_args_is_help=True,
)
app.add_typer(commands, name="sealed")


@command(
    "make",
    "gen sealed make world_small",
    "gen sealed make world_small --round 2",
    "gen sealed make my.yaml --out /data/sealed --set params.queries=500",
    group=commands,
)
def make_command(
    recipe: RecipeArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="DIR",
            help="Folder of the rounds; default outputs/sealed_NAME. A round is DIR/round-N.",
        ),
    ] = None,
    settings: Setting = None,
    round_number: Annotated[
        int,
        typer.Option(
            "--round", min=1, metavar="N",
            help="Which round; it names the commitment of the one before.",
        ),
    ] = 1,
    workers: Workers = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Draw a seed, make and prove the set, write its commitment. A second call resumes."""
    from retgen.sealed.make import make_sealed

    interruptible()
    with shown_progress(quiet, json) as progress:
        result = make_sealed(
            recipe, out=out, overrides=overrides_of(settings), round_number=round_number,
            workers=workers, progress=progress,
        )  # fmt: skip
    print_result(result, lambda: _made(result), json, quiet)


def _made(result: SealedSet) -> str:
    where = result.path
    begin = "was sealed before, nothing was done" if result.repeated else "sealed"
    return (
        f"{where}: {begin}; commitment {result.commitment}\n"
        f"  publish now          {where / 'commitment.json'}\n"
        f"  give to submitters   {where / 'public'}\n"
        f"  keep to yourself     {where / 'private'}\n"
        f"Score with  gen eval {where} --sealed --run SUBMISSION.trec\n"
        f"Open with   gen sealed reveal {where}"
    )


SealedArgument = Annotated[
    Path,
    typer.Argument(
        parser=given_path, metavar="DIR", show_default=False, help="A sealed set: DIR/round-N."
    ),
]


@command("reveal", "gen sealed reveal outputs/sealed_world_small/round-1", group=commands)
def reveal_command(folder: SealedArgument, json: Json = False, quiet: Quiet = False) -> None:
    """Write reveal.json: nonce, seed and digests, from which anybody makes the set again."""
    from retgen.sealed.make import reveal_sealed

    result = reveal_sealed(folder)
    path = result.path / "reveal.json"
    print_result(
        result,
        lambda: (
            f"{path}: publish it. Anybody checks it with\n"
            f"  gen sealed verify commitment.json reveal.json\n"
            "Round 2 needs another seed: gen sealed make RECIPE --round "
            f"{result.round + 1}"
        ),
        json,
        quiet,
    )


@command(
    "verify",
    "gen sealed verify commitment.json reveal.json",
    "gen sealed verify commitment.json reveal.json --public public/ --previous round-1/commitment.json",
    group=commands,
)
def verify_command(
    commitment: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="COMMITMENT", show_default=False,
            help="commitment.json, as it was published before the round.",
        ),
    ],
    reveal: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="REVEAL", show_default=False, help="reveal.json of the set."
        ),
    ],
    previous: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="FILE",
            help="commitment.json of the round before, which this one must name.",
        ),
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="DIR", help="What submitters were given: compared as well."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Keep the set in this run directory; default: not."),
    ] = None,
    workers: Workers = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Check a reveal, make its set again, and compare every byte. Exit 1 where one differs."""
    from retgen.sealed.verify import verify_sealed

    interruptible()
    try:
        with shown_progress(quiet, json) as progress:
            result = verify_sealed(
                commitment, reveal, previous=previous, public=public, out=out, workers=workers,
                progress=progress,
            )  # fmt: skip
    except (SealBroken, SealUnchecked) as error:
        if json:
            print_json({"ok": False, "rule": error.name, "message": str(error)})
        raise
    print_result(result, lambda: _verified(result), json, quiet)


def _verified(result: Verified) -> str:
    kept = "" if result.path is None else f"\nThe set is in {result.path}"
    return (
        f"yes: {result.name}, round {result.round}, is what was committed to: "
        f"{plural(result.files, 'file')} made again, {result.bytes:,} bytes, all the same{kept}"
    )


def print_scores(result: Evaluation, opened: OpenedSet, json: bool, quiet: bool) -> None:
    """Measures of each system on a sealed set, and nothing that depends on a single query."""
    one, says = result.datasets[0], opened.reveal.says
    names = one.measures.names
    rows = [(score.label, score.metrics) for score in one.scores]
    if json:
        content = one.to_json()
        results = [
            {key: system[key] for key in ("model", "dim", "metrics")} for system in content["results"]
        ]
        print_json({
            "dataset": opened.reveal.name, "commitment": opened.reveal.commitment,
            "round": says.round, "revealed": opened.revealed, "results": results,
            "floors": content["floors"],
        })  # fmt: skip
        return
    if quiet:
        return
    from retgen.results.tables import TableView

    cells: list[list[Any]] = [[label, *(f"{scores[n]:.4f}" for n in names)] for label, scores in rows]
    print(TableView(["system", *names], cells, names=1).text())
    print(f"{opened.reveal.name}, round {says.round}, commitment {opened.reveal.commitment}")
    if not opened.revealed:
        print(f"Scores by query are in {result.folder}: they tell of the qrels, keep them")
