"""TREC: qrels and topics of trec_eval and its kin, the corpus as JSON Lines.

q3694367 0 d1203 1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from retgen.data import Query
from retgen.export.layouts import QRELS_APART, QUERIES_APART, Layout, Table
from retgen.export.records import CONTROL, ExportJob, trec_id, trec_line


def documents(job: ExportJob) -> Iterator[Mapping[str, Any]]:
    for one in job.documents():
        contents = f"{one.title} {one.text}".strip()
        yield {"id": trec_id(one.doc_id), "title": one.title, "contents": contents}


def topics(queries: Iterable[Query]) -> Iterator[str]:
    """A topic a line; white space in a text is one blank."""
    for one in queries:
        yield f"{trec_id(one.query_id)}\t{' '.join(one.text.split())}\n"


def topics_xml(queries: Iterable[Query]) -> Iterator[str]:
    """The same as XML, where texts are whole."""
    for one in queries:
        title = escape(CONTROL.sub(" ", one.text), {"\r": "&#13;"})
        yield f"<topic number={quoteattr(one.query_id)}><title>{title}</title></topic>\n"


_Xml = partial(Table, head="<topics>\n", tail="</topics>\n")


class Trec(Layout):
    about = (
        "topics.SPLIT.tsv, topics.SPLIT.xml, qrels.SPLIT.txt, corpus.jsonl (id, title, contents)"
    )
    readers = "trec_eval, ir_measures, ir_datasets, Anserini and Pyserini"
    whole = "TREC's qrels"
    apart = (
        "they are in topics.without_positives.tsv, what was judged of them in "
        "qrels_without_positives.SPLIT.txt, so that no score counts them"
    )
    tables = (
        Table("corpus.jsonl", documents),
        Table("topics.{split}.tsv", lambda job, split: topics(job.queries(split))),
        _Xml("topics.{split}.xml", lambda job, split: topics_xml(job.queries(split))),
        Table(
            "topics.without_positives.tsv",
            lambda job: topics(job.queries(apart=True)),
            of=QUERIES_APART,
        ),
        _Xml("topics.without_positives.xml", lambda job: topics_xml(job.queries(apart=True))),
        Table("qrels.{split}.txt", lambda job, split: map(trec_line, job.qrels(split))),
        Table("qrels_graded.{split}.txt", lambda job, split: map(trec_line, job.grades(split))),
        Table(
            "qrels_without_positives.{split}.txt",
            lambda job, split: map(trec_line, job.qrels(split, apart=True)),
            of=QRELS_APART,
        ),
    )
    usage = """In TREC's layout. Topics stand twice: as lines (id, tab, text; white space in a \
text is one blank) and as XML, where texts are whole.

```python
import ir_measures

qrels = ir_measures.read_trec_qrels("FOLDER/qrels.{split}.txt")
```"""
