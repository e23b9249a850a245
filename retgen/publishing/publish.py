"""Publish a run: check it, write its tree, see what would change, put it there."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retgen.errors import ChecksFailed
from retgen.publishing.changes import Change, changes
from retgen.publishing.destinations import destination
from retgen.publishing.refusals import read_manifest, refusals
from retgen.publishing.reviewed import reviewed
from retgen.publishing.tree import write_tree


@dataclass(frozen=True)
class Published:
    """What was published, or would be. `where`: it can be looked at, "" if nothing was put there.

    `refused`: what keeps it from being published, or what it was published in spite of.
    """

    destination: str
    name: str
    changes: list[Change]
    refused: list[str]
    where: str = ""

    @property
    def unchanged(self) -> bool:
        """Whether all of it stands there already."""
        return all(one.kind == "unchanged" for one in self.changes)

    def to_json(self) -> dict[str, Any]:
        """As `gen publish --json` prints it."""
        return {
            "destination": self.destination, "name": self.name, "where": self.where,
            "unchanged": self.unchanged, "refused": self.refused,
            "files": [one._asdict() for one in self.changes],
        }  # fmt: skip


def publish(run: str | Path, to: str, *, dry_run: bool = False, force: bool = False) -> Published:
    """Publish a finished run: Parquet, card, manifest, recipe and what its review showed.

    `to`: "hub:owner/name", "file:PATH" or "s3://bucket/path". All of it is there or nothing; what
    is there already is left as it is. `dry_run`: only say what would change. `force`: publish what
    is refused, which its card then says. Raises `UsageError` for a destination that cannot be,
    `DatasetError` for an unfinished run, `ChecksFailed` for a run whose proof or certificate failed
    or whose licence does not allow it, `EndpointFailed` where the network failed: the same again
    completes it.
    """
    target, run = destination(to), Path(run)
    manifest = read_manifest(run)
    review = reviewed(run)
    refused = refusals(run, manifest, review)
    if refused and not (force or dry_run):
        raise ChecksFailed(
            f"{run} is not published:" + "".join(f"\n  {one}" for one in refused)
            + "\n--force publishes it nevertheless, and its card says so"
        )  # fmt: skip
    standing = target.standing(manifest["name"], writing=not dry_run)
    with tempfile.TemporaryDirectory(prefix="retgen-publish-") as scratch:
        folder = Path(scratch) / "tree"
        tree = write_tree(
            run, manifest, review, refused, target.loaded_as, folder,
            with_croissant=not target.makes_croissant,
        )  # fmt: skip
        listed = changes(tree.folder, tree.files, standing)
        result = Published(to, tree.name, listed, refused)
        if dry_run or result.unchanged:
            return result
        where = target.put(tree, standing, listed, f"{tree.name}, made with retgen")
    return Published(to, tree.name, listed, refused, where)
