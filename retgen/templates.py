"""Compiled templates, kept beside compiled Python: compiling a page takes ten times as long.

Like Python's, a compiled template stands in `__pycache__` of its source's folder, is used for that
source, that environment and that version of Python and Jinja only, and is done without where the
folder cannot be written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from retgen.errors import OutputError
from retgen.write import write_file


class CompiledTemplates(BytecodeCache):
    """Keeps the compiled templates of a folder in its `__pycache__`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "__pycache__"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with what is kept; whatever is wrong with it, the source is compiled."""
        try:
            bucket.bytecode_from_string(self._path(bucket).read_bytes())
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled, if it can be."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError, OutputError):
                self.folder.mkdir(exist_ok=True)
                write_file(self._path(bucket), bucket.bytecode_to_string())

    def _path(self, bucket: Bucket) -> Path:
        # the bucket knows its source and Python's version; options of the environment are code
        settings = bucket.environment
        settled = [version("jinja2"), settings.trim_blocks, settings.lstrip_blocks]
        settled += [settings.undefined.__name__, sorted(settings.filters)]
        digest = hashlib.sha256(repr(settled).encode()).hexdigest()[:16]
        return self.folder / f"{bucket.key}.{digest}.jinja"
