"""BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

query-id	corpus-id	score
q3694367	d1203	1
"""

from __future__ import annotations

import re

from retgen.errors import DatasetError
from retgen.export.files import (
    WITHOUT,
    document_rows,
    judged_tables,
    query_row,
    write_apart,
    write_jsonl,
    write_tsv,
)
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line

# csv, which BEIR's loader reads with, ends a value or begins a quoted one at these
_BROKEN = re.compile(r'[\t\r\n\0]|^"')


class Beir(Layout):
    about = (
        "corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; grades beside binary qrels in qrels_graded/"
    )
    readers = "beir (GenericDataLoader), and what reads BEIR's folders"

    def write(self, job: ExportJob) -> LayoutCard:
        job.judged.check_whole("BEIR")
        write_jsonl(job.folder / "corpus.jsonl", document_rows(job))
        write_jsonl(job.folder / "queries.jsonl", map(query_row, job.judged.queries()))
        write_apart(job, query_row, f", what was judged of them in qrels_{WITHOUT}")
        for stem, split, qrels in judged_tables(job):
            write_tsv(
                job.folder / stem / f"{split}.tsv",
                "query-id\tcorpus-id\tscore",
                ((_id(q.query_id, job), _id(q.doc_id, job), int(q.relevance)) for q in qrels),
            )
        split = one_line(job.splits[0])
        return LayoutCard(
            [
                "In the layout of BEIR:",
                "",
                "```python",
                "from beir.datasets.data_loader import GenericDataLoader",
                "",
                f'corpus, queries, qrels = GenericDataLoader("FOLDER").load("{split}")',
                "```",
            ]
        )


def _id(name: str, job: ExportJob) -> str:
    if _BROKEN.search(name):
        raise DatasetError(
            f"{job.path}: the id {name!r} cannot stand in BEIR's qrels, which are lines with tabs "
            "between: give it another id, or export --to parquet"
        )
    return name
