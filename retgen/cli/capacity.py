"""`gen capacity`: how many documents fit in d dimensions."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    Quiet,
    Verbose,
    app,
    check_datasets,
    complete_protocol,
    given_path,
    parse_numbers,
    print_json,
    report_errors,
    shown_progress,
)


@app.command(
    "capacity",
    epilog="Examples:  gen capacity outputs/limit_small   gen capacity --protocol paper --dims 4-12"
    "   gen capacity --protocol best --minutes 20   gen capacity --construct",
)
@report_errors
def capacity_command(
    path: Annotated[
        Path | None,
        typer.Argument(
            parser=given_path, metavar="[PATH]", show_default=False,
            help="A data set or mteb:NAME, to bound the dimensions that its qrels need.",
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
    minutes: Annotated[float, typer.Option(help="Time limit of each search.")] = 10.0,
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
    wanted = parse_numbers("--dims", dims)
    result: Any
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
            result = capacity(
                protocols=protocol or (), closed_form=construct, dims=wanted, seeds=seeds,
                minutes=minutes, device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
        shown = text_of_all_pairs(result)
    else:
        if protocol or construct:
            raise UsageError("--protocol and --construct are about all pairs: leave PATH out")
        check_datasets(path)
        from retgen.evaluation.capacity.certify import certify
        from retgen.evaluation.capacity.certify_page import text as text_of_certificate

        with shown_progress(quiet, json) as progress:
            result = certify(
                path, split=split, dims=wanted, margin=margin, seeds=seeds, minutes=minutes,
                device=device, out=out, command=command, progress=progress,
            )  # fmt: skip
        shown = text_of_certificate(result)
    if json:
        print_json(result.to_json())
    elif not quiet:
        print(shown)
