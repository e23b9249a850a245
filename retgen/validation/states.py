"""What a proof found in the parts it has finished, kept in a run directory until the run ends.

A large run that is killed while it is proven goes on where it stopped. A state is trusted only if
it is whole (a checksum), and was made from the same files, by the same rules, with the same
versions; anything else is proven again. Only `gen run` keeps states, of files that it wrote itself:
the verdict of `gen validate` rests on the files alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Chunk, TableFiles
from retgen.engines import Result
from retgen.engines.files import ResultFiles
from retgen.engines.packing import unpack_data
from retgen.manifest import PARTS, PROOF
from retgen.plugins import installed_plugins
from retgen.validators.rules import GROUP
from retgen.write import FileInfo, file_info


def forget(run: Path) -> None:
    """Remove what was kept of a run's proof, and of its ranks."""
    for name in (PROOF, PARTS):
        shutil.rmtree(run / name, ignore_errors=True)


class PartFiles:
    """Results of the parts of a scan, as files of a folder: their arrays are read from there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded = 0  # parts that an earlier, killed proof had finished
        self.files = ResultFiles(folder)

    def cut(self, corpus: TableFiles) -> list[list[Chunk]] | None:
        """The parts of the corpus, where it matters what they are."""
        return None

    def begin(self, parts: Sequence[Sequence[Chunk]], *asked: Any) -> dict[int, Any]:
        """The results that are there, by part. `asked`: what they depend on beside the files."""
        return {}

    def keep(self, number: int, result: Result) -> Any:
        """Keep the packed result of a part. Returns it, its arrays on disk."""
        return unpack_data(self.files.keep(self.name(number), result))

    def name(self, number: int) -> str:
        """The name of a part."""
        return f"part-{number:06}"

    def load(self, number: int) -> Any:
        """The result of a part. Raises whatever is wrong with it."""
        view = self.files.read(self.name(number))
        if view is None:
            raise ValueError("it is not what was kept")
        return unpack_data(view)

    def load_all(self, count: int) -> dict[int, Any]:
        """The results of `count` parts, less those with which anything is wrong."""
        result = {}
        for number in range(count):
            with contextlib.suppress(Exception):  # the part is proven again
                result[number] = self.load(number)
        self.loaded = len(result)
        return result


class States(PartFiles):
    """The results of finished parts of one proof of a run, which the next one may find there.

    `written`: hash and size of the run's files, as the writer knows them. `folder` is also where
    rules keep what is too large for memory.
    """

    def __init__(self, run: Path, written: Mapping[str, FileInfo]) -> None:
        super().__init__(run / PROOF)
        self._run = run
        self._written = {name: list(info) for name, info in sorted(written.items())}

    def begin(self, parts: Sequence[Sequence[Chunk]], *asked: Any) -> dict[int, Any]:
        """The results that can be trusted, by the number of their part; what else is there goes."""
        cuts = [[(c.path.name, c.start, c.stop) for c in part] for part in parts]
        self.files.key = identity(self._run, self._written, list(asked), cuts)
        result = self.load_all(len(parts))
        needed = {self.files.path(self.name(number)) for number in result}
        for path in self.folder.iterdir():
            if path not in needed:
                path.unlink(missing_ok=True)
        return result


def identity(run: Path, *others: Any) -> bytes:
    """A digest of what results depend on: recipe, the user's files, code, versions, and others."""
    return hashlib.sha256(
        orjson.dumps([_inputs(run), installed_versions(), rules_hash(), list(others)])
    ).digest()


def _inputs(run: Path) -> dict[str, str]:
    """Hashes of what the writer does not list: the recipe, and the user's own files."""
    paths = [run / "recipe.yaml", *(run / "inputs").rglob("*")]
    return {
        path.relative_to(run).as_posix(): file_info(path).sha256
        for path in sorted(paths)
        if path.is_file()
    }


@cache
def rules_hash() -> str:
    """A hash of the rules, the word lists that they know, and what shows them documents."""
    here = Path(__file__).parent
    paths = [*here.glob("*.py"), *here.parent.glob("*.py")]
    for package in ("retgen.validators", "retgen.generators"):
        for root in import_module(package).__path__:
            paths += (p for p in Path(root).resolve().rglob("*") if p.is_file())
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.suffix != ".pyc":
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def installed_versions() -> dict[str, str]:
    """Of Python, of every package that retgen asks for, where it is there, and of added rules."""
    from importlib import metadata

    result = {"python": platform.python_version(), "machine": platform.machine()}
    with contextlib.suppress(metadata.PackageNotFoundError):  # of retgen: nobody installed it
        required = [re.match(r"[\w.-]+", one) for one in metadata.requires("retgen") or []]
        for name in ["retgen", *(match[0] for match in required if match)]:
            with contextlib.suppress(metadata.PackageNotFoundError):
                result[name] = metadata.version(name)
    for entry in installed_plugins(GROUP):
        result[f"{entry.name}: {entry.value}"] = entry.dist.version if entry.dist else ""
    return result
