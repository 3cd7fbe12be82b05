from threading import Barrier, Thread, get_ident
from typing import Any

import numba
import pytest

from acdnet.fast import jit
from acdnet.fast import jit as compiled
from tests.helpers import with_threads


def test_compiles_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def njit(cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(compiled, "njit", njit)

    def double(x: float) -> float:
        return 2 * x

    assert jit.compile_loop()(double)(3.0) == 6.0


@pytest.mark.parametrize(("count", "threads"), [(1, 2), (7, 3), (0, 2), (5, 1)])
def test_shares_cover_the_range_once(count: int, threads: int) -> None:
    done: list[int] = []
    with_threads((threads,), lambda: jit.shared_out(count, lambda first, last: done.extend(range(first, last))))
    assert sorted(done) == list(range(count))


def test_an_error_in_a_thread_is_seen() -> None:
    def fail(worker: int) -> None:
        raise ValueError(str(worker))

    with pytest.raises(ValueError, match="0"):
        jit.in_threads(fail, 2)


def test_threads_with_one_core_each_do_not_wait_for_each_other() -> None:
    both = Barrier(2, timeout=20)
    idents: list[tuple[int, int]] = []

    def slice_() -> None:
        def work(_: int) -> None:
            both.wait()  # breaks unless the other one works at the same time
            idents.append((get_ident(), caller))

        caller = get_ident()
        jit.in_threads(work, 1)

    threads = [Thread(target=slice_) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(idents) == 2
    assert all(worker == caller for worker, caller in idents)
