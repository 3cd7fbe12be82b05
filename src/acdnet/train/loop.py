"""The training loop: optimiser steps, moving average, checkpoints, validation, and the finished model with its card."""

from __future__ import annotations

import copy
import math
import time
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from acdnet.data.pairs import check_apart, marks, open_pairs
from acdnet.errors import ConfigError, InputRefused, TrainingStopped
from acdnet.fast.malloc import keep_freed_memory
from acdnet.files import locked
from acdnet.model.residual import channels_last
from acdnet.train.batches import Batches
from acdnet.train.batchnorm import synchronised
from acdnet.train.build import check_first, load_weights, make_model, make_task, set_up
from acdnet.train.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint
from acdnet.train.config import TrainConfig, from_dict
from acdnet.train.ema import Average
from acdnet.train.launch import asked_to_stop, make_fabric
from acdnet.train.log import Log
from acdnet.train.muon import Muon
from acdnet.train.provenance import describe_training
from acdnet.train.schedule import rate
from acdnet.train.tasks.task import Batch, Examples, Task, Terms
from acdnet.weights.card import Card, Training
from acdnet.weights.networks import Network
from acdnet.weights.save import save_model

CALIBRATION_SEED = 10**6
"""Batches that recalibrate batch normalisation are drawn with another seed than those of training."""
COLD_STEPS, TIMED_STEPS = 3, 8
"""The speed that converts minutes to patches is measured between these steps; the first ones are slower."""

MAY_CHANGE = ("patches", "minutes")
"""Training settings that may change when a run is resumed."""


class WithLoss(nn.Module):
    """The network and its loss as one module, as distributed training needs it."""

    def __init__(self, network: nn.Module, task: Task, config: TrainConfig) -> None:
        super().__init__()
        self.network, self.task, self.config = network, task, config

    def forward(self, *batch: Any) -> Terms:
        return self.task.loss(self.network, batch, self.config)


