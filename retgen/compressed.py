"""Files that may be compressed: what one holds by its name, and its bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from retgen.errors import DatasetError


def _zst(path: Path) -> IO[bytes]:
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))


COMPRESSED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _zst,
}  # fmt: skip


def kind(path: Path) -> str:
    """What a file holds, by its name: "a.csv.gz" is a .csv."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if its name says that it is compressed."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        with open(path, "rb") as file:
            yield file
        return
    try:
        with COMPRESSED[suffix](path) as file:
            yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's, not the format's
        raise DatasetError(
            f"{path}: is not a whole {suffix} file ({error}); compress it again"
        ) from error
