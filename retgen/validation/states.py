"""What a proof found in the parts it has finished, kept in a run directory until the run ends.

A large run that is killed while it is proven goes on where it stopped. A state is trusted only if
it is whole (a checksum), and was made from the same files, by the same rules, with the same
versions; anything else is proven again. Only `gen run` keeps states, of files that it wrote itself:
the verdict of `gen validate` rests on the files alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import platform
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Chunk
from retgen.manifest import PROOF
from retgen.plugins import installed_plugins
from retgen.processes import pickle_data, unpickle_data
from retgen.validators.rules import GROUP
from retgen.write import FileInfo, file_info, make_folder, write_file

_MARK = b"retgen proof 1\n"


def forget(run: Path) -> None:
    """Remove what was kept of a run's proof."""
    shutil.rmtree(run / PROOF, ignore_errors=True)


class States:
    """The states of finished parts of one proof, and the files that they refer to.

    `written`: hash and size of the run's files, as the writer knows them. `folder` is also where
    rules keep what is too large for memory.
    """

    def __init__(self, run: Path, written: Mapping[str, FileInfo]) -> None:
        self.folder = run / PROOF
        self.loaded = 0  # parts that an earlier, killed proof had finished
        self._run = run
        self._written = {name: list(info) for name, info in sorted(written.items())}
        self._key = ""
        make_folder(self.folder)

    def begin(self, parts: Sequence[Sequence[Chunk]], *asked: Any) -> dict[int, Any]:
        """The results that can be trusted, by the number of their part; the rest is removed.

        `asked`: what else the results depend on.
        """
        # rules name their files by the whole path, so a folder that was moved is another one
        place = str(self.folder.resolve())
        identity = [
            place,
            self._written,
            _inputs(self._run),
            installed_versions(),
            rules_hash(),
            list(asked),
        ]
        cuts = [[(c.path.name, c.start, c.stop) for c in part] for part in parts]
        self._key = hashlib.sha256(orjson.dumps([identity, cuts])).hexdigest()
        result = {}
        needed = set()
        for number in range(len(parts)):
            kept = self._load(number)
            if kept is not None:
                result[number], files = kept
                needed |= {self._path(number).name, *files}
        for path in self.folder.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)
        self.loaded = len(result)
        return result

    def keep(self, number: int, result: Any, files: Sequence[str]) -> None:
        """Keep the result of a part; `files`: what it refers to, in `folder`."""
        infos = {Path(name).name: list(file_info(Path(name))) for name in files}
        body = pickle_data([self._key, number, infos, result])
        write_file(self._path(number), _MARK + hashlib.sha256(body).digest() + body)

    def _path(self, number: int) -> Path:
        return self.folder / f"part-{number:06}"

    def _load(self, number: int) -> tuple[Any, list[str]] | None:
        try:
            raw = self._path(number).read_bytes()
            start = len(_MARK) + 32
            body = raw[start:]
            if raw[:start] != _MARK + hashlib.sha256(body).digest():
                return None
            key, of, infos, result = unpickle_data(io.BytesIO(body))
            if (key, of) != (self._key, number):
                return None
            if any(list(file_info(self.folder / name)) != info for name, info in infos.items()):
                return None
        except Exception:  # whatever is wrong with it: the part is proven again
            return None
        return result, list(infos)


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
