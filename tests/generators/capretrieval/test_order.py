"""Documents of which half give no query, in an order that tells which: a run goes on, and says so."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from retgen import run

_ROOTS = "bal cor dun fel gam hol jin kap lor mer nol pid rav sol tam vel wib yor zan".split()
_WORDS = ["".join(pair) for pair in itertools.permutations(_ROOTS, 3)]


def test_prose_before_code(tmp_path: Path) -> None:
    words = iter(_WORDS)
    with open(tmp_path / "kb.jsonl", "w") as file:
        for number in range(300):
            a, b, c, d = (f"{next(words)}{'' if number % 2 else 's'}" for _ in range(4))
            text = f"The {a} of a {b} keeps the {c} warm. Every {d} has a handle."
            if number >= 150:
                text = "\n".join(f"    {a}{line} = {line * number};" for line in range(20))
            file.write(json.dumps({"_id": f"d{number:03}", "text": text}) + "\n")
    recipe = tmp_path / "kb.yaml"
    recipe.write_text(
        "name: kb\nfamily: capretrieval\nparams:\n"
        f"  source: {{path: {tmp_path / 'kb.jsonl'}}}\n  splits: {{test: 0.5}}\n"
    )
    made = run(recipe, out=tmp_path / "out").manifest
    assert made["notes"]["few"] == (
        "75 test queries, for 75 of 150 held-out documents: intervals of scores will be wide; "
        "dropped there: 305 of low quality. More come of more documents, a larger "
        "params.splits.test, or a model that writes (--model)"
    )
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    [found] = [one for one in report["findings"] if one["rule"] == "order-leak"]
    assert found["severity"] == "warning"
    assert found["message"].startswith(
        f"the {len(found['ids'])} relevant documents do not stand where chance would put them "
        "among 300 (median at "
    )
    assert max(found["ids"]) < "d150"
