"""The expected error says where the true error is."""

import numpy as np
from scipy.stats import spearmanr

import acdnet
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom


def test_expected_and_true_error_go_together() -> None:
    found = []
    for seed, site in ((1, "pelvis"), (2, "thorax")):
        phantom = make_phantom(site, 3_000_000 + seed, 256)
        implant = draw_implant(find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(seed))
        pair = acdnet.simulate(phantom.hu, implant.mask, "clinical", seed, phantom.pixel_mm, implant.metal)
        spacing = (phantom.pixel_mm, phantom.pixel_mm)
        done = acdnet.reduce(pair.corrupted, spacing, mask=implant.mask)
        assert done.expected_error_hu is not None
        body = (phantom.hu > -500) & ~implant.mask
        found.append(spearmanr(done.expected_error_hu[body], np.abs(done.hu - phantom.hu)[body]).statistic)
    assert np.mean(found) > 0.25
