"""Source documents: the texts that a data set is written from, of any common format.

Where it is asked for, a document comes with its structure: blocks, links, short forms.

Rows are read one by one. A row that is no document is a `RefusedRow` with its reason, and so
is a file of a folder that is not read; reading goes on. A file that cannot be read at all is an
error.

| module | idea |
|---|---|
| `read` | a source by its path, a folder with all below it; ids and texts that come twice |
| `formats` | files of rows: JSON Lines, JSON, CSV, TSV, Parquet, the Hub |
| `texts` | files that are a document |
| `chapters` | a source of one document, given as its chapters |
| `convert` | HTML, PDF, DOCX and others as Markdown |
| `markdown` `plain` | the structure of a text |
| `encodings` | bytes as text |
| `records` | what they give and take |
"""

from retgen.sources.formats import HUB
from retgen.sources.markdown import shown_words
from retgen.sources.read import FORMATS, read_sources, refusals
from retgen.sources.records import (
    Block,
    Columns,
    RefusedRow,
    SourceDocument,
    SourceNotes,
    TableColumns,
    is_row_id,
)

__all__ = [
    "FORMATS",
    "HUB",
    "Block",
    "Columns",
    "RefusedRow",
    "SourceDocument",
    "SourceNotes",
    "TableColumns",
    "is_row_id",
    "read_sources",
    "refusals",
    "shown_words",
]
