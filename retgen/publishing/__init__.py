"""`gen publish`: a run as a folder that others load with one line, at a destination.

| module | idea |
|---|---|
| `published_run` | the run: what it states, and what keeps it from being published |
| `tree` | the folder that is published: all tables, and the review without names |
| `card` | its README.md: header for the Hub, what the run says of itself, scores of `gen eval` |
| `published_model` | a trained model instead: its files, its scores, its card |
| `destinations/` | what a destination is, and what changes there; a file each |
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retgen.errors import ChecksFailed, EndpointFailed, RetgenError
from retgen.publishing.destinations import (
    Destination,
    FileChange,
    Tree,
    destination,
    tree_changes,
)
from retgen.publishing.published_model import PublishedModel, is_training, published_model
from retgen.publishing.published_run import PublishedRun, published_run
from retgen.publishing.tree import write_run
from retgen.write import scratch_folder


@dataclass(frozen=True)
class PublishResult:
    """What was published, or would be. `where`: it can be looked at, "" if nothing was put there.

    `refused`: what keeps it from being published, or what it was published in spite of.
    """

    destination: str
    name: str
    changes: list[FileChange]
    refused: list[str]
    where: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether all of it stands there already."""
        return all(one.kind == "unchanged" for one in self.changes)

    def to_json(self) -> dict[str, Any]:
        """As `gen publish --json` prints it."""
        return {
            "destination": self.destination,
            "name": self.name,
            "where": self.where,
            "unchanged": self.is_unchanged,
            "refused": self.refused,
            "files": [one._asdict() for one in self.changes],
        }


def publish(
    run: str | Path,
    to: str,
    *,
    dry_run: bool = False,
    force: bool = False,
    private: bool = False,
    licence: str | None = None,
) -> PublishResult:
    """Publish a finished run: Parquet, card, manifest, recipe and what its review showed.

    Or a finished training (see `published_model`): the model, with a card.
    `to`: "hub:owner/name", "file:PATH" or "s3://bucket/path". All of it is there or nothing, but
    of a folder of this machine, which the next publish completes; what is there already is left as
    it is. `dry_run`: only say what would change. `force`: publish what
    is refused, which its card then says. `private`: a repository of the Hub that is made is
    private; one that is public is not published to. `licence`: of the parts whose licence the
    run does not state.

    Raises `UsageError` for a destination that cannot be, `DatasetError` for a run that is
    unfinished, `ChecksFailed` for one that did not pass its checks, changed since, holds personal
    data or secrets, or has a licence that does not allow it, `EndpointFailed` where the network
    failed: the same again completes it.
    """
    target = destination(to)
    if private:
        target.make_private()
    source: PublishedRun | PublishedModel
    if is_training(Path(run)):
        target.holds = "model"
        source = published_model(Path(run), licence)
    else:
        source = published_run(Path(run), licence)
    refused = source.refused
    if refused and not (force or dry_run):
        raise ChecksFailed(
            f"{run} is not published:"
            + "".join(f"\n  {one}" for one in refused)
            + "\n--force publishes it nevertheless, and its card says so"
        )
    with target.explained():
        standing = target.standing(source.name, writing=not dry_run)
    with scratch_folder("retgen-publish-") as scratch:
        if isinstance(source, PublishedModel):
            tree = source.write(scratch / "tree", target.loaded_as)
        else:
            tree = write_run(source, scratch / "tree", target.loaded_as)
        changes = tree_changes(tree, standing)
        result = PublishResult(to, tree.name, changes, refused)
        if dry_run or result.is_unchanged:
            return result
        try:
            with target.explained():
                where = target.put(tree, standing, changes, f"{tree.name}, made with retgen")
        except EndpointFailed:
            if not _is_there(tree, target):
                raise
            where = target.where
    return replace(result, where=where)


def _is_there(tree: Tree, target: Destination) -> bool:
    """Whether all of a tree stands there: an answer may be lost, or others publish the same."""
    with contextlib.suppress(RetgenError), target.explained():
        changes = tree_changes(tree, target.standing(tree.name, writing=True))
        return all(one.kind == "unchanged" for one in changes)
    return False


__all__ = ["PublishResult", "publish"]
