"""`gen publish`: a run as a folder that others load with one line, at a destination.

| module | idea |
|---|---|
| `refusals` | what keeps a run from being published |
| `reviewed` | what people said of it, without their names |
| `tree` `card` | the folder that is published, and its README.md; the same bytes for the same run |
| `croissant/` | croissant.json of that folder, with the responsible-AI fields |
| `changes` | what stands at a destination, and how a tree differs from it |
| `destination` `destinations/` | what a destination is; a file each |
| `publish` | all of it |
"""

from __future__ import annotations

from retgen.publishing.publish import Published, publish

__all__ = ["Published", "publish"]
