"""Put the model of a run into the package: `python -m benchmarks.ship RUN NAME SUMMARY`.

RUN is a folder of `acdnet train`, or a model file. What it was trained on, for how long and its validation scores go
into the card as the run wrote them, also where --half rounds matrices and kernels to 16 bits, which the card says. Then
`python -m benchmarks.results` adds the scores on patients nobody trained on.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from acdnet.config import LASTS, ACDNetConfig
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
    parser.add_argument("name", help="what it is called from now on")
    parser.add_argument("summary", help="a line about it")
    parser.add_argument(
        "--last", choices=LASTS, help="what is done with the network's image; as the run says, if unsaid"
    )
    parser.add_argument("--half", action="store_true", help="round matrices and kernels to 16 bits: half the bytes")
    given = parser.parse_args()
    source = given.run / "model.safetensors" if given.run.is_dir() else given.run
    if not source.is_file():
        raise SystemExit(f"{source}: no such model; has the run come to its end?")
    model, card = read_model(source)
    if given.last:
        if not isinstance(model.config, ACDNetConfig):
            raise SystemExit("--last is for ACDNet")
        model.config = replace(model.config, last=given.last)
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
            raise SystemExit(f"{given.name}: has {size / 1e6:.1f} MB; over {LARGEST_BYTES / 1e6:g} it is not shipped")
        write_atomically({FOLDER / path.name: path.read_bytes() for path in (made, card_path(made))})
    print(f"{new.name}: {new.parameters:,} parameters, {new.scores}")


if __name__ == "__main__":
    main()
