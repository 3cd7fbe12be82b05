from pathlib import Path

import pytest
import torch

from acdnet.errors import InputRefused
from acdnet.train.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    assert not has_checkpoint(tmp_path)
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, {"step": step, "w": torch.ones(3)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]
    state, problem = load_checkpoint(tmp_path)
    assert state["step"] == 3
    assert problem is None


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_f46_a_damaged_one_is_replaced_by_the_one_before(tmp_path: Path, damage: bytes | None) -> None:
    for step in (1, 2):
        save_checkpoint(tmp_path, {"step": step, "w": torch.ones(1000)})
    data = (tmp_path / "last.ckpt").read_bytes()
    (tmp_path / "last.ckpt").write_bytes(data[: len(data) // 2] if damage is None else damage)
    state, problem = load_checkpoint(tmp_path)
    assert state["step"] == 1
    assert problem is not None
    assert "previous.ckpt" in problem


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="nothing to resume"):
        load_checkpoint(tmp_path)
    (tmp_path / "last.ckpt").write_bytes(b"rubbish")
    with pytest.raises(InputRefused, match="all checkpoints are damaged"):
        load_checkpoint(tmp_path)


def test_a_damaged_one_does_not_push_out_a_whole_one(tmp_path: Path) -> None:
    for step in (1, 2):
        save_checkpoint(tmp_path, {"step": step})
    (tmp_path / "last.ckpt").write_bytes(b"rubbish")
    save_checkpoint(tmp_path, {"step": 3})
    (tmp_path / "last.ckpt").write_bytes(b"rubbish")
    assert load_checkpoint(tmp_path)[0]["step"] == 1


def test_a_kill_before_the_last_rename_loses_nothing(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, {"step": 1})
    (tmp_path / "last.ckpt").rename(tmp_path / "new.ckpt")
    assert load_checkpoint(tmp_path)[0]["step"] == 1
    save_checkpoint(tmp_path, {"step": 2})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt"]
