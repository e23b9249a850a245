"""A folder of this machine, or of a drive that it sees."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from retgen.errors import OutputError, UsageError
from retgen.publishing.destinations import (
    LISTING,
    Destination,
    FileChange,
    Standing,
    Tree,
    read_listing,
    stored_file,
)
from retgen.write import AtomicFile, is_partial, make_folder, os_errors, remove_partial


class File(Destination):
    about = "a folder; one that holds anything else is refused"
    example = "file:PATH"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._folder = Path(address).expanduser()
        if not self._folder.resolve().name:
            raise UsageError(f"file:{address}: is the root of a disk; name a folder")

    @property
    def loaded_as(self) -> str:
        """The folder itself: it may be moved, so the card does not say where it was."""
        return "PATH_OF_THIS_FOLDER"

    def standing(self, name: str, *, writing: bool) -> Standing:
        """The files of the folder, each read. Raises `UsageError` for one of anything else."""
        folder = self._folder
        with _without_out(), os_errors(folder):
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"{folder} is a file; name a folder")
            if next(_files(folder), None) is None:
                return Standing()
            ours = self._ours(name)  # before a folder that may hold a whole disk is read
            there = {path.relative_to(folder).as_posix(): path for path in sorted(_files(folder))}
            others = [path for path in there if path not in ours]
            if others:
                raise UsageError(
                    f"{folder} holds {', '.join(others[:3])}, which gen publish did not put "
                    "there, and would be lost: move it away, or name another folder"
                )
            return Standing({path: stored_file(file) for path, file in there.items()}, ours)

    def _ours(self, name: str) -> frozenset[str]:
        try:
            published, files = read_listing((self._folder / LISTING).read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self._folder} is not empty, and holds nothing that gen publish put there: "
                "name another folder"
            ) from error
        if published != name:
            raise UsageError(
                f"{self._folder} holds the {self.holds} {published!r}, not {name!r}: name another "
                "folder, or remove it"
            )
        return files

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Take away what goes, then write the listing, then the files that it names.

        So whatever stands there when this is killed is known to the next publish, which ends it.
        """
        kinds = {one.path: one.kind for one in changes}
        with _without_out(), os_errors(self._folder):
            for path in (path for path, kind in kinds.items() if kind == "removed"):
                (self._folder / path).unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # it holds other files
                    (self._folder / path).parent.rmdir()
            for one in {(self._folder / path).parent for path in tree.files}:
                remove_partial(one)
            written = [path for path in tree.files if kinds[path] in ("added", "changed")]
            for path in sorted(written, key=lambda one: one != LISTING):
                make_folder((self._folder / path).parent)
                with (
                    open(tree.folder / path, "rb") as file,
                    AtomicFile(self._folder / path) as copy,
                ):
                    shutil.copyfileobj(file, copy)
        return str(self._folder)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or is_partial(path)):
            yield path


@contextlib.contextmanager
def _without_out() -> Iterator[None]:
    """Messages of what writes files name an option that this command has not."""
    try:
        yield
    except OutputError as error:
        raise OutputError(str(error).replace(" with --out", "")) from error
