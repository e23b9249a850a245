"""Documents whose sentences hold a figure each, so that they can be altered without a model."""

from __future__ import annotations

_SENTENCES = (
    "The hull was laid down on 3 March {year} in a yard by the river.",
    "Her owner paid {many},500 pounds to the builders.",
    "The keel of the vessel measures {few} metres from end to end.",
    "She carried a crew of {some} sailors across the northern sea.",
    "A storm broke the main mast in {later} near the outer islands.",
    "Repairs kept the craft in dock for {weeks} weeks of the winter.",
    "Her second captain commanded the voyage for {years} years.",
    "The hold took {tons} tons of timber in good weather.",
    "Painters covered the cabin walls with {coats} coats of blue paint.",
    "The museum of the town bought the wreck in {last}.",
    "Divers brought up {cups} silver cups from the sea bed.",
    "Visitors can climb {steps} steps to the upper deck.",
    "A model of the ship was built from {parts} parts by a teacher.",
    "The bell weighs {weight} kilograms and hangs in the chapel.",
    "Schools send {classes} classes a season to see the anchor.",
    "The old harbour lies behind the church and the market.",
)


def stories(count: int) -> list[dict[str, str]]:
    """So many documents, no two of which share a sentence with a figure."""
    return [
        {
            "_id": f"ship-{n:02}",
            "title": f"Ship {n}",
            "text": " ".join(_SENTENCES).format(
                year=1750 + n,
                many=12 + n,
                few=31 + n,
                some=44 + n,
                later=1801 + n,
                weeks=65 + n,
                years=22 + n,
                tons=310 + n,
                coats=50 + n,
                last=1902 + n,
                cups=70 + n,
                steps=81 + n,
                parts=930 + n,
                weight=125 + n,
                classes=205 + n,
            ),
        }
        for n in range(count)
    ]
