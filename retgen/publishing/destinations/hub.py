"""The Hugging Face Hub: a repository, in one commit upon the one that was looked at.

Where its head has moved meanwhile, the Hub refuses the commit: two publishers never mix.
"""

from __future__ import annotations

import os
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NoReturn

from retgen.errors import DatasetError, RetgenError, UsageError
from retgen.publishing.destinations import LISTING, Destination, FileChange, Standing, Tree
from retgen.write import scratch_folder

# the clients below huggingface_hub, by its version
_CLIENTS = ("httpx", "httpx2", "httpcore", "requests", "urllib3")


class Hub(Destination):
    about = (
        "a repository of a data set or a model on the Hugging Face Hub (or HF_ENDPOINT), in one "
        "commit"
    )
    example = "hub:OWNER/NAME"
    who = "the Hub"
    # by it, or by its page for a new repository
    given = frozenset({".gitattributes", ".gitignore", "README.md", "LICENSE"})

    def __init__(self, address: str) -> None:
        super().__init__(address)
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

        try:
            validate_repo_id(address)
            self._owner, _ = address.split("/")
        except (HFValidationError, ValueError) as error:
            raise UsageError(
                f"hub:{address} is no name of a data set: write hub:OWNER/NAME, each of letters, "
                "digits, '-', '_' and '.', 96 characters at most"
            ) from error
        self.loaded_as = address
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

    def stored(self, *, writing: bool) -> Standing:
        """The files of the repository at its head."""
        if writing and self._token is None:
            raise UsageError(
                f"hub:{self.address} needs a token that may write: `hf auth login`, or set "
                "HF_TOKEN; https://huggingface.co/settings/tokens makes one"
            )
        from huggingface_hub.errors import RepositoryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        try:
            info = self._api.repo_info(self.address, repo_type=self._kind)
        except RepositoryNotFoundError:
            return Standing()
        if self._private and not info.private:
            self._refused(
                " is there already, and public: --private makes a new repository private, and "
                f"changes none. Make it private on its settings page ({self._page}/settings), "
                "name another one, or leave --private out"
            )
        head: Any = {"repo_type": self._kind, "revision": info.sha}
        files, listing = {}, None
        for one in self._api.list_repo_tree(self.address, recursive=True, **head):
            if isinstance(one, RepoFile):
                files[one.path] = f"sha256 {one.lfs.sha256}" if one.lfs else f"git {one.blob_id}"
        if LISTING in files:
            with scratch_folder("retgen-hub-") as folder:
                path = self._api.hf_hub_download(self.address, LISTING, local_dir=folder, **head)
                listing = self._listing(Path(path).read_bytes())
        return Standing(files, listing, info.sha)

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Commit what changes upon the head that was looked at, of a repository made if need be."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, utils

        if standing.version is None:
            private = self._private or None
            self._api.create_repo(
                self.address, repo_type=self._kind, exist_ok=True, private=private
            )
            standing = self.standing(tree.name, writing=True)
            if standing.version is None:
                self._taken("is there, but your token may not see it")
            if standing.listing:
                self._moved()
        operations: list[Any] = [
            CommitOperationDelete(one.path)
            if one.kind == "removed"
            else CommitOperationAdd(one.path, tree.folder / one.path)
            for one in changes
            if one.kind != "unchanged"
        ]
        # the library draws bars whether or not there is a terminal
        bars: Any = utils
        before = bars.are_progress_bars_disabled()
        bars.disable_progress_bars()
        try:
            self._api.create_commit(
                self.address,
                operations,
                repo_type=self._kind,
                commit_message=message,
                parent_commit=standing.version,
            )
        finally:
            if not before:
                bars.enable_progress_bars()
        return self._page

    def explain(self, error: BaseException) -> NoReturn:
        """Raise what the Hub and the network say, without the token."""
        if isinstance(error, RetgenError):
            raise error
        if isinstance(error, RuntimeError) and error.__cause__ is not None:
            self.explain(error.__cause__)  # of one upload of several
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = " ".join(str(error).split()) or type(error).__name__
        said = said.replace(self._token or "\0", "TOKEN")[:300]
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
        if status in (409, 412):
            self._moved()
        if status is not None and status < 500 and status not in (408, 429):
            self._refused(f": the Hub refuses it ({said})")
        network = isinstance(error, OSError | JSONDecodeError)
        if status is not None or network or type(error).__module__.split(".")[0] in _CLIENTS:
            self._failed(said)
        if isinstance(error, ValueError):
            raise DatasetError(f"{self.where}: {said}. Nothing was published") from None
        raise error
