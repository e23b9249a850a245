"""Is training on own documents worth it? Four corpora, against idf, people's pairs and BM25.

Every step is a `gen` command that is printed. The corpora are those of `worth_corpora.py`: the run
never sees the queries it is scored on. nDCG@10, 95% intervals over queries.

    .venv/bin/python benchmarks/worth.py FOLDER [--corpus debian] [--model minilm]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MEASURE = "nDCG@10"
STEPS = {
    "static:minilm": ["max_steps=100"],
    "minilm": ["max_steps=60", "batch_size=32", "hard_negatives=0", "max_length=128"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", action="append", help="default: every folder of FOLDER")
    parser.add_argument("--model", action="append", choices=STEPS, help="default: static:minilm")
    args = parser.parse_args()
    names = args.corpus or sorted(one.parent.name for one in args.folder.glob("*/source"))
    rows = [
        study(args.folder / name, model)
        for name in names
        for model in args.model or ["static:minilm"]
    ]
    print(table(rows))


def study(corpus: Path, model: str) -> dict[str, str]:
    """The row of one corpus and model."""
    made = corpus / "made"
    if not (made / "manifest.json").is_file():
        recipe = corpus / "own.yaml"
        recipe.unlink(missing_ok=True)
        gen("new", "capretrieval", "--source", corpus / "source", "--out", recipe)
        gen("run", recipe, "--out", made, "-q")
    test = corpus / "test"
    options = [part for value in STEPS[model] for part in ("--set", value)]
    options += ["--model", model, "--test", str(test)]
    result: dict[str, str] = {"corpus": corpus.name, "model": model}
    ours = trained(made, corpus / f"trained_{_plain(model)}", options)
    people = trained(corpus / "human", corpus / f"people_{_plain(model)}", options)
    bm25 = ours["beside"]["bm25"][MEASURE]
    start = ours["idf"] or ours["before"]
    gained, possible = (one["after"][MEASURE] - start[MEASURE] for one in (ours, people))
    result |= {
        "untrained": _shown(ours["before"][MEASURE]),
        "idf": _shown(start[MEASURE]) if ours["idf"] else "",
        "trained": _shown(ours["after"][MEASURE]),
        "gain": f"{gained * 100:+.1f} {_interval(ours)}",
        "people's pairs": _shown(people["after"][MEASURE]),
        "share of their gain": f"{gained / possible:.0%}" if possible > 0 else "",
        "BM25": _shown(bm25),
    }
    for name, means in ours["beside"].items():
        if name != "bm25":
            result[name] = _shown(means[MEASURE])
    return result


def trained(pairs: Path, out: Path, options: list[str]) -> dict[str, Any]:
    """The scores on the test set of a training, which is gone on with where it stopped."""
    shown = gen("train", pairs, "--out", out, "--json", "-q", *options)
    scores = json.loads(shown)["test"]
    assert isinstance(scores, dict)
    return scores


def gen(*words: str | Path) -> str:
    """What a command prints; it ends this program where it fails."""
    line = ["gen", *map(str, words)]
    print("$", *line, file=sys.stderr, flush=True)
    command = [str(Path(sys.executable).parent / "gen"), *line[1:]]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def table(rows: list[dict[str, str]]) -> str:
    """Markdown, a row a corpus and model."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(c, "") for c in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(scores: dict[str, Any]) -> str:
    """Of the gain over the start, in points."""
    pair = {"after", "idf" if scores["idf"] else "before"}
    for one in scores["comparisons"]:
        if {one["first"], one["second"]} == pair and one["measure"] == MEASURE and one["low"]:
            bounds = (one[end] * (1 if one["first"] == "after" else -1) for end in ("low", "high"))
            low, high = sorted(bounds)
            return f"[{low * 100:.1f}, {high * 100:.1f}]"
    return ""


def _shown(value: float) -> str:
    return f"{value:.3f}"


def _plain(name: str) -> str:
    return name.replace(":", "_")


if __name__ == "__main__":
    main()