class Trainer:
    """A run: model, optimiser, average and progress."""

    def __init__(self, config: TrainConfig, fabric: Any) -> None:
        config.check()
        config = config.shared_by(fabric.world_size)
        self.config, self.fabric = config, fabric
        self.folder = Path(config.run.folder)
        self.train = [open_pairs(Path(folder), config.data.train_splits) for folder in config.data.train]
        self.val = [open_pairs(Path(folder), config.data.val_splits) for folder in config.data.val]
        check_apart(self.train, self.val)
        if fabric.is_global_zero:
            for pairs in (*self.train, *self.val):
                pairs.verify()
        torch.manual_seed(config.training.seed)
        self.task = make_task(config.model.network())
        self.task.check(config, fabric.world_size)
        check_first(config.model.network(), (*self.train, *self.val))
        model, self.before = make_model(config)
        if self.before and not set(self.before.patients).isdisjoint(marks(self.val)):
            raise InputRefused(f"model.start_from: {config.model.start_from} was trained on patients of data.val")
        self.raw: Network = synchronised(channels_last(model))
        set_up(self.raw, config)
        t = config.training
        kind = Muon if t.optimiser == "muon" else torch.optim.Adam
        optimiser = kind(self.raw.parameters(), lr=t.rate, betas=(t.beta1, t.beta2))
        self.model, self.optimiser = fabric.setup(WithLoss(self.raw, self.task, config), optimiser)
        self.average = Average(self.raw, t.average)  # on the device that the model was moved to
        self.step = 0
        self.seconds = 0.0
        self.total = -(-t.patches // t.batch) if t.patches else 0
        """Steps of the whole run; 0 until minutes have been converted to steps."""

    # state -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the complete state: a resumed run equals one that was never interrupted."""
        return {
            "config": self.config.to_dict(),
            "data": self.data_identity(),
            "step": self.step,
            "total": self.total,
            "seconds": self.seconds,
            "before": self.before and asdict(self.before),
            "model": self.raw.state_dict(),
            "average": self.average.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "rng": torch.get_rng_state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore a run from its state; refuse other data, another network and other training settings."""
        if state["data"] != self.data_identity():
            raise InputRefused(f"{self.folder}: the run was started with other training data")
        before, now = from_dict(state["config"]), self.config
        if before.model.network() != now.model.network():
            raise ConfigError(f"{self.folder}: the run was started with another network")
        for name in (name for name in asdict(now.training) if name not in MAY_CHANGE):
            if (was := getattr(before.training, name)) != (wanted := getattr(now.training, name)):
                raise ConfigError(f"{self.folder}: training.{name} was {was!r} so far, not {wanted!r}; keep it")
        earlier = state.get("before")  # the file of model.start_from may have changed since
        self.before = Training(**earlier) if earlier else self.before
        load_weights(self.raw, state["model"], self.folder)
        self.average.model.load_state_dict(state["average"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds = int(state["step"]), float(state["seconds"])
        self.total = self.total or int(state["total"])
        torch.set_rng_state(state["rng"])

    def data_identity(self) -> list[str]:
        """Return the hashes of the training data."""
        return [pairs.identity for pairs in self.train]

    def save(self) -> None:
        """Write a checkpoint from the first process."""
        if self.fabric.is_global_zero:
            save_checkpoint(self.folder, self.state())
        self.fabric.barrier()

    # work --------------------------------------------------------------------------------------------------------

    def run(self) -> Card | None:
        """Train to the end; return the card of the model, or None in all processes but the first."""
        t, run = self.config.training, self.config.run
        examples = self.task.examples(self.train, self.config, t.seed, t.hard_patch_share)
        batches = self.batches(examples, self.step)
        began = saved = scored = time.monotonic()
        before, first, warm, end = self.seconds, self.step, 0.0, 0
        with (
            Log(self.folder, self.total * t.batch, self.step * t.batch, self.step, self.fabric.is_global_zero) as log,
            asked_to_stop() as asked,
        ):
            for batch in batches:
                if self.total and self.step >= self.total:
                    break
                loss = self.learn(batch)
                self.step += 1
                now = time.monotonic()
                self.seconds = before + now - began
                if self.step == first + COLD_STEPS:
                    warm = self.seconds
                elif self.step == first + TIMED_STEPS and t.minutes:
                    speed = (TIMED_STEPS - COLD_STEPS) / (self.seconds - warm)
                    end = self.step + round(speed * max(0.0, 60 * t.minutes - self.seconds))
                save = now - saved > 60 * run.checkpoint_minutes
                score = bool(self.val) and now - scored > 60 * run.validate_minutes
                stop, end, save, score = self._agree(max(asked, default=0), end, save, score)
                if not self.total and end:
                    self.total = max(self.step, end)
                    log.total = self.total * t.batch
                if self.step % run.log_steps == 0 or self.step == self.total:
                    speed = (self.step - first) * t.batch / max(now - began, 1e-9)
                    log.step(self.step * t.batch, self._values(loss, speed, batches.waited / max(now - began, 1e-9)))
                if stop:
                    self.save()
                    raise TrainingStopped(f"stopped at step {self.step} on request; continue with --resume", stop)
                if save:
                    self.save()
                    saved = time.monotonic()
                if score:
                    self._score(log)
                    scored = time.monotonic()
            batches.close()
            self.save()
            return self._finish(log)

    def batches(self, examples: Examples, first: int = 0) -> Batches:
        """Return the batches of this process, starting at step `first`."""
        ranks = {"rank": self.fabric.global_rank, "ranks": self.fabric.world_size, "loaders": self.config.run.loaders}
        return Batches(examples, self.task.collate, self.config.training.batch, first, **ranks)

    def _agree(self, stop: int, end: int, save: bool, score: bool) -> tuple[int, int, bool, bool]:
        """Make all processes decide alike: any of them may stop the run, the clock of the first decides the rest."""
        if self.fabric.world_size == 1:
            return stop, end, save, score
        mine = [stop, end, save, score] if self.fabric.is_global_zero else [stop, 0, 0, 0]
        wishes = torch.tensor(mine, dtype=torch.int64, device=self.fabric.device)
        torch.distributed.all_reduce(wishes, torch.distributed.ReduceOp.MAX)
        stop, end, save_, score_ = (int(wish) for wish in wishes)
        return stop, end, bool(save_), bool(score_)

    def _score(self, log: Log) -> None:
        """Recalibrate in all processes, then score the model in the first."""
        model = self.calibrated()
        if self.fabric.is_global_zero:
            log.scores(self.step, self.task.validate(cast(Network, model), self.val, self.config.data.val_pairs))
        self.fabric.barrier()

    def learn(self, batch: Batch) -> Terms:
        """Take one step; stop if the loss or its gradient is not finite."""
        t = self.config.training
        for group in self.optimiser.param_groups:
            group["lr"] = rate(t, (self.step + 1) / self.total if self.total else 0.02 * t.warm_up)
        loss: Terms = self.model(*self.task.to(batch, self.fabric.device))
        self.optimiser.zero_grad(set_to_none=True)
        total = loss.total
        self.fabric.backward(total)
        if not math.isfinite(total.item()):
            raise TrainingStopped(f"the loss is {total.item()} at step {self.step}; the last checkpoint is intact", 1)
        norm = torch.nn.utils.clip_grad_norm_(self.raw.parameters(), t.clip or math.inf)
        if not math.isfinite(float(norm)):
            raise TrainingStopped(f"the gradient is not finite at step {self.step}; the last checkpoint is intact", 1)
        self.optimiser.step()
        self.average.update(self.raw, self.step)
        return loss

    def calibrated(self) -> nn.Module:
        """Return the averaged model with recalibrated batch normalisation; all processes take part."""
        if self.config.training.fixed_norms:
            return copy.deepcopy(self.average.model).eval()
        seed = self.config.training.seed + CALIBRATION_SEED
        batches = self.batches(self.task.examples(self.train, self.config, seed, hard_patch_share=0.0))
        some = (self.task.to(batch, self.fabric.device) for batch in islice(batches, self.task.calibration))
        model = self.average.calibrated(self.task.inputs(batch) for batch in some)
        batches.close()
        return model

    def _values(self, loss: Terms, speed: float, waiting: float) -> dict[str, float]:
        t = self.config.training
        return {
            "step": self.step,
            "patches": self.step * t.batch,
            "seconds": round(self.seconds, 1),
            "loss": loss.total.item(),
            **loss.items(),
            "rate": self.optimiser.param_groups[0]["lr"],
            "patches a second": speed,
            "waiting": waiting,
        }

    def _finish(self, log: Log) -> Card | None:
        model = cast(Network, self.calibrated().cpu())
        card = self._publish(model, log) if self.fabric.is_global_zero else None
        self.fabric.barrier()
        return card

    def _publish(self, model: Network, log: Log) -> Card:
        scores = self.task.validate(model, self.val, self.config.data.val_pairs) if self.val else {}
        if scores:
            log.scores(self.step, scores)
        card = save_model(
            model,
            self.folder / "model.safetensors",
            name=self.config.name,
            summary=f"trained by acdnet train, recipe {self.config.training.recipe}",
            architecture=self.config.model.architecture,
            training=describe_training(self.train, self.config, self.task, self.step, self.seconds).after(self.before),
            scores={f"validation: {name}": value for name, value in scores.items()},
            overwrite=True,
        )
        log.say(f"model: {self.folder / 'model.safetensors'}")
        return card


def _check_start(config: TrainConfig) -> None:
    """Refuse a run without its required settings or data sets."""
    config.check()
    for folder in (*config.data.train, *config.data.val):
        if not Path(folder).is_dir():
            raise InputRefused(f"{folder}: no such folder")


def train(config: TrainConfig, resume: bool) -> Card | None:
    """Run a training from the start or from its last checkpoint."""
    keep_freed_memory()
    _check_start(config)  # before processes are started
    fabric = make_fabric(config)
    folder = Path(config.run.folder)
    if not resume and has_checkpoint(folder):
        raise InputRefused(f"{folder}: contains a run; continue it with --resume, or choose another folder")
    trainer = Trainer(config, fabric)
    if fabric.is_global_zero:
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock") if fabric.is_global_zero else nullcontext():
        if resume:
            state, problem = load_checkpoint(folder)
            if problem and fabric.is_global_zero:
                print(problem)
            trainer.load(state)
        return trainer.run()
