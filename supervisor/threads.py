"""What blocks is done beside the loop, or in it, where the machine has no thread left: late is better than never."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


def none_left(error: RuntimeError) -> bool:
    """Whether it says that no thread could be started, as at a limit of processes."""
    return "start new thread" in str(error)


async def in_thread(
    work: Callable[[*Arguments], Result], *arguments: *Arguments, limiter: trio.CapacityLimiter | None = None
) -> Result:
    """What it returns or raises; cancellation waits for it."""
    try:
        return await trio.to_thread.run_sync(work, *arguments, limiter=limiter)
    except RuntimeError as error:
        if not none_left(error):
            raise
    async with limiter or nullcontext():
        return work(*arguments)
