"""How a model is trained, all hyper-parameters in one frozen model, and what came of it.

The preset `limit` is Appendix B of the LIMIT paper (arXiv 2508.21038): in-batch negatives from the
full data set, no duplicates in a batch, learning rate 5e-5, 5 epochs. What the paper leaves open
(temperature, warm-up) is sentence-transformers' default there. The preset `capretrieval` is
Appendix D of the CapRetrieval paper (arXiv 2506.08592): InfoNCE, learning rate 5e-6, weight decay
0.1, temperature 0.01, about 4,000 steps, 5% of the queries held out. The preset `cpu` is short.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import xxhash
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from retgen.errors import UsageError
from retgen.messages import SourceMap, did_you_mean, validation_messages
from retgen.write import dump_json, file_info, make_folder, write_file

PRESETS: dict[str, dict[str, Any]] = {
    "limit": {
        "init": "model",
        "temperature": 0.05,
        "batch_size": "full",
        "learning_rate": 5e-5,
        "warmup_ratio": 0.0,
        "epochs": 5,
        "hard_negatives": 0,
    },
    "capretrieval": {
        "init": "model",
        "temperature": 0.01,
        "learning_rate": 5e-6,
        "weight_decay": 0.1,
        "max_steps": 4000,
        "hold_out": 0.05,
    },
    # minutes for a transformer of MiniLM's size; a pass over all pairs would take hours
    "cpu": {"batch_size": 32, "max_steps": 60, "max_length": 128, "hard_negatives": 0},
}


def _number_or(word: str, least: int) -> BeforeValidator:
    def check(value: Any) -> Any:
        if value in (None, word) or (type(value) is int and value >= least):
            return value
        raise ValueError(f"must be a whole number of at least {least}, or {word!r}, not {value!r}")

    return BeforeValidator(check)


class TrainConfig(BaseModel):
    """Everything that decides the trained weights, besides the model and the pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    init: Literal["auto", "idf", "model"] = Field(
        "auto",
        description="where training starts. model: the model as it is; idf: its token vectors "
        "weighted by idf of the training documents; auto: idf for static:minilm, else model",
    )
    loss: Literal["mnrl", "cached-mnrl"] = Field("mnrl", description="see the table below")
    temperature: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="scores are divided by it; none: 0.05 for cosines of embedders, 1 for sparse "
        "encoders and late interaction, 0.1 for cross-encoders",
    )
    batch_size: Annotated[int | Literal["full"] | None, _number_or("full", 1)] = Field(
        None,
        description="pairs a step; full: all of them; none: 128 for static embeddings, 64 for "
        "other models. No text occurs twice in a batch, so batches may be smaller",
    )
    learning_rate: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="of AdamW; none: 0.008 from idf, 0.002 for other static embeddings, 0.0002 for "
        "lora, else 2e-05",
    )
    weight_decay: float = Field(0.0, ge=0, lt=1, description="of AdamW, but of biases and norms")
    warmup_ratio: float = Field(
        0.1, ge=0, lt=1, description="share of the steps over which the learning rate rises"
    )
    epochs: int = Field(1, ge=1, description="times that every pair is trained on")
    max_steps: int | None = Field(
        None, ge=1, description="as many steps, however many epochs that takes"
    )
    hard_negatives: Annotated[int | Literal["all"], _number_or("all", 0)] = Field(
        "all", description="negatives a pair; all: the smallest number that a pair has"
    )
    query_prompt: str | None = Field(
        None, description="before every query, in training and scoring; none: the model's own"
    )
    document_prompt: str | None = Field(
        None, description="before every document, in training and scoring; none: the model's own"
    )
    max_length: int | None = Field(
        None,
        ge=1,
        description="tokens a text, in training alone: saved and scored, a model reads no less",
    )
    dimension: int | None = Field(
        None, ge=1, description="a linear head to so many dimensions, normalised"
    )
    matryoshka: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), description="prefixes of the vector that are trained too, as 64,128"
    )
    lora: int | None = Field(
        None,
        ge=1,
        description="train adapters of this rank (LoRA) on all linear layers instead of the "
        "weights; they are merged when saved. With dtype bf16 the weights are held in bf16",
    )
    dtype: Literal["float32", "bf16"] = Field(
        "float32",
        description="of the products; weights are float32 whatever the checkpoint is in, but for "
        "lora with bf16, which holds them in bf16",
    )
    gradient_checkpointing: bool = Field(
        False, description="compute activations twice instead of keeping them: less memory, slower"
    )
    hold_out: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the queries kept for the held-out loss, whose best step is saved",
    )
    seed: int = Field(42, ge=0, lt=2**32, description="of batches, dropout and the head")

    @model_validator(mode="after")
    def _fits_together(self) -> TrainConfig:
        if self.dimension and max(self.matryoshka, default=0) > self.dimension:
            raise ValueError(
                f"matryoshka {max(self.matryoshka)} is above dimension {self.dimension}"
            )
        return self


