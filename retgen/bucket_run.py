"""A run directory in a bucket: made in a folder of this machine, its finished files put there.

`.files.json` says which files are there, with their digests: another machine goes on from these.
manifest.json comes last: until then a reader finds no run. Files are looked up by the names in
both, never by listing.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from retgen.bucket_lock import NAME as LOCK
from retgen.bucket_lock import BucketLock
from retgen.engines import Result
from retgen.engines.files import ResultFiles
from retgen.errors import DatasetError, DatasetMissing, RetgenError, RunDirectoryError, UsageError
from retgen.object_store import ConditionFailed, ObjectStore
from retgen.progress import Progress
from retgen.write import FileInfo, cache_folder, dump_json, file_info, make_folder, write_file

_FILES, _MANIFEST, _RESULTS = ".files.json", "manifest.json", ".parts/"
_IDENTITY = ("recipe.yaml", "inputs")  # what says which run it is
_REPORT = ("report.json", "report.html")
# .tables.json before the tables: those that are there by then need not be made again
_KEPT = (*_IDENTITY, f"{_RESULTS}ranks.json", ".tables.json", "sources", "dataset", "training",
         "tables", "rejected.jsonl")  # fmt: skip
_EVERY = 2.0  # seconds between two looks for finished files


def is_address(path: object) -> bool:
    """Whether a path is one in a bucket."""
    return str(path).startswith("s3:")


class RunFolder:
    """Where a run is made: `folder`, and `where` it is looked for. A bucket does more."""

    address: str | None = None

    def __init__(self, folder: Path) -> None:
        self.folder, self.where = folder, str(folder)

    @contextlib.contextmanager
    def hold(self, progress: Progress, patience: float = 0.0) -> Iterator[Progress]:
        """Keep other machines away, and put there what is finished; the progress to report to."""
        yield progress

    def open(self, fresh: bool, clear: Callable[[], Any]) -> dict[str, Any] | None:
        """Bring what is there into the folder; the manifest if it is finished elsewhere."""
        return None

    def keep(self) -> None:
        """Put what is finished there."""

    def finish(self) -> None:
        """Put the whole run there."""

    def forget(self) -> None:
        """Remove there what the run has removed."""

    def results(self, folder: Path, key: bytes) -> ResultFiles:
        """The results of ranks, which all of them see."""
        return ResultFiles(folder, key)


class BucketRun(RunFolder):
    """A run in a bucket, and `folder`, where this machine makes it.

    `work`: where such folders are, else in the user's cache folder. Raises `UsageError` for an
    address that cannot be.
    """

    def __init__(self, address: str, work: str | Path | None = None) -> None:
        self._store = ObjectStore(address, rights="s3:GetObject, s3:PutObject and s3:DeleteObject")
        home = Path(work) if work else cache_folder() / "runs"
        super().__init__(_folder(home, self._store.url, self._store.url))
        self.address = self.where = self._store.url
        self._lock = BucketLock(self._store, self.folder)
        self._files: dict[str, FileInfo] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        self._one_at_a_time = threading.Lock()
        self._is_open = False  # before that, the folder may hold what is of another run
        self._problem: RetgenError | None = None
        self._beaten = 0.0  # when the lock was seen to be ours

    @contextlib.contextmanager
    def hold(self, progress: Progress, patience: float = 0.0) -> Iterator[Progress]:
        """Hold the run, whose folder the caller holds; what is finished is put there meanwhile.

        Yields a progress that raises what goes wrong beside the work. Raises `RunDirectoryError`
        where another run lives for longer than `patience` seconds.
        """
        self._refuse_others()
        self._lock.acquire(patience, progress)
        self._beaten = time.monotonic()
        ended = threading.Event()
        beside = [
            threading.Thread(target=self._repeat, args=(ended, action, every), daemon=True)
            for action, every in ((self._beat, self._lock.lease / 6), (self.keep, _EVERY))
        ]
        for one in beside:
            one.start()

        def watched(stage: str, done: int, total: int, note: str = "", /) -> None:
            self._check()
            progress(stage, done, total, note)

        try:
            yield watched
        except BaseException:
            with contextlib.suppress(RetgenError):
                self._check()
                self.keep()
            raise
        finally:
            ended.set()
            for one in beside:
                one.join()
            if self._problem is None:
                self._lock.release()

    def _repeat(self, ended: threading.Event, action: Callable[[], None], every: float) -> None:
        while self._problem is None and not ended.wait(every):
            try:
                action()
            except (UsageError, RunDirectoryError) as error:
                self._problem = error
                return
            except RetgenError:  # the network: the next time, or what ends the run says it
                continue

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _beat(self) -> None:
        self._lock.beat()
        self._beaten = time.monotonic()

    def _check_lock(self) -> None:
        """Raise where the lock is another's by now: this machine may have slept for a while."""
        self._check()
        if time.monotonic() - self._beaten > self._lock.lease / 2:
            self._beat()

    def _refuse_others(self) -> None:
        """Raise `RunDirectoryError` for a path that holds something else, as far as S3 lists it."""
        names = self._store.listed_names()
        others = [name for name in names if name not in ("", LOCK)]
        if others and self._store.head("recipe.yaml") is None:
            raise RunDirectoryError(
                f"{self.address} is not a run directory: it holds {', '.join(others[:3])} but no "
                "recipe.yaml. Choose another --out."
            )

    def open(self, fresh: bool, clear: Callable[[], Any]) -> dict[str, Any] | None:
        """Make the folder as the bucket has the run; the manifest if it is finished.

        Of a finished run only the recipe is fetched. `clear` empties the folder of what is of
        another run; `fresh`: the bucket is emptied.
        """
        manifest, stated, self._files = None, {}, {}
        try:
            if found := self._store.get(_FILES):
                self._files = _infos(orjson.loads(found[0]))
            if found := self._store.get(_MANIFEST):
                manifest = orjson.loads(found[0])
                stated = _infos(manifest["files"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if not fresh:
                raise RunDirectoryError(
                    f"{self.address}: {_MANIFEST} or {_FILES} is damaged; make the run again "
                    "with --fresh"
                ) from error
        if fresh:
            self._clear({*self._files, *stated, *_KEPT, *_REPORT, "run.log"})
            self._is_open = True
            return None
        stated = stated or self._files
        own = self.folder / "recipe.yaml"
        if not own.is_file() or file_info(own) != stated.get("recipe.yaml"):
            clear()
        if manifest:  # the run was stopped before it had tidied up
            self._remove([name for name in self._files if name.startswith(".")])
        for name in (f"{_RESULTS}ranks.json", *((_MANIFEST,) if manifest else ())):
            (self.folder / name).unlink(missing_ok=True)  # the bucket knows
        for name, info in stated.items():
            of_recipe = name.split("/")[0] in _IDENTITY
            if (manifest and not of_recipe) or _is_there(self.folder / name, info):
                continue
            # of the rest, what was changed since is made again
            with contextlib.suppress(*(() if of_recipe else (DatasetError,))):
                self._store.fetch(name, self.folder / name, info)
        self._is_open = manifest is None
        return manifest

    def _clear(self, names: set[str]) -> None:
        # the manifest first: from here on it is not complete; what makes it a run last
        for name in (_MANIFEST, *sorted(names - {"recipe.yaml"})):
            self._store.delete(name)
        self._forget_results()
        for name in (_FILES, "recipe.yaml"):
            self._store.delete(name)
        self._files = {}

    def keep(self, also: tuple[str, ...] = ()) -> None:
        """Put what is finished there, as far as it is not yet; of the rest, what `also` names."""
        with self._one_at_a_time:
            names = (*_KEPT, *also) if self._is_open else ()
            for name, path in _finished_files(self.folder, names):
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    state = status.st_mtime_ns, status.st_size
                    if self._seen.get(name) == state:
                        continue
                    info = file_info(path)
                    if self._files.get(name) != info:
                        self._check_lock()
                        self._store.put_file(name, path, info)
                        self._files[name] = info
                        self._note()
                    self._seen[name] = state

    def _note(self) -> None:
        stated = {name: info._asdict() for name, info in sorted(self._files.items())}
        self._store.put(_FILES, dump_json(stated).encode())

    def finish(self) -> None:
        """Put the rest there, see that all of it is as it should be, and the manifest last.

        A run that was cut off, and taken over by this one, may have written since.
        """
        data = (self.folder / _MANIFEST).read_bytes()
        self.keep((*_REPORT, "run.log"))
        for name, info in _infos(orjson.loads(data)["files"]).items():
            found = self._store.head(name)
            if found is None or found.file != info:
                if file_info(self.folder / name) != info:
                    raise RunDirectoryError(
                        f"{self.folder / name} is not as its manifest has it; make the run again "
                        "with --fresh"
                    )
                self._store.put_file(name, self.folder / name, info)
        self._check()
        self._beat()  # still ours
        try:
            self._store.put(_MANIFEST, data, if_absent="*")
        except ConditionFailed:
            there = self._store.get(_MANIFEST)
            if there is None or there[0] != data:
                raise RunDirectoryError(
                    f"{self.address} was finished by another gen run meanwhile"
                ) from None

    def results(self, folder: Path, key: bytes) -> ResultFiles:
        """The results of ranks, in the bucket."""
        return _BucketResults(self._store, folder, key)

    def forget(self) -> None:
        """Remove what the run has removed from the folder, and what ranks have left."""
        self._remove([name for name in self._files if not (self.folder / name).is_file()])

    def _remove(self, names: list[str]) -> None:
        """Remove these files, and what ranks have left."""
        with self._one_at_a_time:
            for name in names:
                del self._files[name]
            if names:
                self._note()
            for name in names:
                self._store.delete(name)
        self._forget_results()

    def _forget_results(self) -> None:
        """What S3 does not list stays, and does no harm."""
        after = ""
        while names := self._store.listed_names(_RESULTS, after):
            for name in names:
                self._store.delete(name)
            after = names[-1]


class _BucketResults(ResultFiles):
    """Results in a bucket, each beside a copy on this machine."""

    look = 2.0

    def __init__(self, store: ObjectStore, folder: Path, key: bytes) -> None:
        super().__init__(folder, key)
        self._store = store

    def keep(self, name: str, result: Result) -> memoryview:
        view = super().keep(name, result)
        self._store.put(_RESULTS + self.path(name).name, self.path(name).read_bytes())
        return view

    def read(self, name: str) -> memoryview | None:
        view = super().read(name)
        if view is None and (found := self._store.get(_RESULTS + self.path(name).name)):
            write_file(self.path(name), found[0])
            view = super().read(name)
        return view


def local_copy(address: str) -> Path:
    """A finished run of a bucket, each file by its digest, in the user's cache folder.

    Raises `DatasetMissing` where no run has finished there, `DatasetError` where an object is gone
    or another one.
    """
    store = ObjectStore(address)
    found = store.get(_MANIFEST)
    if found is None:
        raise DatasetMissing(
            f"{store.url} holds no finished run: it has no manifest.json. `gen run RECIPE --out "
            f"{store.url}` makes one, or finishes it.",
            address,
        )
    try:
        stated = _infos(orjson.loads(found[0])["files"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"{store.url}/manifest.json is damaged; make the run again with `gen run --fresh`"
        ) from error
    version = f"{store.url} {hashlib.sha256(found[0]).hexdigest()}"
    folder = _folder(cache_folder() / "copies", version, store.url)
    for name, info in stated.items():
        if not _is_there(folder / name, info):
            store.fetch(name, folder / name, info)
    for name in _REPORT:
        store.fetch(name, folder / name, None)
    write_file(folder / _MANIFEST, found[0])
    return folder


def is_copy(path: Path) -> bool:
    """Whether a folder is one that `local_copy` made."""
    return path.is_relative_to(cache_folder() / "copies")


def _folder(home: Path, key: str, address: str) -> Path:
    """A folder named as the run is, in one of its own."""
    folder = home / hashlib.sha256(key.encode()).hexdigest()[:12] / address.rpartition("/")[2]
    make_folder(folder)
    return folder


def _is_there(path: Path, info: FileInfo) -> bool:
    return path.is_file() and file_info(path) == info


def _infos(stated: Mapping[str, Any]) -> dict[str, FileInfo]:
    """Files and their digests as they are stated. Raises ValueError for a name that leads away."""
    result = {}
    for name, one in stated.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ValueError(name)
        result[name] = FileInfo(str(one["sha256"]), int(one["bytes"]))
    return result


def _finished_files(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """The files of a folder that are whole: others are named as partial."""
    for name in names:
        start = folder / name
        for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
            if path.is_file() and not path.name.endswith(".partial"):
                yield path.relative_to(folder).as_posix(), path
