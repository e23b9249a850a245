"""Characters that nobody sees, made visible: in a record they are part of what is judged."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# controls but for line ends and tabs; what turns the direction of writing; what has no width.
# Joiners stand in scripts that need them and in emoji, variation selectors in emoji: they stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> Markup:
    """A text escaped for HTML, each hidden character as its code point with its name."""
    parts, at = [], 0
    for match in _HIDDEN.finditer(text):
        parts += [escape(text[at : match.start()]), _named(match[0])]
        at = match.end()
    return Markup("").join([*parts, escape(text[at:])])


def _named(character: str) -> Markup:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "").capitalize() or "Control character"
    return Markup('<span class="hidden" title="{}">{}</span>').format(name, code)


def plain(text: str) -> str:
    """A text for attributes and titles: hidden characters as their code points."""
    return _HIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)
