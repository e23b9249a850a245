"""A whole run against a real small model, whose texts are not good: nothing breaks, and it is said.

SmolLM2-135M copies words of the prompt, loops, and quotes what no passage holds, even where the
server holds it to JSON.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.reporting.evidence import model_answers
from tests.agents.small_model import TOGETHER, missing, serving
from tests.command import Done, in_process
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS

pytestmark = [
    pytest.mark.slow,  # a minute of a core that writes some 2,000 tokens
    pytest.mark.skipif(
        bool(missing()), reason=f"no wheel for this machine: {', '.join(missing())} (make slow)"
    ),
]
RECIPE = """# gen run kb.yaml
name: kb
family: capretrieval
model: {{provider: openai, name: smollm2, base_url: "{url}", temperature: 0, max_tokens: 256,
         concurrency: {together}}}
params:
  source: {{path: kb.jsonl, licence: CC0-1.0}}
  queries: {{keywords: 2, summaries: 1, two_documents: 1}}
"""
PRICED = ("--price", "0.1,0.4", "--max-usd", "1")


def test_a_whole_run_with_a_model_that_writes_badly(tmp_path: Path) -> None:
    titles = ["Volcanoes", "Owls", "Honey"]
    rows = [{"title": title, "text": text} for title, text in zip(titles, TEXTS, strict=False)]
    (tmp_path / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def gen(*args: str) -> Done:
        return in_process(*args, cwd=tmp_path)

    with serving() as url:
        (tmp_path / "kb.yaml").write_text(RECIPE.format(url=url, together=TOGETHER))
        done = gen("run", "kb.yaml", *PRICED, "--out", "kb")
        assert done.returncode == 0, done.stderr
        assert gen("validate", "kb").returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    path = tmp_path / "kb"
    manifest = json.loads((path / "manifest.json").read_text())

    # what the answers were worth adds up, and all of it is paid
    answers = manifest["answers"]
    assert answers["write_queries"].get("taken", 0) + answers["write_queries"].get("failed", 0) == 3
    assert manifest["usd"] == pytest.approx(
        (0.1 * manifest["tokens"]["in"] + 0.4 * manifest["tokens"]["out"]) / 1e6
    )
    rejected = read_jsonl(path / "rejected.jsonl")
    assert len(rejected) == manifest["counts"]["rejected"]
    failed = [row for row in rejected if row["rule"].startswith("write_queries/")]
    assert len(failed) == answers["write_queries"]["failed"]
    assert all(row["record"]["history"] for row in failed)

    # the texts are not good, and terminal and page say so
    sentence, _ = model_answers(manifest)
    assert "are not good" in sentence
    assert f"  warning     {sentence}\n" in done.stdout
    page = (path / "report.html").read_text()
    assert "<b>WEAK MODEL</b>" in page
    assert sentence in page

    queries = read_jsonl(path / "dataset" / "queries.jsonl")

    # the server is gone: the ledger knows all of it
    again = gen("run", "kb.yaml", *PRICED, "--out", "kb", "--fresh")
    assert again.returncode == 0, again.stderr
    assert read_jsonl(path / "dataset" / "queries.jsonl") == queries
    assert json.loads((path / "manifest.json").read_text())["answers"] == answers
