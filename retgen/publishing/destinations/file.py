"""A folder of this machine, or of a drive that it sees."""

from __future__ import annotations

import contextlib
import shutil
from itertools import islice
from pathlib import Path
from typing import NoReturn

from retgen.errors import OutputError, UsageError
from retgen.publishing.destinations import LISTING, Destination, FileChange, Standing, Tree
from retgen.write import AtomicFile, file_info, is_partial, make_folder, os_errors, remove_partial


class File(Destination):
    about = "a folder; one that holds something else is refused"
    example = "file:PATH"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._folder = Path(address).expanduser()
        if not self._folder.resolve().name:
            raise UsageError(f"file:{address}: is the root of a disk; name a folder")

    def stored(self, *, writing: bool) -> Standing:
        """The files of the folder, each read; the first alone where it holds no listing."""
        folder = self._folder
        with os_errors(folder):
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"{folder} is a file; name a folder")
            found = (
                path
                for path in folder.rglob("*")
                if path.is_symlink() or not (path.is_dir() or is_partial(path))
            )
            if not (folder / LISTING).is_file():  # it may hold a whole disk
                return Standing({path.name: "" for path in islice(found, 1)})
            files = {
                path.relative_to(folder).as_posix(): f"sha256 {file_info(path).sha256}"
                for path in found
            }
            return Standing(files, self._listing((folder / LISTING).read_bytes()))

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Take away what goes, then write the listing, then the files that it names.

        So whatever stands there when this is killed is known to the next publish, which ends it.
        """
        with os_errors(self._folder):
            for path in (self._folder / one.path for one in changes if one.kind == "removed"):
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # it holds other files
                    path.parent.rmdir()
            for folder in {(self._folder / path).parent for path in tree.files}:
                remove_partial(folder)
            written = [one.path for one in changes if one.kind in ("added", "changed")]
            for name in sorted(written, key=lambda one: one != LISTING):
                target = self._folder / name
                make_folder(target.parent)
                with open(tree.folder / name, "rb") as file, AtomicFile(target) as copy:
                    shutil.copyfileobj(file, copy)
        return str(self._folder)

    def explain(self, error: BaseException) -> NoReturn:
        """Raise it; messages of what writes files name an option that this command has not."""
        if isinstance(error, OutputError):
            raise OutputError(str(error).replace(" with --out", "")) from error
        raise error
