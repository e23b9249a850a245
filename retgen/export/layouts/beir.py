"""BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

query-id	corpus-id	score
q3694367	d1203	1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from retgen.data import Qrel
from retgen.export.layouts import Layout, Table
from retgen.export.layouts.parquet import document_rows, query_rows
from retgen.export.records import UnfitId

# csv, which BEIR's loader reads with, ends a value or begins a quoted one at these
_BROKEN = re.compile(r'[\t\r\n\0]|^"')
_HEAD = "query-id\tcorpus-id\tscore\n"


def lines(qrels: Iterable[Qrel]) -> Iterator[str]:
    """Lines of a table with tabs between. Raises `UnfitId`."""
    for query_id, doc_id, relevance in qrels:
        for name in (query_id, doc_id):
            if _BROKEN.search(name):
                raise UnfitId(
                    f"the id {name!r} cannot stand in BEIR's qrels, which are lines with tabs "
                    "between: give it another id, or export --to parquet"
                )
        yield f"{query_id}\t{doc_id}\t{int(relevance)}\n"


class Beir(Layout):
    about = (
        "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; grades beside binary qrels in qrels_graded/"
    )
    readers = "beir (GenericDataLoader), and what reads BEIR's folders"
    whole = "BEIR"
    tables = (
        Table("corpus.jsonl", document_rows),
        Table("queries.jsonl", query_rows),
        Table("qrels/{split}.tsv", lambda job, split: lines(job.qrels(split)), head=_HEAD),
        Table("qrels_graded/{split}.tsv", lambda job, split: lines(job.grades(split)), head=_HEAD),
    )
    usage = """In the layout of BEIR:

```python
from beir.datasets.data_loader import GenericDataLoader

corpus, queries, qrels = GenericDataLoader("FOLDER").load("{split}")
```"""
