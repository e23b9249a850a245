"""Source documents: the texts that a data set is written from, of any common format.

Rows are read one by one. A row that is no document is a `RefusedRow` with its reason, and so
is a file of a folder that is not read; reading goes on. A file that cannot be read at all is an
error.

| module | idea |
|---|---|
| `read` | a source by its path, a folder with all below it; ids and texts that come twice |
| `formats` | a file of rows (JSON Lines, CSV, TSV, Parquet, the Hub), or that is a document |
| `records` | what they give and take |
"""

from retgen.sources.formats import HUB
from retgen.sources.read import FORMATS, LONGEST, read_sources, refusals
from retgen.sources.records import (
    DOCUMENT,
    Block,
    BlockKind,
    Columns,
    Link,
    RefusedRow,
    ShortForm,
    SourceDocument,
    TableColumns,
)

__all__ = [
    "DOCUMENT",
    "FORMATS",
    "HUB",
    "LONGEST",
    "Block",
    "BlockKind",
    "Columns",
    "Link",
    "RefusedRow",
    "ShortForm",
    "SourceDocument",
    "TableColumns",
    "read_sources",
    "refusals",
]  # fmt: skip
