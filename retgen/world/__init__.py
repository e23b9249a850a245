"""Worlds: typed facts are drawn first, then put into words, so that what a text means is known.

A *domain* (one YAML file) says what entities there are, and how their facts can be worded; a
*world* draws them; a *composer* writes documents that state them. Knows no family.
"""

from retgen.world.compose import Composer, Written
from retgen.world.domain import Domain, Slot, Value, bundled, load_domain
from retgen.world.facts import ABSENT, World

__all__ = [
    "ABSENT", "Composer", "Domain", "Slot", "Value", "World", "Written", "bundled", "load_domain",
]  # fmt: skip
