"""Teachers: what scores pairs for distillation, and finds negatives that are relevant after all.

OUT/teacher/
  HASH.npy    scores in the order of what was scored; a repeated call loads no teacher

False negatives cost more than they teach (RLHN, arXiv 2505.16967): there a cascade of chat models
judged them, and relabelling them as positives was better than dropping them. Here a chat model
judges, or any retriever that scores pairs, against its own score of the query's best positive.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.agents.models import ModelOptions
from retgen.errors import DatasetError, UsageError
from retgen.evaluation import retrievers
from retgen.evaluation.training.config import DISTILLED, TrainConfig, folder_hash
from retgen.evaluation.training.pairs import FalseNegatives, Pairs
from retgen.progress import Progress
from retgen.search.base import CandidateSet
from retgen.search.embedders.options import Options
from retgen.streams import Stream
from retgen.write import make_folder, write_file

# of each query its positives, and its negatives
Negatives = Mapping[str, tuple[Sequence[str], Sequence[str]]]


CHAT = "llm:"  # before a chat model's name


def check_teacher(name: str, config: TrainConfig) -> None:
    """Raise `UsageError` for a name that is no teacher's, before anything is loaded."""
    if name.startswith(CHAT):
        if config.loss in DISTILLED:
            raise UsageError(
                f"teacher {name}: a chat model says yes or no, and loss {config.loss} learns from "
                "scores. Take cross:MODEL, or another loss with false_negatives=relabel"
            )
        return
    try:
        retrievers.check_name(name)
    except UsageError as error:
        raise _of(name, error) from error
    if retrievers.asked_models(name):
        raise UsageError(
            f"teacher {name}: an embedder behind an API is no teacher. Take cross:MODEL, or "
            "llm:PROVIDER:NAME for false_negatives"
        )


def _of(name: str, error: UsageError) -> UsageError:
    return UsageError(f"teacher {name}: {str(error).removeprefix(f'--model {name}: ')}")


class Teacher:
    """A retriever that scores pairs. `folder`: where its scores are kept."""

    def __init__(self, name: str, options: Options, folder: Path, progress: Progress) -> None:
        self.name = name
        self._options = replace(options, dims=())
        self._folder, self._progress = folder, progress

    def scores(self, sets: Sequence[CandidateSet]) -> list[dict[str, float]]:
        """Of each set, text to score. One that counts words counts them over all texts here.

        Raises `UsageError` for a model that cannot be loaded, gives no score to a single pair or
        scores that teach nothing: one that is no finite number, the same for all texts of a query.
        """
        place = self._folder / f"{self._key(sets)}.npy"
        count = sum(len(one.texts) for one in sets)
        values = _stored(place, count)
        if values is None:
            values = np.concatenate(self._compute(sets)).astype(np.float64)
            self._check(sets, values)
            make_folder(self._folder)
            stored = io.BytesIO()
            np.save(stored, values)
            write_file(place, stored.getvalue())
        parts = np.split(values, np.cumsum([len(one.texts) for one in sets])[:-1])
        return [
            dict(zip(one.texts, part.tolist(), strict=True))
            for one, part in zip(sets, parts, strict=True)
        ]

    def relevant(self, negatives: Negatives, config: TrainConfig) -> list[list[str]]:
        """Of each query the negatives that it calls relevant."""
        sets = [
            CandidateSet(query, tuple(dict.fromkeys([*positives, *others])))
            for query, (positives, others) in negatives.items()
        ]
        result = []
        for of, (positives, others) in zip(self.scores(sets), negatives.values(), strict=True):
            best = max(of[text] for text in positives)
            bar = best - abs(best) * (1 - config.relevant_from)
            result.append([text for text in others if of[text] >= bar])
        return result

    def _key(self, sets: Sequence[CandidateSet]) -> str:
        """Of the teacher, its files where it is a folder, and what it scores."""
        weights = folder_hash(Path(self.name.partition(":")[2] or self.name))
        named = [self.name, weights, [[one.query, *one.texts] for one in sets]]
        return hashlib.sha256(orjson.dumps(named)).hexdigest()[:32]

    def _compute(self, sets: Sequence[CandidateSet]) -> list[NDArray[np.float64]]:
        kind = retrievers.type_of(self.name)
        assert kind is not None  # it was checked
        try:
            systems = kind.systems(self.name, kind.load(self.name, self._options), self._options)
        except UsageError as error:
            raise _of(self.name, error) from error
        if not systems:
            raise UsageError(
                f"teacher {self.name}: gives no score to a single pair of query and document. Take "
                "cross:MODEL, bm25 or an embedder"
            )
        return systems[-1].scorer.score(sets, self._progress)

    def _check(self, sets: Sequence[CandidateSet], values: NDArray[np.float64]) -> None:
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            pairs = [(one.query, text) for one in sets for text in one.texts]
            query, text = pairs[int(wrong[0])]
            raise UsageError(
                f"teacher {self.name}: {len(wrong):,} of its {len(values):,} scores are no finite "
                f"numbers, the first for the query {query[:60]!r} and the document {text[:60]!r}. "
                "Take another teacher"
            )
        parts = np.split(values, np.cumsum([len(one.texts) for one in sets])[:-1])
        if all(part.max() - part.min() == 0 for part in parts):
            raise UsageError(
                f"teacher {self.name}: scores all documents of a query alike, so it teaches "
                "nothing. Take another teacher"
            )


