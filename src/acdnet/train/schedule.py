"""The learning rate as a function of the completed share of the run."""

from __future__ import annotations

import math

from acdnet.train.config import TrainingSettings


def rate(settings: TrainingSettings, share: float) -> float:
    """Return the rate: a linear rise to the peak, then a cosine or halving at given shares."""
    if share < settings.warm_up:
        return settings.rate * share / settings.warm_up
    if settings.schedule == "steps":
        return settings.rate * 0.5 ** sum(share >= at for at in settings.halve_at)
    progress = min(1.0, (share - settings.warm_up) / (1 - settings.warm_up))
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return settings.rate * (settings.final_share + (1 - settings.final_share) * cosine)
