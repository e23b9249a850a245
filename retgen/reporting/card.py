"""The data set card, dataset/README.md: a Hub header that `load_dataset` reads, and plain words.

It holds no times and no versions, so that dataset/ is the same bytes for the same recipe.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from retgen.agents.report import CallReport
from retgen.data import GRADED
from retgen.errors import UsageError
from retgen.generators.records import Records
from retgen.licences import licence_fault
from retgen.manifest import manifest_of
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.plan import NOT_STATED
from retgen.recipe import Recipe
from retgen.reporting.report import card_text, statements
from retgen.validators.languages import code_of
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
    listed = {f.removeprefix("dataset/"): info.sha256 for f, info in files.items()}
    manifest = manifest_of(recipe, result, records, files, {}, CallReport().costs())
    return _header(recipe, records, listed) + card_text(statements(recipe, manifest, result))


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
