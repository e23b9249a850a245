"""`gen sealed`: a test set committed to, opened, and made again by anybody."""

from __future__ import annotations

from pathlib import Path

import typer

from retgen.cli.base import (
    RECIPE,
    SETTING,
    WORKERS,
    Output,
    app,
    command,
    overrides_of,
    print_json,
)
from retgen.errors import SealBroken, SealUnchecked
from retgen.results.numbers import count_text

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
    output: Output,
    out: Path | None = None,
    set_: list[str] | None = None,
    round_: int = 1,
    workers: int | None = None,
) -> None:
    """Draw a seed, make and prove the set, write its commitment. A second call resumes."""
    from retgen.sealed.make import make_sealed

    with output.progress() as progress:
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
        f"Score with  gen eval {where}/private/run/{result.name} --run SUBMISSION.trec\n"
        f"Open with   gen sealed reveal {where}"
    )
    output.print(result._asdict(), lambda: text)


@command(
    "reveal",
    "gen sealed reveal outputs/sealed_world_small/round-1",
    options="DIR  A sealed set: DIR/round-N.",
    group=commands,
)
def reveal_command(dir_: Path, output: Output) -> None:
    """Write reveal.json: nonce, seed and digests, from which anybody makes the set again."""
    from retgen.sealed.make import reveal_sealed

    result = reveal_sealed(dir_)
    text = (
        f"{result.path}/reveal.json: publish it. Anybody checks it with\n"
        "  gen sealed verify commitment.json reveal.json --out SET, then: gen eval SET ...\n"
        f"The next set: gen sealed make RECIPE --round {result.round + 1}"
    )
    output.print(result._asdict(), lambda: text)


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
    output: Output,
    public: Path | None = None,
    out: Path | None = None,
    workers: int | None = None,
) -> None:
    """Check a reveal, make its set again, and compare every byte. Exit 1 where one differs."""
    from retgen.sealed.verify import verify_sealed

    try:
        with output.progress() as progress:
            where = {"public": public, "out": out}
            result = verify_sealed(commitment, reveal, **where, workers=workers, progress=progress)
    except (SealBroken, SealUnchecked) as error:
        if output.json:
            print_json({"ok": False, "rule": error.name, "message": str(error)})
        raise
    text = (
        f"yes: {result.name}, round {result.round}, is what was committed to: "
        f"{count_text(result.files, 'file')} made again, {result.bytes:,} bytes, all the same"
        + (f"\nThe set is in {result.path}" if result.path else "")
    )
    output.print({"ok": True, **result._asdict()}, lambda: text)
