"""Our network against the literal formulation, on the same weights, in one run: `make bench`.

Weights and images are random. Times are medians of alternating runs in one process. Peak memory is the median of three
processes of its own, above what each needed before the measured runs (program, weights, compiled kernels). The number
of operations is that of direct convolution.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.fast.inference import InferenceACDNet
from acdnet.model.acdnet import ACDNet
from acdnet.model.residual import Trunk, channels_last
from acdnet.weights.published import read_published
from benchmarks.literal import LiteralACDNet

ROOT = Path(__file__).parents[1]
SLICE, PATCHES, PATCH = 416, 8, 64
MATRIX = 2048
ROUNDS = 7
PROCESSES = 3


CONTESTANTS = {"inference": ["literal", "ours"], "training": ["literal", "ours", "frugal", "bfloat16"]}
TITLES = {
    "inference": f"inference, {SLICE} x {SLICE}",
    "training": f"training step, {PATCHES} x {PATCH} x {PATCH}",
}
COLUMNS = ("task", "network", "seconds", "faster by", "peak memory", "of the literal's")


@dataclass(frozen=True)
class Row:
    """One contestant at one task."""

    task: str
    network: str
    seconds: float
    faster: float
    megabytes: float
    share: float

    def cells(self) -> tuple[str, ...]:
        numbers = f"{self.seconds:.2f} s", f"{self.faster:.2f} x", f"{self.megabytes:.0f} MB", f"{self.share:.2f}"
        return TITLES[self.task], self.network, *numbers


@dataclass(frozen=True)
class Report:
    """All that was measured."""

    machine: str
    rows: list[Row]
    difference: float
    peak: float
    operations: float
    shares: dict[str, float]
    start_up: float


def same_weights() -> tuple[LiteralACDNet, ACDNet]:
    """Build the literal network with random weights, and ours from its checkpoint, as a user would import it."""
    torch.manual_seed(0)
    literal = LiteralACDNet()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(literal.state_dict(), Path(folder) / "c.pt")
        return literal, read_published(Path(folder) / "c.pt")


def images(B: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    Y, X_li, mask = torch.rand(3, B, 1, size, size, generator=generator)
    return 100 * Y, 100 * X_li, (mask > 0.01).float()


def literal_inference(model: LiteralACDNet, size: int) -> Callable[[], Tensor]:
    inputs = images(1, size)

    def run() -> Tensor:
        with torch.no_grad():
            image: Tensor = model.eval()(*inputs)[0][-1]
            return image

    return run


def our_inference(model: ACDNet, size: int) -> Callable[[], Tensor]:
    inputs, fast = images(1, size), InferenceACDNet(model)
    return lambda: fast(*inputs).image


def training_step(model: nn.Module, outputs: Callable[..., list[Tensor]], B: int) -> Callable[[], Tensor]:
    """Return one step: forward, mean squares of all images and artifacts, backward, Adam."""
    inputs = images(B, PATCH)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-6)

    def run() -> Tensor:
        loss = torch.stack([x.square().mean() for x in outputs(*inputs)]).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return run


def literal_step(model: LiteralACDNet, B: int) -> Callable[[], Tensor]:
    model.train()

    def outputs(*inputs: Tensor) -> list[Tensor]:
        found, artifacts = model(*inputs)
        return [*found, *artifacts]

    return training_step(model, outputs, B)


def our_step(model: ACDNet, B: int, how: str) -> Callable[[], Tensor]:
    channels_last(model).train()
    for module in model.modules():
        if isinstance(module, Trunk):
            module.frugal, module.short = how == "frugal", how == "bfloat16"

    def outputs(*inputs: Tensor) -> list[Tensor]:
        r = model(*inputs)
        return [*r.images, r.image, *r.artifacts]

    return training_step(model, outputs, B)


def contestant(name: str, task: str, small: bool = False) -> Callable[[], Tensor]:
    """Return what a contestant does for a task; `small` for warming up."""
    literal, ours = same_weights()
    if task == "inference":
        size = PATCH if small else SLICE
        return literal_inference(literal, size) if name == "literal" else our_inference(ours, size)
    B = 1 if small else PATCHES
    return literal_step(literal, B) if name == "literal" else our_step(ours, B, name)


def alternate(runs: dict[str, Callable[[], Tensor]], rounds: int) -> dict[str, float]:
    """Run the contestants in turn and return the median time of each in seconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(rounds + 1):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            if round_:  # the first round warms up
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def peak_memory(name: str, task: str) -> float:
    """Return the peak memory in MB of a contestant: the median of several processes of its own."""
    command = [sys.executable, "-m", "benchmarks.model", "--memory", name, task]
    runs = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True) for _ in range(PROCESSES)]
    return statistics.median(float(run.stdout) for run in runs)


