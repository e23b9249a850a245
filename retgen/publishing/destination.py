"""What a destination is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from retgen.publishing.changes import Change, Standing

if TYPE_CHECKING:
    from retgen.publishing.tree import Tree


class Destination(ABC):
    """Where a tree can be put, in a module of its own under `destinations`, which names it.

    `address`: what stands behind the colon of `hub:me/kb`. The initialiser raises `UsageError`
    for one that cannot be; it asks nobody. `about`: for the docs. `makes_croissant`: it describes
    a tree in Croissant itself, so the tree carries no croissant.json.
    """

    about: ClassVar[str] = ""
    example: ClassVar[str] = ""
    makes_croissant: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    @abstractmethod
    def loaded_as(self) -> str:
        """What `load_dataset` is given to load what is there."""

    @abstractmethod
    def standing(self, name: str, *, writing: bool) -> Standing:
        """What is there of a data set called `name`; nothing where nobody published yet.

        `writing`: whether something is to be put there next. Raises `UsageError` where something
        else is there, or nothing can be put there.
        """

    @abstractmethod
    def put(self, tree: Tree, standing: Standing, changes: list[Change], message: str) -> str:
        """Put a tree there, all of it or nothing; where it can be looked at.

        Raises `EndpointFailed` where somebody else has put something there since `standing`, or
        the network fails: the same again completes it.
        """
