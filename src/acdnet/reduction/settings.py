"""The options of `acdnet reduce`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from acdnet.methods.metal import Segmentation

Progress = Callable[[str, int, int], None]
"""Called with the current step, the number of finished items, and their total."""


@dataclass(frozen=True)
class Settings:
    """The options of `acdnet reduce`."""

    method: str = "acdnet"
    """A method, a shipped model or a .safetensors file."""
    segmentation: Segmentation = field(default_factory=Segmentation)
    mask: Path | None = None
    device: str = "auto"
    workers: int = 0
    """Slices processed in parallel, one core each; 0 uses all cores, at most 8."""
    keep_private: bool = False
    keep: tuple[int, ...] = ()
    """Numbers of objects that the user declares to be metal."""
    drop: tuple[int, ...] = ()
    """Numbers of objects that the user declares not to be metal."""

    @property
    def metal(self) -> str:
        """Describe how the metal is found."""
        said = [
            f"{word} {', '.join(map(str, numbers))}"
            for word, numbers in (("kept", self.keep), ("dropped", self.drop))
            if numbers
        ]
        return "mask given" if self.mask else "; ".join([self.segmentation.text, *said])
