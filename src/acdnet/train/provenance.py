"""The description of a training run for the card of its model."""

from __future__ import annotations

from collections.abc import Sequence

from acdnet.data.pairs import PairSet, marks
from acdnet.train.config import UNSET, TrainConfig
from acdnet.train.tasks.task import Task
from acdnet.weights.card import LONGEST_TEXT, Training


def describe_training(sets: Sequence[PairSet], config: TrainConfig, task: Task, step: int, seconds: float) -> Training:
    """Describe a run after a number of steps and seconds."""
    infos = [info for pairs in sets for info in pairs.infos()]
    patients = len({info.patient for info in infos})
    names = ", ".join(sorted({pairs.folder.name for pairs in sets}))
    t = config.training
    examples = f"{step * t.batch} {task.called.format(patch=t.patch)}"
    details = f", small lesions added to {t.lesions:.0%}" if t.lesions else ""
    details += f" with weight {t.lesion_weight:g}" if t.lesions and t.lesion_weight != 1 else ""
    details += f", artifacts scaled down in {t.artifact_scaling:.0%}" if t.artifact_scaling else ""
    details += ", batch normalisation fixed" if t.fixed_norms else ""
    details += ", relative errors" if t.relative else ""
    details += ", Muon" if t.optimiser == "muon" else ""
    details += f", {config.model.T} stages" if config.model.T != UNSET else ""
    return Training(
        data=f"{len(infos)} simulated pairs of {patients} patients ({names}), {examples}{details}",
        protocol=", ".join(sorted({pairs.protocol for pairs in sets})),
        patches_seen=step * t.batch,
        hours=round(seconds / 3600, 2),
        licences="; ".join(sorted({info.licence for info in infos if info.licence}))[:LONGEST_TEXT],
        patients=marks(sets),
    )
