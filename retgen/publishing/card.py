"""README.md of a published data set: what the run says of itself, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.layouts import card_header
from retgen.markdown import escaped, front_matter, markdown_table
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.review.certificates import in_words

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")


def card(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    loaded_as: str,
    folder: Path,
    notes: Sequence[str],
) -> str:
    """The card of a tree. `folder`: with the tables, and the card that their layout has written.

    `notes`: on what the layout left out or put apart. `refused`: what it is published in spite of.
    """
    recipe = load_recipe(run / "recipe.yaml", finished=True)
    own = card_header(run / "dataset")
    header = card_header(folder)
    header["pretty_name"] = manifest["name"]
    header["tags"] = own.get("tags", header["tags"])
    rows = _rows(folder, header)
    documents = next(int(row[2].replace(",", "")) for row in rows if row[0] == "corpus")
    header["size_categories"] = [_size(documents)]
    first, others = _body(run / "dataset" / "README.md")
    not_shown, why = evidence.what_it_is_not(recipe.family.own(recipe.job))
    lines = [first]
    if refused:
        lines += [
            "> [!WARNING]", "> This data set was published against the checks of its maker:",
            *(f"> - {escaped(one)}" for one in refused), "",
        ]  # fmt: skip
    lines += ["## Loading", "", *_loading(loaded_as, header), ""]
    lines += [markdown_table(["configuration", "split", "rows"], rows, 2)]
    if notes:
        lines += [*(f"- {escaped(note)}." for note in notes), ""]
    lines += [others, *_review(review)]
    lines += [
        "## What a score here does not show", "", *_unjudged(manifest),
        f"- **{escaped(not_shown)}** {escaped(why)}", "",
        "## How it was made", "",
        "By [recipe.yaml](recipe.yaml): `gen run recipe.yaml` makes it again, with the sources "
        "that it names. [manifest.json](manifest.json) has seed, versions, evidence, models and "
        "the hashes of the run's own files, [published.json](published.json) those of the files "
        "here. Other files that this card names are the run's own, and are not here.", "",
        "## Citation", "", *_citation(manifest, recipe.family.paper), "",
    ]  # fmt: skip
    return front_matter(header) + "\n".join(lines)


def _rows(folder: Path, header: Mapping[str, Any]) -> list[list[str]]:
    """(configuration, split, rows) of all tables."""
    import pyarrow.parquet as pq

    result = []
    for config in header["configs"]:
        for one in config["data_files"]:
            count = sum(pq.read_metadata(file).num_rows for file in folder.glob(one["path"]))
            result.append([config["config_name"], one["split"], f"{count:,}"])
    return result


def _size(documents: int) -> str:
    """The Hub's category of a number of documents."""
    return _SIZES[min(max(len(str(documents)) - 3, 0), len(_SIZES) - 1)]


def _body(path: Path) -> tuple[str, str]:
    """A card without its header: what it is, and its sections."""
    text = path.read_text("utf-8")
    body = re.sub(r"\A---\n.*?\n---\n\s*", "", text, count=1, flags=re.DOTALL)
    first, mark, others = body.partition("\n## ")
    return first, f"{mark.lstrip()}{others}"


def _loading(loaded_as: str, header: Mapping[str, Any]) -> list[str]:
    qrels = next(one for one in header["configs"] if one["config_name"] == "default")
    split = qrels["data_files"][0]["split"]
    return [
        "```python", "from datasets import load_dataset", "",
        f'corpus = load_dataset("{loaded_as}", "corpus", split="corpus")',
        f'queries = load_dataset("{loaded_as}", "queries", split="queries")',
        f'qrels = load_dataset("{loaded_as}", split="{split}")', "```",
    ]  # fmt: skip


def _unjudged(manifest: Mapping[str, Any]) -> list[str]:
    if manifest.get("complete"):
        return []
    return ["- **Unjudged pairs.** A pair without a qrel is unjudged, not irrelevant."]


def _review(review: Mapping[str, Any] | None) -> list[str]:
    if review is None:
        return []
    lines = ["## Review", ""]
    lines += [f"- {escaped(in_words(one))}" for one in review["certificates"]]
    return [*lines, "", "[review.json](review.json) has all figures, without names.", ""]


def _citation(manifest: Mapping[str, Any], paper: str) -> list[str]:
    return [
        "```bibtex", bibtex(manifest), "```", "", f"The method is that of: {escaped(paper)}.",
    ]  # fmt: skip


def bibtex(manifest: Mapping[str, Any]) -> str:
    """An entry that cites a data set. Nobody is named: no run says who made it."""
    key = re.sub(r"\W+", "_", manifest["name"]).strip("_") or "dataset"
    title = re.sub(r"[{}\\]", "", " ".join(manifest["name"].split()))
    year = str(manifest.get("created", ""))[:4]
    return "\n".join([
        f"@misc{{{key},", f"  title = {{{title}}},",
        *([f"  year = {{{year}}},"] if year.isdigit() else []),
        "  note = {A data set made with retgen},", "}",
    ])  # fmt: skip
