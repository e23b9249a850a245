"""The Hugging Face Hub: a repository, in one commit upon the one that was looked at.

Where its head has moved meanwhile, the Hub refuses the commit: two publishers never mix.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NoReturn

from retgen.errors import DatasetError, EndpointFailed, RetgenError, UsageError
from retgen.publishing.destinations import (
    LISTING,
    Destination,
    FileChange,
    Standing,
    StoredFile,
    Tree,
    read_listing,
    tree_changes,
)
from retgen.write import scratch_folder

# what the Hub, or its page for a new repository, puts there itself
_OF_THE_HUB = frozenset({".gitattributes", ".gitignore", "README.md", "LICENSE"})
_MOVED = (409, 412)
# the clients below huggingface_hub, by its version
_CLIENTS = ("httpx", "httpx2", "httpcore", "requests", "urllib3")


class Hub(Destination):
    about = (
        "a repository of a data set or a model on the Hugging Face Hub (or HF_ENDPOINT), in one "
        "commit"
    )
    example = "hub:OWNER/NAME"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

        try:
            validate_repo_id(address)
            owner, name = address.split("/")
        except (HFValidationError, ValueError) as error:
            raise UsageError(
                f"hub:{address} is no name of a data set: write hub:OWNER/NAME, each of letters, "
                "digits, '-', '_' and '.', 96 characters at most"
            ) from error
        self._owner, self._name = owner, name
        self._token, self._private = get_token(), False
        self._api = HfApi(os.environ.get("HF_ENDPOINT"), token=self._token or False)

    def make_private(self) -> None:
        """A repository that is made is private; one that is there and public is refused."""
        self._private = True

    @property
    def _kind(self) -> str:
        """The Hub's word for what the repository holds."""
        return "model" if self.holds == "model" else "dataset"

    @property
    def _page(self) -> str:
        folder = "" if self.holds == "model" else "datasets/"
        return f"{self._api.endpoint}/{folder}{self.address}"

    @property
    def loaded_as(self) -> str:
        """The name of the repository."""
        return self.address

    def standing(self, name: str, *, writing: bool) -> Standing:
        """The files of the repository at its head, with what an earlier publish put there."""
        if writing and self._token is None:
            raise UsageError(
                f"hub:{self.address} needs a token that may write: `hf auth login`, or set "
                "HF_TOKEN; https://huggingface.co/settings/tokens makes one"
            )
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._errors():
            try:
                info = self._api.repo_info(self.address, repo_type=self._kind)
            except RepositoryNotFoundError:
                return Standing()
            head = info.sha
            if self._private and not info.private:
                self._refused(
                    " is there already, and public: --private makes a new repository private, and "
                    "changes none. Make it private on its settings page "
                    f"({self._page}/settings), name another one, "
                    "or leave --private out"
                )
            files = {
                one.path: _stored(one)
                for one in self._api.list_repo_tree(
                    self.address, recursive=True, revision=head, repo_type=self._kind
                )
                if hasattr(one, "blob_id")
            }
        if LISTING not in files:
            others = sorted(set(files) - _OF_THE_HUB)
            if others:
                self._taken(f"holds {', '.join(others[:3])}, which gen publish did not put there")
            return Standing(files, version=head)
        with self._errors(), scratch_folder("retgen-hub-") as folder:
            path = self._api.hf_hub_download(
                self.address, LISTING, repo_type=self._kind, revision=head, local_dir=folder
            )
            data = Path(path).read_bytes()
        try:
            published, ours = read_listing(data)
        except ValueError:
            self._taken(f"holds a {LISTING} that gen publish did not write")
        if published != name:
            self._taken(f"holds the {self.holds} {published!r}, not {name!r}")
        return Standing(files, ours, head)

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Commit what changes upon the head that was looked at."""
        where = self._page
        if standing.version is None:
            standing = self._created(tree)
        try:
            self._commit(tree, standing, changes, message)
        except EndpointFailed:
            if self._is_there(tree):  # its answer was lost, or somebody published the same
                return where
            raise
        return where

    def _created(self, tree: Tree) -> Standing:
        with self._errors():
            self._api.create_repo(
                self.address, repo_type=self._kind, exist_ok=True, private=self._private or None
            )
        standing = self.standing(tree.name, writing=True)
        if standing.version is None:
            self._taken("is there, but your token may not see it")
        if standing.ours:
            self._moved()
        return standing

    def _commit(
        self, tree: Tree, standing: Standing, changes: list[FileChange], message: str
    ) -> None:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            CommitOperationDelete(one.path)
            if one.kind == "removed"
            else CommitOperationAdd(one.path, tree.folder / one.path)
            for one in changes
            if one.kind != "unchanged"
        ]
        with self._errors(), _no_bars():
            self._api.create_commit(
                self.address,
                operations,
                repo_type=self._kind,
                commit_message=message,
                parent_commit=standing.version,
            )

    def _is_there(self, tree: Tree) -> bool:
        try:
            standing = self.standing(tree.name, writing=True)
        except RetgenError:
            return False
        listed = tree_changes(tree.folder, tree.files, standing)
        return all(one.kind == "unchanged" for one in listed)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """What the Hub and the network say, in words, without the token."""
        try:
            yield
        except RetgenError:
            raise
        except Exception as error:
            # no cause: a traceback of it could show what a server echoes
            self._say(error)

    def _say(self, error: BaseException) -> NoReturn:
        if isinstance(error, RuntimeError) and error.__cause__ is not None:
            self._say(error.__cause__)  # of one upload of several
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = self._shown(error)
        if status == 401:
            self._refused(
                ": the Hub does not take the token: `hf auth login`, or set HF_TOKEN to one that "
                "holds"
            )
        if status in (403, 404):
            self._refused(
                f": the token may not write there ({said}). It needs write access to what "
                f"{self._owner} owns: https://huggingface.co/settings/tokens"
            )
        if status in _MOVED:
            self._moved()
        if status is not None and status < 500 and status not in (408, 429):
            self._refused(f": the Hub refuses it ({said})")
        network = isinstance(error, OSError | JSONDecodeError)
        if status is not None or network or type(error).__module__.split(".")[0] in _CLIENTS:
            self._failed("the Hub", said, "commit")
        if isinstance(error, ValueError):
            raise DatasetError(f"{self.where}: {said}. Nothing was published") from None
        raise error

    def _shown(self, error: BaseException) -> str:
        """An error in a line."""
        text = " ".join(str(error).split()) or type(error).__name__
        if self._token:
            text = text.replace(self._token, "TOKEN")
        return text[:300]


def _stored(file: Any) -> StoredFile:
    if file.lfs is not None:
        return StoredFile(f"sha256 {file.lfs.sha256}", file.size)
    return StoredFile(f"git {file.blob_id}", file.size)


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    """Without the library's own bars: they are drawn whether or not there is a terminal."""
    from huggingface_hub.utils import (  # type: ignore[attr-defined]
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            enable_progress_bars()
