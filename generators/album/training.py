"""Training pairs of an album: captions that are not in its corpus, asked for in two ways.

The two kinds of training queries of CapRetrieval (arXiv 2506.08592, section 4.1): keywords (KW) are
any name of what a caption holds, in passing too, or two of its facts; summaries (SM) are its whole
scene. With each stands a caption that shares a fact with it and does not have what is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from retgen.facts.captions import Facts
from retgen.facts.expressions import Is, execute
from retgen.generators.album.queries import expression, together
from retgen.generators.album.scenes import THINGS, Scenes
from retgen.generators.tables import Ids
from retgen.streams import Stream

FILES = ("kw", "sm")
_EACH = 2  # queries of each kind a caption
_UNSHARED = ("number", "colour", "passing_colour", "further_colour")


def training_pairs(
    name: str, scenes: Scenes, seed: int, kept_out: Collection[str]
) -> list[Mapping[str, Any]]:
    """Pairs of the file kw or sm, each with one negative.

    `kept_out`: queries of the test set, of which none is trained on.
    """
    stream = Stream(seed, f"album/training/{name}")
    # words have a stream of their own, so that both languages ask the same
    words = Stream(seed, f"album/training words/{name}")
    found: list[dict[str, str]] = []
    for i, facts in enumerate(scenes.facts):
        several = _keywords(scenes, facts) if name == "kw" else together("complex condition", facts)
        choices = {expression(asked): asked for asked in several}
        left = _EACH
        for key in stream.shuffled([one for one in choices if one not in kept_out]):
            negative = _negative(scenes, choices[key], facts, stream)
            if left and negative is not None:
                left -= 1
                found.append(
                    {
                        "anchor": scenes.speaker.query(choices[key], words.below),
                        "positive": scenes.captions[i],
                        "negative_1": scenes.captions[negative],
                    }
                )
    rows = stream.shuffled(found)
    ids = Ids(seed, f"album/training/{name}", "t", max(1, len(rows))).texts(np.arange(len(rows)))
    return [{**row, "query-id": one} for row, one in zip(rows, ids, strict=True)]


def _keywords(scenes: Scenes, facts: Facts) -> Iterator[Facts]:
    concepts = scenes.known.concepts
    for key in THINGS:
        for name in concepts[facts[key]].value.above if key in facts else ():
            if concepts[name].asked:
                yield {"thing": name}
    for keys in (("moment",), ("action", "object"), ("state",)):
        if keys[0] in facts:
            yield {key: facts[key] for key in keys if key in facts}
    yield from together("simple condition", facts)


def _negative(scenes: Scenes, asked: Facts, facts: Facts, stream: Stream) -> int | None:
    """A scene that shares a fact, and which does not have what is asked for, nor likely."""
    without = ~scenes.has(asked, likely=True)
    for key in stream.shuffled([key for key in facts if key not in _UNSHARED]):
        others = np.flatnonzero(without & execute(Is(key, facts[key]), scenes.table))
        if len(others):
            return int(others[stream.below(len(others))])
    return None
