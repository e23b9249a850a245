"""Ray Core tasks: on a cluster that is there, or on one that is started on this machine."""

from __future__ import annotations

import io
import os
import pickle
import socket
import uuid
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import DatasetError, DatasetMissing, EndpointFailed, UsageError, WorkerLost
from retgen.version import __version__
from retgen.work.engine import RETRIES, Context, Engine, Result, Task, Window, Work


class RayCluster(Engine):
    """Tasks of one CPU each. Ray does a task again whose worker or node is lost.

    `address`: "ray" for the cluster that RAY_ADDRESS names, else one of `workers` CPUs that is
    started on this machine; "auto" for the one that runs on this machine, "ray://HOST:PORT" for
    Ray's client, "HOST:PORT" for a node of the cluster. Raises `UsageError`
    without Ray, and `EndpointFailed` where the cluster does not answer, or has another version of
    Ray or Python.
    """

    def __init__(self, address: str, workers: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            message = f"--engine {address} needs the package ray: pip install 'retgen[cluster]'"
            raise UsageError(message) from None
        self._ray: Any = ray
        where = os.environ.get("RAY_ADDRESS") if address == "ray" else address
        if not ray.is_initialized():
            self._connect(where, workers)

    def _connect(self, address: str | None, workers: int) -> None:
        if address and address != "auto":
            _check_answers(address)
        options: dict[str, Any] = {"address": address}
        if not address:  # "local": another one that runs here is not asked
            options = {"address": "local", "num_cpus": workers, "include_dashboard": False}
        try:
            self._ray.init(log_to_driver=False, logging_level="ERROR", **options)
        except Exception as error:
            where = address or "a cluster on this machine"
            reason = " ".join(str(error).split())
            raise EndpointFailed(
                f"--engine {where}: Ray cannot be used there: {reason}. If it asks for a token, "
                "set RAY_AUTH_MODE=token here as well, and have the token of its first machine in "
                "~/.ray/auth_token"
            ) from error

    @property
    def workers(self) -> int:  # type: ignore[override]
        """The CPUs of the cluster as it is now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def __str__(self) -> str:
        return f"{self.workers} workers of a Ray cluster"

    def pays(self, seconds: float) -> bool:
        return True

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        ray = self._ray
        shared = uuid.uuid4().hex, ray.put(_dump((work, context)))
        begin = ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
        window = Window(tasks, self.ahead)
        under_way: dict[Any, str] = {}
        idle = 0
        try:
            while True:
                for name in window.begin():
                    under_way[begin.remote(__version__, [shared], _dump(tasks[name]))] = name
                if not under_way:
                    return
                ended, _ = ray.wait(list(under_way), timeout=_LOOK)
                idle = 0 if ended or ray.cluster_resources().get("CPU") else idle + 1
                if idle * _LOOK >= _PATIENCE:
                    raise WorkerLost(
                        f"the Ray cluster has had no CPU for {_PATIENCE} seconds: all its nodes "
                        "are gone, or have none. What is finished is kept: the same command goes on"
                    )
                for one in ended:
                    name = under_way.pop(one)
                    window.end(name)
                    yield name, self._result(one)
        finally:
            for one in under_way:
                ray.cancel(one, force=True)

    def _result(self, reference: Any) -> Result:
        errors = self._ray.exceptions
        try:
            result = memoryview(self._ray.get(reference))
        except errors.RayTaskError as error:
            if isinstance(error.cause, FileNotFoundError | DatasetMissing):
                raise DatasetError(
                    f"a node of the cluster finds no file of the run: {error.cause}. All nodes "
                    "need a disk that all of them see; where they see it at different places, set "
                    f"{SHARED} on each, and where this command runs"
                ) from error
            raise error.cause from error
        except errors.RayError as error:
            raise WorkerLost(
                "workers of the Ray cluster were lost again and again: "
                f"{' '.join(str(error).split())[:500]}. What is finished is kept: the same command "
                "again goes on"
            ) from error
        return result


def _check_answers(address: str) -> None:
    """Look whether anybody listens there: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise EndpointFailed(
            f"--engine {address}: no Ray cluster answers there ({why}); start one with "
            "`ray start --head`, or see its address with `ray status`"
        ) from error


_LOOK, _PATIENCE = 10, 120  # seconds between two looks, and without a node that works
SHARED = "RETGEN_SHARED"  # where a machine sees the disk that all of them see


class _Pickler(pickle.Pickler):
    """Paths below the shared disk are those of the machine that reads them."""

    def reducer_override(self, value: Any) -> Any:
        root = os.environ.get(SHARED)
        if root and isinstance(value, Path):
            for one in (Path(root), Path(root).resolve()):  # it may be a link
                if value.is_relative_to(one):
                    return _shared_path, (str(value.relative_to(one)),)
        return NotImplemented


def _shared_path(name: str) -> Path:
    root = os.environ.get(SHARED)
    if not root:
        raise UsageError(
            f"a node of the cluster does not know where the shared disk is: set {SHARED} on it, as "
            "on the machine that starts the run"
        )
    return Path(root, name)


def _dump(value: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(value)
    return file.getvalue()


_shared: tuple[str, Any] = "", None  # in a worker of the cluster: key, (work, context)


def _do(version: str, shared: list[tuple[str, Any]], task: bytes) -> NDArray[np.uint8]:
    """In a worker: one task, whose result is an array, since Ray would copy bytes where it is read.

    The context of a map is fetched once, and kept until the next map.
    """
    global _shared
    if version != __version__:
        raise UsageError(
            f"a node of the cluster has retgen {__version__}, this machine {version}: install one "
            "version everywhere"
        )
    key, reference = shared[0]
    if _shared[0] != key:
        import ray

        _shared = key, pickle.loads(ray.get(reference))
    work, context = _shared[1]
    return np.frombuffer(work(context, pickle.loads(task)), np.uint8)
