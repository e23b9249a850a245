"""TREC: qrels and topics of trec_eval and its kin, the corpus as JSON Lines.

q3694367 0 d1203 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retgen.export.layouts import Layout, Table
from retgen.export.records import ExportJob, trec_id, trec_line


def documents(job: ExportJob) -> Iterator[Mapping[str, Any]]:
    for one in job.documents():
        contents = f"{one.title} {one.text}".strip()
        yield {"id": trec_id(one.doc_id), "title": one.title, "contents": contents}


def topics(job: ExportJob, split: str) -> Iterator[str]:
    """A topic a line; white space in a text is one blank."""
    for one in job.queries(split):
        yield f"{trec_id(one.query_id)}\t{' '.join(one.text.split())}\n"


class Trec(Layout):
    about = "topics.SPLIT.tsv, qrels.SPLIT.txt, corpus.jsonl (id, title, contents)"
    readers = "trec_eval, ir_measures, ir_datasets, Anserini and Pyserini"
    whole = "TREC's qrels"
    tables = (
        Table("corpus.jsonl", documents),
        Table("topics.{split}.tsv", topics),
        Table("qrels.{split}.txt", lambda job, split: map(trec_line, job.qrels(split))),
        Table("qrels_graded.{split}.txt", lambda job, split: map(trec_line, job.grades(split))),
    )
    usage = """In TREC's layout. Topics are lines: id, tab, text; white space in a text is one \
blank.

```python
import ir_measures

qrels = ir_measures.read_trec_qrels("FOLDER/qrels.{split}.txt")
```"""
