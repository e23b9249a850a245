"""Tasks of MTEB as data sets: `mteb:NAME`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.write import cache_folder, make_folder, write_rows


def dataset_folder(path: str | Path) -> Path:
    """The folder of `mteb:NAME`; any other path as it is."""
    name = str(path).removeprefix("mteb:")
    return Path(path) if name == str(path) else fetch(name)


def fetch(name: str) -> Path:
    """The folder of a retrieval task of MTEB's registry, downloaded once, in the cache.

    Raises `UsageError` for an unknown name, a task of another kind and where the Hub cannot be
    reached.
    """
    kept = cache_folder() / "mteb" / name
    if (kept / "qrels.jsonl").is_file():  # written last
        return kept
    import mteb
    from huggingface_hub import constants, get_session

    from retgen.search.embedders.loading import quiet  # imports torch

    tasks: dict[str, Any] = {t.metadata.name: t for t in mteb.get_tasks(task_types=["Retrieval"])}
    if name not in tasks:
        hint = did_you_mean(name, tasks)
        raise UsageError(f"mteb:{name}: MTEB has no retrieval task {name!r}{hint or '.'}")
    task = tasks[name]
    try:
        with quiet():
            # fails at once without a network, where loading retries each of its files
            get_session().head(constants.ENDPOINT, timeout=20)
            task.load_data()
    # whatever loaders of foreign data may raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise UsageError(
            f"mteb:{name}: cannot be loaded ({reason}). Without a network give a folder in MTEB, "
            "BEIR or Hub layout instead."
        ) from error
    write_task(task, kept)
    return kept


def write_task(task: Any, folder: Path) -> None:
    """Write a loaded retrieval task of MTEB: corpus, queries, and qrels of its first split."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    subset = next(iter(task.dataset.values()))
    data = subset["test" if "test" in subset else next(iter(subset))]
    for name in ("corpus", "queries"):
        rows = (
            {"_id": row["id"], "title": row.get("title") or "", "text": row["text"]}
            for row in data[name]
        )
        write_rows(folder / f"{name}.jsonl", rows)
    qrels = (
        {"query-id": query_id, "corpus-id": doc_id, "score": relevance}
        for query_id, of in data["relevant_docs"].items()
        for doc_id, relevance in of.items()
    )
    write_rows(folder / "qrels.jsonl", qrels)