def measure_memory(name: str, task: str) -> None:
    """Print by how much memory grows at most over three runs (this is the process of its own)."""
    contestant(name, task, small=True)()
    run = contestant(name, task)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory_status("VmRSS")
    for _ in range(3):
        run()
    print(memory_status("VmHWM") - before)


def memory_status(field: str) -> float:
    """Read the present (VmRSS) or peak (VmHWM) memory of this process in MB, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def operations(config: ACDNetConfig, pixels: int) -> float:
    """Count the floating-point operations of the image networks by direct convolution."""
    channels, networks = 1 + config.N_p, config.T + 4
    return 2 * 9 * channels**2 * 2 * config.blocks * networks * pixels


def matrix_peak() -> float:
    """Measure the operations per second of a large matrix product."""
    a = torch.rand(MATRIX, MATRIX)
    return 2 * MATRIX**3 / alternate({"product": lambda: a @ a}, 7)["product"]


def measure(rounds: int) -> Report:
    """Run the whole comparison."""
    literal, ours = same_weights()
    difference = (literal_inference(literal, SLICE)() - our_inference(ours, SLICE)()).abs().max().item()
    rows = []
    for task, names in CONTESTANTS.items():
        seconds = alternate({name: contestant(name, task) for name in names}, rounds)
        memory = {name: peak_memory(name, task) for name in names}
        rows += [
            Row(
                task,
                name,
                seconds[name],
                seconds["literal"] / seconds[name],
                memory[name],
                memory[name] / memory["literal"],
            )
            for name in names
        ]
    peak, count = matrix_peak(), operations(ours.config, SLICE * SLICE)
    shares = {row.network: count / row.seconds / peak for row in rows if row.task == "inference"}
    machine = f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}"
    return Report(machine, rows, difference, peak, count, shares, alternate({"help": start_up}, 5)["help"])


def notes(report: Report) -> list[str]:
    """Say what the table does not."""
    gflop = report.operations / 1e9
    return [
        f"{report.machine}; matrix-product peak {report.peak / 1e9:.0f} GFLOP/s, measured in the same run.",
        *(
            f"{name}: {gflop:.0f} GFLOP a slice (image networks, as direct convolution), {share:.0%} of that peak."
            for name, share in report.shares.items()
        ),
        f"Largest difference of the two final images: {report.difference:.1e} of 255.",
        f"`acdnet --help` takes {report.start_up:.2f} s.",
    ]


def start_up() -> Tensor:
    """Start the program and stop it."""
    subprocess.run([sys.executable, "-m", "acdnet", "--help"], capture_output=True, check=True)
    return torch.zeros(())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--memory", nargs=2, metavar=("NAME", "TASK"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory:
        measure_memory(*args.memory)
        return
    report = measure(args.rounds)
    console = Console()
    table = Table(*COLUMNS[:2], title="Medians of alternating runs")
    for column in COLUMNS[2:]:
        table.add_column(column, justify="right")
    for row in report.rows:
        table.add_row(*row.cells(), end_section=row is report.rows[1])
    console.print(table)
    for note in notes(report):
        console.print(note)


if __name__ == "__main__":
    main()
