"""Embeddings kept on disk, whatever becomes of the disk."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from retgen.search.embedders.cache import Cache

TEXTS = [f"text {i}" for i in range(60)]
ROWS = np.arange(60 * 8, dtype=np.float32).reshape(60, 8)
TOKENS = list(range(60))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The file of a cache of 60 rows, with nothing beside it."""
    cache = Cache(tmp_path / "made", "model")
    cache.put("document", TEXTS, ROWS, TOKENS)
    assert cache.get("document", TEXTS[3:4])[0][1] == 3  # written or not yet
    with sqlite3.connect(cache.path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(shutil.copy(cache.path, tmp_path))


def opened(data: bytes, folder: Path) -> Cache:
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        left.unlink(missing_ok=True)
    (folder / "model.sqlite").write_bytes(data)
    return Cache(folder, "model")


def test_what_was_kept(kept: Path, tmp_path: Path) -> None:
    cache = opened(kept.read_bytes(), tmp_path / "again")
    known = cache.get("document", [*TEXTS, "another", TEXTS[3]])
    assert sorted(known) == [*range(60), 61]
    assert all((known[i][0] == ROWS[i]).all() and known[i][1] == i for i in range(60))
    assert cache.get("query", TEXTS) == {}
    assert Cache(tmp_path, "other").get("document", TEXTS) == {}


def test_changed_bytes_are_never_taken_for_an_embedding(kept: Path, tmp_path: Path) -> None:
    """Every row that comes back is the one that was kept; the others are encoded again."""
    whole, chance, lost = kept.read_bytes(), random.Random(3), 0
    for _ in range(150):
        data = bytearray(whole)
        for place in chance.sample(range(len(data)), 20):
            data[place] ^= 1 << chance.randrange(8)
        known = opened(bytes(data), tmp_path / "changed").get("document", TEXTS)
        lost += len(known) < 60
        assert all((row == ROWS[i]).all() and tokens == i for i, (row, tokens) in known.items())
    assert lost > 100  # what was changed were not places that nobody reads


def test_a_file_that_is_cut_is_made_anew(kept: Path, tmp_path: Path) -> None:
    data = kept.read_bytes()
    cache = opened(data[: len(data) * 2 // 3], tmp_path / "cut")
    assert len(cache.get("document", TEXTS)) < 60
    cache.put("document", TEXTS, ROWS, TOKENS)
    assert len(cache.get("document", TEXTS)) == 60
