import csv
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acdnet.errors import ConfigError, InputRefused, ResourceError, TrainingStopped
from acdnet.files import locked
from acdnet.train.checkpoint import load_checkpoint
from acdnet.train.config import TrainConfig, from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer, train
from acdnet.weights.card import Card, Training
from acdnet.weights.load import read_acdnet
from tests.data.make import small_store
from tests.train.make import same, small_config, stopped_and_resumed

WEIGHTS = ("model", "average")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("data"), 10)


@pytest.fixture(scope="module")
def whole(store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the state of a run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(small_config(store, folder), resume=False)
    return load_checkpoint(folder)[0]


def trained(config: TrainConfig, resume: bool = False) -> tuple[Card, Training]:
    """Train; return the card of the model and what it says about the training."""
    card = train(config, resume)
    assert card is not None
    assert card.training is not None
    return card, card.training


def start_from(model: Path, config: TrainConfig) -> TrainConfig:
    return replace(config, model=replace(config.model, start_from=str(model / "model.safetensors")))


def test_a_run_leaves_a_model_with_its_card(store: Path, tmp_path: Path) -> None:
    card, training = trained(small_config(store, tmp_path / "run"))
    assert training.patches_seen == 24
    assert "24 patches of 32 x 32 pixels" in training.data
    model, again = read_acdnet(tmp_path / "run/model.safetensors")
    assert again == card
    assert model.config.T == 1
    assert any("model dB" in name for name in card.scores)
    with (tmp_path / "run/log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {"image_l2", "image_l1", "artifact_l1", "waiting", "patches a second"} <= rows[0].keys()


def test_training_lowers_the_loss(store: Path, tmp_path: Path) -> None:
    trainer = Trainer(small_config(store, tmp_path, patches=800, rate=1e-2), make_fabric(small_config(store, tmp_path)))
    batch = next(trainer.batches(trainer.task.examples(trainer.train, trainer.config, 0, hard_patch_share=0.0)))
    first = trainer.learn(batch).total.item()
    for _ in range(60):
        trainer.step += 1
        last = trainer.learn(batch).total.item()
    assert last < 0.7 * first


class Killed(BaseException):
    """Simulates kill -9: nothing is saved on exit."""


@pytest.mark.parametrize("at", [1, 4])
def test_f44_killed_and_resumed_equals_never_stopped(
    store: Path, whole: dict[str, Any], tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(store, tmp_path / "run")
    learn = Trainer.learn

    def killed(self: Trainer, batch: Any) -> Any:
        if self.step == at:
            self.save()
        if self.step == at + 1:
            raise Killed
        return learn(self, batch)

    monkeypatch.setattr(Trainer, "learn", killed)
    with pytest.raises(Killed):
        train(config, resume=False)
    monkeypatch.setattr(Trainer, "learn", learn)
    with pytest.raises(InputRefused, match="--resume"):
        train(config, resume=False)
    train(config, resume=True)
    state = load_checkpoint(tmp_path / "run")[0]
    assert state["step"] == whole["step"]
    for name in WEIGHTS:
        assert same(state[name], whole[name])


def test_sigterm_saves_and_stops(
    store: Path, whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = stopped_and_resumed(small_config(store, tmp_path / "run"), monkeypatch)
    assert stopped.exit_code == 143
    for name in WEIGHTS:
        assert same(load_checkpoint(tmp_path / "run")[0][name], whole[name])


def test_f53_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_state(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(store, tmp_path / "run")
    learn = Trainer.learn

    def spoiled(self: Trainer, batch: Any) -> Any:
        if self.step == 3:
            self.save()
            Y, X_li, X, I = batch
            batch = (Y, X_li * float("nan"), X, I)
        return learn(self, batch)

    monkeypatch.setattr(Trainer, "learn", spoiled)
    with pytest.raises(TrainingStopped, match="step 3"):
        train(config, resume=False)
    state = load_checkpoint(tmp_path / "run")[0]
    assert state["step"] == 3
    assert all(value.isfinite().all() for value in state["model"].values())


def test_other_data_or_another_network_cannot_be_resumed(store: Path, tmp_path: Path) -> None:
    config = small_config(store, tmp_path / "run", patches=4)
    train(config, resume=False)
    other = small_config(small_store(tmp_path, 11, "other"), tmp_path / "run", patches=8)
    with pytest.raises(InputRefused, match="other training data"):
        train(other, resume=True)
    given = config.to_dict()
    given["model"]["N"] = 3
    with pytest.raises(ConfigError, match="another network"):
        train(from_dict(given), resume=True)


def test_settings_that_determine_the_patches_are_fixed(store: Path, tmp_path: Path) -> None:
    train(small_config(store, tmp_path / "run", patches=8), resume=False)
    with pytest.raises(ConfigError, match=r"training\.batch was 4"):
        train(small_config(store, tmp_path / "run", patches=16, batch=2), resume=True)
    for other in ({"lesions": 0.5}, {"omega": 1.0}, {"rate": 1e-5}):
        with pytest.raises(ConfigError, match=f"training.{next(iter(other))} was"):
            train(small_config(store, tmp_path / "run", patches=16, **other), resume=True)
    assert trained(small_config(store, tmp_path / "run", patches=16), resume=True)[1].patches_seen == 16


def test_f52_a_store_that_was_changed_is_refused_before_the_first_step(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    file = next((copy / "slices").iterdir())
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(InputRefused, match="hash differs"):
        train(small_config(copy, tmp_path / "run"), resume=False)
    assert not (tmp_path / "run").exists()


def test_minutes_become_patches(store: Path, tmp_path: Path) -> None:
    given = small_config(store, tmp_path / "run").to_dict()
    given["training"] |= {"patches": 0, "minutes": 0.02}
    assert trained(from_dict(given))[1].patches_seen >= 8 * 4


def test_starting_from_a_model(store: Path, tmp_path: Path) -> None:
    _, early = trained(small_config(store, tmp_path / "a", patches=4))
    _, late = trained(start_from(tmp_path / "a", small_config(store, tmp_path / "b", patches=4, rate=1e-8)))
    first, second = (read_acdnet(tmp_path / name / "model.safetensors")[0] for name in "ab")
    assert torch.allclose(first.D, second.D, atol=1e-5)
    assert (early.patches_seen, late.patches_seen) == (4, 8)
    assert late.patients == early.patients


def test_fixed_statistics_are_those_of_the_initial_model(store: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.start_from"):
        train(small_config(store, tmp_path / "unmeasured", fixed_norms=True), resume=False)
    train(small_config(store, tmp_path / "first", average=0.5), resume=False)
    train(start_from(tmp_path / "first", small_config(store, tmp_path / "fixed", fixed_norms=True, average=0.5)), False)
    before, after = (read_acdnet(tmp_path / f"{name}/model.safetensors")[0].state_dict() for name in ("first", "fixed"))
    for name, value in before.items():
        if "running" in name:
            assert torch.equal(after[name], value), name
        elif name.endswith("conv1.weight"):
            assert not torch.equal(after[name], value), name


def test_a_resumed_run_remembers_its_initial_model(store: Path, tmp_path: Path) -> None:
    train(small_config(store, tmp_path / "a", patches=4), resume=False)
    train(start_from(tmp_path / "a", small_config(store, tmp_path / "b", patches=4)), resume=False)
    train(small_config(store, tmp_path / "c", patches=8), resume=False)
    for name in ("model.safetensors", "model.json"):  # another model replaces the first
        (tmp_path / "a" / name).write_bytes((tmp_path / "c" / name).read_bytes())
    longer = start_from(tmp_path / "a", small_config(store, tmp_path / "b", patches=8))
    assert trained(longer, resume=True)[1].patches_seen == 4 + 8


def test_a_model_is_not_validated_on_patients_of_its_initial_model(store: Path, tmp_path: Path) -> None:
    train(small_config(store, tmp_path / "a", patches=4), resume=False)
    config = start_from(tmp_path / "a", small_config(store, tmp_path / "b", patches=4))
    config = replace(config, data=replace(config.data, train_splits=("val",), val_splits=("train",)))
    with pytest.raises(InputRefused, match="trained on patients of data"):
        train(config, resume=False)


TWO = """
import sys
from pathlib import Path
from acdnet.train.config import read_config
from acdnet.train.loop import train
train(read_config(Path(sys.argv[1])), resume=False)
"""


def write_toml(config: TrainConfig, path: Path) -> Path:
    lines = [f'name = "{config.name}"']
    for section, values in config.to_dict().items():
        if isinstance(values, dict):
            lines.append(f"[{section}]")
            lines += [
                f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
                for key, value in values.items()
            ]
    path.write_text("\n".join(lines))
    return path


def run_twice(script: str, config: TrainConfig, folder: Path) -> None:
    """Run a script in two processes (torchrun, gloo)."""
    (folder / "run.py").write_text(script)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "run.py", "c.toml"]
    write_toml(config, folder / "c.toml")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_two_processes_train_as_one(store: Path, whole: dict[str, Any], tmp_path: Path) -> None:
    """The same global batch, with batch normalisation over both processes."""
    given = small_config(store, tmp_path / "run")
    often = replace(given, run=replace(given.run, checkpoint_minutes=0.0, validate_minutes=0.1))  # while both train
    run_twice(TWO, often, tmp_path)
    state = load_checkpoint(tmp_path / "run")[0]
    assert state["step"] == whole["step"]
    for key, value in whole["model"].items():
        scale = max(1.0, float(value.float().abs().max()))
        assert torch.allclose(state["model"][key].float(), value.float(), atol=2e-4 * scale), key


FAULTS = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
import torch
from acdnet.errors import TrainingStopped
from acdnet.train.config import from_dict, read_config
from acdnet.train.loop import Trainer, train

config, folder = read_config(Path(sys.argv[1])), Path.cwd()
learn, rank = Trainer.learn, int(os.environ["RANK"])

def run(name, fault, **training):
    given = config.to_dict()
    given["training"] |= training
    given["run"]["folder"] = str(folder / name)
    Trainer.learn = lambda self, batch: learn(self, fault(self.step, batch))
    try:
        train(from_dict(given), resume=False)
        end = "finished"
    except TrainingStopped as stopped:
        end = str(stopped)
    (folder / f"{name}-{rank}.txt").write_text(end)

def asked(step, batch):
    if step == 2 and rank == 1:
        os.kill(os.getpid(), signal.SIGTERM)
    return batch

def spoiled(step, batch):
    Y, X_li, X, I = batch
    return (Y, X_li * float("nan"), X, I) if step == 3 and rank == 1 else batch

run("minutes", lambda step, batch: batch, patches=0, minutes=0.02)
run("sigterm", asked)
run("nan", spoiled)
"""


@pytest.mark.slow
def test_two_processes_stop_together(store: Path, tmp_path: Path) -> None:
    """One process receives a signal, gets NaN, or measures the speed: both stop at the same step."""
    run_twice(FAULTS, small_config(store, tmp_path / "none"), tmp_path)
    ends = {name: {(tmp_path / f"{name}-{rank}.txt").read_text() for rank in (0, 1)} for name in ("minutes", "sigterm")}
    assert ends["minutes"] == {"finished"}
    assert ends["sigterm"] == {"stopped at step 3 on request; continue with --resume"}
    assert load_checkpoint(tmp_path / "sigterm")[0]["step"] == 3
    for rank in (0, 1):
        assert "at step 3" in (tmp_path / f"nan-{rank}.txt").read_text()


def test_log_rows_of_repeated_steps_are_dropped(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(small_config(store, folder, patches=8), resume=False)
    with (folder / "log.csv").open("a") as file:
        file.write("3,12,1.0\n4,16")  # steps after the checkpoint, the last one cut off
    train(small_config(store, folder, patches=16), resume=True)
    with (folder / "log.csv").open() as file:
        assert [int(row["step"]) for row in csv.DictReader(file)] == [1, 2, 3, 4]


def test_f44_two_runs_cannot_share_a_folder(store: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with locked(tmp_path / "run/.lock"), pytest.raises(ResourceError, match="another process"):
        train(small_config(store, tmp_path / "run"), resume=False)


@pytest.mark.slow
def test_a_killed_process_leaves_a_whole_checkpoint(store: Path, tmp_path: Path) -> None:
    given = small_config(store, tmp_path / "run", patches=100_000)
    config = write_toml(given, tmp_path / "c.toml")
    command = [sys.executable, "-m", "acdnet", "train", str(config), "--set", "run.checkpoint_minutes=0.001"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not (tmp_path / "run/previous.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    state, _ = load_checkpoint(tmp_path / "run")
    assert state["step"] > 0
