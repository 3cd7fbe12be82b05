"""Share series among the workers of a Dask cluster, which see the same files under the same paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from acdnet.batch.find import Task
from acdnet.batch.rows import FAILED, Row, write_row
from acdnet.batch.work import Plan, reduce_task
from acdnet.errors import AcdnetError, MissingExtra, ResourceError

CONNECT_SECONDS = 30


def on_cluster(tasks: Sequence[Task], plan: Plan, address: str) -> Iterator[tuple[Task, Row | None]]:
    """Yield the row of every series as it is finished; the scheduler gives those of lost workers to others."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtra("a Dask cluster", "'acdnet[cluster]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ResourceError(f"{address}: no scheduler of Dask answers there ({type(error).__name__})") from error
    with client:
        futures = {client.submit(reduce_task, task, plan, key=f"acdnet-{task.key}", pure=False): task for task in tasks}
        for future in as_completed(futures, loop=client.loop):
            if future.status == "cancelled":
                raise ResourceError(f"{address}: the scheduler was lost; repeat the command to continue")
            task, problem = futures[future], future.exception()
            if isinstance(problem, AcdnetError):
                raise problem
            if problem is None:
                yield task, future.result()
                continue
            row = Row(task.key, FAILED, reason=f"its workers were lost ({type(problem).__name__})")
            write_row(Path(plan.out), row)
            yield task, row
