"""The data set card, dataset/README.md: a Hub header that `load_dataset` reads, and plain words.

It holds no times and no versions, so that dataset/ is the same bytes for the same recipe.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from retgen.data import GRADED
from retgen.errors import UsageError
from retgen.generators.family import Family
from retgen.generators.records import Records
from retgen.licences import licence_fault
from retgen.manifest import models_and_prompts
from retgen.markdown import code_spans, escape_markdown, front_matter, markdown_table
from retgen.plan import NOT_STATED
from retgen.recipe import Recipe
from retgen.reporting import evidence
from retgen.validators.languages import code_of
from retgen.validators.origin import in_words, is_separable
from retgen.validators.validation import Validation
from retgen.write import FileInfo

# parts under these can go out under Apache-2.0 together; in brackets stands whose part it is
_FREE = re.compile(r"(Apache-2\.0|MIT|CC0-1\.0)( \(\w+\))?")


def check_licence(text: str) -> str:
    """The name of a licence that a user gave. Raises `UsageError` for none."""
    name = text.strip()
    if not name or name == NOT_STATED or len(name) > 200 or not name.isprintable():
        raise UsageError(
            f"--licence {text!r}: name the licence in a line of at most 200 characters, as "
            "CC-BY-4.0 or 'other: internal, not for others'"
        )
    if fault := licence_fault(name):
        raise UsageError(f"--licence: {fault}")
    return name


def is_free_licence(licences: Mapping[str, str]) -> bool:
    """Whether all parts can go out under Apache-2.0 together."""
    return bool(licences) and all(_FREE.fullmatch(text) for text in licences.values())


def hub_languages(languages: Iterable[str]) -> list[str]:
    """Languages by ISO 639-3 and script, as the Hub names them: by two letters where there are."""
    return [code_of(name) or name[:3] for name in languages]


def dataset_card(
    recipe: Recipe,
    records: Records,
    result: Validation,
    files: Mapping[str, FileInfo],
) -> str:
    """The card of a finished data set. `files` by their paths below the run, dataset/ included."""
    family = recipe.family
    listed = {f.removeprefix("dataset/"): info.sha256 for f, info in files.items()}
    head = _header(recipe, records, listed)
    counts = result.statistics
    title = escape_markdown(recipe.name.replace("_", " "))
    lines = [
        f"# {title}",
        "",
        f"{evidence.what_it_is(family.from_user(recipe.job))}: "
        f"{escape_markdown(family.about(recipe.job))}. "
        f"{evidence.corpus_counts(counts['documents'], records.source_documents)}, "
        f"{_queries_and_qrels(counts, list(records.qrels), family.from_user(recipe.job))}"
        + (" (every other pair is known to be not relevant)." if records.complete else "."),
        "",
        *(line for paragraph in records.card for line in (code_spans(paragraph), "")),
        *_facts(records.facts),
        "## Labels",
        "",
        *_labels(recipe, result, counts["qrels"]),
        "",
        *_agents(recipe),
        *_what_for(family, result.baselines),
        *([] if family.traces_labels else _shortcut(result.baselines)),
        *_origin(result.origin),
        *([] if family.tests else _certificate(result.certificate)),
        "## Licence and sources",
        "",
        *(f"- {escape_markdown(f'{what}: {one}')}" for what, one in records.licences.items()),
        f"- method: {escape_markdown(family.paper)}",
        "",
    ]
    return head + "\n".join(lines)


def _what_for(family: Family[Any], baselines: Mapping[str, Any]) -> list[str]:
    """What a score says, where that is no ranking of the whole corpus; else the baselines."""
    if family.tests and not family.candidate_sets:
        return ["## What a score is of", "", code_spans(family.tests), ""]
    return [
        "## Query-blind baselines",
        "",
        f"{'Scores' if family.candidate_sets else 'Recall'} of rankings that never read the query. "
        + (
            "The documents are real ones, as they are: a model has to score above this."
            if family.traces_labels
            else "A set that these solve tests nothing."
        ),
        "",
        _baseline_table(baselines),
    ]


def _facts(facts: Mapping[str, str]) -> list[str]:
    return [markdown_table([*facts], [[*facts.values()]], len(facts))] if facts else []


def _queries_and_qrels(counts: Mapping[str, Any], splits: Sequence[str], own: str) -> str:
    """How many there are, and of which splits."""
    queries, qrels = f"{counts['queries']:,} queries", f"{counts['qrels']:,} qrels"
    if len(splits) < 2:
        return f"{queries}, {qrels}"
    if own != "documents":
        return f"{queries} of all splits, {qrels} of split test"
    return f"{queries} ({', '.join(splits)}; each has qrels), {qrels} of split test"


def _labels(recipe: Recipe, result: Validation, qrels: int) -> list[str]:
    """The evidence for the labels: proof, judge, review."""
    family = recipe.family
    if family.evidence(recipe.job) == "human" and not result.judged:
        return _review_labels(result, qrels)[1:] or ["Nobody has judged a pair yet (`gen review`)."]
    if not result.judged:
        if family.traces_labels:
            shown, more = "traced to their text", f" {evidence.NOT_SHOWN.capitalize()}."
        else:
            shown, more = "proven", ""
        return [
            f"{result.proven:,} of {qrels:,} qrels are {shown}: a check that shares no code "
            f"with the generator read the finished documents back; of each: {family.proof}.{more}",
            *_review_labels(result, qrels),
        ]
    lines = [
        f"{result.judged:,} of {qrels:,} qrels are judged: {escape_markdown(family.label_source)}."
        + (
            f" Proven without a model: {escape_markdown(family.structure)}."
            if family.structure
            else ""
        )
    ]
    for one in evidence.judge_lines(result.judges, models_and_prompts(recipe)[0]):
        lines += ["", f"- {escape_markdown(one)}"]
    return [*lines, *_review_labels(result, qrels)]


def _review_labels(result: Validation, qrels: int) -> list[str]:
    """The evidence that a review adds."""
    lines = []
    if result.human:
        lines += ["", f"Human: {evidence.human_labels(result.human, qrels)}."]
    for one in result.findings:
        if one.rule == "review":
            lines += ["", f"**{escape_markdown(one.message[0].upper() + one.message[1:])}.**"]
    return lines


def _agents(recipe: Recipe) -> list[str]:
    """Which agents wrote or judged, and who did their work."""
    models = models_and_prompts(recipe)[0]
    lines = []
    for agent in recipe.family.agents:
        if agent.name in models:
            work = evidence.worker_name(models[agent.name]["model"])
            lines.append(f"- {escape_markdown(f'{agent.name}, by {work}: {agent.prompt.purpose}')}")
    return ["## Agents", "", *lines, ""] if lines else []


def _header(recipe: Recipe, records: Records, files: Mapping[str, str]) -> str:
    def paths(table: str) -> Any:
        result = [f for f in files if f.partition(".")[0].partition("-")[0] == table]
        return result[0] if len(result) == 1 else f"{table}-*{result[0][result[0].rindex('.') :]}"

    state = content_id(files)

    def info(name: str, plain: Mapping[str, str], metadata: Mapping[str, Any]) -> dict[str, Any]:
        columns = {**plain, **({"metadata": metadata} if metadata else {})}
        features = hub_type(columns)["struct"]
        return {"config_name": name, "description": state, "features": features}

    def config(name: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
        return {"config_name": name, "data_files": entries}

    def splits(stem: str, tables: Iterable[str]) -> list[dict[str, Any]]:
        names = {f.rpartition(".")[0]: f for f in files}
        return [
            {"split": split, "path": names[stem if split == "test" else f"{stem}.{split}"]}
            for split in tables
        ]

    qrels = {"query-id": "string", "corpus-id": "string", "score": "int32"}
    graded = bool(records.graded)
    apart = [split for split in records.qrels if split in records.apart]
    return front_matter(
        {
            "pretty_name": recipe.name,
            "language": hub_languages(records.languages),
            "license": "apache-2.0" if is_free_licence(records.licences) else "other",
            "task_categories": ["text-retrieval"],
            "tags": [
                *(["synthetic"] if recipe.family.from_user(recipe.job) != "queries" else []),
                "retgen",
                recipe.family.name,
            ],
            "configs": [
                config("default", splits("qrels", [s for s in records.qrels if s not in apart])),
                *(
                    config(s, [{**one, "split": "test"} for one in splits("qrels", [s])])
                    for s in apart
                ),
                config("corpus", [{"split": "corpus", "path": paths("corpus")}]),
                config("queries", [{"split": "queries", "path": paths("queries")}]),
                *([config("graded", splits(GRADED, records.graded))] if graded else []),
            ],
            "dataset_info": [
                *(info(name, qrels, {}) for name in ("default", *apart)),
                info(
                    "corpus",
                    {"_id": "string", "title": "string", "text": "string"},
                    records.features.get("corpus", {}),
                ),
                info(
                    "queries",
                    {"_id": "string", "text": "string"},
                    records.features.get("queries", {}),
                ),
                *([info("graded", qrels, {})] if graded else []),
            ],
        }
    )


def content_id(files: Mapping[str, str]) -> str:
    """One digest of files by name and SHA-256, as `sha256sum FILE… | sha256sum` prints it.

    It stands in the card because the cache of `load_dataset` knows a local folder only by its own
    name and its card: two runs would else be taken for each other.
    """
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return f"sha256 {hashlib.sha256(lines.encode()).hexdigest()}"


def hub_type(declared: Any) -> dict[str, Any]:
    """A type in the notation of the Hub's `dataset_info`, as `datasets` writes it.

    `declared`: the name of a type, [the type of the items], or {key: type}.
    """
    if isinstance(declared, Mapping):
        return {"struct": [{"name": name, **hub_type(one)} for name, one in declared.items()]}
    if isinstance(declared, list):
        items = hub_type(declared[0])
        return {"list": items.get("dtype") or items.get("struct") or items}
    return {"dtype": declared}


def _baseline_table(baselines: Mapping[str, Any]) -> str:
    cutoffs = list(baselines["random"])
    rows = [("random", baselines["random"]), *baselines["rankings"].items()]
    return markdown_table(
        ["ranking", *cutoffs],
        [[name, *(f"{scores[c]:.4f}" for c in cutoffs)] for name, scores in rows],
    )


def _shortcut(baselines: Mapping[str, Any]) -> list[str]:
    shortcut = evidence.solved_blindly(baselines)
    if shortcut is None:
        return []
    return [
        f"**This set can be solved without reading the query**: {escape_markdown(shortcut)}. "
        + evidence.what_to_report(shortcut),
        "",
    ]


def _origin(result: Mapping[str, Any]) -> list[str]:
    """Whether hard negatives carry a mark that a model could learn instead of the task."""
    if not result:
        return []
    text = escape_markdown(in_words(result)) + "."
    mark = (
        f"**{text[0].upper()}{text[1:]}**" if is_separable(result) else text[0].upper() + text[1:]
    )
    after = " A model trained on these negatives may learn the mark instead of the task."
    return ["## Origin", "", mark + (after if is_separable(result) else ""), ""]


def _certificate(stated: Mapping[str, Any]) -> list[str]:
    if not stated:
        return []
    lower, upper = stated["lower"], stated["upper"]
    return [
        "## How hard for a single-vector embedder",
        "",
        f"The qrel matrix has {stated['queries']:,} queries and {stated['documents']:,} documents "
        f"that are relevant to one or more. An embedder needs at least {lower} "
        f"dimension{'s' * (lower != 1)}, and {upper} {'is' if upper == 1 else 'are'} enough, to "
        "rank each query's relevant documents first: the matrix excludes no embedder of "
        f"{upper} or more dimensions. What a trained model reaches is another question.",
        "",
    ]


def training_card(recipe: Recipe, records: Records, files: Mapping[str, FileInfo]) -> str:
    """The card of the training files. `files` by their paths below the run."""
    names = sorted(records.training)
    columns = {name: _columns(records, name) for name in names}
    paths = {name: f"{name}.parquet" for name in names}
    state = content_id({paths[name]: files[f"training/{paths[name]}"].sha256 for name in names})
    header = front_matter(
        {
            "pretty_name": f"{recipe.name}, training data",
            "license": "apache-2.0" if is_free_licence(records.licences) else "other",
            "tags": ["synthetic", "retgen", "sentence-transformers", recipe.family.name],
            "configs": [
                {
                    "config_name": name,
                    "data_files": [{"split": "train", "path": paths[name]}],
                    "columns": columns[name],
                }
                for name in names
            ],
            # what load_dataset knows a folder by is its last name, and this
            "dataset_info": [{"config_name": name, "description": state} for name in names],
        }
    )
    rows = [[name, ", ".join(columns[name]), f"{records.training[name].count:,}"] for name in names]
    example = names[0]
    lines = [
        f"# {escape_markdown(recipe.name.replace('_', ' '))}: training data",
        "",
        "A configuration for each file, whose columns a trainer of sentence-transformers takes as "
        "they are. Each row's `query-id` in the file names its query in ../dataset/; the "
        "configurations leave it out, since a trainer takes every column for a text.",
        "",
        markdown_table(["configuration", "columns", "rows"], rows, names=2),
        "```python",
        "from datasets import load_dataset",
        "",
        f'train = load_dataset("RUN/training", "{example}")["train"]',
        "```",
        "",
    ]
    return header + "\n".join(lines)


def _columns(records: Records, name: str) -> list[str]:
    table = records.training[name]
    first: dict[str, Any] = orjson.loads(table.jsonl(0, 1)) if table.count else {}
    return [column for column in first if not column.endswith("-id")]
