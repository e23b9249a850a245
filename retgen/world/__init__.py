"""Worlds: typed facts are drawn first, then put into words, so that what a text means is known.

A *domain* (one YAML file) says what entities there are, and how their facts can be worded; a
*world* draws them; a *composer* writes documents that state them. Knows no family.
"""

from retgen.world.compose import ComposedDocument, Composer
from retgen.world.domain import Domain, Slot, bundled_domains, load_domain
from retgen.world.domain_file import Value
from retgen.world.facts import ABSENT, World

__all__ = [
    "ABSENT",
    "ComposedDocument",
    "Composer",
    "Domain",
    "Slot",
    "Value",
    "World",
    "bundled_domains",
    "load_domain",
]  # fmt: skip
