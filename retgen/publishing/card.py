"""README.md of a published data set: what the run says of itself, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from retgen.export.mteb.gates import Gate
from retgen.markdown import escaped, front_matter, markdown_table
from retgen.publishing.header import published_header, with_size
from retgen.publishing.scores import shown
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.review.certificates import in_words


def card(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    loaded_as: str,
    folder: Path,
    tables: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    scored: str | None,
    gates: Sequence[Gate] = (),
) -> str:
    """The card of a tree. `folder`: with the tables, and the card that their layout has written.

    `tables`: configurations beside those of the layout. `notes`: on what the layout left out or
    put apart. `scored`: what an evaluation says. `refused`: what it is published in spite of.
    `gates`: what MTEB's checks say of it.
    """
    recipe = load_recipe(run / "recipe.yaml", finished=True)
    own = recipe.family.from_user(recipe.job)
    header = published_header(run, folder, manifest, own, tables)
    rows = _rows(folder, header)
    documents = next(int(row[3].replace(",", "")) for row in rows if row[0] == "corpus")
    header = with_size(header, documents)
    first, others = _body(run / "dataset" / "README.md", folder)
    not_shown, why = evidence.what_it_is_not(own)
    title, _, first = first.partition("\n")
    lines = [title]
    if refused:
        lines += [
            "", "> [!WARNING]", "> This data set was published against the checks of its maker:",
            *(f"> - {escaped(one)}" for one in refused),
        ]  # fmt: skip
    lines += [first, "## Loading", "", *_loading(loaded_as, header), ""]
    lines += [markdown_table(["configuration", "split", "columns", "rows"], rows, 3)]
    if notes:
        lines += [*(f"- {escaped(note)}." for note in notes), ""]
    lines += [others]
    if scored is not None:
        lines += shown(scored)
    lines += _review(review)
    lines += _gates(gates)
    lines += [
        "## What a score here does not show", "", *_unjudged(manifest),
        f"- **{escaped(not_shown)}** {escaped(why)}", *_switched_off(manifest),
        *_warnings(run, manifest), "",
        "## How it was made", "",
        "By [recipe.yaml](recipe.yaml): `gen run recipe.yaml` makes it again, with the sources "
        "that it names. [manifest.json](manifest.json) has seed, versions, evidence, models and "
        "the hashes of the run's own files, [published.json](published.json) those of the files "
        f"here.{_not_here(run, folder)}", "",
        "## Citation", "", *_citation(manifest, recipe.family.paper), "",
    ]  # fmt: skip
    return front_matter(header) + "\n".join(lines)


def _rows(folder: Path, header: Mapping[str, Any]) -> list[list[str]]:
    """(configuration, split, columns, rows) of all tables."""
    import pyarrow.parquet as pq

    result = []
    for config in header["configs"]:
        for one in config["data_files"]:
            files = sorted(folder.glob(one["path"]))
            count = sum(pq.read_metadata(file).num_rows for file in files)
            columns = config.get("columns") or pq.read_schema(files[0]).names
            result.append([config["config_name"], one["split"], _listed(columns), f"{count:,}"])
    return result


def _listed(columns: Sequence[str]) -> str:
    """Names of columns; three or more that are numbered, by the first and the last."""
    result: list[str] = []
    for stem, group in groupby(columns, key=lambda name: re.sub(r"\d+$", "", name)):
        names = list(group)
        numbered = len(names) > 2 and stem != names[0]
        result += [f"{names[0]} to {names[-1]}"] if numbered else names
    return ", ".join(result)


def _body(path: Path, folder: Path) -> tuple[str, str]:
    """A card without its header: what it is, and its sections.

    A table of the run that stands in `folder` as Parquet is called by that file.
    """
    text = path.read_text("utf-8")
    body = re.sub(r"\A---\n.*?\n---\n\s*", "", text, count=1, flags=re.DOTALL)
    for file in folder.glob("*/*.parquet"):
        name = file.relative_to(folder).as_posix()
        body = body.replace(f"{name.removesuffix('.parquet')}.jsonl", name)
    first, mark, others = body.partition("\n## ")
    return first, f"{mark.lstrip()}{others}"


def _loading(loaded_as: str, header: Mapping[str, Any]) -> list[str]:
    qrels = next(one for one in header["configs"] if one["config_name"] == "default")
    split = qrels["data_files"][0]["split"]
    return [
        "```python", "from datasets import load_dataset", "",
        f'corpus = load_dataset("{loaded_as}", "corpus", split="corpus")',
        f'queries = load_dataset("{loaded_as}", "queries", split="queries")',
        f'qrels = load_dataset("{loaded_as}", split="{split}")', "```", "",
        "With BEIR:", "", "```python",
        "from beir.datasets.data_loader_hf import HFDataLoader", "",
        f'loader = HFDataLoader(hf_repo="{loaded_as}", hf_repo_qrels="{loaded_as}")',
        f'corpus, queries, qrels = loader.load("{split}")',
        'corpus = {row["id"]: row for row in corpus}',
        'queries = {row["id"]: row["text"] for row in queries}', "```",
    ]  # fmt: skip


def _unjudged(manifest: Mapping[str, Any]) -> list[str]:
    if manifest.get("complete"):
        return []
    return ["- **Unjudged pairs.** A pair without a qrel is unjudged, not irrelevant."]


def _gates(gates: Sequence[Gate]) -> list[str]:
    if not gates:
        return []
    rows = [[one.name, one.status, escaped(one.message)] for one in gates]
    return [
        "## What MTEB's checks say", "", markdown_table(["check", "", ""], rows, 3),
        "[mteb/task.py](mteb/task.py) is the task that MTEB runs, "
        "[mteb/gates.json](mteb/gates.json) has these checks for scripts.", "",
    ]  # fmt: skip


def _switched_off(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Rules that did not look at the data, or whose findings weigh more or less than usual."""
    checks = manifest.get("checks") or {}
    for rule, reason in (checks.get("switched_off") or {}).items():
        why = escaped(str(reason).rstrip("."))
        yield f"- **Switched off.** The check {escaped(rule)} did not run: {why}."
    for rule, severity in (checks.get("severities") or {}).items():
        what = "an error" if severity == "error" else f"a {severity}"
        yield f"- **Weighed otherwise.** What the check {escaped(rule)} finds is {what} here."


def _warnings(run: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What the checks found that is no error."""
    count = (manifest.get("checks") or {}).get("warnings", 0)
    if not count:
        return
    try:
        found = orjson.loads((run / "report.json").read_bytes())["findings"]
        told = [f"{one['rule']}: {one['message']}" for one in found if one["severity"] == "warning"]
    except (OSError, ValueError, KeyError, TypeError):
        told = []
    if len(told) != count:
        yield f"- **Warnings.** The checks warned {count:,} times of what they found."
        return
    yield from (f"- **A warning of the checks.** {escaped(one)}." for one in told)


def _not_here(run: Path, folder: Path) -> str:
    """The run's files that its card names and that are not published."""
    text = (run / "dataset" / "README.md").read_text("utf-8")
    known = ("rejected.jsonl", *(f"{p.parent.name}/{p.name}" for p in sorted(run.glob("*/*.json*"))
                                 if p.parent.name in ("sources", "tables")))  # fmt: skip
    gone = [
        name for name in known
        if name in text and not (folder / name).with_suffix(".parquet").exists()
    ]  # fmt: skip
    if not gone:
        return ""
    return f" The run's own, and not here: {', '.join(f'`{name}`' for name in gone)}."


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