# where none is given: word vectors need larger steps than a transformer, larger ones where idf has
# made them several times as long, and less memory
LEARNING_RATES = {"static": 2e-3, "idf": 8e-3, "lora": 2e-4, "other": 2e-5}
BATCH_SIZES = {"static": 128, "other": 64}


class _Keys(SourceMap):
    """Values given to a function stand nowhere: a key is where it is."""

    def where(self, keys: Sequence[str | int]) -> str:
        return ".".join(map(str, keys)) or "together"


def make_config(preset: str | None = None, changes: Mapping[str, Any] | None = None) -> TrainConfig:
    """The configuration of a preset with changes. Raises `UsageError` naming every problem."""
    if preset is not None and preset not in PRESETS:
        raise UsageError(
            f"there is no training preset {preset!r}{did_you_mean(preset, PRESETS) or '.'} "
            f"Possible: {', '.join(PRESETS)}"
        )
    values = {**PRESETS.get(preset or "", {}), **(changes or {})}
    try:
        return TrainConfig(**values)
    except ValidationError as error:
        origin = _Keys(Path(), None, ())
        lines = validation_messages(error, TrainConfig.model_json_schema(), values, origin, ())
        raise UsageError("the training configuration is wrong\n  " + "\n  ".join(lines)) from error


@dataclass
class TrainingRun:
    """The record of a training.

    `path`: the model's folder. `scores`: of the model "before" training, with token vectors
    weighted by "idf" alone, and "after"; empty where nothing was evaluated. `losses`, `held_out`:
    curves of the training loss and of the held-out loss, (step, mean loss since the point before).
    `steps`: taken; `best_step`: the one whose weights are saved. `pairs`, `held_out_pairs`: to
    train on and held out; `seen`: of `pairs`, those that a step took. `hard_negatives`: used of
    every pair. `prompts`: those of "query" and "document". `weights_dtype`: of the trained weights.
    `start`: how idf was counted, "" where training began with the model as it is. `max_length`:
    tokens a text that are read in "training" and as "saved", None for all. `collapse`: how it
    failed, "" if it did not. `seconds`: of training, without saving. `processes`: that trained
    together, each on its device. `repeated`: it had been finished before, and nothing was done.
    """

    path: Path
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    losses: list[tuple[int, float]] = field(default_factory=list)
    held_out: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    best_step: int = 0
    pairs: int = 0
    held_out_pairs: int = 0
    seen: int = 0
    device: str = "cpu"
    weights_dtype: str = "float32"
    hard_negatives: int = 0
    prompts: dict[str, str] = field(default_factory=dict)
    start: str = ""
    max_length: dict[str, int | None] = field(default_factory=dict)
    collapse: str = ""
    processes: int = 1
    repeated: bool = False

    def pairs_seen(self) -> str:
        """As "20", or "6 of 20" where the steps did not come to all."""
        return f"{self.seen:,} of {self.pairs:,}" if self.seen < self.pairs else f"{self.pairs:,}"

    def devices(self) -> str:
        """As "cuda", or "4 x cuda"."""
        return self.device if self.processes == 1 else f"{self.processes} x {self.device}"


def folder_hash(folder: Path, without: str = "") -> str | None:
    """A hash of what the folder of a model holds: its files may change under the same name. None
    where there is no such folder.
    """
    if not folder.is_dir():
        return None
    digest = xxhash.xxh3_128()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.name == without:
            continue
        digest.update(str(file.relative_to(folder)).encode())
        with open(file, "rb") as data:
            while block := data.read(1 << 24):
                digest.update(block)
    return digest.hexdigest()


