"""`gen capacity` without a data set: all pairs of n documents in d dimensions.

Three things that are easily taken for one another, each in a file of its own, kept and reused:

- paper.jsonl: the critical n of a loss and an optimiser, as the paper measures it (Table 6);
- best.jsonl: the largest n that our best optimiser embeds from random starts;
- construct.jsonl: the closed form, which embeds any n; what number formats carry of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import orjson

from retgen.errors import UsageError
from retgen.evaluation.capacity import HIGHEST, best, construct, free
from retgen.evaluation.capacity.all_pairs_result import Capacity, carried_before, kept, row_of
from retgen.evaluation.capacity.free import Critical
from retgen.evaluation.embedders.devices import choose_device
from retgen.progress import Progress, no_progress
from retgen.write import dump_json, make_folder, write_file

DIMENSIONS = {"paper": range(4, 46), "best": range(4, 9), "construct": (4, 6, 8, 16, 32, 64)}
_CLIMB: dict[str, Callable[..., Iterator[Critical]]] = {
    "paper": free.critical,
    "best": best.critical,
}


def capacity(
    *,
    protocols: Sequence[str] = ("paper",),
    closed_form: bool = False,
    dims: Sequence[int] = (),
    seeds: int = 3,
    minutes: float = 10.0,
    device: str | None = None,
    out: str | Path | None = None,
    command: str = "gen capacity",
    progress: Progress = no_progress,
) -> Capacity:
    """Measure how many documents fit, all pairs of them asked for, and write `out`.

    `dims` default to those of DIMENSIONS. `minutes` are for each protocol; what they leave
    unfinished is marked, and done again in a repeated call. Raises UsageError for what makes no
    sense, OutputError where `out` holds something else.
    """
    for name in protocols:
        if name not in _CLIMB:
            raise UsageError(f"--protocol {name}: is none of {', '.join(_CLIMB)}")
    if not minutes > 0:
        raise UsageError("--minutes: give a positive number")
    if seeds < 1:
        raise UsageError("--seeds: at least 1")
    wanted = {
        name: sorted(set(dims or DIMENSIONS[name]))
        for name in (*protocols, *(["construct"] if closed_form else []))
    }
    if protocols and closed_form:  # of dimensions given for both, the closed form has the even ones
        even = [d for d in wanted["construct"] if d % 2 == 0 and d >= 4]
        wanted["construct"] = even or wanted["construct"]
    if any(d > HIGHEST for of in wanted.values() for d in of):
        raise UsageError(f"--dims: at most {HIGHEST:,} dimensions")
    for d in wanted.get("construct", ()):
        construct.documents(d, 3)
    for name in protocols:
        for d in wanted[name]:
            free.require(d, 3)
    folder = Path(out) if out is not None else Path("outputs") / "capacity"
    place = choose_device(device)
    make_folder(folder)
    for name in protocols:
        _climb(folder / f"{name}.jsonl", name, wanted[name], seeds, 60 * minutes, place, progress)
    if closed_form:
        _carried(folder / "construct.jsonl", wanted["construct"], progress)
    result = Capacity(folder, {name: kept(folder, name) for name in _CLIMB}, carried_before(folder),
                     command)  # fmt: skip
    write_file(folder / "capacity.json", dump_json(result.to_json()))
    from retgen.evaluation.capacity.all_pairs_page import write_page

    write_page(result)
    return result


def _climb(
    path: Path, name: str, dims: Sequence[int], seeds: int, seconds: float, device: str,
    progress: Progress,
) -> None:  # fmt: skip
    """Dimensions that are not there yet, each written as soon as it is found."""
    known = kept(path.parent, name)
    missing = [d for d in dims if d not in known or not _finished(known[d], seeds)]
    if name == "best":  # begins anew, so no more comes of no more time
        share = seconds / max(len(missing), 1)
        missing = [d for d in missing if d not in known or known[d].seconds * 1.1 < share]
    if not missing:
        return
    end = time.monotonic() + seconds
    for one in _CLIMB[name](
        missing, seeds=seeds, deadline=end - time.monotonic(), device=device, progress=progress,
    ):  # fmt: skip
        before = known.get(one.dimension)
        # a call with less time takes nothing back
        longer = before is None or (not before.complete and one.documents >= before.documents)
        if one.complete or longer:
            known[one.dimension] = one
        lines = [orjson.dumps(row_of(known[d])) for d in sorted(known)]
        write_file(path, b"\n".join(lines) + b"\n")


def _finished(result: Critical, seeds: int) -> bool:
    return result.complete and len(result.by_seed) >= seeds


def _carried(path: Path, dims: Sequence[int], progress: Progress) -> None:
    known = {(one.dimension, one.precision): one for one in carried_before(path.parent)}
    for d in dims:
        for precision in construct.PRECISIONS:
            if (d, precision) not in known:
                known[d, precision] = construct.largest(d, precision, progress=progress)
                order = sorted(known, key=lambda key: key[0])
                lines = [orjson.dumps(row_of(known[key])) for key in order]
                write_file(path, b"\n".join(lines) + b"\n")
