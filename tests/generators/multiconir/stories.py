"""Documents whose sentences hold a figure each, so that they can be altered without a model."""

from __future__ import annotations

# a sentence, and the figure that it has in the first document
_SENTENCES = (
    ("The hull was laid down on 3 March {} in a yard by the river.", 1750),
    ("Her owner paid {},500 pounds to the builders.", 12),
    ("The keel of the vessel measures {} metres from end to end.", 31),
    ("She carried a crew of {} sailors across the northern sea.", 44),
    ("A storm broke the main mast in {} near the outer islands.", 1801),
    ("Repairs kept the craft in dock for {} weeks of the winter.", 65),
    ("Her second captain commanded the voyage for {} years.", 22),
    ("The hold took {} tons of timber in good weather.", 310),
    ("Painters covered the cabin walls with {} coats of blue paint.", 50),
    ("The museum of the town bought the wreck in {}.", 1902),
    ("Divers brought up {} silver cups from the sea bed.", 70),
    ("Visitors can climb {} steps to the upper deck.", 81),
    ("A model of the ship was built from {} parts by a teacher.", 930),
    ("The bell weighs {} kilograms and hangs in the chapel.", 125),
    ("Schools send {} classes a season to see the anchor.", 205),
    ("The old harbour lies behind the church and the market.", 0),
)


def stories(count: int) -> list[dict[str, str]]:
    """So many documents, no two of which share a sentence with a figure."""
    return [
        {
            "_id": f"ship-{n:02}",
            "title": f"Ship {n}",
            "text": " ".join(text.format(figure + n) for text, figure in _SENTENCES),
        }
        for n in range(count)
    ]
