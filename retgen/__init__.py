"""retgen: synthetic retrieval data sets from recipes, proven right.

The commands of `gen` as functions: `run`, `pilot` (`gen run --pilot`), `plan`, `preview`,
`validate`, `report`, `export`, `evaluate`, `train`, `capacity` and `certify` (`gen capacity`
without and with a data set), `new_recipe`, `doctor`. `Asking`: how `run` asks models.
"""

from typing import TYPE_CHECKING, Any

from retgen.doctor import doctor
from retgen.errors import RetgenError
from retgen.export import export
from retgen.plan import plan
from retgen.preview import preview
from retgen.report import report
from retgen.run import pilot, run
from retgen.scaffold import new_recipe
from retgen.validate import validate
from retgen.version import __version__

if TYPE_CHECKING:
    from retgen.ask import Asking
    from retgen.experiments.capacity import capacity
    from retgen.experiments.certify import certify
    from retgen.experiments.evaluate import evaluate
    from retgen.experiments.train import train

__all__ = [
    "Asking",
    "RetgenError",
    "__version__",
    "capacity",
    "certify",
    "doctor",
    "evaluate",
    "export",
    "new_recipe",
    "pilot",
    "plan",
    "preview",
    "report",
    "run",
    "train",
    "validate",
]


def __getattr__(name: str) -> Any:
    # these need the extra `eval` and take seconds to import
    if name in ("capacity", "certify", "evaluate", "train"):
        import importlib

        return getattr(importlib.import_module(f"retgen.experiments.{name}"), name)
    if name == "Asking":  # it brings what only runs that ask a model need
        from retgen.ask import Asking

        return Asking
    raise AttributeError(f"module 'retgen' has no attribute {name!r}")
