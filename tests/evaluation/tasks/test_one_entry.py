"""A further measure of haystacks, ladders or twins is one entry: eval.json and tables follow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.evaluation.tasks.multiconir.made import write_ladders
from tests.evaluation.tasks.niah.made import write_haystacks
from tests.generators.world_twins.made import rows, write

ENTRIES = {
    "niah/measures.py": """HaystackMeasure("spread", 3, bounds=None, head="spread",
        title="Spread of the scores", of=lambda s: float(s.haystacks.std())),""",
    "multiconir/pairs.py": """PairMeasure("margin", 3, bounds=None,
        title="Margin of the better document", of=lambda better, worse, noise: better - worse),""",
    "twins/triples.py": """TwinMeasure("lowest", 1, percent=True, head="lowest",
        title="Twin lowest (%)", of=lambda base, twin, control, noise: twin == 0),""",
}
# puts each entry into the list of measures of its file as that is loaded
SCRIPT = """
import json, sys
from importlib.machinery import SourceFileLoader

entries, *paths = sys.argv[1:]
entries, get_code, begin = json.loads(entries), SourceFileLoader.get_code, "MEASURES = ("

def with_entry(self, name):
    for end, entry in entries.items():
        if self.path.endswith(f"tasks/{end}"):
            text = self.get_data(self.path).decode()
            assert text.count(begin) == 1
            text = text.replace(begin, f"{begin}{entry} ")
            return self.source_to_code(text.encode(), self.path)
    return get_code(self, name)

SourceFileLoader.get_code = with_entry

from retgen.evaluation.scoring.evaluate import evaluate
for path in paths:
    evaluate(path, models=["tfidf"], metrics=["recall@10"], out=f"{path}_eval")
"""


def test_an_entry_is_in_eval_json_and_on_the_page(tmp_path: Path) -> None:
    made = [
        write_haystacks(tmp_path / "haystacks", (40,)),
        write_ladders(tmp_path / "ladders", 3),
        write(tmp_path / "twins", rows(slot_types=("place",), triples_per_cell=4)),
    ]
    call = [sys.executable, "-c", SCRIPT, json.dumps(ENTRIES), *map(str, made)]
    subprocess.run(call, check=True)
    for path, key, title in zip(
        made,
        ("spread", "margin", "lowest"),
        ("Spread of the scores", "Margin of the better document", "Twin lowest (%)"),
        strict=True,
    ):
        folder = Path(f"{path}_eval")
        assert f'"{key}"' in (folder / "eval.json").read_text()
        assert title in (folder / "eval.md").read_text()
        assert title in (folder / "eval.html").read_text()
