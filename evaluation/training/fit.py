"""Fine-tune a model on pairs with sentence-transformers' trainers, scored before and after.

    out/
      identity.json    model, pairs and configuration, written first: nothing else may resume here
      checkpoints/     the last and the best one, each with progress.json, written last, which
                       holds a checksum of all of it
      model/           what sentence-transformers loads, with a model card
      training.json    what `TrainingRun` holds, and digests of the other files; written last, so
                       its existence means finished

Evaluating draws no random number from the training's streams, and all batches are known before it
starts: how often one evaluates, and whether one was interrupted, does not change the weights.
"""

from __future__ import annotations

import copy
import gc
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.model import BaseModel
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from transformers import PrinterCallback, TrainerCallback, set_seed

from retgen.errors import UsageError
from retgen.evaluation.training import distributed
from retgen.evaluation.training.adapters import add_adapters, merge_adapters
from retgen.evaluation.training.batches import BatchTrainer, TrainingExamples, draw_batches, prepare
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
from retgen.evaluation.training.kinds import can_cache, resolve, split_name
from retgen.evaluation.training.models import (
    ALIKE_OF,
    add_head,
    batch_sizes,
    check_fit,
    collapse,
    cut_share,
    deterministic,
    extend_card,
    few_to_compare,
    keep_few_activations,
    limit_reading,
    pick_device,
    products_dtype,
    reading_limit,
    same_random_state,
    saving,
    set_prompts,
    weight_by_idf,
    weights_dtype,
)
from retgen.evaluation.training.pairs import Pairs
from retgen.progress import Progress, no_progress
from retgen.search.embedders.base import fingerprint
from retgen.search.embedders.loading import out_of_memory, quiet

Evaluate = Callable[[BaseModel, str], Mapping[str, float]]

_LOSS_POINTS = 200  # of the loss curve: reading the loss off a GPU stops it


def train(
    model: str | BaseModel,
    pairs: Pairs,
    config: TrainConfig,
    out: Path,
    *,
    evaluate: Evaluate | None = None,
    device: str | None = None,
    progress: Progress = no_progress,
    report_to: Sequence[str] = (),
) -> TrainingRun:
    """Train `model` on `pairs` into the folder `out`, or finish what was begun there.

    `model`: a sentence-transformers id or folder, "minilm", "static:minilm", behind sparse:, late:
    or cross: for another kind (see `kinds`), or a model, which is left as it is.
    `evaluate(model, when)` scores the model as given ("before"), a static one with its token
    vectors weighted and not trained ("idf"), at every evaluation ("during") and as saved ("after").
    `device`: cpu, cuda or mps; None takes the best. `report_to`: trackers that
    transformers knows (trackio, wandb, tensorboard). Where a batch of mnrl does not fit into
    memory, its gradients are cached (cached-mnrl: the same loss, slower). What is in `out` is gone
    on with, unless `discard` took it away. Same arguments, same weights (on a CPU, or on GPUs of
    one kind up to kernels that have no deterministic version). On rank 0 of a `distributed.group`
    all ranks train, each on its share of every batch.

    Raises `UsageError` where `out` holds another training, model and configuration do not fit, the
    loss is no longer a finite number, or memory ran out.
    """
    where, config = pick_device(device, config.dtype), resolve(config, model)
    name = model if isinstance(model, str) else f"a model with weights {fingerprint(model)}"
    _, source = split_name(model)
    weights = folder_hash(Path(source)) if isinstance(source, str) else None
    identity = {
        "model": name,
        "weights": weights,
        "pairs": pairs.digest(),
        "config": config.model_dump(mode="json"),
        "processes": distributed.ranks(),
    }
    if claim_folder(out, identity):
        shutil.rmtree(out / _CHECKPOINTS, ignore_errors=True)  # of one that was killed as it ended
        stored = read_result(out)
        losses = [(step, loss) for step, loss in stored["losses"]]
        return TrainingRun(path=out / "model", repeated=True, losses=losses, **stored["result"])
    with quiet(), deterministic(where):
        given = model, pairs, config, out, evaluate, where, progress, identity, report_to
        try:
            try:
                return _Training(*given).run()
            except (MemoryError, RuntimeError) as error:
                alone = distributed.ranks() == 1  # others would wait for this one
                if not (alone and out_of_memory(error) and can_cache(model, config)):
                    raise
            gc.collect()
            torch.cuda.empty_cache()
            return _Training(*given, loss="cached-mnrl").run()
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise UsageError(_MEMORY.format(where, config.batch_size)) from error


