"""Mined negatives are no answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from retgen import run
from tests.generators.capretrieval.texts import write_recipe, write_rows


@pytest.mark.slow
def test_no_japanese_negative_holds_the_characters_of_a_chinese_query(tmp_path: Path) -> None:
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
    run(write_recipe(tmp_path / "kb.yaml", source, params), out=tmp_path / "kb")
    rows = pq.read_table(tmp_path / "kb" / "training" / "kw.parquet").to_pylist()
    negatives = {row["anchor"]: row["negatives-id"] for row in rows}
    assert negatives["作業系統"] == ["d7"]
