"""Run a job again: with the choice that it needs, or with other decisions about what is metal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acdnet import __version__
from acdnet.errors import InputRefused
from acdnet.viewer.job import ANY_PLANE, DONE, FAILED, LOSSY, QUEUED, RUNNING, SERIES, UPLOAD, Job, clean_up
from acdnet.viewer.objects import objects_in
from acdnet.viewer.safe_read import refuse_link

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs


def run_with_choice(jobs: Jobs, id_: str, answer: int) -> Job:
    """Run a job with the choice it needs: the number of a series from 1, or 1 to accept."""
    with jobs.lock:
        job = jobs.get(id_)
        if job.state in (QUEUED, RUNNING):
            return job  # a repeated request
        if job.state != FAILED or not job.needs:
            raise InputRefused(f"the job is {job.state} and needs no choice")
        last = len(job.choices) if job.needs == SERIES else 1
        if not 1 <= answer <= last:
            raise InputRefused(f"choice {answer} does not exist; choose a number from 1 to {last}")
        chosen: dict[str, Any] = {job.needs: True}
        if job.needs == SERIES:  # what was accepted for another series does not apply to this one
            chosen = {SERIES: answer, ANY_PLANE: False, LOSSY: False}
        return jobs.enqueue(replace(job, state=QUEUED, message="", needs="", choices=(), **chosen))


def reduce_again(jobs: Jobs, id_: str, keep: tuple[int, ...], drop: tuple[int, ...]) -> Job:
    """Reduce a finished job again, with these objects taken for metal or not; until it is done, its result stays."""
    keep, drop = (tuple(sorted({*numbers})) for numbers in (keep, drop))
    with jobs.lock:
        job, folder = jobs.get(id_), jobs.folder / id_
        if job.again and (job.keep, job.drop) == (keep, drop):
            return job  # a repeated request
        if job.state != DONE or jobs.queue.running == id_:  # a worker that was cancelled may still be ending
            raise InputRefused(f"the job is {'running' if job.state == DONE else job.state}; try again when it is done")
        refuse_link(folder / UPLOAD)
        if not job.objects or not (folder / UPLOAD).is_dir():
            raise InputRefused("the upload of this scan was not kept; upload it again")
        _check(keep, drop, *objects_in(jobs.result(id_)))
        jobs.check_room()
        again = replace(job, state=QUEUED, message="", again=True, keep=keep, drop=drop)
        clean_up(folder, job)
        if (folder / again.target).exists():
            raise InputRefused("files of an earlier attempt could not be deleted; try again")
        return jobs.enqueue(again)


def _check(keep: tuple[int, ...], drop: tuple[int, ...], objects: list[Any], version: str) -> None:
    """Refuse decisions about objects that do not exist."""
    if objects and version != __version__:
        raise InputRefused(
            "another version of acdnet reduced this scan and may number objects otherwise; upload it again"
        )
    if unknown := sorted({*keep, *drop} - {*range(1, len(objects) + 1)}):
        raise InputRefused(f"there is no object {unknown[0]!s:.20}; this scan has {len(objects)}")
    if both := sorted({*keep} & {*drop}):
        raise InputRefused(f"object {both[0]} is both kept and dropped")
