"""Mined negatives that a judge has seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.agents.server import Server, serving
from tests.generators.capretrieval.mind import mind
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.with_agents.conftest import Gen


def _judging(body: dict[str, Any]) -> str:
    """Everything about lighthouses is relevant to everything."""
    if body["response_format"]["json_schema"]["name"] != "Grades":
        return mind(body)
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    listed = re.findall(r'<passage number="(\d+)">\n(.*)', prompt)
    grades = [
        {"passage": int(number), "relevance": 2 if "lighthouse" in text else 0}
        for number, text in listed
    ]
    return json.dumps({"grades": grades})


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(_judging) as made:
        yield made


@pytest.mark.slow
def test_what_a_judge_calls_relevant_is_no_negative(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    source = write_rows(tmp_path / "kb.jsonl", TEXTS)
    model = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
    negatives = {}
    for judged in ("false", "true"):
        params = f"  mine: {{negatives: 2, judge: {judged}}}\n"
        write_recipe(tmp_path / "kb.yaml", source, params)
        done = ask("run", "kb.yaml", *model, "--out", judged)
        assert done.returncode == 0, done.stderr
        rows = [
            row
            for file in sorted((tmp_path / judged / "training").glob("*.parquet"))
            for row in pq.read_table(file).to_pylist()
        ]
        negatives[judged] = [one for row in rows for one in row["negatives-id"]]
    asked = sum(
        one["response_format"]["json_schema"]["name"] == "Grades" for one in server.requests
    )
    mined = json.loads((tmp_path / "true" / "sources" / "mined.json").read_text())
    assert "d1" in negatives["false"]
    assert "d1" not in negatives["true"]
    assert 0 < mined["judged_relevant"] < mined["judged"]
    assert mined["judge"] == "openai:gpt-5-mini"
    assert asked == mined["queries"] > 0
    share = mined["judged_relevant"] / mined["judged"]
    assert f"{share:.1%} of the mined ones were judged relevant and excluded" in done.stdout
    assert ask("validate", "true").returncode == 0


@pytest.mark.slow
def test_no_japanese_negative_holds_the_characters_of_a_chinese_query(
    ask: Gen, tmp_path: Path
) -> None:
    """The last text has both of 作業, in 作文 and 卒業; simplified Chinese has another 业."""
    texts = (
        "山上的茶園每年春天採收新茶，老人把茶葉放在竹籃裡，再送到河邊的小店出售。",
        "圖書館的管理員把舊書搬到地下室，讀者可以在閱覽室裡安靜地讀書寫字。",
        "這個作業系統管理電腦的記憶體和磁碟，學生用這個作業系統寫程式。作業系統很快。",
        "漁夫在清晨出海捕魚，中午回到港口，把魚賣給市場裡的餐廳老闆。",
        "東京の駅前に新しい図書館ができました。子どもたちは毎日本を読みます。",
        "海の近くの町では、漁師が朝早く船を出して、魚を市場に運びます。",
        "山の茶畑では春に新茶を摘みます。お茶はとてもおいしいです。",
        "妹は作文が上手です。卒業のときに先生から賞をもらいました。",
    )
    source = write_rows(tmp_path / "kb.jsonl", texts)
    params = "  mine: {negatives: 1, margin: 1}\n  splits: {test: 0.3, dev: 0}\n"
    write_recipe(tmp_path / "kb.yaml", source, params)
    done = ask("run", "kb.yaml", "--out", "kb")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "kb" / "training" / "kw.parquet").to_pylist()
    negatives = {row["anchor"]: row["negatives-id"] for row in rows}
    assert negatives["作業系統"] == ["d7"]
    assert negatives["作業"] == ["d6"]
