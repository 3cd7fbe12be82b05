"""What a run has shown its network, as the card of the model says it."""

from __future__ import annotations

from collections.abc import Sequence

from acdnet.data.pairs import PairSet, marks
from acdnet.train.config import UNSAID, TrainConfig
from acdnet.train.lessons.lesson import Lesson
from acdnet.weights.card import LONGEST_TEXT, Training


def seen(sets: Sequence[PairSet], config: TrainConfig, lesson: Lesson, step: int, seconds: float) -> Training:
    """Say it after so many steps and seconds."""
    infos = [info for found in sets for info in found.infos()]
    patients = len({info.patient for info in infos})
    names = ", ".join(sorted({found.folder.name for found in sets}))
    t = config.training
    examples = f"{step * t.batch} {lesson.called.format(patch=t.patch)}"
    changed = f", small lesions put into {t.lesions:.0%}" if t.lesions else ""
    changed += f" with weight {t.lesion_weight:g}" if t.lesions and t.lesion_weight != 1 else ""
    changed += f", artifacts made weaker in {t.faint:.0%}" if t.faint else ""
    changed += f", bone made denser or less dense in {t.bones:.0%}" if t.bones else ""
    changed += f", bone with weight {t.bone_weight:g}" if t.bone_weight != 1 else ""
    changed += ", batch normalisation fixed" if t.fixed_norms else ""
    changed += ", relative errors" if t.relative else ""
    changed += ", by Muon" if t.optimiser == "muon" else ""
    changed += f", {config.model.T} stages" if config.model.T != UNSAID else ""
    return Training(
        data=f"{len(infos)} simulated pairs of {patients} patients ({names}), {examples}{changed}",
        protocol=", ".join(sorted({found.protocol for found in sets})),
        patches_seen=step * t.batch,
        hours=round(seconds / 3600, 2),
        licences="; ".join(sorted({info.licence for info in infos if info.licence}))[:LONGEST_TEXT],
        patients=marks(sets),
    )
