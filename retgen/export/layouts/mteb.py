"""MTEB: corpus.jsonl, queries.jsonl, qrels.jsonl, a card, and task.py with a ready task."""

from __future__ import annotations

from retgen.data import GRADED
from retgen.evaluation.scoring.mteb_files import main_score, task_name
from retgen.export.files import (
    WITHOUT,
    document_rows,
    jsonl,
    judged_tables,
    note_without,
    qrel_rows,
    query_rows,
)
from retgen.export.layout import Job, Layout, Page
from retgen.write import write_file

_CONFIGS = {"qrels": "default", GRADED: "graded", f"qrels_{WITHOUT}": f"qrels_{WITHOUT}"}


class Mteb(Layout):
    about = "corpus.jsonl, queries.jsonl, qrels.jsonl, task.py: a ready task"
    readers = "mteb, load_dataset"

    def write(self, job: Job) -> Page:
        job.judged.check_whole("MTEB")
        jsonl(job.folder / "corpus.jsonl", document_rows(job))
        jsonl(job.folder / "queries.jsonl", query_rows(job.judged.queries()))
        configs: dict[str, dict[str, str]] = {
            "default": {},
            "corpus": {"corpus": "corpus.jsonl"},
            "queries": {"queries": "queries.jsonl"},
        }
        for stem, split, qrels in judged_tables(job):
            name = f"{stem}.jsonl" if split == "test" else f"{stem}.{split}.jsonl"
            if jsonl(job.folder / name, qrel_rows(qrels)):
                configs.setdefault(_CONFIGS[stem], {})[split] = name
        apart = f"queries_{WITHOUT}"
        rows = query_rows(job.judged.queries(positive=False))
        if count := jsonl(job.folder / f"{apart}.jsonl", rows):
            configs[apart] = {"queries": f"{apart}.jsonl"}
            note_without(job, count, f"they are in {apart}.jsonl, a configuration of its own")
        write_file(job.folder / "task.py", _task(job))
        return Page(
            ["In the layout that MTEB reads. `task.py` beside this card is a ready task."],
            configs, ("mteb",),
        )  # fmt: skip


def _task(job: Job) -> str:
    name, depth = job.facts.name, job.judged.most_positives()
    score = main_score(depth, job.judged.most() > 1)
    made = ", made with retgen" if job.facts.ours else ""
    return _TASK.format(
        class_name=task_name(name),
        about=f"{'Synthetic retrieval' if job.facts.ours else 'Retrieval'} data set {name}{made}",
        splits=list(job.splits),
        depth=depth,
        score=score,
        measure=score.replace("_at_", "@").replace("ndcg", "nDCG"),
        languages=list(job.facts.languages),
        licence=job.facts.mteb_licence,
    )


_TASK = '''"""An MTEB task over this folder: python task.py MODEL"""

import sys
from pathlib import Path

import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata


class {class_name}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="{class_name}",
        description={about!r},
        dataset={{"path": str(Path(__file__).resolve().parent), "revision": "local"}},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits={splits},
        eval_langs={languages!r},
        main_score="{score}",
        date=None,
        domains=[],
        task_subtypes=[],
        license={licence!r},
        annotations_creators="derived",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )
    k_values = tuple(sorted({{1, 2, 10, 20, 100, 1000, {depth}}}))

    def load_data(self, *args, **kwargs):
        super().load_data(*args, **kwargs)
        for splits in self.dataset.values():
            for split in splits.values():
                for table in ("corpus", "queries"):
                    # a batch of lists of several lengths cannot be stacked, and no model reads them
                    if "metadata" in split[table].column_names:
                        split[table] = split[table].remove_columns("metadata")


if __name__ == "__main__":
    model = mteb.get_model(sys.argv[1])
    for result in mteb.evaluate(model, {class_name}(), cache=None).task_results:
        print(f"{{result.task_name}} {measure}: {{result.get_score():.4f}}")
'''
