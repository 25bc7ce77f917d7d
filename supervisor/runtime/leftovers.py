"""CLIs that outlived a supervisor: known by pid and time of birth, given time to finish their turn, then ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import trio

from supervisor.driving import tree
from supervisor.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.store.store import Process

LOOK_SECONDS = 0.1
"""How often we look whether a stranger's child has ended: nobody tells us."""


def alive(process: Process) -> bool:
    try:
        return tree.born(process.pid) == process.born and psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


class Leftover:
    """The CLI that an agent had in an earlier life, and whatever that has started."""

    def __init__(self, process: Process, owner: str) -> None:
        self._process = process
        self._mark = f"{owner}:{process.agent_id}"

    async def finish(self, written: Callable[[], int], patience: float, at_work: Callable[[], None]) -> None:
        """Until it has ended: its stdin is closed, and the answer under way is paid for. Who writes nothing to its
        transcript for so many seconds is not waited for; time in which we were suspended ourselves does not count.
        `at_work` is called whenever it has written."""
        before, left = written(), patience
        while left > 0 and alive(self._process):
            await trio.sleep(LOOK_SECONDS)
            now = written()
            if now != before:
                at_work()
            before, left = now, left - LOOK_SECONDS if now == before else patience

    async def end(self) -> None:
        """Nothing of it is left after this."""
        with trio.CancelScope(shield=True):
            await in_thread(tree.kill_owned, self._mark)
