"""Ladders of hard negatives (MultiConIR): what is compared, who scores it, what is measured.

A data set without their metadata holds none, and nothing here looks at it.
"""

from __future__ import annotations

__all__ = ["INSTRUCTION"]

# what the paper puts before the queries of embedders that take instructions (Appendix A), in the
# form that their makers give
INSTRUCTION = (
    "Instruct: Given a domain retrieval query, retrieve documents that meet the specified "
    "conditions.\nQuery: "
)
