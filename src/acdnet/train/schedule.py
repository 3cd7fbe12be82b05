"""The learning rate as a function of the share of the run that is done."""

from __future__ import annotations

import math

from acdnet.train.config import TrainingSettings


def rate(settings: TrainingSettings, share: float) -> float:
    """Rise linearly to the peak, then fall along a cosine, or halve at given shares."""
    if share < settings.warm_up:
        return settings.rate * share / settings.warm_up
    if settings.schedule == "steps":
        return settings.rate * 0.5 ** sum(share >= at for at in settings.halve_at)
    fallen = min(1.0, (share - settings.warm_up) / (1 - settings.warm_up))
    cosine = 0.5 * (1 + math.cos(math.pi * fallen))
    return settings.rate * (settings.final_share + (1 - settings.final_share) * cosine)
