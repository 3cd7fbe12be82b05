"""Recipes of training, and which settings are heard by which kinds of networks."""

from __future__ import annotations

from typing import Any

DUAL = ("dudonet", "dscmar", "dudonet++")
"""Networks in both domains."""

PAPER = {"warm_up": 0.0, "schedule": "steps", "clip": 0.0, "average": 0.0}
_ACDNET_PAPER = PAPER | {
    "patches": 300 * 800 * 32, "batch": 32, "rate": 2e-4, "focus": 0.0, "initial": "published", "together": 1,
    "halve_at": (50 / 300, 100 / 300, 150 / 300, 200 / 300),
}  # fmt: skip
_DUAL_PAPER = PAPER | {"patches": 120 * 1000, "batch": 1, "rate": 2e-4, "halve_at": (0.25, 0.5, 0.75)}
_CNNMAR = {"focus": 0.6, "beta1": 0.9}
_DUAL = {"batch": 1, "rate": 5e-4}
RECIPES: dict[str, dict[str, dict[str, Any]]] = {
    "short": {"acdnet": {}, "cnnmar": _CNNMAR, "dudonet": _DUAL, "dscmar": _DUAL, "dudonet++": _DUAL},
    "paper": {
        "acdnet": _ACDNET_PAPER,
        "cnnmar": PAPER | _CNNMAR | {"patches": 40 * 10000, "batch": 64, "rate": 1e-3},
        **dict.fromkeys(DUAL, _DUAL_PAPER),
    },
}
"""Recipe: kind of network: settings. `paper` for ACDNet: 300 epochs of 800 batches of 32 patches, rate 2e-4 halved at
epochs 50, 100, 150, 200; for the networks in both domains: 2e-4 halved every 30 epochs of (assumed) 120; CNNMAR's
numbers are assumed but for the share of patches with strong errors. `short`: ours."""

CHOICES = {"schedule": ("cosine", "steps"), "initial": ("solver", "published"), "optimiser": ("adam", "muon")}
"""Settings that are one of a few words."""

MOST_TOGETHER = 4
"""Patches of one pair in a batch, unless more are asked for."""

FOR_SOME: dict[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys((("model", "frugal"), ("model", "bfloat16"), ("model", "awaken")), ("acdnet",)),
    **dict.fromkeys(
        (("training", name) for name in ("together", "omega", "mu", "relative", "initial", "fixed_norms")), ("acdnet",)
    ),
    **dict.fromkeys(
        (("training", name) for name in ("lesions", "lesion_weight", "faint", "bones", "bone_weight")), ("acdnet",)
    ),
    **dict.fromkeys((("training", name) for name in ("patch", "focus")), ("acdnet", "cnnmar")),
    ("data", "grid"): DUAL,
}
"""Settings that only some kinds of networks listen to."""
