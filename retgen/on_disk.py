"""Lists whose items lie in files, for what grows with a corpus: in memory is where each begins."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.write import os_errors

T = TypeVar("T")
S = TypeVar("S")
Number = TypeVar("Number", bound=np.generic)

_WAITING = 1 << 20  # bytes that are written together
_BLOCK = 8  # items that are written together
_KEPT = 256  # items that were asked for last
_ALIGN = 64  # bytes: packed arrays begin at multiples of it


class StoredList(Sequence[T]):
    """Items of a file, by the bytes that each takes; read where they are asked for.

    What is changed of an item that was read is not kept.
    """

    def __init__(self, file: BinaryIO, load: Callable[[bytes], T]) -> None:
        self._file, self._load = file, load
        self._starts, self._sizes = array("q"), array("I")
        weakref.finalize(self, file.close)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self[i] for i in range(len(self))[number]]
        return self._load(self._bytes(self._starts[number], self._sizes[number]))

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, range(len(self)))

    def _bytes(self, start: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, start)


class JSONLines(StoredList[dict[str, Any]]):
    """The rows of a file of JSON Lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(open(path, "rb", buffering=0), orjson.loads)  # noqa: SIM115
        start = 0
        with open(path, "rb") as lines:
            for size in map(len, lines):
                self._starts.append(start)
                self._sizes.append(size)
                start += size


class DiskList(StoredList[T]):
    """A list in a temporary file, of whatever pickle takes. It grows, and items can be replaced."""

    def __init__(
        self,
        items: Iterable[T] = (),
        *,
        dump: Callable[[T], bytes] = pickle.dumps,
        load: Callable[[bytes], T] = pickle.loads,
    ) -> None:
        file = tempfile.TemporaryFile(prefix="retgen-", buffering=0)  # noqa: SIM115
        super().__init__(file, load)
        self._dump, self._waiting, self._written = dump, bytearray(), 0
        self.extend(items)

    def append(self, item: T) -> None:
        start, size = self._keep(item)
        self._starts.append(start)
        self._sizes.append(size)

    def extend(self, items: Iterable[T]) -> None:
        for one in items:
            self.append(one)

    def __setitem__(self, number: int, item: T) -> None:
        self._starts[number], self._sizes[number] = self._keep(item)

    def _keep(self, item: T) -> tuple[int, int]:
        """Where an item stands from now on, and how many bytes it takes."""
        data = self._dump(item)
        if len(self._waiting) + len(data) > _WAITING:
            self._write()
        start = self._written + len(self._waiting)
        self._waiting += data
        return start, len(data)

    def _write(self) -> None:
        with os_errors(Path(tempfile.gettempdir()), only_room=True):
            self._file.seek(self._written)
            left = memoryview(self._waiting)
            while left:
                left = left[self._file.write(left) :]
        self._written += len(self._waiting)
        self._waiting = bytearray()

    def _bytes(self, start: int, size: int) -> bytes:
        if start >= self._written:
            begin = start - self._written
            return bytes(self._waiting[begin : begin + size])
        return super()._bytes(start, size)


class MappedList(Sequence[S]):
    """A function of each item of a sequence, called whenever one is asked for."""

    def __init__(self, make: Callable[[T], S], items: Sequence[T]) -> None:
        self._make: Callable[[Any], S] = make
        self._items: Sequence[Any] = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, number: int) -> S: ...
    @overload
    def __getitem__(self, number: slice) -> list[S]: ...
    def __getitem__(self, number: int | slice) -> S | list[S]:
        if isinstance(number, slice):
            return list(map(self._make, self._items[number]))
        return self._make(self._items[number])

    def __iter__(self) -> Iterator[S]:
        return map(self._make, self._items)


