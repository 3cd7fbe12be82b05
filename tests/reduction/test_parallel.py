import time

import pytest
import torch

from acdnet.methods.registry import get_method
from acdnet.reduction.parallel import in_parallel, worker_count
from tests.helpers import with_threads


def test_results_come_in_order() -> None:
    def work(n: int) -> int:
        time.sleep(0.01 * (3 - n % 3))
        return n * n

    assert list(in_parallel(work, range(7), 3)) == [(n, n * n) for n in range(7)]


def test_workers_use_one_core_each_and_the_caller_keeps_its_threads() -> None:
    def compute() -> None:
        assert [threads for _, threads in in_parallel(lambda _: torch.get_num_threads(), range(4), 2)] == [1] * 4
        assert torch.get_num_threads() == 2

    with_threads((2,), compute)


def test_an_error_of_a_worker_ends_the_work() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_parallel(lambda n: 1 // (n - 2), range(5), 2))


def test_worker_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(32)), raising=False)
    method = get_method("li", "cpu")
    assert [worker_count(method, wanted, 20) for wanted in (0, 1, 12)] == [8, 1, 12]
    assert worker_count(method, 12, 3) == 3
    assert worker_count(method, 0, 0) == 1
    method.device = torch.device("cuda")
    assert worker_count(method, 4, 20) == 1
