"""Data as bytes, there and back: arrays are not copied, and nothing but data is read."""

from __future__ import annotations

import io
import pickle
from dataclasses import is_dataclass
from typing import Any

import numpy as np

_ALIGN = 64  # bytes: arrays begin at multiples of it

_ALLOWED = {
    "array": {"_array_reconstructor", "array"},
    "builtins": {"bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list",
                 "set", "str", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
}  # fmt: skip


def pack_data(value: Any) -> bytes:
    """A pickle of `value`, its arrays behind it: lengths, pickle, arrays."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pieces: list[bytes | memoryview] = [head, *(one.raw() for one in buffers)]
    lengths = np.array([len(pieces), *map(len, pieces)], np.int64).tobytes()
    result: list[bytes | memoryview] = [lengths, bytes(-len(lengths) % _ALIGN)]
    for piece in pieces:
        result += [piece, bytes(-len(piece) % _ALIGN)]
    return b"".join(result)


def unpack_data(data: bytes | memoryview) -> Any:
    """What was packed; its arrays are read-only views of `data`.

    Raises `UnpicklingError` where it holds more than data, `ValueError` where it is cut off.
    """
    view = memoryview(data)
    count = int(np.frombuffer(view[:8], np.int64)[0])
    lengths = np.frombuffer(view[8 : 8 * (count + 1)], np.int64).tolist()
    start = 8 * (count + 1)
    pieces = []
    for length in lengths:
        start += -start % _ALIGN
        pieces.append(view[start : start + length])
        start += length
    if len(pieces) != count or start > len(view):
        raise ValueError("it is cut off")
    return _Reader(io.BytesIO(pieces[0]), buffers=pieces[1:]).load()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        if module in ("retgen.data", "retgen.rows") or module.startswith("retgen.validators."):
            result = super().find_class(module, name) if "." not in name else None
            if isinstance(result, type) and (is_dataclass(result) or issubclass(result, tuple)):
                return result
        raise pickle.UnpicklingError(f"{module}.{name} has no place here")
