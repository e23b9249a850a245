"""What benchmarks share: options, times, memory, words. (No package: scripts import it by name.)

Nothing in this folder is a test: machines differ, so each script measures a reference beside it.
"""

from __future__ import annotations

import argparse
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from retgen.progress import usable_cores

CATALOGUE = Path(__file__).parent.parent / "generators" / "limit" / "catalogue"


def options(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """The options of a script, by their defaults; a list takes several. Prints the machine."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    for name, default in defaults.items():
        one = default[0] if isinstance(default, list) else default
        several = {"nargs": "*"} if isinstance(default, list) else {}
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(one), default=default, **several)
    given = parser.parse_args()
    cores = usable_cores()
    print(f"{platform.machine()}, Python {platform.python_version()}, usable cores: {cores}")
    return given


def measured(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, seconds of CPU of this process and of those it waited for, and the result."""
    began, before = time.perf_counter(), _cpu()
    result = work()
    return time.perf_counter() - began, _cpu() - before, result


def in_turn(works: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each, A B A B ..., after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            seconds = measured(work)[0]
            if number:
                times[name].append(seconds)
    return times


def ratio(over: list[float], under: list[float]) -> str:
    """The median of quotients, and their range."""
    result = sorted(a / b for a, b in zip(over, under, strict=True))
    return f"{statistics.median(result):.2f}  ({result[0]:.2f} to {result[-1]:.2f})"


def peak(who: int = resource.RUSAGE_SELF) -> float:
    """Megabytes of this process, or of the largest of its children, at most so far."""
    return resource.getrusage(who).ru_maxrss / 1024


def entries() -> list[str]:
    """The things of the bundled catalogue, as they stand there."""
    lines = [path.read_text("utf-8").splitlines() for path in sorted(CATALOGUE.glob("*.txt"))]
    return [line for file in lines for line in file if line and line[0] not in "[#"]


def words() -> list[str]:
    """Distinct words of the bundled catalogue, cut to those of letters, as they stand there."""
    lines = [path.read_text("utf-8").lower() for path in sorted(CATALOGUE.glob("*.txt"))]
    return list(dict.fromkeys(word for text in lines for word in text.split() if word.isalpha()))


def _cpu() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)
