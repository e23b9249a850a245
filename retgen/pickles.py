"""Pickles that hold data and nothing that runs: what is kept on disk between two processes.

An ordinary pickle can call any function when it is read. These can name plain containers, numpy's
arrays, and the data classes and named tuples of rules, `retgen.data` and `retgen.rows`; anything
else in one raises `UnpicklingError`.
"""

from __future__ import annotations

import pickle
from dataclasses import is_dataclass
from typing import Any, BinaryIO

_ALLOWED = {
    "builtins": {"bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list",
                 "set", "str", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
}  # fmt: skip


def dump(value: Any) -> bytes:
    """A pickle of `value`."""
    return pickle.dumps(value, protocol=5)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        if module in ("retgen.data", "retgen.rows") or module.startswith("retgen.validators."):
            result = super().find_class(module, name) if "." not in name else None
            if isinstance(result, type) and (is_dataclass(result) or issubclass(result, tuple)):
                return result
        raise pickle.UnpicklingError(f"{module}.{name} has no place here")


def load(file: BinaryIO) -> Any:
    """The next pickle of a file. Raises `UnpicklingError` where it holds more than data."""
    return _Reader(file).load()
