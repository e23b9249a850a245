"""`gen sealed`: a test set committed to, opened, and made again by anybody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from retgen.cli.base import (
    RECIPE,
    SETTING,
    WORKERS,
    Json,
    Quiet,
    app,
    command,
    overrides_of,
    plural,
    print_json,
    print_result,
    shown_progress,
)
from retgen.errors import SealBroken, SealUnchecked

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.sealed.verify import OpenedSet

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
    options=f"""
        {RECIPE}
        --out DIR  Folder of the rounds; default outputs/sealed_NAME. A round is DIR/round-N.
        {SETTING}
        --round N  Which round: each is another set.
        {WORKERS}
        """,
    group=commands,
)
def make_command(
    recipe: str,
    out: Path | None = None,
    set_: list[str] | None = None,
    round_: int = 1,
    workers: int | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a seed, make and prove the set, write its commitment. A second call resumes."""
    from retgen.sealed.make import make_sealed

    with shown_progress(quiet, json) as progress:
        result = make_sealed(
            recipe,
            out=out,
            overrides=overrides_of(set_),
            round_number=round_,
            workers=workers,
            progress=progress,
        )
    where = result.path
    begin = "was sealed before, nothing was done" if result.repeated else "sealed"
    text = (
        f"{where}: {begin}; commitment {result.commitment}\n"
        f"  publish now         {where}/commitment.json\n"
        f"  give to submitters  {where}/public\n"
        f"  keep to yourself    {where}/private\n"
        f"Score with  gen eval {where} --sealed --run SUBMISSION.trec\n"
        f"Open with   gen sealed reveal {where}"
    )
    print_result(result._asdict(), lambda: text, json, quiet)


@command(
    "reveal",
    "gen sealed reveal outputs/sealed_world_small/round-1",
    options="DIR  A sealed set: DIR/round-N.",
    group=commands,
)
def reveal_command(dir_: Path, json: Json = False, quiet: Quiet = False) -> None:
    """Write reveal.json: nonce, seed and digests, from which anybody makes the set again."""
    from retgen.sealed.make import reveal_sealed

    result = reveal_sealed(dir_)
    text = (
        f"{result.path}/reveal.json: publish it. Anybody checks it with\n"
        "  gen sealed verify commitment.json reveal.json\n"
        f"The next set: gen sealed make RECIPE --round {result.round + 1}"
    )
    print_result(result._asdict(), lambda: text, json, quiet)


@command(
    "verify",
    "gen sealed verify commitment.json reveal.json",
    "gen sealed verify commitment.json reveal.json --public public/",
    options=f"""
        COMMITMENT       commitment.json, as it was published before the round.
        REVEAL           reveal.json of the set.
        --public DIR     What submitters were given: compared as well.
        --out DIR        Keep the set in this run directory; default: not.
        {WORKERS}
        """,
    group=commands,
)
def verify_command(
    commitment: Path,
    reveal: Path,
    public: Path | None = None,
    out: Path | None = None,
    workers: int | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a reveal, make its set again, and compare every byte. Exit 1 where one differs."""
    from retgen.sealed.verify import verify_sealed

    try:
        with shown_progress(quiet, json) as progress:
            result = verify_sealed(
                commitment,
                reveal,
                public=public,
                out=out,
                workers=workers,
                progress=progress,
            )
    except (SealBroken, SealUnchecked) as error:
        if json:
            print_json({"ok": False, "rule": error.name, "message": str(error)})
        raise
    text = (
        f"yes: {result.name}, round {result.round}, is what was committed to: "
        f"{plural(result.files, 'file')} made again, {result.bytes:,} bytes, all the same"
        + (f"\nThe set is in {result.path}" if result.path else "")
    )
    print_result({"ok": True, **result._asdict()}, lambda: text, json, quiet)


def print_scores(result: Evaluation, opened: OpenedSet, json: bool, quiet: bool) -> None:
    """Tables of measures on a sealed set; no notes, which may name queries, and no details.

    Until the reveal nothing is broken down by groups of queries, which tells more of each.
    """
    from retgen.evaluation.scoring.page import page_of

    reveal, whole = opened.reveal, result
    if not opened.revealed:
        whole = replace(result, datasets=[replace(one, parts=[]) for one in result.datasets])
    if json:
        content = whole.to_json()
        for system in content["results"]:
            system.pop("details", None)
        print_json(
            {
                "dataset": reveal.name,
                "commitment": reveal.commitment,
                "round": reveal.round,
                "revealed": opened.revealed,
                **{
                    key: content[key]
                    for key in ("split", "documents", "queries", "results", "floors")
                },
            }
        )
    elif not quiet:
        print(page_of(whole).terminal(result.folder / "eval.html"))
        print(f"{reveal.name}, round {reveal.round}, commitment {reveal.commitment}")
        if not opened.revealed:
            print(f"keep {result.folder} to yourself: scores by query tell of the qrels")
