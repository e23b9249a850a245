"""Ray Core tasks: on a cluster that is there, or on one that is started on this machine."""

from __future__ import annotations

import os
import pickle
import socket
import uuid
from collections import deque
from collections.abc import Generator, Iterable
from itertools import islice
from typing import Any

from retgen.errors import EndpointFailed, UsageError, WorkerLost
from retgen.version import __version__
from retgen.work.local import RETRIES, Context, Engine, Local, Task, Work


class RayCluster(Engine):
    """Tasks of one CPU each, and of one GPU where they want it (`gpu`) and the cluster has any. Ray
    does a task again whose worker or node is lost.

    `address`: "ray" for the cluster that RAY_ADDRESS names, else one of `workers` CPUs that is
    started on this machine; "auto" for the one that runs on this machine, "ray://HOST:PORT" for
    Ray's client, "HOST:PORT" for a node of the cluster. Raises `UsageError`
    without Ray, and `EndpointFailed` where the cluster does not answer, or has another version of
    Ray or Python.
    """

    def __init__(self, address: str, workers: int, gpu: bool = False) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            message = f"--engine {address} needs the package ray: pip install 'retgen[cluster]'"
            raise UsageError(message) from None
        self._ray: Any = ray
        self._gpu, self._local = gpu, Local(workers)
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

    @property
    def local(self) -> Engine:
        return self._local

    def __str__(self) -> str:
        return f"{self.workers} workers of a Ray cluster"

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        ray = self._ray
        shared = uuid.uuid4().hex, ray.put((work, context))
        gpus = int(self._gpu and "GPU" in ray.cluster_resources())
        begin = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_do)
        left = iter(tasks)
        under_way: deque[tuple[str, Any]] = deque()
        try:
            while True:
                for name, task in islice(left, max(0, self.ahead - len(under_way))):
                    data = pickle.dumps(task, protocol=5)
                    under_way.append((name, begin.remote(__version__, [shared], data)))
                if not under_way:
                    return
                name, first = under_way[0]
                self._wait_for(first)
                result = self._result(first)
                under_way.popleft()
                yield name, result
        finally:
            for _, one in under_way:
                ray.cancel(one)  # by force, one that ends just then would end this process

    def _wait_for(self, reference: Any) -> None:
        idle = 0
        while not self._ray.wait([reference], timeout=_LOOK)[0]:
            idle = 0 if self._ray.cluster_resources().get("CPU") else idle + 1
            if idle * _LOOK >= _PATIENCE:
                raise WorkerLost(
                    f"the Ray cluster has had no CPU for {_PATIENCE} seconds: all its nodes are "
                    "gone, or have none. What is finished is kept: the same command goes on"
                )

    def _result(self, reference: Any) -> bytes:
        errors = self._ray.exceptions
        try:
            return bytes(self._ray.get(reference))
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise WorkerLost(
                "workers of the Ray cluster were lost again and again: "
                f"{' '.join(str(error).split())[:500]}. What is finished is kept: the same command "
                "again goes on"
            ) from error


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

_shared: tuple[str, Any] = "", None  # in a worker of the cluster: key, (work, context)


def _do(version: str, shared: list[tuple[str, Any]], task: bytes) -> bytes:
    """In a worker: one task. The context of a map is fetched once, and kept until the next map."""
    global _shared
    if version != __version__:
        raise UsageError(
            f"a node of the cluster has retgen {__version__}, this machine {version}: install one "
            "version everywhere"
        )
    key, reference = shared[0]
    if _shared[0] != key:
        import ray

        _shared = key, ray.get(reference)
    work, context = _shared[1]
    result: bytes = work(context, pickle.loads(task))
    return result
