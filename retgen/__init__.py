"""retgen: synthetic retrieval data sets from recipes, proven right.

The commands of `gen` as functions: `run`, `pilot` (`gen run --pilot`), `plan`, `preview`,
`validate`, `report`, `diff`, `export`, `publish`, `draft`, `diagnose`, `evaluate`, `train`,
`capacity` and `certify` (`gen capacity` without and with a data set), `new_recipe`, `doctor`;
`make_sealed`, `reveal_sealed`, `verify_sealed` (`gen sealed`).
`ModelOptions`: how `run` calls models.

Each is imported when it is first used: a command line pays for its own command only.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from retgen.version import __version__ as __version__

if TYPE_CHECKING:
    from retgen.agents.models import ModelOptions as ModelOptions
    from retgen.changes import diff as diff
    from retgen.diagnosis.diagnose import diagnose as diagnose
    from retgen.doctor import doctor as doctor
    from retgen.draft.draft import draft as draft
    from retgen.errors import RetgenError as RetgenError
    from retgen.evaluation.capacity.all_pairs import capacity as capacity
    from retgen.evaluation.capacity.certify import certify as certify
    from retgen.evaluation.scoring.evaluate import evaluate as evaluate
    from retgen.evaluation.training.train import train as train
    from retgen.export import export as export
    from retgen.plan import plan as plan
    from retgen.plan import preview as preview
    from retgen.publishing import publish as publish
    from retgen.reporting.report import report as report
    from retgen.run import pilot as pilot
    from retgen.run import run as run
    from retgen.scaffold import new_recipe as new_recipe
    from retgen.sealed.make import make_sealed as make_sealed
    from retgen.sealed.make import reveal_sealed as reveal_sealed
    from retgen.sealed.verify import verify_sealed as verify_sealed
    from retgen.validation.validate import validate as validate

_MODULES = {
    "ModelOptions": "agents.models",
    "RetgenError": "errors",
    "capacity": "evaluation.capacity.all_pairs",
    "certify": "evaluation.capacity.certify",
    "diagnose": "diagnosis.diagnose",
    "diff": "changes",
    "doctor": "doctor",
    "draft": "draft.draft",
    "evaluate": "evaluation.scoring.evaluate",
    "export": "export",
    "make_sealed": "sealed.make",
    "new_recipe": "scaffold",
    "pilot": "run",
    "plan": "plan",
    "preview": "plan",
    "publish": "publishing",
    "report": "reporting.report",
    "reveal_sealed": "sealed.make",
    "run": "run",
    "train": "evaluation.training.train",
    "validate": "validation.validate",
    "verify_sealed": "sealed.verify",
}  # where each name of the package is defined

__all__ = sorted(["__version__", *_MODULES])


class _Package(ModuleType):
    """This package. `retgen.run` is the function, whether or not the module `retgen.run` of the
    same name has been imported: importing a submodule binds it to its package.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _MODULES:
            if _MODULES[name] != name:  # it is found when it is asked for
                return
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'retgen' has no attribute {name!r}")
    result = getattr(importlib.import_module(f"retgen.{_MODULES[name]}"), name)
    globals()[name] = result
    return result


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
