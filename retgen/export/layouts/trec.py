"""TREC: qrels and topics of trec_eval and its kin, the corpus as JSON Lines.

q3694367 0 d1203 1
"""

from __future__ import annotations

import re
from typing import Any

from retgen.data import Document, Qrel, Query
from retgen.export.layouts import Layout, Table, UnfitId
from retgen.export.records import ExportJob

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def trec_id(name: str) -> str:
    """An id as TREC's files hold it. Raises `UnfitId` where they cannot."""
    if name.split() != [name] or _CONTROL.search(name):
        raise UnfitId(
            f"the id {name!r} cannot stand in TREC's files, where white space ends an id: give it "
            "another id, or choose another layout"
        )
    return name


def qrel_line(qrel: Qrel) -> str:
    """A line of TREC's qrels."""
    return f"{trec_id(qrel.query_id)} 0 {trec_id(qrel.doc_id)} {int(qrel.relevance)}\n"


def topic(query: Query) -> str:
    """A topic is a line; white space in a text is one blank."""
    return f"{trec_id(query.query_id)}\t{' '.join(query.text.split())}\n"


def document(one: Document) -> dict[str, Any]:
    """A row of the corpus, as Anserini reads it."""
    contents = f"{one.title} {one.text}".strip()
    return {"id": trec_id(one.doc_id), "title": one.title, "contents": contents}


class Trec(Layout):
    about = "topics.SPLIT.tsv, qrels.SPLIT.txt, corpus.jsonl (id, title, contents)"
    readers = "trec_eval, ir_measures, ir_datasets, Anserini and Pyserini"
    whole = "TREC's qrels"
    tables = (
        Table("corpus.jsonl", ExportJob.documents, document),
        Table("topics.{split}.tsv", ExportJob.queries, topic),
        Table("qrels.{split}.txt", ExportJob.qrels, qrel_line),
        Table("qrels_graded.{split}.txt", ExportJob.grades, qrel_line),
    )
    usage = """In TREC's layout. Topics are lines: id, tab, text; white space in a text is one \
blank.

```python
import ir_measures

qrels = ir_measures.read_trec_qrels("FOLDER/qrels.{split}.txt")
```"""
