"""From trio's world of exception groups and signals back to the one thing that happened."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import trio

from supervisor.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNSAVED = "supervisor: The last step could not be saved: make room on the disk; the next start goes on before it."
TELLING = (KeyboardInterrupt, SupervisorError, BrokenPipeError)


def run(function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """`trio.run` for a command: of several exceptions the one that a person should hear of is raised, alone."""
    try:
        return trio.run(function, *arguments)
    except BaseExceptionGroup as group:
        for kind in TELLING:
            if (found := first(group, kind)) is not None:
                raise found from None
        raise


def first(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The first exception of a kind in a tree of groups."""
    if not isinstance(error, BaseExceptionGroup):
        return error if isinstance(error, kind) else None
    return next((found for inner in error.exceptions if (found := first(inner, kind)) is not None), None)


class Signals:
    """Ctrl-C once asks for a clean stop, twice ends it at once; TERM and HUP ask as well. What whoever started us had
    ignored, such as HUP with nohup, stays ignored."""

    def __init__(self) -> None:
        self.asked = trio.Event()
        self.number: signal.Signals | None = None

    async def watch(
        self, at_once: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        numbers = [n for n in ENDING if n == signal.SIGTERM or signal.getsignal(n) != signal.SIG_IGN]
        with trio.open_signal_receiver(*numbers) as signals:
            task_status.started()
            async for number in signals:
                if self.asked.is_set():
                    at_once.cancel()
                self.number = signal.Signals(number)
                self.asked.set()

    @property
    def status(self) -> int:
        """The exit status that a signal asks for; a clean stop by TERM is what was planned."""
        return 130 if self.number == signal.SIGINT else 0
