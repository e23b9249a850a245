"""What rows hold beside id, title and text: columns that no retriever reads, and others do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from retgen.data import TableFiles

_COLUMNS = frozenset({"_id", "id", "title", "text", "metadata"})
_ID_LIKE = 200  # characters; in a longer text no single word is looked up


def extra(row: Any) -> dict[str, Any] | None:
    """What a row holds beside the columns of a corpus, None for nothing."""
    if type(row) is not dict or row.keys() <= _COLUMNS:
        return None
    return {key: value for key, value in row.items() if key not in _COLUMNS}


def texts_by_column(
    queries: TableFiles, asked: Container[str], tables: Container[tuple[Path, ...]] = ()
) -> dict[str, dict[str, set[str]]]:
    """Column -> query id -> the texts it holds beside id and text, of the queries `asked`.

    `tables`: the files of each table of qrels; where queries list their qrels, that column is one.
    """
    qrels = {"positives"} if queries.files in tables else set()
    result: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for row in queries:
        if type(row) is dict:
            query_id = str(row.get("_id", row.get("id")))
            if query_id not in asked:
                continue
            others = {key: row[key] for key in row.keys() - _COLUMNS - qrels}
            for column, text in leaves(row.get("metadata"), others):
                result[column].setdefault(query_id, set()).add(text)
    return dict(result)


def leaves(metadata: Any, others: Any) -> Iterator[tuple[str, str]]:
    """(column, text) of all that metadata and further columns hold; an id in a text stands alone.

    A column inside another one is named with a dot.
    """
    stack: list[tuple[str, Any]] = [("metadata", metadata)] if metadata is not None else []
    stack += [(str(key), value) for key, value in others.items()] if others else []
    while stack:
        column, value = stack.pop()
        if isinstance(value, dict):
            stack += [(f"{column}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            stack += [(column, inner) for inner in value]
        elif isinstance(value, str | int):
            text = str(value)
            yield column, text
            if len(text) <= _ID_LIKE:
                for part in re.split(r"[\s,;:/|?&=]+", text):
                    if part and part != text:
                        yield column, part