def follow(task: Any) -> None:
    """Train as another rank than 0: `task` is what rank 0 announced."""
    given, last, result = task
    with quiet(), deterministic(given["device"]):
        training = _Training(
            **given, evaluate=None, progress=no_progress, identity={}, report_to=()
        )
        training.result = result
        training.fit(last)


_MEMORY = (
    "{} ran out of memory at batch_size {}. Lower batch_size, take loss cached-mnrl (its memory is "
    "that of mini_batch_size, whatever the batch), lower mini_batch_size, max_length or "
    "hard_negatives."
)


# ours: transformers' names
_SCHEDULES = {"constant": "constant_with_warmup"}
_CACHED = ", as a batch of mnrl did not fit into memory"
_CHECKPOINTS, _PROGRESS = "checkpoints", "progress.json"


def _state(checkpoint: Path) -> dict[str, Any] | None:
    """What is known of a training at a checkpoint; None for one that is not as it was written."""
    try:
        stored = read_own(checkpoint / _PROGRESS, "checksum", "files", "state")
    except UsageError:
        return None
    whole = stored["files"] == folder_hash(checkpoint, _PROGRESS)
    return dict(stored["state"]) if whole else None


class _Training:
    """One training from the state in `out` to its end."""

    def __init__(
        self,
        model: str | BaseModel,
        pairs: Pairs,
        config: TrainConfig,
        out: Path,
        evaluate: Evaluate | None,
        device: str,
        progress: Progress,
        identity: dict[str, Any],
        report_to: Sequence[str],
        loss: str | None = None,
    ) -> None:
        """`loss`: instead of the configuration's, of the same value."""
        self.given = {
            "model": model,
            "pairs": pairs,
            "config": config,
            "out": out,
            "device": device,
            "loss": loss,
        }
        self.config, self.out, self.evaluate, self.progress = config, out, evaluate, progress
        self.identity, self.pairs, self.report_to = identity, pairs, list(report_to)
        self.forced = loss is not None
        self.checkpoints = out / _CHECKPOINTS
        self.examples: TrainingExamples = prepare(pairs, config)
        self.batches, self.ends = draw_batches(self.examples.train, config, distributed.ranks())
        self.kind, source = split_name(model)
        self.model: Any
        if isinstance(source, str):
            self.model = self.kind.load(source, device, config)
        else:
            self.model = copy.deepcopy(source).to(device).float()
        reads = reading_limit(self.model)
        limit = config.max_length or reads
        if reads is not None and limit is not None:
            reads = max(reads, limit)
        self._prepare_card(pairs)
        self.sample = list(dict.fromkeys([*pairs.anchors[:ALIKE_OF], *pairs.positives[:ALIKE_OF]]))
        self.result = TrainingRun(
            out / "model",
            planned=self.ends[-1],
            loss=loss or config.loss,
            processes=distributed.ranks(),
            pairs=self.examples.pairs,
            held_out_pairs=self.examples.held_out_pairs,
            device=device,
            dtype=config.dtype,
            weights_dtype=weights_dtype(self.model),
            hard_negatives=pairs.negatives_used(config.hard_negatives),
            prompts=set_prompts(self.model, config),
            max_length={"training": limit, "saved": reads},
            cut=cut_share(self.model, pairs.positives, limit),
        )

    def run(self) -> TrainingRun:
        last = self._resume()
        result = self.result
        check_fit(self.model, self.config)
        self.kind.check(self.model, self.config)
        if last is None:
            result.note("before", 0, self.ends, self._scores(self.model, "before"))
        self._start(last is None)
        trainer = self.fit(last)
        result.best_step = result.best()
        if result.best_step != trainer.state.global_step:
            best = self.checkpoints / f"checkpoint-{result.best_step}"
            trainer._load_from_checkpoint(str(best))
        return self._save(trainer)

    def fit(self, last: Path | None) -> BatchTrainer:
        """Train from the checkpoint `last`, or from the start, to the end."""
        result = self.result
        unfinished = last is None or not self._over()
        if unfinished and distributed.rank() == 0:
            distributed.announce((self.given, last, result))
        add_head(self.model, self.config)
        if self.config.gradient_checkpointing:
            keep_few_activations(self.model)
        add_adapters(self.model, self.config)
        self._read("training")
        trainer = self._trainer()
        if unfinished:
            set_seed(self.config.seed + distributed.rank())  # each drops out others
            with products_dtype(self.model) as seen:
                trainer.train(resume_from_checkpoint=str(last) if last else None)
            if self.config.dtype != "tf32":  # which are float32 to all that can be seen
                result.dtype = " and ".join(sorted(seen)) or result.dtype
        return trainer

    def _start(self, scored: bool) -> None:
        """Weight the token vectors by idf, and take that back where training starts elsewhere."""
        first = self.model[0]
        if not isinstance(first, StaticEmbedding):
            return
        plain = first.embedding.weight.detach().clone()
        counted = weight_by_idf(self.model, self.pairs)
        if scored and self.evaluate is not None:
            self.result.note("idf", 0, self.ends, self._scores(self.model, "idf"))
        if self.config.init == "idf":
            self.result.start = counted
        else:
            with torch.no_grad():
                first.embedding.weight.copy_(plain)

    def _read(self, when: str) -> None:
        """Let the model read as much of a text as in "training" or as "saved"."""
        if self.config.max_length is not None:
            limit_reading(self.model, self.result.max_length[when])

    def _prepare_card(self, pairs: Pairs) -> None:
        """Give the model card its examples; it would draw some, and ask the Hub for the base."""
        card = self.model.model_card_data
        card.local_files_only = True
        card.generate_widget_examples = False
        texts = list(dict.fromkeys(pairs.positives[:50]))[:3]
        example: dict[str, Any] = {"source_sentence": pairs.anchors[0], "sentences": texts}
        card.widget = [example]
        card.usage_examples = self.kind.usage(pairs.anchors[0], texts)

    def step_done(self, step: int, control: Any) -> None:
        """After an optimizer step: report, and ask for the loss and a checkpoint where due."""
        self.result.steps = step
        self.progress("train", step, self.result.planned)
        due = self._is_evaluated(step)
        control.should_log = due or step % math.ceil(self.result.planned / _LOSS_POINTS) == 0
        control.should_save = due

    def loss_read(self, step: int, loss: float) -> None:
        """The mean training loss since it was read last."""
        if not math.isfinite(loss):
            raise UsageError(
                f"the training loss is {loss} at step {step:,}. Lower learning_rate (now "
                f"{self.config.learning_rate:g}), or raise temperature or warmup_ratio."
            )
        self.result.losses.append((step, loss))

    def checkpoint_written(self, trainer: BatchTrainer, step: int, control: Any) -> None:
        """Evaluate, say so beside the checkpoint, and drop the checkpoints nobody needs."""
        self._stop_clock()
        distributed.wait_for_all()  # who write their random states into the checkpoint
        with same_random_state():
            held_out = None
            if self.examples.held_out is not None:
                held_out = float(trainer.evaluate()["eval_loss"])
            # at the last step the saved model is scored, which may be these weights
            last = step == self.result.planned
            self._read("saved")
            scores = {} if last else self._scores(self.model, "during")
            self._read("training")
            self.result.note("during", step, self.ends, scores, held_out)
        if distributed.rank() == 0:
            self._write_progress(step)
            kept = {self.result.best(), step}
            for path in self.checkpoints.glob("checkpoint-*"):
                if int(path.name.rpartition("-")[2]) not in kept:
                    shutil.rmtree(path)
        control.should_training_stop = control.should_training_stop or self._over()
        self.started = time.monotonic()

    def _is_evaluated(self, step: int) -> bool:
        every = self.config.eval_every
        return step == self.result.planned or (step % every == 0 if every else step in self.ends)

    def _over(self) -> bool:
        """Whether nothing is left to train: all steps done, or no progress on what is held out."""
        result = self.result
        last = int(result.evaluated()[-1]["step"])
        return last == result.planned or 0 < self.config.early_stop <= result.waited()

    def _scores(self, model: BaseModel, when: str) -> Mapping[str, float]:
        if self.evaluate is None:
            return {}
        model.eval()
        return self.evaluate(model, when)

    def _stop_clock(self) -> None:
        self.result.seconds += time.monotonic() - self.started
        self.started = time.monotonic()

    def _write_progress(self, step: int) -> None:
        state = asdict(self.result) | {"path": None}
        folder = self.checkpoints / f"checkpoint-{step}"
        files = folder_hash(folder, _PROGRESS)
        write_own(folder / _PROGRESS, {"files": files, "state": state})

    def _resume(self) -> Path | None:
        """The last checkpoint that is whole, as is the best one so far; the others are removed."""
        folders = {
            int(path.name.rpartition("-")[2]): path
            for path in self.checkpoints.glob("checkpoint-*")
        }
        states = {step: _state(path) for step, path in folders.items()}
        kept: set[int] = set()
        last = None
        for step, state in sorted(states.items(), reverse=True):
            if state is None:
                continue
            names = ["history", "seconds", "steps", "dtype"]
            if not self.forced:
                names.append("loss")
            losses = [(at, loss) for at, loss in state["losses"]]
            result = replace(self.result, losses=losses, **{name: state[name] for name in names})
            if states.get(result.best()) is not None:
                self.result, last, kept = result, folders[step], {step, result.best()}
                break
        for step in folders.keys() - kept:
            shutil.rmtree(folders[step])
        return last

    def _trainer(self) -> BatchTrainer:
        config = self.config
        arguments = self.kind.arguments(
            output_dir=str(self.checkpoints),
            num_train_epochs=1,  # the list of batches holds all epochs
            per_device_train_batch_size=max(map(len, self.batches)),
            gradient_accumulation_steps=config.accumulate,
            learning_rate=float(config.learning_rate or 0.0),  # resolved
            weight_decay=config.weight_decay,
            lr_scheduler_type=_SCHEDULES.get(config.schedule, config.schedule),
            warmup_steps=config.warmup_ratio,  # below 1 it is a share
            seed=config.seed,
            bf16=config.dtype == "bf16",  # products by autocast, weights stay as they are
            prompts=self._prompts(),
            tf32=True if config.dtype == "tf32" else None,
            use_cpu=self.result.device == "cpu",
            dataloader_pin_memory=self.result.device == "cuda",
            run_name=self.out.resolve().name,
            logging_strategy="no",
            logging_nan_inf_filter=False,
            save_strategy="no",
            ddp_find_unused_parameters=self.kind.unused_weights,
            report_to=self.report_to,
            project="retgen",
            trackio_space_id=None,  # on this machine
            disable_tqdm=True,
        )
        arguments._n_gpu = min(arguments.n_gpu, 1)  # or it would train on all GPUs in one process
        changed = config.model_copy(update={"loss": self.result.loss})
        loss = self.kind.loss(self.model, changed, self.examples.numbers)
        trainer = self.kind.trainer(
            model=self.model,
            args=arguments,
            train_dataset=self.examples.train,
            eval_dataset=self.examples.held_out,
            loss=loss,
            callbacks=[],
        )
        trainer.adapters = config.lora is not None
        trainer.batches = self.batches
        trainer.held_out_batches = []
        if self.examples.held_out is not None:
            once = config.model_copy(update={"epochs": 1, "max_steps": None})
            held_out = self.examples.held_out
            trainer.held_out_batches = draw_batches(held_out, once, distributed.ranks())[0]
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(_Watch(self, trainer))
        self.started = time.monotonic()
        return trainer

    def _prompts(self) -> dict[str, str]:
        """What stands before the texts of each column."""
        columns = [name for name in self.examples.train.column_names if name != "label"]
        prompts = self.result.prompts
        result = {c: prompts["query" if c == "anchor" else "document"] for c in columns}
        return {column: prompt for column, prompt in result.items() if prompt}

    def _save(self, trainer: BatchTrainer) -> TrainingRun:
        result, best = self.result, self.result.best_step
        partial = self.out / ".model.partial"
        shutil.rmtree(partial, ignore_errors=True)
        card = self.model.model_card_data
        card.non_default_hyperparameters = card.all_hyperparameters = {}  # ours are in our section
        card.training_logs = []
        self.model.eval()
        merge_adapters(self.model, self.config)
        self._read("saved")
        with saving(partial):
            self.model.save_pretrained(str(partial))
        # scored as it will be loaded
        saved = self.kind.load(str(partial), result.device, self.config)
        result.note("after", best, self.ends, self._scores(saved, "after"))
        taken = self.batches[: result.steps * self.config.accumulate]
        batches = [{self.examples.of_pair[row] for row in batch} for batch in taken]
        result.seen = len(set().union(*batches))
        # a sparse encoder's loss holds its regulariser too
        sizes = batch_sizes(self.batches, self.config) if self.kind.prefix != "sparse" else []
        failure = self.kind.failure(saved, self.sample)
        found = collapse(result, self.config, sizes, failure, self.kind.compared)
        cause = few_to_compare(result, self.config, self.pairs, batches)
        result.collapse = f"{cause}; {found}" if cause and failure else cause or found
        read = {name: "all" if n is None else f"{n:,}" for name, n in result.max_length.items()}
        facts = {
            "start": result.start or "the base model as it is",
            "pairs": f"{result.pairs_seen()}, and {result.held_out_pairs:,} held out",
            "loss": result.loss + (_CACHED if result.loss != self.config.loss else ""),
            "steps": f"{result.steps:,} of {result.planned:,}, saved is step {best:,}",
            "hard negatives a pair": f"{result.hard_negatives:,}",
            "tokens read per text": f"{read['training']} in training, {read['saved']} as saved",
            "device": f"{result.devices()}, weights {result.weights_dtype}, products "
            f"{result.dtype}",
        }
        scores = {when: result.scores(when) for when in ("before", "idf", "after")}
        extend_card(partial, self.identity, self.pairs.origin, scores, facts)
        shutil.rmtree(result.path, ignore_errors=True)
        partial.replace(result.path)
        stored = {k: v for k, v in asdict(result).items() if k not in ("path", "repeated")}
        losses = stored.pop("losses")
        content = {**self.identity, "origin": self.pairs.origin, "files": result_files(self.out)}
        write_own(self.out / "training.json", {**content, "result": stored, "losses": losses})
        shutil.rmtree(self.checkpoints)
        return result


class _Watch(TrainerCallback):
    """Passes the trainer's events on."""

    def __init__(self, training: _Training, trainer: BatchTrainer) -> None:
        self.training, self.trainer = training, trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.training.step_done(state.global_step, control)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        logs = kwargs["logs"]
        if "loss" in logs:
            self.training.loss_read(state.global_step, float(logs["loss"]))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.training.checkpoint_written(self.trainer, state.global_step, control)
