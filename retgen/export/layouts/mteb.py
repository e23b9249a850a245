"""MTEB: the tables as Parquet, and a ready task."""

from __future__ import annotations

from typing import Any

from retgen.export.layouts import parquet
from retgen.export.mteb import write_mteb
from retgen.export.records import ExportJob


class Mteb(parquet.Parquet):
    about = "corpus/, queries/ and qrels/SPLIT as Parquet, task.py: a ready task"
    readers = "mteb, load_dataset"
    whole = "MTEB"
    tags = ("mteb",)
    usage = "In the layout that MTEB reads. `task.py` beside this card is a ready task."

    def write(self, job: ExportJob) -> list[dict[str, Any]]:
        """Write the files and the task."""
        configs = super().write(job)
        write_mteb(job.folder, "", job.facts, job.dataset.run)
        return configs
