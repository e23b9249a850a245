"""README.md of a published data set: what the run says of itself, and how it is loaded.

Its YAML header is what the Hub, its viewer and `load_dataset` read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from retgen.dataset_files import card_header
from retgen.export.facts import evaluation_of, licence_header
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.plan import NOT_STATED
from retgen.publishing.published_run import PublishedRun, refusal_note
from retgen.reporting.card import content_id
from retgen.review.report import findings
from retgen.write import file_info

SCORES = "scores.md"


def card(
    run: PublishedRun,
    loaded_as: str,
    folder: Path,
    tables: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    scored: bool,
) -> str:
    """The card of a tree. `folder`: with the tables, and the card that their layout has written.

    `tables`: configurations beside those of the layout. `notes`: on what the layout left out or
    put apart. `scored`: the tree holds the scores of an evaluation.
    """
    header = _header(run, folder, tables)
    rows = _rows(folder, header)
    first, others = _body(run, folder)
    title, _, first = first.partition("\n")
    qrels = next(one for one in header["configs"] if one["config_name"] == "default")
    lines = [title]
    if run.refused:
        lines += ["", *refusal_note("data set", run.refused)]
    lines += [first, _LOADING.format(name=loaded_as, split=qrels["data_files"][0]["split"])]
    lines += [markdown_table(["configuration", "split", "columns", "rows"], rows, 3)]
    if notes:
        lines += [*(f"- {escape_markdown(note)}." for note in notes), ""]
    lines += [others]
    if scored:
        lines += ["## Scores", "", f"Of `gen eval`: [{SCORES}]({SCORES}).", ""]
    if run.review is not None:
        lines += ["## Review", ""]
        lines += [f"- {escape_markdown(one)}" for one in findings(run.review)]
        lines += ["", "[review.json](review.json) has all figures, without names.", ""]
    if checks := [*_checks(run)]:
        lines += ["## Checks", ""]
        lines += [f"- **{escape_markdown(what)}** {escape_markdown(why)}" for what, why in checks]
        lines += [""]
    lines += [
        "## How it was made",
        "",
        "By [recipe.yaml](recipe.yaml): `gen run recipe.yaml` makes it again, with the sources "
        "that it names. [manifest.json](manifest.json) has seed, versions, evidence, models and "
        "the hashes of the run's own files, [published.json](published.json) those of the files "
        "here. Files that this card names and that are not here stayed in the run.",
        "",
        "## Citation",
        "",
        "```bibtex",
        bibtex(run.manifest),
        "```",
        "",
        f"The method is that of: {escape_markdown(run.recipe.family.paper)}.",
        "",
    ]
    return front_matter(header) + "\n".join(lines)


_LOADING = """\
## Loading

```python
from datasets import load_dataset

corpus = load_dataset("{name}", "corpus", split="corpus")
queries = load_dataset("{name}", "queries", split="queries")
qrels = load_dataset("{name}", split="{split}")
```

With BEIR:

```python
from beir.datasets.data_loader_hf import HFDataLoader

loader = HFDataLoader(hf_repo="{name}", hf_repo_qrels="{name}")
corpus, queries, qrels = loader.load("{split}")
corpus = {{row["id"]: row for row in corpus}}
queries = {{row["id"]: row["text"] for row in queries}}
```

