"""Tests here draw no pictures unless they look at them."""

from __future__ import annotations

from tests.evaluation.pictures import no_pictures, pictures

__all__ = ["no_pictures", "pictures"]
