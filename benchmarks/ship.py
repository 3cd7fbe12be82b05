"""Put the model of a run into the package: `python -m benchmarks.ship RUN NAME SUMMARY`.

RUN is a folder of `acdnet train`, or a model file. Training data, hours and validation scores go into the card as the
run wrote them, also if --half rounds matrices and kernels to 16 bits, which the card says. `python -m
benchmarks.results` then adds the scores on test patients.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from acdnet.files import write_atomically
from acdnet.weights.card import card_path
from acdnet.weights.load import read_model
from acdnet.weights.save import save_model
from acdnet.weights.shipped import FOLDER

LARGEST_BYTES = 8_000_000


def main() -> None:
    """Copy model and card under the new name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a folder of acdnet train, or a model file")
    parser.add_argument("name", help="the new name")
    parser.add_argument("summary", help="one line about it")
    parser.add_argument("--half", action="store_true", help="round matrices and kernels to 16 bits: half the bytes")
    given = parser.parse_args()
    source = given.run / "model.safetensors" if given.run.is_dir() else given.run
    if not source.is_file():
        raise SystemExit(f"{source}: no such model; is the run finished?")
    model, card = read_model(source)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"{given.name}.safetensors"
        new = save_model(
            model,
            made,
            name=given.name,
            summary=f"{given.summary}; weights rounded to 16 bits" if given.half else given.summary,
            architecture=card.architecture,
            training=card.training,
            scores=card.scores,
            half=given.half,
        )
        if (size := made.stat().st_size) > LARGEST_BYTES:
            raise SystemExit(f"{given.name}: {size / 1e6:.1f} MB; at most {LARGEST_BYTES / 1e6:g} MB are shipped")
        write_atomically({FOLDER / path.name: path.read_bytes() for path in (made, card_path(made))})
    print(f"{new.name}: {new.parameters:,} parameters, {new.scores}")


if __name__ == "__main__":
    main()
