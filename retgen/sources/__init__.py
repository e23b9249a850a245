"""Source documents: the texts that a data set is written from, of any common format.

Rows are read one by one. A row that is no document is a `Refused` with its reason, and so is a file
of a folder that is not read; reading goes on. A file that cannot be read at all is an error.

| module | idea |
|---|---|
| `read` | a source by its path; ids and texts that come twice |
| `folders` | a folder with all below it, or a data set's |
| `texts` | a file that is a document: plain, Markdown, HTML |
| `tables` | JSON Lines, CSV, TSV, Parquet, the Hub; which columns hold what |
| `records` | what they give and take |
"""

from retgen.sources.read import FORMATS, LONGEST, read_sources, refusals
from retgen.sources.records import Columns, Held, Refused, SourceDocument
from retgen.sources.tables import HUB

__all__ = [
    "FORMATS", "HUB", "LONGEST", "Columns", "Held", "Refused", "SourceDocument", "read_sources",
    "refusals",
]  # fmt: skip
