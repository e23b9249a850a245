"""The card of training/, training/README.md: a configuration for each of its files.

Without it `load_dataset` takes all files of a folder for one table, which files of several schemas
are not. Ids are left out of the configurations: a trainer takes every column for a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from retgen.generators.records import Records
from retgen.markdown import escaped, front_matter, markdown_table
from retgen.recipe import Recipe
from retgen.reporting.card import content_id, free
from retgen.write import FileInfo


def training_card(recipe: Recipe, records: Records, files: Mapping[str, FileInfo]) -> str:
    """The card of the training files. `files` by their paths below the run."""
    names = sorted(records.training)
    columns = {name: _columns(records, name) for name in names}
    paths = {name: f"{name}.parquet" for name in names}
    state = content_id({paths[name]: files[f"training/{paths[name]}"].sha256 for name in names})
    header = front_matter({
        "pretty_name": f"{recipe.name}, training data",
        "license": "apache-2.0" if free(records.licences) else "other",
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
    })  # fmt: skip
    rows = [[name, ", ".join(columns[name]), f"{records.training[name].count:,}"] for name in names]
    example = names[0]
    lines = [
        f"# {escaped(recipe.name.replace('_', ' '))}: training data",
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
