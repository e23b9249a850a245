"""All commands: each module adds its own to the application when it is imported."""

from __future__ import annotations

from retgen.cli import check, diagnose, evaluate, ledger, recipes, review, run, sealed, share, train
from retgen.cli.base import app

_COMMANDS = (run, recipes, check, review, share, evaluate, diagnose, train, sealed, ledger)

__all__ = ["app"]
