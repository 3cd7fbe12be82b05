"""Five groups by metal size, largest first, as in the tables of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GROUPS = 5


@dataclass(frozen=True)
class Group:
    """Cases whose metal has between `least` and `most` pixels."""

    least: int
    most: int

    @property
    def title(self) -> str:
        return f"{self.least}-{self.most} px" if self.least < self.most else f"{self.least} px"

    def holds(self, pixels: int) -> bool:
        return self.least <= pixels <= self.most


def size_groups(pixels: list[int]) -> list[Group]:
    """Split sizes into five groups with equal numbers of cases; equal sizes stay together."""
    ordered = np.sort(np.asarray(pixels))
    groups: list[Group] = []
    for part in np.array_split(ordered, GROUPS):
        if len(part) == 0:
            continue
        least, most = int(part[0]), int(part[-1])
        if groups and least <= groups[-1].most:
            least = int(min((size for size in part if size > groups[-1].most), default=0))
            if not least:
                continue
        groups.append(Group(least, most))
    return groups[::-1]
