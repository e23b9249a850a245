"""Facts: typed facts are drawn first, then put into words, so that what a text means is known.

A *domain* (one YAML file) says what entities there are, and how their facts can be worded; a
*world* draws them; a *composer* writes documents that state them. Knows no family.
"""

from retgen.facts.compose import Composer
from retgen.facts.domain import bundled_domains, load_domain
from retgen.facts.facts import ABSENT, World

__all__ = ["ABSENT", "Composer", "World", "bundled_domains", "load_domain"]
