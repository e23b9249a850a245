"""Texts that the tests of the family read, and small sources of them on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

ENGLISH = (
    "The old windmill on the river bank was restored by volunteers from the village. It grinds "
    "wheat flour every Sunday morning. Visitors can buy fresh bread in the bakery next door!"
)
GERMAN = (
    "Die alte Brücke über den Fluss wurde im Frühling von Handwerkern aus dem Dorf erneuert. Am "
    "Abend feierten die Einwohner mit Musik und Tanz auf dem Marktplatz."
)
FRENCH = (
    "Le marché du village vend des légumes frais et du fromage de chèvre. Les enfants jouent près "
    "de la fontaine de pierre."
)
CHINESE = "店门口停着一辆装满西瓜的三轮车，老板正在给客人称重。旁边的石桥上有一只黑猫。"
HEBREW = "ליד הים יש עיר קטנה ויפה עם שוק גדול, ומאחוריו גן עתיק שבו ילדים משחקים כל ערב."
JAPANESE = "東京の駅前に新しい図書館ができました。子どもたちは毎日本を読みます。"

# so different that no two are near-duplicates
TEXTS = (
    ENGLISH,
    "A lighthouse keeper writes the weather into a logbook twice a day. Storms from the north "
    "break windows, so spare glass lies in the cellar. Supply boats arrive once a month.",
    "Copper pans conduct heat better than steel ones. Chefs polish them with lemon juice and "
    "coarse salt. A tin lining keeps sour sauces from tasting of metal.",
    "Barn owls hunt field mice at night. Their hearing finds prey under deep snow. Farmers hang "
    "nesting boxes in the roof because the birds protect the grain.",
    "The tram depot holds forty carriages. Mechanics check brakes and doors before sunrise. One "
    "carriage from 1928 still carries tourists through the old quarter in summer.",
    "Beekeepers smoke a hive before they open it. Honey frames hang in two rows over the brood "
    "nest. In autumn the colony gets sugar syrup against hunger.",
    "Glass blowers turn the pipe all the time. A second worker brings molten glass for handles. "
    "Finished vases cool in a kiln for twelve hours or they crack.",
    "The chess club meets above a pharmacy. Beginners learn endgames first, openings later. Every "
    "spring the members play against a team of pensioners by letter.",
)


def write_rows(
    path: Path, texts: Sequence[str], titles: Sequence[str] = (), name: str = "d"
) -> Path:
    """JSON Lines: ids d0, d1, ..., by which documents are held out; titles where there are some."""
    rows = [
        {"_id": f"{name}{n}", **({"title": titles[n]} if n < len(titles) else {}), "text": text}
        for n, text in enumerate(texts)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(lines, "utf-8")
    return path


def write_recipe(path: Path, source: Path, params: str = "") -> Path:
    """A recipe over a source; `params`: more of them, in lines of YAML, each behind two blanks."""
    path.write_text(
        f"name: {path.stem}\nfamily: capretrieval\nparams:\n  source: {{path: {source}}}\n{params}"
    )
    return path
