"""The task of a data set for MTEB: task.py with its `TaskMetadata`, as far as it is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.data import Dataset, open_dataset, read_manifest
from retgen.evaluation.scoring.measures import mteb_score
from retgen.export.facts import DatasetFacts
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.write import make_folder, write_file

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_MEASURE = "nDCG@10"  # of a data set whose family names none that MTEB has


def task_name(name: str) -> str:
    """The name of a data set's task: words run together, capitals kept, Retrieval at its end."""
    words = [word for word in re.split(r"[^0-9A-Za-z]+", name) if word]
    joined = "".join(word[0].upper() + word[1:] for word in words)
    prefix = "Set" if not joined or joined[0].isdigit() else ""
    return prefix + joined + ("" if joined.endswith("Retrieval") else "Retrieval")


def write_mteb(
    root: Path, below: str, facts: DatasetFacts, run: Path | None, *, loaded_as: str = ""
) -> None:
    """Write task.py `below` the tables at `root`.

    `run`: its directory; `loaded_as`: what `load_dataset` is given. Raises `DatasetError` for
    invalid rows.
    """
    dataset = open_dataset(root, checked=False)
    repository = loaded_as if _REPOSITORY.fullmatch(loaded_as) else None
    splits = list(dataset.qrels)
    if "test" in splits:
        splits = ["test"]
    elif splits != ["train"]:
        splits = [name for name in splits if name != "train"]
    measure, known = _of_run(run) if run is not None else (_MEASURE, {})
    fields: dict[str, Any] = {
        "name": task_name(facts.name),
        "description": f"Retrieval data set {facts.name}",
        "reference": f"https://huggingface.co/datasets/{repository}" if repository else None,
        "type": "Retrieval",
        "category": "t2t",
        "modalities": ["text"],
        "eval_splits": splits,
        "eval_langs": list(facts.languages),
        "main_score": mteb_score(measure),
        "date": None,
        "domains": None,
        "task_subtypes": None,
        "license": facts.mteb_licence,
        "annotations_creators": None,
        "dialect": [],
        "sample_creation": None,
        "bibtex_citation": None,
        "adapted_from": [],
        "is_public": repository is not None,
        **known,
    }
    own = _queries_are_documents(dataset, root)
    make_folder(root / below)
    task = _module(fields, measure, repository, own, 1 if below else 0)
    write_file(root / below / "task.py", task)


def _queries_are_documents(dataset: Dataset, path: Path) -> bool:
    """Whether queries are documents of the corpus, by their ids (`Collection.own`).

    Not where a query has a relevant document of its own id, which MTEB would leave out as well: ids
    of queries and documents were numbered alike then.
    """
    judged = set()
    for table in dataset.qrels.values():
        for qrel in table.records(path):
            if qrel.relevance > 0 and qrel.query_id == qrel.doc_id:
                return False
            judged.add(qrel.query_id)
    return any(one.doc_id in judged for one in dataset.documents(path))


def _of_run(run: Path) -> tuple[str, dict[str, Any]]:
    """The measure of a run, and what it knows of its texts and labels."""
    manifest = read_manifest(run) or {}
    recipe = load_recipe(run / "recipe.yaml", finished=True)
    own = recipe.family.from_user(recipe.job)
    measure = recipe.family.measure(recipe.job)
    models = {str(one.get("model")) for one in (manifest.get("models") or {}).values()}
    written = bool(models - {"offline"})  # by a model
    about = f"{evidence.what_it_is(own)} ({recipe.family.about(recipe.job)})"
    known = {
        "description": f"{about}, made with retgen",
        "task_subtypes": [],
        "annotations_creators": _judged_by(manifest.get("evidence") or {}, written),
        "sample_creation": "found" if own == "queries" else "multiple",
        "bibtex_citation": "",  # MTEB: empty where the data set has no paper of its own
    }
    if own == "nothing":  # written for it, when it was made
        day = str(manifest.get("created", ""))[:10]
        known["sample_creation"] = "LM-generated and verified" if written else "created"
        known["domains"] = ["Constructed", "Written"]
        if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
            known["date"] = (day, day)
    return measure if mteb_score(measure) else _MEASURE, known


def _judged_by(labels: Mapping[str, Any], written: bool) -> str:
    """MTEB's `AnnotatorType` of labels by the manifest's evidence. `written`: by a model."""
    judged, human = int(labels.get("judged", 0)), int(labels.get("human", 0))
    if not judged:
        return "human-annotated" if human and not labels.get("structural", 0) else "derived"
    if written:
        return "LM-generated and reviewed" if human else "LM-generated"
    return "automatic-and-reviewed" if human else "algorithmic"


def _module(
    fields: Mapping[str, Any], measure: str, repository: str | None, own: bool, up: int
) -> str:
    """The source of task.py, `up` folders below the tables.

    `own`: a document with a query's id is the query itself.
    """
    here = f"Path(__file__).resolve().parent{'s[1]' if up else ''}"
    lines = [f"HERE = {here}", 'DATASET = {"path": str(HERE), "revision": "local"}']
    if repository:
        lines += [
            'if not (HERE / "qrels").is_dir():  # this file without its tables: the Hub has them',
            f'    DATASET = {{"path": {repository!r}, "revision": "main"}}'
            "  # MTEB itself wants a commit",
        ]
    stated = [f"        {key}={value!r}," for key, value in fields.items()]
    return _MODULE.format(
        name=fields["name"],
        dataset="\n".join(lines),
        fields="\n".join(stated),
        depth=measure.partition("@")[2],
        measure=measure,
        own="    ignore_identical_ids = True\n" if own else "",
    )


_MODULE = '''"""The MTEB task of this data set: python task.py MODEL"""

import sys
from pathlib import Path

import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

{dataset}


# state what is None in your copy; the docstring of TaskMetadata says what belongs there
class {name}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        dataset=DATASET,
{fields}
    )
{own}    k_values = tuple(sorted({{*AbsTaskRetrieval.k_values, {depth}}}))


if __name__ == "__main__":
    name = sys.argv[1]  # of MTEB's models, or a folder that sentence-transformers loads
    model = SentenceTransformer(name) if Path(name).is_dir() else mteb.get_model(name)
    for result in mteb.evaluate(model, {name}(), cache=None).task_results:
        print(f"{{result.task_name}} {measure}: {{result.get_score():.4f}}")
'''
