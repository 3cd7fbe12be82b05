"""A method for tests that returns what it is given to return."""

from collections.abc import Callable, Sequence

from acdnet.evaluate.metrics import Scores
from acdnet.evaluate.run import AREAS, CaseScores
from acdnet.methods.method import BaseMethod, Image, Reduction
from acdnet.physics.measurement import Measurement
from acdnet.weights.card import Training


def as_scanned(measurement: Measurement) -> Image:
    """Return the slice as it is."""
    return measurement.slice_hu


class Stub(BaseMethod):
    """A method that returns a function of the measurement."""

    def __init__(
        self,
        label: str,
        image: Callable[[Measurement], Image] = as_scanned,
        starts_from: str = "",
        training: Training | None = None,
    ) -> None:
        self.name, self.label, self.image = "stub", label, image
        self.starts_from, self.training = starts_from, training

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        return [Reduction(self.image(one)) for one in measurements]


def case_scores(name: str, soft_hu: list[float]) -> list[CaseScores]:
    """Return scores of a method with these errors in HU, each case of another patient."""
    by_area = [dict.fromkeys(AREAS, hu) for hu in soft_hu]
    scores = [Scores(40.0, 0.9, 40.0, 0.9, areas, areas) for areas in by_area]
    return [CaseScores(f"case {n}", 9, name, 1.0, one, patient=f"patient {n}") for n, one in enumerate(scores)]
