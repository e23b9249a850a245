"""Training by several processes, one a device, that `torchrun` starts.

Rank 0 is the program: it reads, scores and writes. The others follow it from one training to
the next. In each of these a rank embeds its share of every batch and ranks the documents of all
shares, so that a batch has as many negatives as one device would give it, and the mean of the
ranks' gradients is that of the whole batch.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from retgen.errors import UsageError

# a rank waits while rank 0 scores
_PATIENCE = timedelta(days=7)


def ranks() -> int:
    """How many processes train together; 1 where `group` was not entered."""
    from torch import distributed

    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Which of them this one is, from 0."""
    from torch import distributed

    return distributed.get_rank() if distributed.is_initialized() else 0


@contextmanager
def group(device: str | None, follow: Callable[[Any], None]) -> Iterator[bool]:
    """The processes that were started together, as one; yields whether this is rank 0, or alone.

    `device`: "cpu" or None for GPUs where there are some. Another rank calls `follow` with whatever
    rank 0 announces, until rank 0 is at its end. Raises `UsageError` for fewer GPUs than processes
    on this machine.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:  # as launchers set it
        yield True
        return
    import torch
    from torch import distributed

    for name in ("torch", "accelerate", "sentence_transformers"):  # which speak to one another
        warnings.filterwarnings("ignore", category=FutureWarning, module=name)
    gpu = torch.cuda.is_available() and device != "cpu"
    if gpu:
        place, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if place >= count:
            raise UsageError(
                f"process {place + 1:,} of this machine has no GPU: there are {count:,}. Start "
                "fewer (--nproc-per-node)"
            )
        torch.cuda.set_device(place)
    distributed.init_process_group("nccl" if gpu else "gloo", timeout=_PATIENCE)
    try:
        if rank():
            while (task := _next_task()) is not None:
                follow(task)
            yield False
        else:
            yield True
            announce(None)
    finally:
        distributed.destroy_process_group()


def _next_task() -> Any:
    """What rank 0 announces; None at its end, also where an error ended it, which it tells."""
    try:
        return _shared(None)
    except RuntimeError:
        return None


def announce(task: Any) -> None:
    """Give the other ranks a task, where there are others."""
    if ranks() > 1:
        _shared(task)


def wait_for_all() -> None:
    """Until all ranks are here."""
    from torch import distributed

    if ranks() > 1:
        distributed.barrier()


def _shared(task: Any) -> Any:
    """What rank 0 gives, on every rank."""
    from torch import distributed

    tasks = [task]
    distributed.broadcast_object_list(tasks, src=0)
    return tasks[0]


def shares(batches: list[list[int]]) -> list[list[int]]:
    """Each batch as one share a rank, in order; all shares of a batch have the same size."""
    count = ranks()
    return [
        batch[len(batch) * i // count : len(batch) * (i + 1) // count]
        for batch in batches
        for i in range(count)
    ]
