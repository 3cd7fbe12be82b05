"""Our network against the literal formulation, on the same weights, in one run: `make bench`.

Weights and images are random. Times are medians of alternating runs in one process. Peak memory is the median of three
processes of its own, above what each needed before the measured runs (program, weights, compiled kernels). The number
of operations is that of direct convolution.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.fast.inference import InferenceACDNet
from acdnet.fast.training import fold_for_training
from acdnet.model.acdnet import ACDNet
from acdnet.model.residual import channels_last
from acdnet.weights.published import read_published
from benchmarks.harness import Table, alternate, forget_peak, main, megabytes, run_python
from benchmarks.literal import LiteralACDNet

SLICE, PATCHES, PATCH = 416, 8, 64
MATRIX = 2048
ROUNDS = 7
PROCESSES = 3
TASKS = {
    "inference": f"inference, {SLICE} x {SLICE}",
    "training": f"training step, {PATCHES} x {PATCH} x {PATCH}",
}
NETWORKS = ("literal", "ours")
MEMORY = "import sys; from benchmarks.model import print_memory; print_memory(*sys.argv[1:])"
COLUMNS = ("task", "network", "seconds", "faster by", "peak memory", "of the literal's")


def same_weights() -> tuple[LiteralACDNet, ACDNet]:
    """Return the literal network with random weights, and ours from its checkpoint, as a user would import it."""
    torch.manual_seed(0)
    literal = LiteralACDNet()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(literal.state_dict(), Path(folder) / "c.pt")
        return literal, read_published(Path(folder) / "c.pt")


def images(B: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return Y, X_li and I."""
    generator = torch.Generator().manual_seed(0)
    Y, X_li, mask = torch.rand(3, B, 1, size, size, generator=generator)
    return 100 * Y, 100 * X_li, (mask > 0.01).float()


def contestant(name: str, task: str, small: bool = False) -> Callable[[], Tensor]:
    """Return what a network does for a task; `small` for warming up."""
    literal, ours = same_weights()
    if task == "inference":
        return _inference(literal if name == "literal" else ours, PATCH if small else SLICE)
    return _training_step(literal if name == "literal" else ours, 1 if small else PATCHES)


def _inference(model: LiteralACDNet | ACDNet, size: int) -> Callable[[], Tensor]:
    inputs = images(1, size)
    if isinstance(model, ACDNet):
        fast = InferenceACDNet(model)
        return lambda: fast(*inputs).image

    def run() -> Tensor:
        with torch.no_grad():
            image: Tensor = model.eval()(*inputs)[0][-1]
            return image

    return run


def _training_step(model: nn.Module, B: int) -> Callable[[], Tensor]:
    """Return one step: forward, mean squares of all images and artifacts, backward, Adam."""
    inputs = images(B, PATCH)
    if isinstance(model, ACDNet):
        fold_for_training(channels_last(model))
    optimiser = torch.optim.Adam(model.train().parameters(), lr=1e-6)

    def run() -> Tensor:
        found = model(*inputs)
        parts = (found.images, (found.image,), found.artifacts) if isinstance(model, ACDNet) else found
        outputs = [image for part in parts for image in part]
        loss = torch.stack([x.square().mean() for x in outputs]).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return run


def peak_memory(name: str, task: str) -> float:
    """Return the peak memory in MB of a network: the median of several processes of its own."""
    runs = [run_python("-c", MEMORY, name, task) for _ in range(PROCESSES)]
    return statistics.median(map(float, runs))


def print_memory(name: str, task: str) -> None:
    """Print by how much memory grows at most over three runs."""
    contestant(name, task, small=True)()
    run = contestant(name, task)
    forget_peak()
    before = megabytes("VmRSS")
    for _ in range(3):
        run()
    print(megabytes("VmHWM") - before)


def operations(config: ACDNetConfig, pixels: int) -> float:
    """Count the floating-point operations of the image networks by direct convolution."""
    channels, networks = 1 + config.N_p, config.T + 4
    return 2 * 9 * channels**2 * 2 * config.blocks * networks * pixels


def measure(rounds: int = ROUNDS) -> Table:
    """Run the whole comparison."""
    rows, seconds = [], {}
    for task, title in TASKS.items():
        seconds[task] = alternate({name: contestant(name, task) for name in NETWORKS}, rounds)
        memory = {name: peak_memory(name, task) for name in NETWORKS}
        for name, each in seconds[task].items():
            times, share = seconds[task]["literal"] / each, memory[name] / memory["literal"]
            rows.append([title, name, f"{each:.2f} s", f"{times:.2f} x", f"{memory[name]:.0f} MB", f"{share:.2f}"])
    return Table(COLUMNS, rows, notes(seconds["inference"]), texts=2)


def notes(seconds: dict[str, float]) -> list[str]:
    """Compare with the peak of the machine, and the images of both networks."""
    a = torch.rand(MATRIX, MATRIX)
    peak = 2 * MATRIX**3 / alternate({"product": lambda: a @ a}, 7)["product"]
    count = operations(ACDNetConfig(), SLICE * SLICE)
    literal, ours = (contestant(name, "inference")() for name in NETWORKS)
    start_up = alternate({"help": lambda: run_python("-m", "acdnet", "--help")}, 5)["help"]
    cpu = f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}"
    return [
        f"{cpu}; matrix-product peak {peak / 1e9:.0f} GFLOP/s, measured in the same run.",
        *(
            f"{name}: {count / 1e9:.0f} GFLOP a slice (image networks, as direct convolution), "
            f"{count / each / peak:.0%} of that peak."
            for name, each in seconds.items()
        ),
        f"Largest difference of the two final images: {(literal - ours).abs().max().item():.1e} of 255.",
        f"`acdnet --help` takes {start_up:.2f} s.",
    ]


if __name__ == "__main__":
    main(measure)
