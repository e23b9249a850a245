"""Fine-tune a model on pairs with sentence-transformers' trainers, scored before and after.

    out/
      identity.json    model, pairs and configuration, written first: nothing else may resume here
      checkpoints/     the last ones and the best one, each with whole.json, written last, which
                       holds a checksum of all of it
      model/           what sentence-transformers loads, with a model card
      training.json    what `TrainingRun` holds, and digests of the other files; written last, so
                       its existence means finished

All batches are known before a training starts, and nothing in between draws a random number from
its streams: whether it was interrupted does not change the weights. Under torchrun every process
calls `train`; rank 0 scores and writes, the others wait for it.
"""

from __future__ import annotations

import copy
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sentence_transformers.base.model import BaseModel
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from transformers import PrinterCallback, TrainerCallback, set_seed
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER

from retgen.errors import UsageError
from retgen.evaluation.training.batches import (
    WHOLE,
    PairTrainer,
    Rows,
    draw_batches,
    prepare,
    to_dataset,
)
from retgen.evaluation.training.config import (
    TrainConfig,
    TrainingRun,
    claim_folder,
    folder_hash,
    read_own,
    read_result,
    result_files,
    write_own,
)
from retgen.evaluation.training.kinds import Kind, resolve, split_name
from retgen.evaluation.training.models import (
    ALIKE_OF,
    add_adapters,
    add_head,
    be_deterministic,
    check_fit,
    collapse,
    extend_card,
    few_to_compare,
    join_processes,
    keep_few_activations,
    merge_adapters,
    pick_device,
    rank,
    ranks,
    saving,
    set_prompts,
    wait_for_all,
    weight_by_idf,
    weights_dtype,
)
from retgen.evaluation.training.pairs import Pairs
from retgen.progress import Progress, no_progress
from retgen.search.embedders.base import fingerprint, length_limit
from retgen.search.embedders.loading import out_of_memory, quiet

Evaluate = Callable[[BaseModel, str], Mapping[str, float]]

_LOSS_POINTS = 200  # of the loss curve: reading the loss off a GPU stops it
_CHECKPOINTS = 10  # in the course of a training
_MEMORY = (
    "{} ran out of memory at batch_size {}. Lower batch_size, take loss cached-mnrl (its memory "
    "does not grow with the batch), lower max_length or hard_negatives, or set "
    "gradient_checkpointing."
)


def train(
    model: str | BaseModel,
    pairs: Pairs,
    config: TrainConfig,
    out: Path,
    *,
    evaluate: Evaluate | None = None,
    device: str | None = None,
    trusted: bool = False,
    progress: Progress = no_progress,
) -> TrainingRun:
    """Train `model` on `pairs` into the folder `out`, or finish what was begun there.

    `model`: a sentence-transformers id or folder, "minilm", "static:minilm", behind sparse:, late:
    or cross: for another kind (see `kinds`), or a model, which is left as it is.
    `evaluate(model, when)` scores the model as given ("before"), a static one with its token
    vectors weighted and not trained ("idf"), and as saved ("after"). `device`: cpu, cuda or mps;
    None takes the best. `trusted`: run code that the model brings along. What is in `out` is gone
    on with, unless `discard` took it away. Same arguments, same weights (on a CPU, or on GPUs of
    one kind up to kernels that have no deterministic version).

    Raises `UsageError` where `out` holds another training, model and configuration do not fit, the
    loss is no longer a finite number, or memory ran out.
    """
    where, config = pick_device(device, config.dtype), resolve(config, model)
    join_processes(where)
    kind, source = split_name(model)
    local = isinstance(source, str)
    identity = {
        "model": model if isinstance(model, str) else f"a model with weights {fingerprint(model)}",
        "weights": folder_hash(Path(str(source))) if local else None,
        "pairs": pairs.digest(),
        "config": config.model_dump(mode="json"),
        "processes": ranks(),
    }
    finished = claim_folder(out, identity) if rank() == 0 else False
    wait_for_all()
    if finished:
        shutil.rmtree(out / "checkpoints", ignore_errors=True)  # of one killed as it ended
        stored = read_result(out)
        known: dict[str, Any] = dict(stored["result"])
        known |= {name: [tuple(one) for one in stored[name]] for name in ("losses", "held_out")}
        return TrainingRun(path=out / "model", repeated=True, **known)
    be_deterministic(where)
    with quiet():
        try:
            loaded: Any
            if local:
                loaded = kind.load(str(source), where, config, trusted=trusted)
            else:
                loaded = copy.deepcopy(source).to(where).float()  # type: ignore[union-attr]
            check_fit(loaded, config)
            kind.check(loaded, config)
            given = kind, loaded, pairs, config, out, where, evaluate, progress
            return _train(*given, identity=identity, trusted=trusted)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise UsageError(_MEMORY.format(where, config.batch_size)) from error


