"""Training pairs of an album: captions that are not in its corpus, asked for in two ways.

The two kinds of training queries of CapRetrieval (arXiv 2506.08592, section 4.1): keywords (KW) are
any name of what a caption holds, in passing too, or two of its facts; summaries (SM) are its whole
scene. With each stands a caption that shares a fact with it and does not have what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.generators.album.queries import Conjunction, SceneGrades, mentions, together
from retgen.generators.album.scenes import ConceptCatalogue, Scene
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids
from retgen.streams import Stream

Deal = Callable[[int], int]

_EACH = 2  # queries of each kind a caption
_TRIES = 50  # captions looked at for a negative


class TrainingTables:
    """Pairs by the names of their files, kw and sm.

    `say` words what is asked for; `kept_out`: queries of the test set, of which none is trained on.
    """

    def __init__(
        self,
        album: ConceptCatalogue,
        scenes: Sequence[Scene],
        captions: Sequence[str],
        seed: int,
        say: Callable[[Conjunction, Deal], str],
        kept_out: frozenset[Conjunction],
    ) -> None:
        self._album, self._scenes, self._captions = album, scenes, captions
        self._grades = SceneGrades(album, scenes)
        self._holders = {name: sorted(i) for name, i in self._grades.holders.items()}
        self._say, self._kept_out, self._seed = say, kept_out, seed

    def tables(self) -> dict[str, Rows]:
        """Each pair with one negative."""
        return {"kw": self._table("kw"), "sm": self._table("sm")}

    def _table(self, name: str) -> Rows:
        stream = Stream(self._seed, f"album/training/{name}")
        # words have a stream of their own, so that both languages ask the same
        words = _dealer(Stream(self._seed, f"album/training words/{name}"))
        found = [
            row for i in range(len(self._scenes)) for row in self._pairs(name, i, stream, words)
        ]
        rows = [found[i] for i in stream.permutation(len(found))]
        ids = Ids(self._seed, f"album/training/{name}", "t", max(1, len(rows)))
        names = ids.texts(np.arange(len(rows)))
        return rows_of(lambda i: {**rows[i], "query-id": names[i]}, len(rows))

    def _pairs(self, name: str, i: int, stream: Stream, words: Deal) -> Iterator[Mapping[str, Any]]:
        """Pairs of scene `i`, as many as have a negative and are not asked in the test set."""
        below = _dealer(stream)
        scene, left = self._scenes[i], _EACH
        several = self._keywords(scene) if name == "kw" else together("complex condition", scene)
        choices = [*dict.fromkeys(several)]
        for k in stream.permutation(len(choices)):
            asked = choices[k]
            negative = None if asked in self._kept_out else self._negative(asked, i, below)
            if negative is not None:
                yield {
                    "anchor": self._say(asked, words),
                    "positive": self._captions[i],
                    "negative_1": self._captions[negative],
                }
                left -= 1
            if not left:
                return

    def _keywords(self, scene: Scene) -> Iterator[Conjunction]:
        concepts = self._album.concepts
        for seen in mentions(scene):
            for name in (seen.name, *concepts[seen.name].parents):
                if concepts[name].asked:
                    yield Conjunction(thing=name)
        if scene.moment is not None:
            yield Conjunction(moment=scene.moment)
        if scene.action is not None:
            yield Conjunction(action=scene.action, object=scene.object)
        yield from together("simple condition", scene)

    def _negative(self, asked: Conjunction, i: int, below: Deal) -> int | None:
        """A scene that shares a fact with scene `i`, and which does not have it, nor likely."""
        scene = self._scenes[i]
        shared = [one.name for one in mentions(scene)]
        shared += [one for one in (scene.action, scene.moment, scene.month) if one is not None]
        for _ in range(_TRIES):
            holders = self._holders[shared[below(len(shared))]]
            other = holders[below(len(holders))]
            if not (self._grades.grade(asked, other) or self._grades.is_likely(asked, other)):
                return other
        return None


def _dealer(stream: Stream) -> Deal:
    return lambda bound: int(stream.integers(bound, 1)[0])
