"""Fine-tuning a model on retrieval pairs: is a low score domain shift?

The question of the LIMIT paper (arXiv 2508.21038, section 5 "Is this Domain Shift?", Appendix B,
Table 3): training on similar data hardly helps, training on the test pairs themselves shows what
the model can memorise. `read_pairs` gets the pairs of a run or data set, `TrainConfig` says how,
`retgen.evaluation.training.fit.train` does it. This module imports no torch.
"""

from __future__ import annotations

from retgen.evaluation.training.config import (
    PRESETS,
    TrainConfig,
    TrainingRun,
    make_config,
)
from retgen.evaluation.training.pairs import Pairs, read_pairs

__all__ = [
    "PRESETS",
    "Pairs",
    "TrainConfig",
    "TrainingRun",
    "make_config",
    "read_pairs",
]