def _train(
    kind: Kind,
    model: Any,
    pairs: Pairs,
    config: TrainConfig,
    out: Path,
    device: str,
    evaluate: Evaluate | None,
    progress: Progress,
    *,
    identity: dict[str, Any],
    trusted: bool,
) -> TrainingRun:
    rows, held_out = prepare(pairs, config)
    batches = draw_batches(rows, config)
    reads = length_limit(model)
    result = TrainingRun(
        out / "model",
        processes=ranks(),
        pairs=len(rows),
        held_out_pairs=len(held_out),
        device=device,
        weights_dtype=weights_dtype(model),
        hard_negatives=pairs.negatives_used(config.hard_negatives),
        prompts=set_prompts(model, config),
        max_length={"training": config.max_length or reads, "saved": reads},
    )

    def score(scored: Any, when: str) -> None:
        if evaluate is not None and rank() == 0:
            scored.eval()
            result.scores[when] = dict(evaluate(scored, when))

    card = model.model_card_data
    card.local_files_only, card.generate_widget_examples = True, False  # or it asks the Hub
    texts = list(dict.fromkeys(pairs.positives[:50]))[:3]
    card.widget = [{"source_sentence": pairs.anchors[0], "sentences": texts}]
    card.usage_examples = kind.usage(pairs.anchors[0], texts)
    score(model, "before")
    if isinstance(model[0], StaticEmbedding):
        plain = model[0].embedding.weight.detach().clone()
        counted = weight_by_idf(model, pairs)
        score(model, "idf")
        if config.init == "idf":
            result.start = counted
        else:
            model[0].embedding.weight.data.copy_(plain)
    add_head(model, config)
    if config.gradient_checkpointing:
        keep_few_activations(model)
    add_adapters(model, config)
    if config.max_length is not None:
        model.max_seq_length = config.max_length

    trainer = _trainer(kind, model, rows, held_out, batches, config, result, progress)
    last = _newest(out / "checkpoints")
    set_seed(config.seed + rank())  # each drops out others
    took = trainer.train(resume_from_checkpoint=str(last) if last else None)
    result.seconds = float(took.metrics.get("train_runtime", 0.0)) - trainer.saved
    log, state = trainer.state.log_history, trainer.state
    result.losses = [(int(one["step"]), one["loss"]) for one in log if "loss" in one]
    result.held_out = [(int(one["step"]), one["eval_loss"]) for one in log if "eval_loss" in one]
    result.steps = state.global_step
    result.best_step = (state.best_global_step if held_out else None) or result.steps
    if config.lora is not None:
        merge_adapters(model)
    if config.max_length is not None:
        model.max_seq_length = reads or VERY_LARGE_INTEGER
    if rank() == 0:
        _save(model, out / ".model.partial")
        # scored as it will be loaded
        saved = kind.load(str(out / ".model.partial"), device, config, trusted=trusted)
        score(saved, "after")
        _judge(result, kind, saved, rows, config, batches)
        _finish(result, out, identity, pairs, config, len(batches))
    wait_for_all()
    return result


