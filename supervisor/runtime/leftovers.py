"""CLIs that outlived a supervisor: known by pid and time of birth, given time to finish their turn, then ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import trio

from supervisor.driving import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.store.store import Process


def alive(process: Process) -> bool:
    try:
        return tree.born(process.pid) == process.born and psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


async def end(processes: Iterable[Process], owner: str, grace: float) -> int:
    """Wait for them, bounded: their stdin is closed, and the answer under way is paid for; then end whatever carries
    the owner's mark, also what the CLIs themselves had started. Returns how many CLIs there were."""
    left = [process for process in processes if alive(process)]
    count = len(left)
    with trio.move_on_after(grace):
        while any(alive(process) for process in left):  # noqa: ASYNC110  nobody tells us when a stranger's child ends
            await trio.sleep(0.05)
    await trio.to_thread.run_sync(tree.kill_owned, owner)
    return count
