"""Work in pieces: in this process, in several, or on a cluster; its result is the same."""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.work.local import Engine as Engine
from retgen.work.local import Local as Local

NAMES = ("local", "ray", "auto", "ray://HOST:PORT", "HOST:PORT")


def engine_named(name: str, workers: int, *, gpu: bool = False) -> Engine:
    """The engine of `--engine`; `workers`: processes, of Ray tasks at a time; `gpu`: see Ray's.

    Raises `UsageError` where there is none of this name, or where what it needs is missing.
    """
    if name == "local":
        return Local(workers)
    if name in ("ray", "auto") or ":" in name:
        from retgen.work.ray_cluster import RayCluster

        return RayCluster(name, workers, gpu)
    raise UsageError(f"--engine {name}: there is none of this name; use {', '.join(NAMES)}")