def _arguments(
    kind: Kind, out: Path, config: TrainConfig, result: TrainingRun, planned: int, *, watched: bool
) -> Any:
    """Arguments of sentence-transformers' trainer. `watched`: some pairs are held out."""
    every = math.ceil(planned / _CHECKPOINTS)
    arguments = kind.arguments(
        output_dir=str(out / "checkpoints"),
        num_train_epochs=1,  # the list of batches holds all epochs
        learning_rate=float(config.learning_rate or 0.0),  # resolved
        weight_decay=config.weight_decay,
        warmup_steps=config.warmup_ratio,  # below 1 it is a share
        seed=config.seed,
        bf16=config.dtype == "bf16",  # products by autocast, weights stay as they are
        use_cpu=result.device == "cpu",
        dataloader_pin_memory=result.device == "cuda",
        logging_steps=math.ceil(planned / _LOSS_POINTS),
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        eval_strategy="steps" if watched else "no",
        eval_steps=every,
        load_best_model_at_end=watched,
        ddp_find_unused_parameters=kind.compared is None,  # as BERT's pooler
        report_to="none",
        disable_tqdm=True,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # or it would train on all GPUs in one process
    return arguments


def _trainer(
    kind: Kind,
    model: Any,
    rows: Rows,
    held_out: Rows,
    batches: list[list[int]],
    config: TrainConfig,
    result: TrainingRun,
    progress: Progress,
) -> PairTrainer:
    out = result.path.parent
    arguments = _arguments(kind, out, config, result, len(batches), watched=bool(held_out))
    prompts = {
        column: result.prompts["query" if column == "anchor" else "document"] for column in rows[0]
    }
    arguments.prompts = {column: prompt for column, prompt in prompts.items() if prompt}
    trainer = kind.trainer(
        model=model,
        args=arguments,
        train_dataset=to_dataset(rows),
        eval_dataset=to_dataset(held_out),
        loss=kind.loss(model, config, together=ranks() > 1),
        callbacks=[_Watch(len(batches), config, progress)],
    )
    trainer.batches = batches
    if held_out:
        once = config.model_copy(update={"epochs": 1, "max_steps": None})
        trainer.held_out_batches = draw_batches(held_out, once)
    trainer.remove_callback(PrinterCallback)
    return trainer


class _Watch(TrainerCallback):
    """Report progress, evaluate at the last step too, and stop where the loss is no number."""

    def __init__(self, planned: int, config: TrainConfig, progress: Progress) -> None:
        self._planned, self._config, self._progress = planned, config, progress

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress("train", state.global_step, self._planned)
        if state.global_step == self._planned:
            control.should_log = True
            control.should_evaluate = bool(self._config.hold_out)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        loss = kwargs["logs"].get("loss", 0.0)
        if not math.isfinite(loss):
            raise UsageError(
                f"the training loss is {loss} at step {state.global_step:,}. Lower learning_rate "
                f"(now {self._config.learning_rate:g}), or raise temperature or warmup_ratio."
            )


def _newest(folder: Path) -> Path | None:
    """The newest checkpoint that is whole, as is the best one so far; others are removed."""
    paths = {int(one.name.rpartition("-")[2]): one for one in folder.glob("checkpoint-*")}
    whole = {step for step, path in paths.items() if _is_whole(path)}
    for step in sorted(whole, reverse=True):
        state = read_own(paths[step] / "trainer_state.json")
        kept = {step, state.get("best_global_step") or step}
        if kept <= whole:
            break
    else:
        kept, step = set(), 0
    wait_for_all()
    if rank() == 0:
        for other in paths.keys() - kept:
            shutil.rmtree(paths[other])
    wait_for_all()
    return paths.get(step)


def _is_whole(checkpoint: Path) -> bool:
    try:
        stated = read_own(checkpoint / WHOLE, "checksum", "files")["files"]
    except UsageError:
        return False
    return bool(stated == folder_hash(checkpoint, WHOLE))


def _save(model: Any, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    card = model.model_card_data
    card.non_default_hyperparameters = card.all_hyperparameters = {}  # ours are in our section
    card.training_logs = []
    model.eval()
    with saving(folder):
        model.save_pretrained(str(folder))


def _judge(
    result: TrainingRun,
    kind: Kind,
    saved: Any,
    rows: Rows,
    config: TrainConfig,
    batches: list[list[int]],
) -> None:
    """Say whether the training learnt anything, and if not, why."""
    taken = [set(batch) for batch in batches[: result.steps]]
    result.seen = len(set().union(*taken))
    # a sparse encoder's loss holds its regulariser too
    sizes = [len(batch) for batch in batches] if kind.prefix != "sparse" else []
    some = rows[:ALIKE_OF]
    sample = dict.fromkeys(one[column] for column in ("anchor", "positive") for one in some)
    failure = kind.failure(saved, list(sample))
    found = collapse(result, config, sizes, failure, kind.compared)
    cause = few_to_compare(result, config, rows, taken)
    result.collapse = f"{cause}; {found}" if cause and failure else cause or found


def _finish(
    result: TrainingRun,
    out: Path,
    identity: dict[str, Any],
    pairs: Pairs,
    config: TrainConfig,
    planned: int,
) -> None:
    """Write the card, put the model in its place, and say that the training is finished."""
    read = {name: "all" if n is None else f"{n:,}" for name, n in result.max_length.items()}
    facts = {
        "start": result.start or "the base model as it is",
        "pairs": f"{result.pairs_seen()}, and {result.held_out_pairs:,} held out",
        "steps": f"{result.steps:,} of {planned:,}, saved is step {result.best_step:,}",
        "hard negatives a pair": f"{result.hard_negatives:,}",
        "tokens read per text": f"{read['training']} in training, {read['saved']} as saved",
        "device": f"{result.devices()}, weights {result.weights_dtype}, products {config.dtype}",
    }
    extend_card(out / ".model.partial", identity, pairs.origin, result.scores, facts)
    shutil.rmtree(result.path, ignore_errors=True)
    (out / ".model.partial").replace(result.path)
    stored = {k: v for k, v in asdict(result).items() if k not in ("path", "repeated")}
    curves = {name: stored.pop(name) for name in ("losses", "held_out")}
    content = {**identity, "origin": pairs.origin, "files": result_files(out)}
    write_own(out / "training.json", {**content, "result": stored, **curves})
    shutil.rmtree(out / "checkpoints")
