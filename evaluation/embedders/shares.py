"""A corpus encoded by ranks: files of blocks of documents, which one process reads for its search.

A block is an array in the format of .npy, a record a document: hash of the text, tokens, vector in
float16. Its name follows from its number, its content from the model and the texts alone, so a rank
that was killed goes on, and whoever encodes a block writes the same.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.engines.files import ResultFiles
from retgen.engines.ranks import Rank, Ranks
from retgen.errors import UsageError
from retgen.version import __version__

BLOCK = 4_096  # documents: few files of 100 million, and little is lost when a rank is killed


class Shares:
    """Blocks of one corpus and one model in a folder. `model`: what its vectors depend on."""

    def __init__(self, folder: Path, model: str, of: int) -> None:
        self.of = of
        self._files = ResultFiles(folder, model.encode())
        again = f"or remove {folder} to begin again"
        alone = f"remove {folder} to encode all here"
        self._ranks = Ranks(self._files, str(folder), again, alone, self._difference)
        self._again = again

    @classmethod
    def join(cls, folder: Path, rank: Rank, model: str, documents: int, size: int) -> Shares:
        """Those that a rank adds to; `documents` and `size` in bytes are the corpus's.

        Raises `RunDirectoryError` where other ranks do something else.
        """
        result = cls(folder, model, rank.of)
        stated = {"corpus": [documents, size], "model": model, "retgen": __version__}
        result._ranks.join(rank, stated)
        return result

    @classmethod
    def of_all_ranks(cls, folder: Path, model: str) -> Shares | None:
        """Those that ranks have left; None where there were none.

        Raises `RanksMissing`, naming the ranks that have not finished, and `RunDirectoryError`
        where they had another model.
        """
        there = Ranks.common(folder)
        if there is None:
            return None
        result = cls(folder, model, there["of"])
        result._ranks.check_alike(there, there | {"model": model})
        result._ranks.check_finished(result.of)
        return result

    def _difference(self, there: dict[str, Any], own: dict[str, Any]) -> str | None:
        (documents, size), (others, their_size) = own["corpus"], there["corpus"]
        if there["corpus"] != own["corpus"]:
            return (
                f"other ranks encode a corpus of {others:,} documents and {their_size:,} bytes, "
                f"this rank has {documents:,} and {size:,}: give all the same data set, "
                f"{self._again}"
            )
        if there["retgen"] != own["retgen"]:
            return (
                f"other ranks have retgen {there['retgen']}, this one has {own['retgen']}: "
                f"install the same everywhere, {self._again}"
            )
        if there["model"] != own["model"]:
            return (
                "ranks encoded with other weights of the model or other options (--dtype, "
                "--max-length, prompts, --attn-implementation): give the same, "
                f"{self._again}"
            )
        return None

    def read(self, first: int, texts: Sequence[str]) -> NDArray[Any] | None:
        """The records of the block that begins with document `first`.

        None where they are not there, damaged, or of other texts.
        """
        kept = self._files.read(_block(first))
        if kept is None:
            return None
        result: NDArray[Any] = np.load(io.BytesIO(kept), allow_pickle=False)
        return result if np.array_equal(result["text"], _hashes(texts)) else None

    def keep(
        self, first: int, texts: Sequence[str], vectors: NDArray[np.float32], tokens: Sequence[int]
    ) -> None:
        """Write a block."""
        kind = [("text", "<u8"), ("tokens", "<u4"), ("vector", "<f2", (vectors.shape[1],))]
        result = np.zeros(len(texts), kind)
        result["text"], result["tokens"] = _hashes(texts), tokens
        with np.errstate(over="ignore"):
            result["vector"] = vectors
        if not np.isfinite(result["vector"]).all():
            raise UsageError(
                "--rank: this model gives vectors with values above 65,504, which float16 does not "
                "hold; encode the corpus without --rank"
            )
        file = io.BytesIO()
        np.save(file, result, allow_pickle=False)
        self._files.keep(_block(first), file.getbuffer())

    def finish(self, rank: Rank) -> None:
        """Note that a rank has done its share."""
        self._ranks.finish(rank)

    def records(self, first: int, texts: Sequence[str]) -> NDArray[Any]:
        """The records of `texts`: whole blocks, the first of which begins with document `first`."""
        parts = []
        for start in range(0, len(texts), BLOCK):
            part = self.read(first + start, texts[start : start + BLOCK])
            if part is None:
                number = (first + start) // BLOCK
                raise self._ranks.missing(
                    [number % self.of],
                    self.of,
                    f"{_block(first + start)} is gone, damaged, or of documents that have changed "
                    "since; it is encoded by",
                )
            parts.append(part)
        return np.concatenate(parts)


def _block(first: int) -> str:
    return f"block {first // BLOCK}"


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    return np.array([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], np.uint64)
