"""`gen export`: a data set in other layouts, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from retgen.data import GRADED, Dataset, Qrel, open_dataset
from retgen.errors import DatasetError, OutputError, UsageError
from retgen.evaluation.scoring.mteb_files import NO_LANGUAGE, main_score, task_name
from retgen.markdown import escaped, front_matter
from retgen.reporting.card import content_id, free
from retgen.write import AtomicFile, FileInfo, make_folder, write_file


def export(path: str | Path, to: str, out: str | Path | None = None) -> Path:
    """Write the data set of a run (or any that `gen validate` reads) in another layout.

    `to`: "beir" (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv) or "mteb" (corpus.jsonl,
    queries.jsonl, qrels.jsonl, a card, and task.py with a ready task). Grades beside binary qrels
    go into qrels_graded/SPLIT.tsv or qrels_graded.jsonl. Default folder:
    RUN/exports/TO of a run, else outputs/export_NAME_TO. Returns the folder. Raises `OutputError`
    where the folder is not empty.
    """
    if to not in LAYOUTS:
        raise UsageError(f"--to {to}: there is no such layout. Possible: {', '.join(LAYOUTS)}")
    dataset = open_dataset(path)
    folder = Path(out) if out is not None else _default_folder(dataset, Path(path), to)
    if folder.is_file():
        raise OutputError(f"{folder} is a file; choose a folder with --out")
    if folder.exists() and any(folder.iterdir()):
        raise OutputError(f"{folder} is not empty; choose another folder with --out")
    make_folder(folder)
    LAYOUTS[to](dataset, folder, Path(path).resolve().name)
    return folder


def _beir(dataset: Dataset, folder: Path, name: str) -> None:
    _documents(dataset, folder)
    _queries(dataset, folder)
    for stem, split, qrels in _judged(dataset):
        make_folder(folder / stem)
        with AtomicFile(folder / stem / f"{split}.tsv") as file:
            file.write(b"query-id\tcorpus-id\tscore\n")
            for qrel in qrels:
                file.write(f"{qrel.query_id}\t{qrel.doc_id}\t{int(qrel.relevance)}\n".encode())


def _judged(dataset: Dataset) -> Iterator[tuple[str, str, list[Qrel]]]:
    """(stem of a file's name, split, rows) of the qrels, then of the grades beside them."""
    for split in dataset.qrels:
        yield "qrels", split, dataset.read_qrels(split)[0]
    for split in dataset.graded:
        yield GRADED, split, dataset.read_graded(split)[0]


def _default_folder(dataset: Dataset, path: Path, to: str) -> Path:
    """Nothing is written into a data set that is not ours."""
    if dataset.run:
        return path / "exports" / to
    return Path("outputs") / f"export_{path.resolve().name}_{to}"


def _stated(dataset: Dataset) -> tuple[list[str], str]:
    """Languages and licence of a run by its manifest; of another data set neither is known."""
    try:
        path = (dataset.run or dataset.root) / "manifest.json"
        manifest: dict[str, Any] = orjson.loads(path.read_bytes()) if dataset.run else {}
        licences = dict(manifest.get("licences") or {})
        languages = list(manifest.get("languages") or [NO_LANGUAGE])
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"{path} cannot be read; it states the licences: make the run again with --fresh"
        ) from error
    if free(licences):
        return languages, "apache-2.0"
    return languages, "multiple" if len(set(licences.values())) > 1 else "not specified"


def _mteb(dataset: Dataset, folder: Path, name: str) -> None:
    languages, licence = _stated(dataset)
    files = {
        "corpus.jsonl": _documents(dataset, folder),
        "queries.jsonl": _queries(dataset, folder),
    }
    splits: dict[str, list[dict[str, str]]] = {"qrels": []}
    for stem, split, qrels in _judged(dataset):
        name_of_split = f"{stem}.jsonl" if split == "test" else f"{stem}.{split}.jsonl"
        rows = (
            {"query-id": q.query_id, "corpus-id": q.doc_id, "score": int(q.relevance)}
            for q in qrels
        )
        files[name_of_split] = _jsonl(folder / name_of_split, rows)
        splits.setdefault(stem, []).append({"split": split, "path": name_of_split})
    state = content_id({file: info.sha256 for file, info in files.items()})
    configs = {
        "default": splits["qrels"],
        "corpus": [{"split": "corpus", "path": "corpus.jsonl"}],
        "queries": [{"split": "queries", "path": "queries.jsonl"}],
        **({"graded": splits[GRADED]} if dataset.graded else {}),
    }
    header = front_matter({
        "configs": [{"config_name": one, "data_files": of} for one, of in configs.items()],
        "dataset_info": [{"config_name": one, "description": state} for one in configs],
    })  # fmt: skip
    write_file(folder / "README.md", f"{header}# {escaped(name)}\n\n{_MTEB_CARD}")
    class_name = task_name(name)
    depth = max(len(docs) for docs in _relevant(dataset).values())
    graded = any(q.relevance > 1 for split in dataset.qrels for q in dataset.read_qrels(split)[0])
    score = main_score(depth, graded)
    write_file(
        folder / "task.py",
        _MTEB_TASK.format(
            class_name=class_name,
            about=f"Synthetic retrieval data set {name}, made with retgen",
            splits=list(dataset.qrels),
            depth=depth,
            score=score,
            measure=score.replace("_at_", "@").replace("ndcg", "nDCG"),
            languages=languages,
            licence=licence,
        ),
    )


LAYOUTS: dict[str, Callable[[Dataset, Path, str], None]] = {"beir": _beir, "mteb": _mteb}


def _documents(dataset: Dataset, folder: Path) -> FileInfo:
    rows = (
        {"_id": d.doc_id, "title": d.title, "text": d.text, "metadata": d.metadata or {}}
        for d in dataset.documents()
    )
    return _jsonl(folder / "corpus.jsonl", rows)


def _queries(dataset: Dataset, folder: Path) -> FileInfo:
    rows = (
        {"_id": q.query_id, "text": q.text, "metadata": q.metadata or {}}
        for q in dataset.read_queries()[0]
    )
    return _jsonl(folder / "queries.jsonl", rows)


def _jsonl(path: Path, rows: Iterator[dict[str, Any]]) -> FileInfo:
    with AtomicFile(path) as file:
        lines: list[bytes] = []
        for row in rows:
            lines.append(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            if len(lines) == 10_000:
                file.write(b"".join(lines))
                lines = []
        file.write(b"".join(lines))
    return file.info


def _relevant(dataset: Dataset) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for split in dataset.qrels:
        for qrel in dataset.read_qrels(split)[0]:
            if qrel.relevance > 0:
                result.setdefault(qrel.query_id, []).append(qrel.doc_id)
    return result or {"": []}


_MTEB_CARD = "In the layout that MTEB reads. `task.py` beside this card is a ready task.\n"

_MTEB_TASK = '''"""An MTEB task over this folder: python task.py MODEL"""

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
