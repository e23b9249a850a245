"""`gen doctor`: what is installed, which keys are there, what is missing and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

from retgen.agents.backends import backends
from retgen.agents.embedders import embedding_backends
from retgen.generators import families
from retgen.progress import usable_cores
from retgen.recipes import bundled
from retgen.version import __version__

_OTHER_KEYS = ("ANTHROPIC_API_KEY", "HF_TOKEN")


class Check(NamedTuple):
    """One line: `state` is "ok", "missing" (a package that a command needs) or "absent" (a key or
    a device that is not needed by all).
    """

    what: str
    state: str
    note: str


def doctor() -> list[Check]:
    """Look at the installation. Reads no key's value, only whether it is set."""
    from dotenv import dotenv_values

    checks = [
        Check("retgen", "ok", __version__),
        Check("Python", "ok", f"{platform.python_version()} at {sys.prefix}"),
        Check("processors", "ok", f"{usable_cores()} usable"),
        Check("disk", "ok", f"{shutil.disk_usage(Path.cwd()).free / 1e9:.0f} GB free here"),
        Check("families", "ok", ", ".join(families())),
        Check("recipes", "ok", f"{len(bundled())} bundled; `gen recipes` lists them"),
    ]
    checks += _packages()
    checks.append(_accelerator())
    in_file = dotenv_values(".env")
    providers = (*backends().values(), *embedding_backends().values())
    named = [key for one in providers for key in one.keys]
    for key in dict.fromkeys((*named, *_OTHER_KEYS)):
        if os.environ.get(key):
            checks.append(Check(key, "ok", "set"))
        elif in_file.get(key):
            checks.append(Check(key, "ok", "set in .env"))
        else:
            checks.append(Check(key, "absent", "not set; no bundled recipe needs it"))
    return checks


def _packages() -> list[Check]:
    """Every requirement of the installed package, core first, then by extra."""
    from packaging.requirements import Requirement

    checks = []
    for text in requires("retgen") or []:
        requirement = Requirement(text)
        extra = str(requirement.marker or "").partition("extra == ")[2].strip("'\" )")
        if extra in ("all", "dev"):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            remedy = f"pip install 'retgen[{extra}]'" if extra else "pip install --upgrade retgen"
            checks.append(Check(requirement.name, "missing", f"not installed: {remedy}"))
            continue
        fits = requirement.specifier.contains(installed, prereleases=True)
        note = installed if fits else f"{installed}, but {requirement.specifier} is needed"
        checks.append(Check(requirement.name, "ok" if fits else "missing", note))
    return checks


def _accelerator() -> Check:
    """The device that models will use: its name and memory."""
    try:
        import torch
    except ImportError:
        return Check("accelerator", "absent", "not looked for: pip install 'retgen[eval]'")
    if torch.cuda.is_available():
        result = torch.cuda.get_device_properties(0)
        return Check("accelerator", "ok", f"{result.name}, {result.total_memory / 2**30:.0f} GiB")
    if torch.backends.mps.is_available():
        return Check("accelerator", "ok", "mps")
    return Check("accelerator", "absent", "no GPU seen; models run on the processor")
