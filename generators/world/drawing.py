"""A document as a reviewer sees it: what the query asks, beside what the document states."""

from retgen.facts.drawing import view

__all__ = ["view"]
