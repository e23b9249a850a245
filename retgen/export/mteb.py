"""The task of a data set for MTEB: task.py with its `TaskMetadata`, and eval.yaml for the Hub.

A run knows most fields; what only the user knows stands in mteb.yaml beside its recipe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Dataset, open_dataset
from retgen.errors import UsageError
from retgen.evaluation.scoring.measures import measure_of_mteb, mteb_score
from retgen.evaluation.scoring.mteb_files import task_name
from retgen.export.facts import NO_LANGUAGE, DatasetFacts
from retgen.messages import did_you_mean
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.write import make_folder, write_file
from retgen.yaml_text import read_yaml, to_yaml

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
_ALSO = (
    "description",
    "eval_langs",
    "license",
    "dialect",
    "prompt",
    "main_score",
    "adapted_from",
    "is_public",
)
_LISTS = ("domains", "task_subtypes", "eval_langs", "dialect", "adapted_from")
_MEASURES = {"ndcg": "nDCG", "map": "MAP", "mrr": "MRR"}
_DEEPEST = 1000  # MTEB ranks no further
_LANGUAGE = "the languages, by ISO 639-3 and script: eng-Latn"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class MtebTask:
    """A task. `fields`: of `TaskMetadata` but for `dataset`, in its order, None where not known.

    `yours`: those that the user is to state, with what belongs there. `repository`: of the Hub,
    None for a folder. `own`: a document with a query's id is the query itself.
    """

    fields: Mapping[str, Any]
    yours: Mapping[str, str]
    repository: str | None
    own: bool = False

    @property
    def name(self) -> str:
        """The name of the task and of its class."""
        return str(self.fields["name"])

    @property
    def measure(self) -> str:
        """Its main score as `gen eval` names it."""
        name, _, k = str(self.fields["main_score"]).rpartition("_at_")
        return f"{_MEASURES.get(name, name)}@{k}"

    @property
    def splits(self) -> list[str]:
        """The splits it is scored on."""
        return list(self.fields["eval_splits"])


def write_mteb(
    root: Path, below: str, facts: DatasetFacts, run: Path | None, *, loaded_as: str = ""
) -> None:
    """Write task.py `below` the tables at `root`, and eval.yaml there.

    Raises `DatasetError` for invalid rows, and `UsageError` as `task_of` does.
    """
    task = task_of(open_dataset(root, checked=False), root, facts, run, loaded_as)
    make_folder(root / below)
    write_file(root / below / "task.py", module(task, 1 if below else 0))
    write_file(root / "eval.yaml", eval_yaml(task))


def task_of(
    dataset: Dataset, path: Path, facts: DatasetFacts, run: Path | None, loaded_as: str = ""
) -> MtebTask:
    """The task of a data set at `path`.

    `run`: its directory; `loaded_as`: what `load_dataset` is given.
    Raises `DatasetError` for invalid rows, `UsageError` for an mteb.yaml that states what is no
    field.
    """
    repository = loaded_as if _REPOSITORY.fullmatch(loaded_as) else None
    splits = list(dataset.qrels)
    if "test" in splits:
        splits = ["test"]
    elif splits != ["train"]:
        splits = [name for name in splits if name != "train"]
    known = _run_fields(run) if run is not None else {}
    what = known.pop("what", f"Retrieval data set {facts.name}")
    made = ", made with retgen" if facts.ours else ""
    fields: dict[str, Any] = {
        "name": task_name(facts.name),
        "description": f"{what}{made}",
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
    fields |= known | (_user_fields(run / STATED) if run is not None else {})
    yours = {key: words for key, words in _YOURS.items() if fields[key] is None}
    if NO_LANGUAGE in fields["eval_langs"]:
        yours["eval_langs"] = _LANGUAGE
    return MtebTask(fields, yours, repository, _queries_are_documents(dataset, path))


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
    """What the user says of the fields. Raises `UsageError` for what is none of them."""
    if not path.exists():
        return {}
    stated = read_yaml(path, error=UsageError) or {}
    possible = (*_YOURS, *_ALSO)
    if not isinstance(stated, dict):
        raise UsageError(f"{path} holds no fields: write for example `domains: [Medical]`")
    for key in stated:
        if key not in possible:
            raise UsageError(
                f"{path}: {key!r} is no field to state{did_you_mean(str(key), possible) or '.'} "
                f"Possible: {', '.join(possible)}"
            )
    return {
        key: _checked_field(path, key, value) for key, value in stated.items() if value is not None
    }


def _checked_field(path: Path, key: str, value: Any) -> Any:
    """A field as `TaskMetadata` takes it; whether MTEB knows its words is for MTEB to say.

    Raises `UsageError` for another shape.
    """
    if key == "main_score":
        k = str(value).rpartition("_at_")[2]
        if measure_of_mteb(str(value)) and str(int(k)) == k and 0 < int(k) <= _DEEPEST:
            return value
        wanted = f"a measure of MTEB up to {_DEEPEST}, as ndcg_at_10 or recall_at_2"
    elif key == "is_public":
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    elif key == "date":
        days = [str(day) for day in value] if isinstance(value, list) else []
        if len(days) == 2 and all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in days):
            return tuple(days)
        wanted = "the first and the last day, [2024-01-01, 2024-12-31]"
    elif key in _LISTS:
        # a task without languages is none
        if (
            isinstance(value, list)
            and all(isinstance(one, str) for one in value)
            and (value or key != "eval_langs")
        ):
            return value
        wanted = "a list of texts, [eng-Latn]" if key == "eval_langs" else "a list of texts, [A, B]"
    elif key == "prompt" and isinstance(value, dict):
        if all(side in ("query", "document") and isinstance(value[side], str) for side in value):
            return value
        wanted = "a text, or texts for query and document"
    elif isinstance(value, str):
        return value
    else:
        wanted = "a text"
    raise UsageError(f"{path}: {key} has to be {wanted}, not {str(value)[:80]!r}")


def _run_fields(run: Path) -> dict[str, Any]:
    """What a run knows of its texts and labels; `what`: it is, in words."""
    manifest: dict[str, Any] = orjson.loads((run / "manifest.json").read_bytes())
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


def module(task: MtebTask, up: int) -> str:
    """The source of task.py. `up`: how many folders below the tables it stands."""
    return _MODULE.format(
        name=task.name,
        dataset=_dataset(task, up),
        fields="".join(_field(task, key) for key in task.fields),
        depth=task.measure.partition("@")[2],
        measure=task.measure,
        own="    ignore_identical_ids = True\n" if task.own else "",
    )


def _dataset(task: MtebTask, up: int) -> str:
    here = (
        "Path(__file__).resolve().parent" if not up else f"Path(__file__).resolve().parents[{up}]"
    )
    lines = [f"HERE = {here}", 'DATASET = {"path": str(HERE), "revision": "local"}']
    if task.repository:
        lines += [
            'if not (HERE / "qrels").is_dir():  # this file without its tables: the Hub has them',
            f'    DATASET = {{"path": {task.repository!r}, "revision": "main"}}'
            "  # MTEB itself wants a commit",
        ]
    return "\n".join(lines)


def _field(task: MtebTask, key: str) -> str:
    value = task.fields[key]
    yours = f"  # for you to state: {task.yours[key]}" if key in task.yours else ""
    return f"        {key}={value!r},{yours}\n"


def eval_yaml(task: MtebTask) -> str:
    """eval.yaml of a benchmark on the Hub, with the ids under which MTEB reports its scores.

    The keys are those of the Hub (docs/hub/eval-results) and of MTEB's `HFEvalMeta`.
    """
    name = task.name
    tasks: list[dict[str, str]] = [{"id": name}]  # over all splits
    tasks += [{"id": f"{name}_default_{s}", "config": "default", "split": s} for s in task.splits]
    tree = {
        "name": name,
        "description": task.fields["description"],
        "evaluation_framework": "mteb",
        "tasks": tasks,
    }
    return to_yaml(tree, width=None)


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
{fields}    )
{own}    k_values = tuple(sorted({{*AbsTaskRetrieval.k_values, {depth}}}))

    def load_data(self, *args, **kwargs):
        super().load_data(*args, **kwargs)
        for splits in self.dataset.values():
            for split in splits.values():
                for table in ("corpus", "queries"):
                    # a batch of lists of several lengths cannot be stacked, and no model reads them
                    if "metadata" in split[table].column_names:
                        split[table] = split[table].remove_columns("metadata")


if __name__ == "__main__":
    name = sys.argv[1]  # of MTEB's models, or a folder that sentence-transformers loads
    model = SentenceTransformer(name) if Path(name).is_dir() else mteb.get_model(name)
    for result in mteb.evaluate(model, {name}(), cache=None).task_results:
        print(f"{{result.task_name}} {measure}: {{result.get_score():.4f}}")
'''