class ChatTeacher(Teacher):
    """A chat model, which says of each negative whether it is relevant; `model_options`: its cap.

    What it answers is kept in the ledger. A pair without an answer that can be taken stays what it
    was.
    """

    def __init__(
        self, name: str, model_options: ModelOptions, folder: Path, progress: Progress
    ) -> None:
        from retgen.agents.session import ledger_of
        from retgen.evaluation.search.judge import judge_model

        super().__init__(name, Options(), folder, progress)
        given = model_options
        self._model_options = replace(given, ledger=ledger_of(folder.parent, given))
        self._settings = judge_model("teacher", name.removeprefix(CHAT), given)

    def relevant(self, negatives: Negatives, config: TrainConfig) -> list[list[str]]:
        from retgen.agents.report import CallReport
        from retgen.evaluation.search.judge import judged_labels

        pairs = [(query, text) for query, (_, others) in negatives.items() for text in others]
        make_folder(self._folder)
        labels = iter(
            judged_labels(
                self._settings,
                dict(enumerate(pairs)),
                len(pairs),
                self._folder / "judge",
                self._model_options,
                CallReport(),
                self._progress,
            )
        )
        return [[text for text in others if next(labels) == 1] for _, others in negatives.values()]


def _stored(place: Path, count: int) -> NDArray[np.float64] | None:
    """Scores of an earlier call; None where there are none, or the file was damaged since."""
    try:
        values = np.load(place)
        return np.asarray(values, np.float64) if values.shape == (count,) else None
    except (OSError, EOFError, ValueError):
        return None


def teacher_of(
    config: TrainConfig,
    options: Options,
    folder: Path,
    model_options: ModelOptions,
    progress: Progress,
) -> Teacher | None:
    """The teacher of a configuration, if it has one, after `check_teacher`."""
    if config.teacher is None:
        return None
    if config.teacher.startswith(CHAT):
        return ChatTeacher(config.teacher, model_options, folder, progress)
    reading = replace(options, trust_remote_code=config.trust_remote_code)
    return Teacher(config.teacher, reading, folder, progress)


def taught(pairs: Pairs, config: TrainConfig, teacher: Teacher, count: int) -> Pairs:
    """Pairs as a teacher sees them: without its false negatives, with its scores.

    `count`: the negatives that are trained on, of every pair. Where false negatives are dropped or
    relabelled, each pair keeps its first `count` others; one that loses all takes documents of
    other queries, drawn at random. Raises `UsageError` (see `Teacher.scores`), `DatasetError`
    where there are no such documents.
    """
    if config.false_negatives != "keep":
        pairs = _without_false_negatives(pairs, config, teacher, count)
    if config.loss in DISTILLED and count:
        known = _scored(pairs, teacher, count)
        rows = zip(pairs.anchors, pairs.positives, pairs.negatives, strict=True)
        scores = [
            [known[anchor][text] for text in (positive, *negatives[:count])]
            for anchor, positive, negatives in rows
        ]
        pairs = replace(pairs, scores=scores)
    return pairs


