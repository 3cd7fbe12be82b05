"""Recipes of training, and which settings apply to which kinds of networks."""

from __future__ import annotations

from typing import Any

DUAL = ("dudonet", "dscmar", "dudonet++")
"""The dual-domain networks."""

PAPER = {"warm_up": 0.0, "schedule": "steps", "clip": 0.0, "average": 0.0}
_ACDNET_PAPER = PAPER | {
    "patches": 300 * 800 * 32, "batch": 32, "rate": 2e-4, "hard_patch_share": 0.0, "initial": "published",
    "patches_per_pair": 1, "halve_at": (50 / 300, 100 / 300, 150 / 300, 200 / 300),
}  # fmt: skip
_DUAL_PAPER = PAPER | {"patches": 120 * 1000, "batch": 1, "rate": 2e-4, "halve_at": (0.25, 0.5, 0.75)}
_CNNMAR = {"hard_patch_share": 0.6, "beta1": 0.9}
_DUAL = {"batch": 1, "rate": 5e-4}
_LOCALISER = {"batch": 4, "patch": 256, "rate": 2e-3, "beta1": 0.9}
RECIPES: dict[str, dict[str, dict[str, Any]]] = {
    "short": {
        "acdnet": {}, "cnnmar": _CNNMAR, "dudonet": _DUAL, "dscmar": _DUAL, "dudonet++": _DUAL, "localiser": _LOCALISER,
    },
    "paper": {
        "acdnet": _ACDNET_PAPER,
        "cnnmar": PAPER | _CNNMAR | {"patches": 40 * 10000, "batch": 64, "rate": 1e-3},
        **dict.fromkeys(DUAL, _DUAL_PAPER),
        "localiser": _LOCALISER,
    },
}  # fmt: skip
"""Settings by recipe and kind of network. `paper` for ACDNet: 300 epochs of 800 batches of 32 patches, rate 2e-4 halved
at epochs 50, 100, 150 and 200; for the dual-domain networks: rate 2e-4 halved every 30 of 120 epochs (their number is
assumed); for CNNMAR all values are assumed except the share of hard patches. `short` is this project's recipe."""

CHOICES = {"schedule": ("cosine", "steps"), "initial": ("solver", "published"), "optimiser": ("adam", "muon")}
"""Allowed values of settings that name a choice."""

MOST_PATCHES_PER_PAIR = 4
"""Upper limit of the automatic choice of `patches_per_pair`."""

FOR_ACDNET = (
    *("patches_per_pair", "omega", "mu", "relative", "initial", "fixed_norms"),
    *("lesions", "lesion_weight", "artifact_scaling"),
)
FOR_SOME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(FOR_ACDNET, ("acdnet",)),
    "patch": ("acdnet", "cnnmar", "localiser"),
    "bfloat16": ("acdnet", "localiser"),
    "hard_patch_share": ("acdnet", "cnnmar"),
}
"""Settings of [training] that apply to some kinds of networks only."""
