"""croissant.json of a published data set: Croissant 1.1 with the responsible-AI fields 1.0.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html and croissant-rai-spec.html there.

| module | idea |
|---|---|
| `tables` | the files and their columns, as record sets that a reader loads |
| `responsible` | how it was made and judged, what it does not show; what the run says, no more |
| `description` | the whole file |
"""

from __future__ import annotations

from retgen.publishing.croissant.description import CROISSANT, croissant

__all__ = ["CROISSANT", "croissant"]
