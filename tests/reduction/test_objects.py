import numpy as np
import pytest

from acdnet.errors import ConfigError
from acdnet.methods.localise import MetalObject
from acdnet.reduction.object_report import DOUBTFUL, DROPPED, KEPT, METAL
from acdnet.reduction.objects import Objects
from acdnet.reduction.report import doubts
from tests.methods.test_localise import part

SURE, DOUBT = MetalObject([part(0, 5, 0.9), part(1, 5, 0.9)]), MetalObject([part(1, 20, 0.4)])
SHAPES = [(40, 40)] * 2


def test_the_user_decides() -> None:
    assert Objects.decide([SURE, DOUBT], (), ()).decisions == [METAL, DOUBTFUL]
    turned = Objects.decide([SURE, DOUBT], keep=(2,), drop=(1,))
    assert turned.decisions == [DROPPED, KEPT]
    masks = turned.masks(SHAPES)
    assert not masks[0].any()
    assert masks[1][20:24, 10:14].all()
    assert masks[1].sum() == 16


@pytest.mark.parametrize(("keep", "drop", "says"), [((3,), (), "no object 3"), ((1,), (1,), "both kept and dropped")])
def test_impossible_decisions_are_refused(keep: tuple[int, ...], drop: tuple[int, ...], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Objects.decide([SURE, DOUBT], keep, drop)


def test_labels_tell_the_objects_of_a_slice() -> None:
    objects = Objects.decide([SURE, DOUBT], (), ())
    labels = objects.labels(1, (40, 40))
    assert labels is not None
    assert (labels[5, 10], labels[20, 10]) == (1, 2)
    assert set(np.unique(labels)) == {0, 1, 2}
    assert Objects().labels(0, (40, 40)) is None


def test_the_report_says_where_an_object_is() -> None:
    first, second = Objects.decide([SURE, DOUBT], (), ()).reports()
    assert (first.first_slice, first.last_slice, first.pixels) == (1, 2, 32)
    assert (second.slice, second.row, second.column) == (2, 22, 12)
    (line,) = doubts([first, second])
    assert "1 object may be metal" in line
    assert "2 (slice 2, 40%)" in line
    assert doubts([first]) == []
