"""retgen: synthetic retrieval data sets from recipes, proven right.

The commands of `gen` as functions: `run`, `plan`, `preview`, `validate`, `report`, `export`,
`new_recipe`, `doctor`.
"""

from retgen.doctor import doctor
from retgen.errors import RetgenError
from retgen.export import export
from retgen.plan import plan
from retgen.preview import preview
from retgen.report import report
from retgen.run import run
from retgen.scaffold import new_recipe
from retgen.validate import validate
from retgen.version import __version__

__all__ = [
    "RetgenError",
    "__version__",
    "doctor",
    "export",
    "new_recipe",
    "plan",
    "preview",
    "report",
    "run",
    "validate",
]
