"""A folder of this machine, or of a drive that it sees; it is replaced as a whole."""

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
from retgen.write import AtomicFile, make_folder, os_errors, settle_folder, whole_folder


class File(Destination):
    about = "a folder, replaced as a whole; one that holds anything else is refused"
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
            if writing:
                settle_folder(folder)
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
        """Write a folder beside it, and let it take its place."""
        with _without_out(), whole_folder(self._folder, replace=True) as folder:
            for path in tree.files:
                make_folder((folder / path).parent)
                with open(tree.folder / path, "rb") as file, AtomicFile(folder / path) as copy:
                    shutil.copyfileobj(file, copy)
        return str(self._folder)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


@contextlib.contextmanager
def _without_out() -> Iterator[None]:
    """Messages of what writes files name an option that this command has not."""
    try:
        yield
    except OutputError as error:
        raise OutputError(str(error).replace(" with --out", "")) from error
