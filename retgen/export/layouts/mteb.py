"""MTEB: the tables as Parquet, and a ready task."""

from __future__ import annotations

from dataclasses import replace

from retgen.export.layouts import LayoutCard, parquet
from retgen.export.mteb import write_mteb
from retgen.export.records import ExportJob


class Mteb(parquet.Parquet):
    about = "corpus/, queries/ and qrels/SPLIT as Parquet, task.py: a ready task"
    readers = "mteb, load_dataset"
    whole = "MTEB"
    tags = ("mteb",)

    def write(self, job: ExportJob) -> LayoutCard:
        card = super().write(job)
        write_mteb(job.folder, "", job.facts, job.dataset.run)
        usage = "In the layout that MTEB reads. `task.py` beside this card is a ready task."
        return replace(card, usage=usage)
