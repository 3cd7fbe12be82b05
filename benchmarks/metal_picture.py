"""Draw what is taken for metal and what is not, on phantoms: the picture of docs/metal.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from acdnet.cli.demonstration.pictures import around_body
from acdnet.data import lookalikes
from acdnet.figures import INK, caption, new_figure, save, show
from acdnet.methods.metal import Segmentation, find_metal
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import Phantom, make_phantom
from acdnet.physics.simulate import simulate
from acdnet.units import Image

SOFT_HU, BONE_HU = (-200.0, 300.0), (0.0, 3000.0)
FINDERS = {
    "threshold of the paper": Segmentation("threshold"),
    "grown from seeds": Segmentation("grown"),
    "localiser": Segmentation(),
}
CAPTION = caption(
    f"windows {SOFT_HU[0]:.0f} to {SOFT_HU[1]:.0f} and {BONE_HU[0]:.0f} to {BONE_HU[1]:.0f} HU · phantoms"
)


def cases() -> list[tuple[str, Image, float]]:
    """Return slices with what is in them, and their pixel size."""
    head, chest, hip = (make_phantom(site, seed) for site, seed in (("head", 11), ("thorax", 12), ("pelvis", 13)))
    rng = np.random.default_rng(5)
    dense = lookalikes.sharpen(lookalikes.densify(head.hu, rng), head.pixel_mm, rng)
    teeth = lookalikes.compress(dense, lookalikes.ENAMEL_HU[1])
    vessels = lookalikes.ceiling(lookalikes.contrast(chest.hu, chest.pixel_mm, np.random.default_rng(21)))
    return [
        ("dense enamel, sharp kernel", teeth, head.pixel_mm),
        ("contrast medium", vessels, chest.pixel_mm),
        ("fillings, 12 bits", lookalikes.ceiling(_with_metal(head, "fillings")), head.pixel_mm),
        ("hip prosthesis", _with_metal(hip, "hip-stem"), hip.pixel_mm),
    ]


def _with_metal(phantom: Phantom, kind: str) -> Image:
    implant = draw_implant(find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(3), (kind,))
    return simulate(phantom.hu, implant.mask, "clinical", 1, phantom.pixel_mm, implant.metal).corrupted


def draw(path: Path) -> None:
    """Draw one row per slice: two windows, and what every method marks."""
    rows = cases()
    figure = new_figure(2.6 * (2 + len(FINDERS)), 2.6 * len(rows) + 0.5)
    for row, (title, hu, mm) in enumerate(rows):
        nothing = np.zeros(hu.shape, bool)
        shown = around_body(hu)
        pictures = [("soft tissue", hu, nothing, SOFT_HU), ("bone", hu, nothing, BONE_HU)]
        pictures += [(name, hu, find_metal(hu, (mm, mm), how), BONE_HU) for name, how in FINDERS.items()]
        for column, (name, image, metal, window) in enumerate(pictures):
            axes = figure.add_subplot(len(rows), len(pictures), row * len(pictures) + column + 1)
            show(axes, image[shown], metal[shown], *window)
            if row == 0:
                axes.set_title(name, color=INK, fontsize=12)
            if column == 0:
                axes.set_ylabel(title, color=INK, fontsize=11)
    save(figure, path, CAPTION)


if __name__ == "__main__":
    from benchmarks.readme import PICTURES

    draw(PICTURES / "metal.png")
