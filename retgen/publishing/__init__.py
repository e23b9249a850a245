"""`gen publish`: a run as a folder that others load with one line, at a destination.

| module | idea |
|---|---|
| `refusals` | what keeps a run from being published |
| `reviewed` | what people said of it, without their names |
| `tree` | the folder that is published; the same bytes for the same run |
| `card` `header` | its README.md: what the run says of itself, and what the Hub reads of it |
| `scores` | what `gen eval` measured on the run |
| `tables` | the run's training tables and those of its family's own layout, in that folder |
| `croissant/` | croissant.json of that folder, with the responsible-AI fields |
| `changes` | what stands at a destination, and how a tree differs from it |
| `destination` `destinations/` | what a destination is; a file each |
| `publish` | all of it |
"""

from __future__ import annotations

from retgen.publishing.publish import Published, publish

__all__ = ["Published", "publish"]
