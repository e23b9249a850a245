"""README.md of a published data set: what the run says of itself, and how it is loaded.

Its YAML header is what the Hub, its viewer and `load_dataset` read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from retgen.dataset_files import card_header
from retgen.export import described
from retgen.export.facts import licence_header
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.plan import NOT_STATED
from retgen.publishing.published_run import PublishedRun
from retgen.review.report import findings

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
    of_run, header = card_header(run.path / "dataset"), card_header(folder)
    header |= {
        "pretty_name": run.name,
        **licence_header(run.licences),
        "tags": of_run.get("tags", header["tags"]),
        "configs": [*header["configs"], *tables],
    }
    header["dataset_info"] = described(folder, header["configs"])
    first, others = _body(run, folder)
    title, _, first = first.partition("\n")
    qrels = next(one for one in header["configs"] if one["config_name"] == "default")
    lines = [title]
    if run.refused:
        lines += ["", *refusal_note("data set", run.refused)]
    lines += [first, _LOADING.format(name=loaded_as, split=qrels["data_files"][0]["split"])]
    rows = [*_rows(folder, header["configs"])]
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
    paper = escape_markdown(run.recipe.family.paper)
    lines += [_ORIGIN.format(bibtex=_bibtex(run.manifest), paper=paper)]
    return front_matter(header) + "\n".join(lines)


def refusal_note(what: str, refused: Sequence[str]) -> list[str]:
    """Lines of a card on what was published in spite of being refused."""
    return [
        "> [!WARNING]",
        f"> This {what} was published against the checks of its maker:",
        *(f"> - {escape_markdown(one)}" for one in refused),
    ]


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


_ORIGIN = """\
## How it was made

By [recipe.yaml](recipe.yaml): `gen run recipe.yaml` makes it again, with the sources that it \
names. [manifest.json](manifest.json) has seed, versions, evidence, models and the hashes of the \
run's own files, [published.json](published.json) those of the files here. Files that this card \
names and that are not here stayed in the run.

## Citation

```bibtex
{bibtex}
```

The method is that of: {paper}.
"""


def _rows(folder: Path, configs: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """(configuration, split, columns, rows) of all tables."""
    import pyarrow.parquet as pq

    for config in configs:
        for one in config["data_files"]:
            stored = pq.read_metadata(folder / one["path"])
            names = config.get("columns") or stored.schema.to_arrow_schema().names
            shown = ", ".join(names)
            yield [config["config_name"], one["split"], shown, f"{stored.num_rows:,}"]


def _body(run: PublishedRun, folder: Path) -> tuple[str, str]:
    """The run's own card without its header: what it is, and its sections.

    A table of the run is called by its name in `folder`, and licences are those of the manifest.
    """
    text = (run.path / "dataset" / "README.md").read_text("utf-8")
    body = re.sub(r"\A---\n.*?\n---\n\s*", "", text, count=1, flags=re.DOTALL)
    for file in folder.glob("*/*.parquet"):
        name = file.relative_to(folder).as_posix()
        body = body.replace(f"{name.removesuffix('.parquet')}.jsonl", name)
    body = body.replace("configuration `no_positives`", "configuration `qrels_without_positives`")
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
    for one in run.findings:
        if one.get("severity") == "warning":
            yield "A warning of the checks.", f"{one['rule']}: {one['message']}."


def _bibtex(manifest: Mapping[str, Any]) -> str:
    """An entry that cites a data set. Nobody is named: no run says who made it."""
    key = re.sub(r"\W+", "_", manifest["name"]).strip("_") or "dataset"
    title = re.sub(r"[{}\\]", "", " ".join(manifest["name"].split()))
    year = str(manifest.get("created", ""))[:4]
    dated = f"  year = {{{year}}},\n" if year.isdigit() else ""
    note = "  note = {A data set made with retgen},\n}"
    return f"@misc{{{key},\n  title = {{{title}}},\n{dated}{note}"


def evaluation_page(run: Path, manifest: Mapping[str, Any]) -> str | None:
    """The page of scores in RUN/eval; None where there is none of this data.

    An evaluation of other data (older than the run, or over other counts) is not of it. A model
    that was a folder of this machine is called by the folder's own name.
    """
    stated, counts = run / "eval" / "eval.json", manifest.get("counts") or {}
    try:
        measured = orjson.loads(stated.read_bytes())
        made = datetime.fromisoformat(manifest["created"])
        if (
            measured["documents"] != counts["documents"]
            or measured["queries"] > counts["queries"]
            or stated.stat().st_mtime < made.timestamp()
        ):
            return None
        models = {str(one["model"]) for one in measured["results"]}
        text = stated.with_suffix(".md").read_text("utf-8")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for model in sorted(models, key=len, reverse=True):
        if "/" in model and Path(model).expanduser().exists():
            text = text.replace(model, Path(model).name)
    return text
