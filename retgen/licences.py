"""Names of licences: SPDX's (`packaging` has the list) and the Hub's; others behind "other:"."""

from __future__ import annotations

import re

from retgen.messages import did_you_mean

# the Hub's names, for what the parts of a run may be under
HUB_LICENCES = frozenset(
    "apache-2.0 mit cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 "
    "cc-by-nc-sa-4.0 cc-by-nc-nd-4.0 cc-by-nd-4.0 odc-by odbl gpl-3.0 lgpl-3.0 mpl-2.0 "
    "bsd-3-clause".split()
)
_OTHER = re.compile(r"other:\s*\S", re.IGNORECASE)


def spdx_name(text: str) -> str | None:
    """SPDX's name of a licence or expression, None where it has none; a blank may be a hyphen."""
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    for name in (text, "-".join(text.split())):
        try:
            return str(canonicalize_license_expression(name))
        except InvalidLicenseExpression:
            continue
    return None


def licence_fault(text: str) -> str | None:
    """Why a text is no name of a licence, with the nearest one and the way out; None where it is.

    SPDX expressions ("MIT OR Apache-2.0") are names; a blank may stand for a hyphen.
    """
    if _OTHER.match(text) or text.lower() in HUB_LICENCES or spdx_name(text):
        return None
    given = "-".join(text.split()).casefold()
    versions = [name for name in HUB_LICENCES if re.fullmatch(re.escape(given) + r"-\d.*", name)]
    near = (
        f"; did you mean {max(versions)}?"
        if versions
        else did_you_mean(given, sorted(HUB_LICENCES))
    )
    return (
        f"{text!r} is no licence of SPDX's list (https://spdx.org/licenses){near or '.'} Any other "
        "is given as 'other: WORDS'"
    )