With MTEB: `python mteb/task.py MODEL` scores a model on [its task](mteb/task.py).
"""


def _rows(folder: Path, header: Mapping[str, Any]) -> list[list[str]]:
    """(configuration, split, columns, rows) of all tables."""
    import pyarrow.parquet as pq

    result = []
    for config in header["configs"]:
        for one in config["data_files"]:
            names = config.get("columns") or pq.read_schema(folder / one["path"]).names
            # three or more that are numbered, by the first and the last
            groups = [
                [*group] for _, group in groupby(names, lambda name: name.rstrip("0123456789"))
            ]
            shown = (
                f"{group[0]} to {group[-1]}" if len(group) > 2 else ", ".join(group)
                for group in groups
            )
            count = pq.read_metadata(folder / one["path"]).num_rows
            result.append([config["config_name"], one["split"], ", ".join(shown), f"{count:,}"])
    return result


def _body(run: PublishedRun, folder: Path) -> tuple[str, str]:
    """The run's own card without its header: what it is, and its sections.

    A table of the run that stands in `folder` as Parquet is called by that file, and licences are
    those of the manifest.
    """
    text = (run.path / "dataset" / "README.md").read_text("utf-8")
    body = re.sub(r"\A---\n.*?\n---\n\s*", "", text, count=1, flags=re.DOTALL)
    for file in folder.glob("*/*.parquet"):
        name = file.relative_to(folder).as_posix()
        body = body.replace(f"{name.removesuffix('.parquet')}.jsonl", name)
    for part, licence in run.licences.items():
        line, stated = (escape_markdown(f"{part}: {text}") for text in (NOT_STATED, licence))
        body = body.replace(f"\n- {line}\n", f"\n- {stated}\n")
    first, mark, others = body.partition("\n## ")
    return first, f"{mark.lstrip()}{others}"


def _checks(run: PublishedRun) -> Iterator[tuple[str, str]]:
    """What checks did not look at or warned of, with the reason."""
    checks = run.manifest.get("checks") or {}
    for rule, reason in (checks.get("switched_off") or {}).items():
        yield "Switched off.", f"The check {rule} did not run: {str(reason).rstrip('.')}."
    for one in run.findings or ():
        if one.get("severity") == "warning":
            yield "A warning of the checks.", f"{one['rule']}: {one['message']}."


def bibtex(manifest: Mapping[str, Any]) -> str:
    """An entry that cites a data set. Nobody is named: no run says who made it."""
    key = re.sub(r"\W+", "_", manifest["name"]).strip("_") or "dataset"
    title = re.sub(r"[{}\\]", "", " ".join(manifest["name"].split()))
    year = str(manifest.get("created", ""))[:4]
    dated = f"  year = {{{year}}},\n" if year.isdigit() else ""
    note = "  note = {A data set made with retgen},\n}"
    return f"@misc{{{key},\n  title = {{{title}}},\n{dated}{note}"


def _header(run: PublishedRun, folder: Path, tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the Hub reads. `tables`: configurations beside those of the layout."""
    of_run, header = card_header(run.path / "dataset"), card_header(folder)
    configs = [*header["configs"], *_run_configs(of_run, header, folder), *tables]
    files = [*folder.rglob("*.parquet")]
    state = content_id({p.relative_to(folder).as_posix(): file_info(p).sha256 for p in files})
    return {
        **header,
        "pretty_name": run.manifest["name"],
        **licence_header(run.licences),
        "tags": of_run.get("tags", header["tags"]),
        "configs": configs,
        "dataset_info": [
            {"config_name": one["config_name"], "description": state} for one in configs
        ],
    }


def _run_configs(
    of_run: Mapping[str, Any], header: Mapping[str, Any], folder: Path
) -> Iterator[dict[str, Any]]:
    """Configurations of the run's own card that the layout has under another name."""
    known = {one["config_name"] for one in header["configs"]}
    for config in of_run.get("configs", ()):
        if config["config_name"] in known:
            continue
        for one in config["data_files"][:1]:
            split = (one["path"].split(".")[1:-1] or ["test"])[0]  # qrels.no_positives.jsonl
            for stem in ("qrels", "qrels_without_positives"):
                path = f"{stem}/{split}.parquet"
                if (folder / path).is_file():
                    files = [{"split": one["split"], "path": path}]
                    yield {"config_name": config["config_name"], "data_files": files}
                    break


def evaluation_page(run: PublishedRun) -> str | None:
    """The page of scores in RUN/eval; None where there is none of this data.

    A model that was a folder of this machine is called by the folder's own name.
    """
    measured, page = evaluation_of(run.path), run.path / "eval" / "eval.md"
    if measured is None or not page.is_file():
        return None
    text, models = page.read_text("utf-8"), {one["model"] for one in measured["results"]}
    for model in sorted(models, key=len, reverse=True):
        if "/" in model and Path(model).expanduser().exists():
            text = text.replace(model, Path(model).name)
    return text
