"""Train the small model of the demonstration on phantoms, from nothing, and write it with its card.

    python examples/train_demo_model.py --minutes 60 --out runs/demo

It is the whole of training in one page: pairs, patches, the loss of Eq. (15), Adam with warm-up and cosine decay, a
moving average of the weights, and batch normalisation measured anew for the averaged weights. The scores in the card
are of phantoms that training never saw.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from acdnet.config import ARCHITECTURES
from acdnet.demo.phantom import SITES, make_phantom
from acdnet.demo.scan import Scan, scan
from acdnet.evaluate.metrics import window_psnr
from acdnet.model.acdnet import ACDNet
from acdnet.model.border import decompose_hu, reduced_hu, to_network
from acdnet.model.inference import InferenceACDNet
from acdnet.model.trunk import channels_last
from acdnet.train.batchnorm import recalibrate
from acdnet.train.loss import acdnet_loss
from acdnet.weights.card import Training
from acdnet.weights.save import save_model

PATCH, BATCH = 64, 8
PEAK_RATE, WARM_UP, FINAL_SHARE = 1e-3, 0.03, 0.01
AVERAGING = 0.998
CALIBRATION_BATCHES = 60
VALIDATION_SEED = 1_000_000


def make_pair(seed: int) -> Scan:
    """Scan the phantom of a seed."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    return scan(make_phantom(SITES[seed % len(SITES)], rng), rng)


def draw_batch(pairs: list[Scan], rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Cut patches out of random slices where there is something to see, flipped at random."""
    patches: list[Tensor] = []
    while len(patches) < BATCH:
        pair = pairs[rng.integers(len(pairs))]
        y, x = rng.integers(0, pair.clean.shape[0] - PATCH, 2)
        window = np.s_[y : y + PATCH, x : x + PATCH]
        if pair.clean[window].mean() < -900:
            continue
        images = [to_network(image[window])[0] for image in (pair.corrupted, pair.li, pair.clean)]
        stack = torch.stack([*images, torch.from_numpy(~pair.metal[window])[None].float()])
        flips = [axis for axis in (-2, -1) if rng.random() < 0.5]
        patches.append(stack.flip(flips) if flips else stack)
    Y, X_li, X, I = torch.stack(patches, dim=1)
    return Y, X_li, X, I


def calibrated(average: ACDNet, pairs: list[Scan]) -> ACDNet:
    """Return a copy of the averaged model with batch normalisation measured on training patches."""
    model, rng = copy.deepcopy(average), np.random.default_rng(1)
    batches = (draw_batch(pairs, rng) for _ in range(CALIBRATION_BATCHES))
    recalibrate(model, ((Y, X_li, I) for Y, X_li, _, I in batches))
    return model.eval()


def validate(model: ACDNet, pairs: list[Scan]) -> dict[str, float]:
    """Score the corrupted image, LI and the model: mean window PSNR in dB."""
    fast = InferenceACDNet(model)
    scores: dict[str, list[float]] = {"input": [], "li": [], "model": []}
    for pair in pairs:
        found = decompose_hu(fast, pair.corrupted, pair.li, pair.metal)
        reduced = reduced_hu(found, pair.corrupted, pair.metal)
        for name, image in (("input", pair.corrupted), ("li", pair.li), ("model", reduced)):
            scores[name].append(window_psnr(image, pair.clean, pair.metal))
    return {name: round(float(np.mean(values)), 2) for name, values in scores.items()}


def rate(share: float) -> float:
    """Warm up linearly, then decay along a cosine."""
    if share < WARM_UP:
        return PEAK_RATE * share / WARM_UP
    decay = 0.5 * (1 + math.cos(math.pi * min(1.0, (share - WARM_UP) / (1 - WARM_UP))))
    return PEAK_RATE * (FINAL_SHARE + (1 - FINAL_SHARE) * decay)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("runs/demo"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    with ProcessPoolExecutor(2) as pool:
        pairs = list(pool.map(make_pair, range(args.pairs)))
        held_out = list(pool.map(make_pair, range(VALIDATION_SEED, VALIDATION_SEED + 12)))

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = channels_last(ACDNet(ARCHITECTURES["acdnet-s"])).train()
    average = copy.deepcopy(model)
    optimiser = torch.optim.Adam(model.parameters(), lr=PEAK_RATE, betas=(0.5, 0.999))

    began, step, reported = time.monotonic(), 0, 0.0
    while (share := (time.monotonic() - began) / (60 * args.minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = rate(share)
        Y, X_li, X, I = draw_batch(pairs, rng)
        loss = acdnet_loss(model(Y, X_li, I), Y, X, I).total
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            for kept, new in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
                kept.lerp_(new, 1 - AVERAGING) if kept.is_floating_point() else kept.copy_(new)
        if share - reported > 0.1:
            reported = share
            scores = validate(calibrated(average, pairs), held_out)
            print(f"{100 * share:3.0f} %  step {step}  loss {loss.item():.1f}  {scores}", flush=True)

    hours = (time.monotonic() - began) / 3600
    final = calibrated(average, pairs)
    scores = validate(final, held_out)
    training = Training(
        data=f"{args.pairs} phantom slices made by formula (acdnet.demo), seeds 0 to {args.pairs - 1}",
        protocol="two-energy parallel-beam scanner of acdnet.demo.scan",
        patches_seen=step * BATCH,
        hours=round(hours, 2),
    )
    save_model(
        final,
        args.out / "demo-s.safetensors",
        name="demo-s",
        architecture="acdnet-s",
        summary="for the demonstration: trained on phantoms only, not fit for patients",
        training=training,
        scores={f"window PSNR (dB) of {name}, 12 phantoms not trained on": value for name, value in scores.items()},
    )
    print(scores)


if __name__ == "__main__":
    main()
