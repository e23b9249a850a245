"""The task of a data set for MTEB: task.py with its `TaskMetadata`.

A run knows most fields; what only the user knows stands in mteb.yaml beside its recipe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.data import Dataset, open_dataset, read_manifest
from retgen.errors import UsageError
from retgen.evaluation.scoring.measures import measure_of_mteb, mteb_score
from retgen.export.facts import NO_LANGUAGE, DatasetFacts
from retgen.messages import did_you_mean
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.write import make_folder, write_file
from retgen.yaml_text import read_yaml

# fields that nothing in a run can tell, and what to write there
_YOURS = {
    "reference": "a URL that documents the data set",
    "date": "when the texts were written: (first day, last day)",
    "domains": "what the texts are about, of MTEB's TaskDomain",
    "task_subtypes": "of MTEB's TaskSubtype; [] where none fits",
    "annotations_creators": "who judged the pairs, of MTEB's AnnotatorType",
    "sample_creation": "how the texts were made, of MTEB's SampleCreationMethod",
    "bibtex_citation": 'BibTeX of a paper on it; "" where there is none',
}
STATED = "mteb.yaml"  # beside recipe.yaml: what the user states of these fields
_ALSO = "description eval_langs license dialect prompt main_score adapted_from is_public".split()
_MEASURES = {"ndcg": "nDCG", "map": "MAP", "mrr": "MRR"}
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


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

    `run`: its directory; `loaded_as`: what `load_dataset` is given.
    Raises `DatasetError` for invalid rows, `UsageError` for an mteb.yaml that states what is no
    field.
    """
    dataset = open_dataset(root, checked=False)
    repository = loaded_as if _REPOSITORY.fullmatch(loaded_as) else None
    fields = fields_of(dataset, facts, run, repository)
    own = _queries_are_documents(dataset, root)
    make_folder(root / below)
    write_file(root / below / "task.py", module(fields, repository, own, 1 if below else 0))


def fields_of(
    dataset: Dataset, facts: DatasetFacts, run: Path | None, repository: str | None
) -> dict[str, Any]:
    """The fields of `TaskMetadata` but for `dataset`, in its order, None where not known."""
    splits = list(dataset.qrels)
    if "test" in splits:
        splits = ["test"]
    elif splits != ["train"]:
        splits = [name for name in splits if name != "train"]
    known = _run_fields(run) if run is not None else {}
    what = known.pop("what", f"Retrieval data set {facts.name}")
    fields: dict[str, Any] = {
        "name": task_name(facts.name),
        "description": f"{what}{', made with retgen' * facts.ours}",
        "reference": f"https://huggingface.co/datasets/{repository}" if repository else None,
        "type": "Retrieval",
        "category": "t2t",
        "modalities": ["text"],
        "eval_splits": splits,
        "eval_langs": list(facts.languages),
        "main_score": "ndcg_at_10",
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
    }
    return fields | known | (_user_fields(run / STATED) if run is not None else {})


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


def _user_fields(path: Path) -> dict[str, Any]:
    """What the user states of the fields. Raises `UsageError` for what is none of them.

    Whether MTEB takes their values is for MTEB to say.
    """
    stated = (read_yaml(path, error=UsageError) if path.exists() else None) or {}
    possible = (*_YOURS, *_ALSO)
    if not isinstance(stated, dict):
        raise UsageError(f"{path} holds no fields: write for example `domains: [Medical]`")
    for key in set(stated) - set(possible):
        raise UsageError(
            f"{path}: {key!r} is no field to state{did_you_mean(str(key), possible) or '.'} "
            f"Possible: {', '.join(possible)}"
        )
    if not measure_of_mteb(score := str(stated.get("main_score") or "ndcg_at_10")):
        raise UsageError(
            f"{path}: main_score has to be a measure of MTEB, as ndcg_at_10 or recall_at_2, not "
            f"{score!r}"
        )
    if isinstance(stated.get("date"), list):
        stated["date"] = tuple(map(str, stated["date"]))
    return {key: value for key, value in stated.items() if value is not None}


def _run_fields(run: Path) -> dict[str, Any]:
    """What a run knows of its texts and labels; `what`: it is, in words."""
    manifest = read_manifest(run) or {}
    recipe = load_recipe(run / "recipe.yaml", finished=True)
    own = recipe.family.from_user(recipe.job)
    models = {str(one.get("model")) for one in (manifest.get("models") or {}).values()}
    known = {
        "main_score": mteb_score(recipe.family.measure(recipe.job)) or "ndcg_at_10",
        "what": f"{evidence.what_it_is(own)} ({recipe.family.about(recipe.job)})",
        "task_subtypes": [],
        "annotations_creators": _judged_by(manifest.get("evidence") or {}, models),
        "sample_creation": _made_by(own, models),
        "bibtex_citation": "",  # MTEB: empty where the data set has no paper of its own
    }
    if own == "nothing":  # written for it, when it was made
        day = str(manifest.get("created", ""))[:10]
        known["domains"] = ["Constructed", "Written"]
        if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
            known["date"] = (day, day)
    return known


def _judged_by(labels: Mapping[str, Any], models: set[str]) -> str:
    """MTEB's `AnnotatorType` of labels by the manifest's evidence."""
    judged, human = int(labels.get("judged", 0)), int(labels.get("human", 0))
    if human and not judged and not labels.get("structural", 0):
        return "human-annotated"
    if not judged:
        return "derived"
    if models - {"offline"}:
        return "LM-generated and reviewed" if human else "LM-generated"
    return "automatic-and-reviewed" if human else "algorithmic"


def _made_by(own: str, models: set[str]) -> str:
    """MTEB's `SampleCreationMethod`, by what of the texts is somebody's own."""
    if own == "nothing":
        return "LM-generated and verified" if models - {"offline"} else "created"
    return "found" if own == "queries" else "multiple"


def module(fields: Mapping[str, Any], repository: str | None, own: bool, up: int) -> str:
    """The source of task.py, `up` folders below the tables.

    `own`: a document with a query's id is the query itself.
    """
    here = f"Path(__file__).resolve().parent{f's[{up}]' * bool(up)}"
    lines = [f"HERE = {here}", 'DATASET = {"path": str(HERE), "revision": "local"}']
    if repository:
        lines += [
            'if not (HERE / "qrels").is_dir():  # this file without its tables: the Hub has them',
            f'    DATASET = {{"path": {repository!r}, "revision": "main"}}'
            "  # MTEB itself wants a commit",
        ]
    unknown = {key: words for key, words in _YOURS.items() if fields[key] is None}
    if NO_LANGUAGE in fields["eval_langs"]:
        unknown["eval_langs"] = "the languages, by ISO 639-3 and script: eng-Latn"
    stated = [
        f"        {key}={value!r},"
        + (f"  # for you to state: {unknown[key]}" if key in unknown else "")
        for key, value in fields.items()
    ]
    name, _, depth = str(fields["main_score"]).rpartition("_at_")
    return _MODULE.format(
        name=fields["name"],
        dataset="\n".join(lines),
        fields="\n".join(stated),
        depth=depth,
        measure=f"{_MEASURES.get(name, name)}@{depth}",
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
