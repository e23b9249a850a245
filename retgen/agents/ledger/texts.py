"""Requests as the ledger stores them: the long pieces once, however many requests share them.

A repair sends the whole conversation again, and all requests of an agent share its system message
and schema. So a request is stored as a JSON array of its pieces in order: a number is a text of the
table `texts`, a string stands for itself. Put together they are the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import sqlalchemy as sa

from retgen.agents.ledger import tables
from retgen.agents.ledger.statements import ADD_TEXT, FIND_TEXT

# the contents of messages, as canonical JSON has them; a content cannot hold the pattern itself,
# since quotes within are escaped
_CONTENT = re.compile(rb'(?<="content":")([^"\\]*(?:\\.[^"\\]*)*)')
_SCHEMA = b',"schema":'
_SHORT = 64  # bytes; a shorter piece costs more in a row of its own
_REMEMBERED = 256


class Texts:
    """Writes requests in pieces."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # pieces that were met more than once

    def pieces(self, db: sa.Connection, body: bytes) -> bytes:
        """The stored form of a request; what is long is put into `texts`."""
        result = _CONTENT.split(body)
        before, schema, after = result[-1].partition(_SCHEMA)
        result[-1:] = before + schema, after
        pieces: list[str | int] = []
        for piece in result:
            one = piece.decode() if len(piece) < _SHORT else self._number(db, piece)
            if isinstance(one, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += one
            else:
                pieces.append(one)
        return orjson.dumps(pieces)

    def forget(self) -> None:
        """What was known may be gone: a transaction was rolled back, or rows were removed."""
        self._known.clear()

    def _number(self, db: sa.Connection, piece: bytes) -> int | str:
        known = self._known.get(piece)
        if known is not None:
            return known
        short = int.from_bytes(hashlib.sha256(piece).digest()[:8], "big", signed=True)
        made = ADD_TEXT(db, hash=short, text=piece)
        if made.rowcount == 1:
            return int(made.lastrowid or 0)
        number, text = FIND_TEXT(db, of=short).fetchone()
        if text != piece:  # two texts with the same eight bytes of a hash
            return piece.decode()
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[piece] = int(number)
        return int(number)


def with_texts(
    db: sa.Connection, query: sa.Select[Any], at_once: int = 500
) -> Iterator[tuple[Sequence[Any], dict[int, bytes]]]:
    """Rows of `query`, which have `request`, some at a time with the texts that these need."""
    c = tables.texts.c
    for rows in db.execute(query, execution_options={"yield_per": at_once}).partitions():
        wanted = sorted({number for row in rows for number in numbers(row.request)})
        texts: dict[int, bytes] = {}
        for i in range(0, len(wanted), at_once):
            chosen = c.id.in_(wanted[i : i + at_once])
            result = db.execute(sa.select(c.id, c.text).where(chosen))
            texts.update({row.id: row.text for row in result})
        yield rows, texts


def numbers(stored: bytes) -> list[int]:
    """The texts that a stored request needs; none where damage left no request."""
    try:
        return [piece for piece in orjson.loads(stored) if isinstance(piece, int)]
    except (TypeError, ValueError):
        return []


def joined(stored: bytes, texts: Mapping[int, bytes]) -> bytes:
    """The request's bytes. Raises KeyError for a text that is not there, ValueError or TypeError
    for what damage left.
    """
    return b"".join(
        texts[piece] if isinstance(piece, int) else piece.encode() for piece in orjson.loads(stored)
    )
