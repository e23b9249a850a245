"""`gen eval --rank`: one of several processes encodes its share of a corpus, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from retgen.data import open_dataset
from retgen.engines.ranks import Rank
from retgen.errors import UsageError
from retgen.evaluation.collection import text_blocks
from retgen.evaluation.embedders.shares import BLOCK, Shares
from retgen.evaluation.retrievers import Options, asked_models, check_name, retriever
from retgen.evaluation.scoring.evaluate import output_folder, shared_folder
from retgen.evaluation.scoring.mteb_files import dataset_folder
from retgen.progress import Progress, no_progress


class EncodedShare(NamedTuple):
    """The share of a rank: so many documents, of which `kept` were encoded by an earlier call."""

    path: Path
    rank: Rank
    documents: int
    kept: int


def encode_share(
    path: str | Path,
    models: Sequence[str],
    rank: Rank,
    *,
    out: str | Path | None = None,
    options: Options | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Encode a rank's share of the documents of a data set; `evaluate` reads those of all ranks.

    `out` and `options` as there. Blocks that an earlier call has encoded are kept. Raises
    `UsageError` for what is not one embedder, and `RunDirectoryError` where other ranks do
    something else.
    """
    from retgen.evaluation.search.dense import DenseRetriever  # with torch

    if len(models) != 1:
        raise UsageError(
            f"--rank: encodes by one model, and {len(models) or 'none'} "
            f"{'are' if len(models) > 1 else 'is'} named; give one embedder, as --model minilm"
        )
    check_name(models[0])
    if asked_models(models[0]):
        raise UsageError(
            f"--rank: --model {models[0]} is behind an API, which one process asks as fast; leave "
            "--rank out"
        )
    source = dataset_folder(path)
    dataset = open_dataset(source)
    documents = sum(1 for _ in dataset.documents(strict=source))
    dense = retriever(models[0], replace(options or Options(), dims=()))
    if not isinstance(dense, DenseRetriever):
        raise UsageError(
            f"--rank: --model {models[0]} gives no vector of a document, so no share can be "
            "encoded; leave --rank out, or name an embedder, as --model minilm"
        )
    if dense.key is None:
        raise UsageError(f"--rank: vectors of {dense.name} cannot be kept on disk")
    folder = shared_folder(Path(out) if out is not None else output_folder([source])) / dense.slug
    shares = Shares.join(folder, rank, dense.key, documents, dataset.corpus.size())
    starts = range(rank.number * BLOCK, documents, rank.of * BLOCK)
    total = sum(min(BLOCK, documents - start) for start in starts)
    done = kept = 0
    for first, texts in text_blocks(dataset, BLOCK):
        if first not in starts:
            continue
        if shares.read(first, texts) is None:

            def report(encoded: int, done: int = done) -> None:
                progress(dense.name, done + encoded, total)

            vectors, tokens = dense.fresh(texts, "document", report)
            shares.keep(first, texts, vectors.cpu().numpy(), tokens)
        else:
            kept += len(texts)
        done += len(texts)
        progress(dense.name, done, total)
    shares.finish(rank)
    return EncodedShare(folder, rank, total, kept)