_OWN = ("training.json", "checkpoints", "model")
_RESULTS = ("identity.json", "views.json", "model", "scores")  # files and folders, with digests


def begun(out: Path) -> bool:
    """Whether a folder holds a training that has come to its first checkpoint, or to its end."""
    finished = (out / "training.json").is_file() and (out / "model").is_dir()
    return finished or any(out.glob("checkpoints/*/whole.json"))


def claim_folder(out: Path, identity: dict[str, Any]) -> bool:
    """Take `out` for a training, and say whether it holds this one, finished.

    `identity`: the name of the model, the digest of the pairs and the configuration. What was begun
    but has no checkpoint yet may be another's. Raises `UsageError` where the folder holds another
    training, or files that are none's.
    """
    make_folder(out)
    path = out / "identity.json"
    if not path.is_file() and any((out / name).exists() for name in _OWN):
        raise UsageError(
            f"{out} holds a model or checkpoints that no training of retgen wrote; they would be "
            "replaced. Choose another folder."
        )
    if not begun(out):
        shutil.rmtree(out / "scores", ignore_errors=True)
        write_file(path, dump_json(identity))
        return False
    stored = read_own(path, "config", "pairs")
    differing = [
        f"{key} ({_short(theirs.get(key))} there, {_short(ours.get(key))} now)"
        for theirs, ours in ((stored["config"], identity["config"]), (stored, identity))
        for key in sorted({*theirs, *ours} - {"config", "pairs"})
        if theirs.get(key) != ours.get(key)
    ]
    if stored["pairs"] != identity["pairs"]:
        differing.append("the training pairs")
    if differing:
        raise UsageError(
            f"{out} holds another training; what differs: {', '.join(differing)}. Choose another "
            "folder, or start it anew with --fresh."
        )
    return (out / "training.json").is_file() and (out / "model").is_dir()


def read_own(path: Path, *keys: str) -> Any:
    """Read a JSON file of a training. Raises `UsageError` where it was damaged, or lacks a key.

    With the key "checksum" it is a file of `write_own`, whose values are compared with that.
    """
    try:
        result = orjson.loads(path.read_bytes())
        if all(key in result for key in keys) and (
            "checksum" not in keys or result.pop("checksum") == _digest(result)
        ):
            return result
        raise ValueError(result)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} cannot be checked: it was changed since the training wrote it, or is of an "
            "earlier version. Put it back as it was, or train again with --fresh."
        ) from error


def write_own(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file with a checksum of its values."""
    write_file(path, dump_json({**value, "checksum": _digest(value)}))


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(dump_json(value).encode()).hexdigest()


def result_files(out: Path) -> dict[str, Any]:
    """SHA-256 and size of every file that a finished training consists of, beside training.json."""
    paths = [path for name in _RESULTS for path in (out / name, *sorted((out / name).rglob("*")))]
    files = [path for path in paths if path.is_file()]
    return {path.relative_to(out).as_posix(): file_info(path)._asdict() for path in files}


def read_result(out: Path) -> dict[str, Any]:
    """Read the training.json of a finished training.

    Raises `UsageError` naming the files of the training that are missing, changed or added.
    """
    result: dict[str, Any] = read_own(out / "training.json", "checksum", "files")
    stated, found = result["files"], result_files(out)
    wrong = [
        f"{name} ({'added' if name not in stated else 'changed' if name in found else 'missing'})"
        for name in sorted({*stated, *found})
        if stated.get(name) != found.get(name)
    ]
    if wrong:
        more = f" and {len(wrong) - 3:,} more" if len(wrong) > 3 else ""
        raise UsageError(
            f"{out} is a finished training, but not as it was written: {', '.join(wrong[:3])}"
            f"{more}. Put the files back as they were, or train again with --fresh."
        )
    return result


def discard(out: Path) -> None:
    """Remove a training; the files of anything else are left for `claim_folder` to refuse."""
    if (out / "identity.json").is_file():
        (out / "training.json").unlink(missing_ok=True)  # first, for it says finished
        for name in ("checkpoints", "model", "scores", ".model.partial"):
            shutil.rmtree(out / name, ignore_errors=True)
        (out / "identity.json").unlink()


def _short(value: Any) -> str:
    return str(value) if not isinstance(value, list) else ",".join(map(str, value)) or "none"
