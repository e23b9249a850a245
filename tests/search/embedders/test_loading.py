"""Models are loaded in the format, on the device and with the code that is asked for."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.search.embedders.base import SentenceEmbedder, load_embedder
from retgen.search.embedders.loading import load_model


@pytest.fixture(scope="module")
def saved(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small transformer in float32, in bf16, and with code of its own."""
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("saved")
    for name in ("float32", "bf16", "code"):
        shutil.copytree(models["bare-dense"], folder / name)
    BertModel.from_pretrained(folder / "bf16").bfloat16().save_pretrained(folder / "bf16")
    config = json.loads((folder / "code" / "config.json").read_text())
    config |= {
        "model_type": "mine",
        "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Own"},
    }
    (folder / "code" / "config.json").write_text(json.dumps(config))
    (folder / "code" / "mine.py").write_text(
        "from transformers import BertConfig, BertModel\n\n\n"
        "class Mine(BertConfig):\n    model_type = 'mine'\n\n\n"
        "class Own(BertModel):\n    config_class = Mine\n"
    )
    return folder


@pytest.mark.parametrize(
    ("checkpoint", "asked", "runs"),
    [
        ("bf16", None, "float32"),
        ("bf16", "bf16", "bfloat16"),
        ("bf16", "auto", "bfloat16"),
        ("float32", None, "float32"),
        ("float32", "bf16", "bfloat16"),
    ],
)
def test_a_model_is_loaded_in_the_format_that_it_runs_in(
    saved: Path, checkpoint: str, asked: str | None, runs: str
) -> None:
    """No weight is ever held in another format, and what is told is what is run."""
    held: set[torch.dtype] = set()

    def registered(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter) -> None:
        if parameter is not None and parameter.device.type != "meta":
            held.add(parameter.dtype)

    handle = torch.nn.modules.module.register_module_parameter_registration_hook(registered)
    try:
        model = load_model(str(saved / checkpoint), "cpu", asked)
    finally:
        handle.remove()
    assert held == {getattr(torch, runs)}
    assert {p.dtype for p in model.parameters()} == held
    assert SentenceEmbedder("m", model, Options(dtype=asked)).details["dtype"] == runs


def test_code_of_a_model_is_run_when_it_is_allowed(saved: Path) -> None:
    name = str(saved / "code")
    with pytest.raises(UsageError) as caught:
        load_model(name)
    assert str(caught.value) == (
        f"--model {name}: brings code of its own. Read it, and run it with --trust-remote-code"
    )
    embedder = load_embedder(name, Options(trust_remote_code=True))
    assert type(embedder.model.transformers_model).__name__ == "Own"
    assert embedder.notes == ["ran code that the model brought along (--trust-remote-code)"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("minilm", {"device": "tpu"}, "--device tpu: is none of cpu, cuda, cuda:0, mps"),
        pytest.param(
            "minilm",
            {"device": "cuda"},
            "--device cuda: there is no such device here (`gen doctor`); leave --device out",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here"),
        ),
        (
            "minilm",
            {"device": "cpu", "dtype": "int8"},
            "--dtype int8: is none of float32, bf16, float16, auto",
        ),
        ("minilm", {"device": "cpu", "dtype": "float16"}, "--dtype float16: needs a GPU"),
        ("minilm", {"max_length": 2}, "--max-length 2: minilm takes 3 to 512 tokens"),
        ("late:minilm", {"max_length": 600}, "--max-length 600: late:minilm takes 3 to 512 tokens"),
        (
            "static:minilm",
            {"max_length": 64},
            "--max-length: static:minilm has no limit of its own",
        ),
        (
            "late:static:minilm",
            {},
            "--model late:static:minilm: is no transformer, so it has no tokens' vectors",
        ),
        ("late:a b/c", {}, "--model a b/c: neither a folder here nor a model"),
        (
            "mteb:mteb/baseline-random-cross-encoder",
            {},
            "--model mteb:mteb/baseline-random-cross-encoder: gives no vectors of texts. Name an embedder of MTEB, bm25, or rerank:bm25+MODEL for a cross-encoder of the Hub or a folder",
        ),
    ],
)
def test_what_cannot_be_loaded_so(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        retriever(name, Options(**options))
    assert str(caught.value).startswith(message)


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, ("harm",)


def test_pickled_weights_run_no_code(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(models["dense"], tmp_path / "model"))
    (folder / "model.safetensors").unlink()
    torch.save({"weight": _Harmful()}, folder / "pytorch_model.bin")
    with pytest.raises(UsageError) as caught:
        load_model(str(folder), "cpu")
    assert str(caught.value) == (
        f"--model {folder}: its weights are a pickle, which may run code as it is read. Save them "
        "as safetensors, or take a model that has such. `minilm` needs no network."
    )
    assert not (tmp_path / "harm").exists()
