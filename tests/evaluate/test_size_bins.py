import pytest

from acdnet.evaluate.size_bins import size_groups


def test_groups_of_the_public_masks() -> None:
    sizes = [2061, 890, 881, 451, 254, 124, 118, 112, 53, 35] * 3
    groups = size_groups(sizes)
    assert [(group.most, group.least) for group in groups] == [
        (2061, 890),
        (881, 451),
        (254, 124),
        (118, 112),
        (53, 35),
    ]
    assert sum(group.holds(size) for size in sizes for group in groups) == len(sizes)


@pytest.mark.parametrize("sizes", [[5], [5, 5, 5], [1, 2], list(range(1, 8)), [1, 1, 1, 1, 9]])
def test_every_size_is_in_exactly_one_group(sizes: list[int]) -> None:
    groups = size_groups(sizes)
    assert all(sum(group.holds(size) for group in groups) == 1 for size in sizes)