def _scored(pairs: Pairs, teacher: Teacher, count: int) -> dict[str, dict[str, float]]:
    """Of each query, its positives' and first `count` negatives' scores."""
    texts: dict[str, dict[str, None]] = {}
    for anchor, positive, negatives in zip(
        pairs.anchors, pairs.positives, pairs.negatives, strict=True
    ):
        texts.setdefault(anchor, {}).update(dict.fromkeys([positive, *negatives[:count]]))
    sets = [CandidateSet(anchor, tuple(of)) for anchor, of in texts.items()]
    return dict(zip(texts, teacher.scores(sets), strict=True))


def _without_false_negatives(
    pairs: Pairs, config: TrainConfig, teacher: Teacher, count: int
) -> Pairs:
    positives: dict[str, dict[str, None]] = {anchor: {} for anchor in pairs.anchors}
    for anchor, text in zip(pairs.anchors, pairs.positives, strict=True):
        positives[anchor][text] = None
    seen: dict[str, dict[str, None]] = {anchor: {} for anchor in positives}
    for anchor, given in zip(pairs.anchors, pairs.negatives, strict=True):
        seen[anchor].update(dict.fromkeys(given))
    others = {anchor: [t for t in of if t not in positives[anchor]] for anchor, of in seen.items()}
    asked = {anchor: (list(of), others[anchor]) for anchor, of in positives.items()}
    false = dict(zip(asked, teacher.relevant(asked, config), strict=True))
    judged = sum(map(len, others.values()))
    negatives, lost = [], 0
    for i, (anchor, given) in enumerate(zip(pairs.anchors, pairs.negatives, strict=True)):
        kept = [text for text in given if text not in false[anchor]][:count]
        if given and not kept:
            lost += 1
            kept = _others(pairs, i, {*positives[anchor], *false[anchor]}, count)
        negatives.append(kept)
    found = FalseNegatives(
        teacher.name,
        config.false_negatives,
        config.relevant_from,
        judged,
        sum(map(len, false.values())),
        sum(map(bool, false.values())),
        lost,
    )
    changed = replace(
        pairs, negatives=negatives, origin=f"{pairs.origin}; {found.words()}", false_negatives=found
    )
    return _relabelled(changed, false) if config.false_negatives == "relabel" else changed


def _others(pairs: Pairs, place: int, known: set[str], count: int) -> list[str]:
    """Positives of other queries, from a random place on."""
    start = int(Stream(place, "training/relabelled").integers(len(pairs), 1)[0])
    result: dict[str, None] = {}
    for step in range(len(pairs)):
        text = pairs.positives[(start + step) % len(pairs)]
        if text not in known:
            result[text] = None
        if len(result) == count:
            break
    if not result:
        raise DatasetError(
            f"the teacher calls all negatives of the query {pairs.anchors[place]!r} relevant, and "
            "no document of another query can take their place. Set relevant_from above 1, or take "
            "another teacher"
        )
    return list(result)


def _relabelled(pairs: Pairs, false: dict[str, list[str]]) -> Pairs:
    """With a pair for each false negative, which has the negatives of its query's first pair."""
    first: dict[str, int] = {}
    for i, anchor in enumerate(pairs.anchors):
        first.setdefault(anchor, i)
    new = [(first[anchor], text) for anchor, texts in false.items() for text in texts]
    rows = [i for i, _ in new]
    return replace(
        pairs,
        anchors=[*pairs.anchors, *(pairs.anchors[i] for i in rows)],
        positives=[*pairs.positives, *(text for _, text in new)],
        negatives=[*pairs.negatives, *(pairs.negatives[i] for i in rows)],
        query_ids=[*pairs.query_ids, *(pairs.query_ids[i] for i in rows)],
        positive_ids=[*pairs.positive_ids, *("" for _ in rows)] if pairs.positive_ids else [],
    )
