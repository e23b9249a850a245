"""Where tensors live, and in what numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal

import torch

from retgen.errors import UsageError


def choose_device(device: str | None) -> str:
    """The device asked for, else a GPU if there is one, else the processor."""
    if device is None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind = device.partition(":")[0]
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if kind not in there:
        raise UsageError(f"--device {device}: is none of cpu, cuda, cuda:0, mps")
    if not there[kind]:
        raise UsageError(
            f"--device {device}: there is no such device here (`gen doctor`); leave --device out"
        )
    return device


_DTYPES = {
    "float32": torch.float32,
    "tf32": torch.float32,  # products of float32 on tensor cores, with 10 bits of mantissa
    "bf16": torch.bfloat16,
    "float16": torch.float16,
}


@contextlib.contextmanager
def tensor_cores(wanted: bool) -> Iterator[None]:
    """Products of float32 in TF32, where that is wanted."""
    before = torch.get_float32_matmul_precision()
    if wanted:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def choose_dtype(dtype: str | None, device: str) -> torch.dtype | Literal["auto"]:
    """float32 unless asked otherwise: scores of papers are of float32 embeddings.

    "auto" is what a checkpoint was saved in.
    """
    if dtype is None:
        return torch.float32
    if dtype == "auto":
        return "auto"
    if dtype not in _DTYPES:
        raise UsageError(f"--dtype {dtype}: is none of {', '.join(_DTYPES)}, auto")
    if device == "cpu" and dtype == "float16":
        raise UsageError("--dtype float16: needs a GPU; on a processor say bf16 or float32")
    if dtype == "tf32" and not device.startswith("cuda"):
        raise UsageError(f"--dtype tf32: needs a GPU that computes in it, and {device} is none")
    return _DTYPES[dtype]
