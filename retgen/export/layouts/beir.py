"""BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

query-id	corpus-id	score
q3694367	d1203	1
"""

from __future__ import annotations

import re

from retgen.data import Qrel
from retgen.export.layouts import Layout, Table, UnfitId
from retgen.export.layouts.parquet import document_row, query_row
from retgen.export.records import ExportJob

# csv, which BEIR's loader reads with, ends a value or begins a quoted one at these
_BROKEN = re.compile(r'[\t\r\n\0]|^"')
_HEAD = "query-id\tcorpus-id\tscore\n"


def qrel_line(qrel: Qrel) -> str:
    """A line of a table with tabs between. Raises `UnfitId`."""
    for name in (qrel.query_id, qrel.doc_id):
        if _BROKEN.search(name):
            raise UnfitId(
                f"the id {name!r} cannot stand in BEIR's qrels, which are lines with tabs "
                "between: give it another id, or export --to parquet"
            )
    return f"{qrel.query_id}\t{qrel.doc_id}\t{int(qrel.relevance)}\n"


class Beir(Layout):
    about = (
        "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; grades beside binary qrels in qrels_graded/"
    )
    readers = "beir (GenericDataLoader), and what reads BEIR's folders"
    whole = "BEIR"
    tables = (
        Table("corpus.jsonl", ExportJob.documents, document_row),
        Table("queries.jsonl", ExportJob.queries, query_row),
        Table("qrels/{split}.tsv", ExportJob.qrels, qrel_line, head=_HEAD),
        Table("qrels_graded/{split}.tsv", ExportJob.grades, qrel_line, head=_HEAD),
    )
    usage = """In the layout of BEIR:

```python
from beir.datasets.data_loader import GenericDataLoader

corpus, queries, qrels = GenericDataLoader("FOLDER").load("{split}")
```"""
