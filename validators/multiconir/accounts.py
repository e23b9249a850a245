"""Every document of the source is a ladder or is rejected, and none is both."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from retgen.validators.multiconir.ladders import LadderFile, LadderSpec


def source_faults(spec: LadderSpec, ladders: LadderFile) -> Iterator[tuple[str, str]]:
    """(document, what is wrong). Raises OSError or ValueError for files that cannot be read.

    Documents that stand after as many ladders as were asked for were not needed.
    """
    made = set(ladders.ids())
    rejected: dict[str, int] = {}
    with open(spec.rejected, "rb") as file:
        for line in file:
            record = orjson.loads(line)["record"]["record"]
            # without a text it is a row of the source that was no document
            if isinstance(name := record.get("id"), str) and "text" in record:
                rejected[name] = rejected.get(name, 0) + 1
    enough = spec.asked is not None and len(made) >= spec.asked
    with open(spec.documents, "rb") as file:
        for line in file:
            name = orjson.loads(line)["id"]
            if name in made and name in rejected:
                yield name, "it is a ladder, and rejected, too"
            elif rejected.get(name, 0) > 1:
                yield name, "it is rejected more than once"
            elif name not in made and name not in rejected and not enough:
                yield name, "it is neither a ladder nor in rejected.jsonl"
