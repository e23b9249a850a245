"""TREC: qrels and topics of trec_eval and its kin, the corpus as JSON Lines.

q3694367 0 d1203 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from xml.sax.saxutils import escape, quoteattr

from retgen.data import Query
from retgen.export.files import (
    CONTROL,
    WITHOUT,
    judged_tables,
    note_without,
    trec_id,
    trec_line,
    write_jsonl,
    write_lines,
    write_tsv,
)
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line


class Trec(Layout):
    about = (
        "topics.SPLIT.tsv, topics.SPLIT.xml, qrels.SPLIT.txt, corpus.jsonl (id, title, contents)"
    )
    readers = "trec_eval, ir_measures, ir_datasets, Anserini and Pyserini"

    def write(self, job: ExportJob) -> LayoutCard:
        job.judged.check_whole("TREC's qrels")
        write_jsonl(
            job.folder / "corpus.jsonl",
            (
                {
                    "id": trec_id(one.doc_id, job),
                    "title": one.title,
                    "contents": f"{one.title} {one.text}".strip(),
                }
                for one in job.documents()
            ),
        )
        for split in job.splits:
            _topics(job, split, partial(job.judged.queries_of, split))
        count = _topics(job, WITHOUT, partial(job.judged.queries, positive=False))
        where = f"topics.{WITHOUT}.tsv, what was judged of them in qrels_{WITHOUT}.SPLIT.txt"
        note_without(job, count, f"they are in {where}")
        for stem, split, qrels in judged_tables(job):
            path = job.folder / f"{stem}.{split}.txt"
            write_lines(path, (trec_line(qrel, job) for qrel in qrels))
        split = job.splits[0]
        return LayoutCard(
            [
                "In TREC's layout. Topics stand twice: as lines (id, tab, text; white space in a "
                "text is one blank) and as XML, where texts are whole.",
                "",
                "```python",
                "import ir_measures",
                "",
                f'qrels = ir_measures.read_trec_qrels("FOLDER/qrels.{one_line(split)}.txt")',
                "```",
            ]
        )


def _topics(job: ExportJob, name: str, queries: Callable[[], Iterable[Query]]) -> int:
    """Write both forms; how many topics. No topic, no file."""
    count = write_tsv(
        job.folder / f"topics.{name}.tsv",
        "",
        ((trec_id(q.query_id, job), " ".join(q.text.split())) for q in queries()),
    )
    if count:
        write_lines(job.folder / f"topics.{name}.xml", _xml(queries()))
    return count


def _xml(queries: Iterable[Query]) -> Iterator[bytes]:
    yield b"<topics>\n"
    for one in queries:
        title = escape(CONTROL.sub(" ", one.text), {"\r": "&#13;"})
        yield f"<topic number={quoteattr(one.query_id)}><title>{title}</title></topic>\n".encode()
    yield b"</topics>\n"
