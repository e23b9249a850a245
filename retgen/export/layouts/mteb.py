"""MTEB: corpus.jsonl, queries.jsonl, qrels.jsonl, and a ready task."""

from __future__ import annotations

from retgen.export.files import (
    CONFIGS,
    WITHOUT,
    document_rows,
    judged_tables,
    qrel_rows,
    query_row,
    write_apart,
    write_jsonl,
)
from retgen.export.layouts import ExportJob, Layout, LayoutCard
from retgen.export.mteb import write_mteb


class Mteb(Layout):
    about = "corpus.jsonl, queries.jsonl, qrels.jsonl, task.py: a ready task; eval.yaml"
    readers = "mteb, load_dataset"

    def write(self, job: ExportJob) -> LayoutCard:
        job.judged.check_whole("MTEB")
        write_jsonl(job.folder / "corpus.jsonl", document_rows(job))
        write_jsonl(job.folder / "queries.jsonl", map(query_row, job.judged.queries()))
        configs: dict[str, dict[str, str]] = {
            "default": {},
            "corpus": {"corpus": "corpus.jsonl"},
            "queries": {"queries": "queries.jsonl"},
        }
        for stem, split, qrels in judged_tables(job):
            name = f"{stem}.jsonl" if split == "test" else f"{stem}.{split}.jsonl"
            if write_jsonl(job.folder / name, qrel_rows(qrels)):
                configs.setdefault(CONFIGS[stem], {})[split] = name
        if apart := write_apart(job, query_row, ", a configuration of its own"):
            configs[f"queries_{WITHOUT}"] = {"queries": apart}
        write_mteb(job.folder, "", job.facts, job.dataset.run)
        return LayoutCard(
            [
                "In the layout that MTEB reads. `task.py` beside this card is a ready task, "
                "`eval.yaml` is for a leaderboard on the Hub.",
            ],
            configs,
            ("mteb",),
        )