class BlockList(MappedList[T]):
    """Items in a temporary file, written and read some at a time: fast from end to end."""

    def __init__(self, items: Iterable[T]) -> None:
        left = iter(items)
        self._blocks = DiskList(iter(lambda: list(islice(left, _BLOCK)), []))
        size = len(self._blocks) and _BLOCK * (len(self._blocks) - 1) + len(self._blocks[-1])
        block = lru_cache(1)(self._blocks.__getitem__)
        super().__init__(lambda place: block(place // _BLOCK)[place % _BLOCK], range(size))

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._blocks)


class Keyed(Mapping[Any, T]):
    """The items of a sequence by a key, as a dict has them: of several the last, where the first
    stands. In memory are a hash and a place each.
    """

    def __init__(self, items: Sequence[T], key: Callable[[T], Any]) -> None:
        hashes = np.fromiter((hash(key(one)) for one in items), np.int64, len(items))
        order = np.argsort(hashes, kind="stable")
        ordered, places = hashes[order].data, order.data  # plain numbers are quicker to compare

        @lru_cache(_KEPT)
        def found(name: Any) -> list[tuple[int, T]]:
            start = bisect_left(ordered, known := hash(name))
            some = places[start : bisect_right(ordered, known, start)]
            return [(place, one) for place in some if key(one := items[place]) == name]

        self._names, self._found = MappedList(key, items), found

    def all(self, name: Any) -> list[T]:
        """All items with a key, in order."""
        return [item for _, item in self._found(name)]

    def __getitem__(self, name: Any) -> T:
        if found := self._found(name):
            return found[-1][1]
        raise KeyError(name)

    def __iter__(self) -> Iterator[Any]:
        return (name for i, name in enumerate(self._names) if self._found(name)[0][0] == i)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def disk_arrays() -> DiskList[NDArray[np.uint64]]:
    """A list of one-dimensional arrays; those that are read from it are read-only."""

    def load(data: bytes) -> NDArray[np.uint64]:
        return np.frombuffer(data, np.uint64)

    return DiskList(dump=np.ndarray.tobytes, load=load)


def mapped_arrays(arrays: Iterable[NDArray[np.uint64]]) -> Sequence[NDArray[np.uint64]]:
    """The same of arrays that are read again and again: mapped into memory, where there is room."""
    sizes = array("q", [0])
    numbers = joined(_counted(arrays, sizes), np.uint64)
    ends = np.cumsum(sizes)
    return MappedList(lambda i: numbers[ends[i] : ends[i + 1]], range(len(sizes) - 1))


def _counted(arrays: Iterable[NDArray[Number]], sizes: array[int]) -> Iterator[NDArray[Number]]:
    for one in arrays:
        sizes.append(len(one))
        yield one


def pack(value: Any) -> bytes:
    """A pickle whose arrays stand behind it, so that `unpacked_on_disk` need not copy them."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pieces = [head, *(one.raw() for one in buffers)]
    sizes = np.array([len(pieces), *map(len, pieces)], np.int64).tobytes()
    return b"".join(piece + bytes(-len(piece) % _ALIGN) for piece in map(bytes, [sizes, *pieces]))


def unpacked_on_disk(data: bytes | memoryview, folder: str | None = None) -> Any:
    """What was packed; its arrays lie in a file without a name, mapped into memory, read-only."""
    with tempfile.TemporaryFile(prefix="retgen-", dir=folder) as file:
        with os_errors(Path(folder or tempfile.gettempdir()), only_room=True):
            file.write(data)
            file.flush()
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    count = int(np.frombuffer(view[:8], np.int64)[0])
    start, pieces = 8 * (count + 1), []
    for size in np.frombuffer(view[8:start], np.int64).tolist():
        start += -start % _ALIGN
        pieces.append(view[start : start + size])
        start += size
    return pickle.loads(pieces[0], buffers=pieces[1:])


IN_MEMORY = 1 << 20  # numbers of an array that lies on no disk


def joined(
    parts: Iterable[NDArray[Number]], kind: type[Number], folder: str | None = None
) -> NDArray[Number]:
    """One array of several; of more than `IN_MEMORY` numbers in a file without a name, mapped into
    memory. It is read-only.
    """
    with tempfile.TemporaryFile(prefix="retgen-", dir=folder) as file:
        with os_errors(Path(folder or tempfile.gettempdir()), only_room=True):
            size = sum(file.write(np.ascontiguousarray(one, kind).data) for one in parts)
            file.seek(0)
        count = size // np.dtype(kind).itemsize
        if count <= IN_MEMORY:
            return np.frombuffer(file.read(), kind)
        return np.asarray(np.memmap(file, kind, "r", shape=(count,)))
