"""What reads texts about a domain, made once for its files as they are."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from retgen.validators.world.cues import own_patterns, read_patterns
from retgen.validators.world.definitions import Definition, read_definition
from retgen.validators.world.queries import QueryReader
from retgen.validators.world.reader import Reader


class Readers(NamedTuple):
    """A domain, and what reads its documents and its queries."""

    domain: Definition
    documents: Reader
    queries: QueryReader


def readers_of(path: Path) -> Readers:
    """The readers for a domain's file. Raises `BadDefinition`."""
    return _readers(path, _content(path), _content(own_patterns(path)))


@lru_cache(maxsize=8)
def _readers(path: Path, definition: bytes, patterns: bytes) -> Readers:
    """Another content of a file is another key."""
    domain = read_definition(path)
    found = read_patterns(domain, path)
    return Readers(domain, Reader(domain, found), QueryReader(domain, found))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # whoever reads it says what is wrong
