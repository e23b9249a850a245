"""`gen train --lr auto`: a learning rate from short trainings, scored on queries kept for that.

OUT/lr/
  sweep.json    what came out; written last
  dev/          the data set that is scored, where the trained one has no dev split
  RATE/         a short training, removed when all are done

Scored is how the model ranks for queries that it was not trained on: a loss may fall while
rankings get worse.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.training.config import TrainConfig, folder_hash, read_own
from retgen.evaluation.training.pairs import Pairs
from retgen.progress import Progress, no_progress
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.search.base import rank_corpus
from retgen.search.collection import Collection, load
from retgen.streams import Stream
from retgen.write import dump_json, make_folder, write_file, write_rows

if TYPE_CHECKING:
    from sentence_transformers.base.model import BaseModel

MEASURE = "nDCG@10"
_FACTORS = (1.0, 0.3, 3.0, 0.1, 10.0)  # of the usual rate, in the order in which they are tried
_STEPS = 50
_FEWEST, _QUERIES = 20, 200  # queries that are scored
_DOCUMENTS = 20_000  # that are searched for them


class Trial(NamedTuple):
    """A short training. `score`: nDCG@10 afterwards, None where it failed, `failure` says how."""

    rate: float
    score: float | None
    failure: str = ""


class Sweep(NamedTuple):
    """What was tried, in ascending order, on which queries, with how many steps each."""

    trials: list[Trial]
    steps: int
    dev: str

    @property
    def best(self) -> float:
        """The rate of the highest score; of equal ones the nearest to the usual rate."""
        middle = len(self.trials) // 2
        order = sorted(range(len(self.trials)), key=lambda i: abs(i - middle))
        found = [self.trials[i] for i in order if self.trials[i].score is not None]
        return max(found, key=lambda one: one.score or 0.0).rate

    def to_json(self) -> dict[str, Any]:
        """The key `learning_rates` of train.json."""
        trials = [one._asdict() for one in self.trials]
        return {"best": self.best, "dev": self.dev, "steps": self.steps, "trials": trials}

    def section(self) -> Section:
        """The part of the page."""
        rows = [
            Measurement(f"{one.rate:g}", MEASURE, {}, one.score, note=one.failure and "failed")
            for one in self.trials
        ]
        notes = [f"{one.rate:g}: {one.failure}" for one in self.trials if one.failure]
        if self.best in (self.trials[0].rate, self.trials[-1].rate):
            notes.append(f"{self.best:g} is the end of what was tried: a better one may lie beyond")
        return Section(
            "Which learning rate",
            [f"Trainings of {self.steps:,} steps, scored on {self.dev}; {self.best:g} is taken."],
            [Panel("", rows, [Column(MEASURE, Measure(MEASURE))], heads=["learning rate"])],
            notes=notes,
            terminal_title=f"Which learning rate: {self.steps:,} steps, {self.dev}",
        )


def sweep(
    model: str,
    pairs: Pairs,
    config: TrainConfig,
    path: Path,
    folder: Path,
    device: str | None,
    progress: Progress = no_progress,
) -> Sweep:
    """Try learning rates around the configuration's, which is resolved. A repeated call resumes.

    `path`: the data set that the pairs are of, whose split dev is scored if there is one of at
    least 20 queries; else a tenth of the pairs' queries is kept, and their documents are searched.
    Raises `UsageError` where there are too few queries, or every training fails.
    """
    from retgen.evaluation.training.kinds import split_name

    _, source = split_name(model)
    assert isinstance(source, str)
    assert config.learning_rate is not None, "the configuration is not resolved"
    identity = {
        "model": model,
        "weights": folder_hash(Path(source)),
        "pairs": pairs.digest(),
        "config": config.model_dump(mode="json"),
    }
    stored = folder / "sweep.json"
    if stored.is_file():
        kept = read_own(stored, "identity", "trials", "steps", "dev")
        if kept["identity"] == identity:
            return Sweep([Trial(**one) for one in kept["trials"]], kept["steps"], kept["dev"])
    used, collection, words = _dev(pairs, path, config, folder)
    steps = _steps(len(used), config)
    trials = []
    for factor in _FACTORS:
        rate = float(f"{config.learning_rate * factor:.2g}")
        changed = config.model_copy(
            update={
                "learning_rate": rate,
                "max_steps": steps,
                "hold_out": 0.0,
                "early_stop": 0,
                "eval_every": 0,
            }
        )
        trials.append(_trial(model, used, changed, folder / f"{rate:g}", collection, device))
        progress("learning rates", len(trials), len(_FACTORS))
    if all(one.score is None for one in trials):
        raise UsageError(f"--lr auto: every learning rate fails, the first: {trials[0].failure}")
    trials.sort()
    result = Sweep(trials, steps, words)
    content = {"identity": identity, "steps": steps, "dev": words}
    content["trials"] = [one._asdict() for one in trials]
    write_file(stored, dump_json(content))
    for one in trials:
        shutil.rmtree(folder / f"{one.rate:g}", ignore_errors=True)
    return result


def _trial(
    model: str,
    pairs: Pairs,
    config: TrainConfig,
    out: Path,
    collection: Collection,
    device: str | None,
) -> Trial:
    from retgen.evaluation.training.fit import train
    from retgen.evaluation.training.kinds import split_name

    measures = Measures([MEASURE])
    depth = measures.depth(collection.documents)

    def score(trained: BaseModel, when: str) -> Mapping[str, float]:
        if when != "after":
            return {}
        by = split_name(model)[0].retriever(model, trained, Options())
        (ranked,) = rank_corpus(by, collection, depth, no_progress)
        return {MEASURE: float(measures.per_query(collection, ranked.rankings).mean())}

    rate = float(config.learning_rate or 0.0)
    try:
        result = train(model, pairs, config, out, evaluate=score, device=device)
    except UsageError as error:
        if "the training loss is" not in str(error):
            raise
        return Trial(rate, None, str(error).partition(".")[0])
    return Trial(rate, result.scores("after")[MEASURE])


def _steps(count: int, config: TrainConfig) -> int:
    """As many as the training will have, 50 at most."""
    size = count if config.batch_size == "full" else int(config.batch_size or 1)
    planned = config.max_steps or config.epochs * -(-count // (size * config.accumulate))
    return max(1, min(_STEPS, planned))


def _dev(
    pairs: Pairs, path: Path, config: TrainConfig, folder: Path
) -> tuple[Pairs, Collection, str]:
    """The pairs to train on, what is scored, and that in words."""
    dataset = open_dataset(path)
    split = next((name for name in ("dev", "validation", "valid") if name in dataset.qrels), None)
    if split is not None:
        collection = load(path, split)
        count = len(collection.queries)
        if count >= _FEWEST and collection.documents <= _DOCUMENTS:
            return pairs, collection, f"the {count:,} queries of the split {split}"
    queries = list(dict.fromkeys(pairs.query_ids))
    count = min(_QUERIES, max(_FEWEST, len(queries) // 10))
    if len(queries) < 2 * _FEWEST:
        raise UsageError(
            f"--lr auto keeps {_FEWEST} queries to be scored on, and the pairs have "
            f"{len(queries):,}. Name a learning rate"
        )
    draws = Stream(config.seed, "training: learning rate").integers(2**62, len(queries))
    order = sorted(range(len(queries)), key=lambda i: int(draws[i]))
    out = {queries[i] for i in order[:count]}
    place = _write_dev(pairs, out, folder / "dev")
    rows = [i for i, query_id in enumerate(pairs.query_ids) if query_id not in out]
    kept: dict[str, Any] = {
        name: [of[i] for i in rows]
        for name in ("anchors", "positives", "negatives", "query_ids", "positive_ids", "scores")
        if (of := getattr(pairs, name))
    }
    return replace(pairs, **kept), load(place), f"{count:,} queries that were kept for it"


def _write_dev(pairs: Pairs, out: set[str], folder: Path) -> Path:
    """The kept queries over the documents of all pairs, theirs first, as a data set."""
    asked = [i for i, query_id in enumerate(pairs.query_ids) if query_id in out]
    documents = dict.fromkeys(pairs.positives[i] for i in asked)
    documents.update(dict.fromkeys(pairs.positives))
    documents.update(dict.fromkeys(text for of in pairs.negatives for text in of))
    texts = list(documents)[: max(_DOCUMENTS, len(asked))]
    place = {text: i for i, text in enumerate(texts)}
    queries = {pairs.anchors[i]: None for i in asked}
    number = {text: i for i, text in enumerate(queries)}
    tables: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"_id": f"d{i}", "title": "", "text": text} for i, text in enumerate(texts)],
        "queries": [{"_id": f"q{i}", "text": text} for i, text in enumerate(queries)],
        "qrels": [
            {"query-id": f"q{q}", "corpus-id": f"d{d}", "score": 1}
            for q, d in sorted(
                {(number[pairs.anchors[i]], place[pairs.positives[i]]) for i in asked}
            )
        ],
    }
    make_folder(folder)
    for name, rows in tables.items():
        write_rows(folder / f"{name}.jsonl", rows)
    return folder
