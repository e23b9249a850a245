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
from bisect import bisect_left
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
        "loss": "mnrl",
        "temperature": 0.05,
        "batch_size": "full",
        "no_duplicates": True,
        "learning_rate": 5e-5,
        "warmup_ratio": 0.0,
        "epochs": 5,
        "hard_negatives": 0,
    },
    "capretrieval": {
        "init": "model",
        "loss": "mnrl",
        "temperature": 0.01,
        "learning_rate": 5e-6,
        "weight_decay": 0.1,
        "max_steps": 4000,
        "hold_out": 0.05,
    },
    # minutes for a transformer of MiniLM's size; a pass over all pairs would take hours
    "cpu": {"batch_size": 32, "max_steps": 60, "max_length": 128, "hard_negatives": 0},
}


def _batch_size(value: Any) -> Any:
    if value in (None, "full") or (type(value) is int and value >= 1):
        return value
    raise ValueError(f"must be a whole number of at least 1, or 'full', not {value!r}")


def _hard_negatives(value: Any) -> Any:
    if value == "all" or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"must be a whole number of at least 0, or 'all', not {value!r}")


class TrainConfig(BaseModel):
    """Everything that decides the trained weights, besides the model and the pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    init: Literal["auto", "idf", "model"] = Field(
        "auto",
        description="where training starts. model: the model as it is; idf: its token vectors "
        "weighted by idf of the training documents; auto: idf for static:minilm, else model",
    )
    loss: Literal["mnrl", "cached-mnrl", "triplet", "margin", "listwise"] = Field(
        "mnrl", description="see the table below"
    )
    temperature: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="scores are divided by it (all losses but triplet); none: 0.05 for cosines of "
        "embedders, 1 for sparse encoders and late interaction, 0.1 for cross-encoders",
    )
    flops_document: float = Field(
        3e-5, ge=0, description="of sparse encoders: weight of the FLOPS regulariser of documents"
    )
    flops_query: float = Field(5e-5, ge=0, description="the same, of queries")
    margin: float = Field(0.2, ge=0, lt=2, description="of triplet and margin, in cosine")
    batch_size: Annotated[int | Literal["full"] | None, BeforeValidator(_batch_size)] = Field(
        None,
        description="pairs a step; full: all of them; none: 128 for static embeddings, 64 for "
        "other models",
    )
    mini_batch_size: int = Field(32, ge=1, description="texts a forward pass of cached-mnrl")
    no_duplicates: bool = Field(
        True,
        description="of mnrl and cached-mnrl, for which the other documents of a batch are "
        "negatives: no text of a pair occurs in another pair of its batch; batches may be smaller "
        "and an epoch longer",
    )
    learning_rate: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="of Adam; none: 0.008 from idf, 0.002 for other static embeddings, 0.0002 for "
        "lora, else 2e-05",
    )
    weight_decay: float = Field(0.0, ge=0, lt=1, description="of AdamW, but of biases and norms")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear",
        description="linear, cosine or constant: how the learning rate falls after the warm-up",
    )
    accumulate: int = Field(
        1, ge=1, description="batches whose gradients make one step; each has its own negatives"
    )
    gradient_checkpointing: bool = Field(
        False, description="compute activations twice instead of keeping them: less memory, slower"
    )
    lora: int | None = Field(
        None,
        ge=1,
        description="train adapters of this rank (LoRA) instead of the weights; they are merged "
        "when saved. With dtype bf16 the weights are held in bf16",
    )
    lora_alpha: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="adapters are scaled by lora_alpha / lora; none: twice lora",
    )
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="of what goes into an adapter")
    lora_targets: tuple[str, ...] = Field(
        (),
        description="layers with an adapter, by the ends of their names, as q_proj,v_proj; none: "
        "all linear ones",
    )
    epochs: int = Field(1, ge=1, description="times that every pair is trained on")
    max_steps: int | None = Field(
        None, ge=1, description="as many steps, however many epochs that takes"
    )
    warmup_ratio: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="share of the steps over which the learning rate rises",
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
    dtype: Literal["float32", "tf32", "bf16"] = Field(
        "float32",
        description="of the products; weights are float32 whatever the checkpoint is in, but for "
        "lora with bf16, which holds them in bf16",
    )
    attn_implementation: str | None = Field(
        None, description="of transformers: sdpa, eager, flash_attention_2; none: its own choice"
    )
    trust_remote_code: bool = Field(False, description="run code that the model brings along")
    query_prompt: str | None = Field(
        None, description="before every query, in training and scoring; none: the model's own"
    )
    document_prompt: str | None = Field(
        None, description="before every document, in training and scoring; none: the model's own"
    )
    seed: int = Field(42, ge=0, lt=2**32, description="of batches, dropout and the head")
    hold_out: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the queries kept for the held-out loss, whose best step is saved",
    )
    early_stop: int = Field(
        0, ge=0, description="stop after so many evaluations without a better one"
    )
    eval_every: int = Field(
        0, ge=0, description="steps between two evaluations with checkpoint; 0: after every epoch"
    )
    hard_negatives: Annotated[int | Literal["all"], BeforeValidator(_hard_negatives)] = Field(
        "all", description="negatives a pair; all: the smallest number that a pair has"
    )

    @property
    def learns_from_hard_negatives(self) -> bool:
        """Whether the loss is about hard negatives."""
        return self.loss not in ("mnrl", "cached-mnrl")

    @model_validator(mode="after")
    def _fits_together(self) -> TrainConfig:
        problems = []
        if self.loss == "triplet" and self.hard_negatives == 0:
            problems.append("loss triplet needs hard_negatives of at least 1")
        of_adapters = ("lora_alpha", "lora_dropout", "lora_targets")
        unused = [name for name in of_adapters if getattr(self, name)]
        if unused and self.lora is None:
            problems.append(f"{', '.join(unused)} needs lora, the rank of the adapters")
        if self.early_stop and not self.hold_out:
            problems.append("early_stop needs hold_out above 0: it watches the held-out loss")
        if self.dimension and max(self.matryoshka, default=0) > self.dimension:
            problems.append(
                f"matryoshka {max(self.matryoshka)} is above dimension {self.dimension}"
            )
        if problems:
            raise ValueError("; ".join(problems))
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

    `path`: the model's folder. `history`: one entry an evaluation, in order: when (before, idf,
    during, after), step, epoch, loss (mean training loss since the entry before), held_out_loss
    (both None where there is none) and scores (what was evaluated; empty at the last planned step,
    whose model is scored as saved, after). `losses`: the curve, (step, mean loss since the point
    before). `steps`: taken, of `planned`; `best_step`: the one whose weights are saved. `pairs`,
    `held_out_pairs`: to train on and held out; `seen`: of `pairs`, those that a step took.
    `hard_negatives`: used of every pair. `prompts`: those of "query" and "document".
    `weights_dtype`, `dtype`: of the trained weights, and of the
    products, as seen in the model. `loss`: by which it was trained. `start`: how idf was counted,
    "" where training began with the model as it is. `max_length`: tokens a text that are read in
    "training" and as "saved", None for all. `cut`: the positives that are longer than training
    reads, see `models.cut_share`.
    `collapse`: how it failed, "" if it did not. `seconds`: of training, without evaluations.
    `processes`: that trained together, each on its device.
    `repeated`: it had been finished before, and nothing was done.
    """

    path: Path
    history: list[dict[str, Any]] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    planned: int = 0
    best_step: int = 0
    pairs: int = 0
    held_out_pairs: int = 0
    seen: int = 0
    device: str = "cpu"
    dtype: str = "float32"
    weights_dtype: str = "float32"
    loss: str = "mnrl"
    hard_negatives: int = 0
    prompts: dict[str, str] = field(default_factory=dict)
    start: str = ""
    max_length: dict[str, int | None] = field(default_factory=dict)
    cut: dict[str, float] = field(default_factory=dict)
    collapse: str = ""
    processes: int = 1
    repeated: bool = False

    def pairs_seen(self) -> str:
        """As "20", or "6 of 20" where the steps did not come to all."""
        return f"{self.seen:,} of {self.pairs:,}" if self.seen < self.pairs else f"{self.pairs:,}"

    def devices(self) -> str:
        """As "cuda", or "4 x cuda"."""
        return self.device if self.processes == 1 else f"{self.processes} x {self.device}"

    def scores(self, when: str) -> dict[str, float]:
        """The scores "before", of "idf" alone, or "after"; empty where nothing was evaluated."""
        return next((dict(e["scores"]) for e in self.history if e["when"] == when), {})

    def evaluated(self) -> list[dict[str, Any]]:
        """The entries during training."""
        return [entry for entry in self.history if entry["when"] == "during"]

    def best(self) -> int:
        """The evaluated step of the least held-out loss, the first of equals; else the last."""
        entries = self.evaluated()
        if not self.held_out_pairs:
            return int(entries[-1]["step"])
        return int(min(entries, key=lambda entry: entry["held_out_loss"])["step"])

    def waited(self) -> int:
        """Evaluations since the best one."""
        best = self.best()
        return sum(entry["step"] > best for entry in self.evaluated())

    def note(
        self,
        when: str,
        step: int,
        ends: Sequence[int],
        scores: Mapping[str, float],
        held_out_loss: float | None = None,
    ) -> None:
        """Add an evaluation; `ends`: the last step of each epoch."""
        epoch = bisect_left(ends, step)
        begin = ends[epoch - 1] if epoch else 0
        self.history.append(
            {
                "when": when,
                "step": step,
                "epoch": epoch + (step - begin) / (ends[epoch] - begin),
                "loss": self._mean_loss(step) if when == "during" else None,
                "held_out_loss": held_out_loss,
                "scores": {name: float(score) for name, score in scores.items()},
            }
        )

    def _mean_loss(self, step: int) -> float:
        """Over the steps since the last evaluation; the points of the curve are means already."""
        before = since = int(self.history[-1]["step"])
        total = 0.0
        for at, loss in self.losses:
            if at > since:
                total += loss * (at - before)
                before = at
        return total / (step - since)


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


def claim_folder(out: Path, identity: dict[str, Any]) -> bool:
    """Take `out` for a training, and say whether it holds this one, finished.

    `identity`: the name of the model, the digest of the pairs and the configuration. What was begun
    but has no checkpoint yet may be another's. Raises `UsageError` where the folder holds another
    training, or files that are none's.
    """
    make_folder(out)
    path = out / "identity.json"
    finished = (out / "training.json").is_file() and (out / "model").is_dir()
    begun = any(out.glob("checkpoints/*/progress.json")) or finished
    if not path.is_file() and any((out / name).exists() for name in _OWN):
        raise UsageError(
            f"{out} holds a model or checkpoints that no training of retgen wrote; they would be "
            "replaced. Choose another folder."
        )
    if not begun:
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
    return finished


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
        for name in ("checkpoints", "model", ".model.partial"):
            shutil.rmtree(out / name, ignore_errors=True)
        (out / "identity.json").unlink()


def _short(value: Any) -> str:
    return str(value) if not isinstance(value, list) else ",".join(map(str, value)) or "none"
