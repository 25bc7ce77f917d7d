"""An ask on its way, and how everybody who waits for something about it is woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from .measure import Measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.errors import AgentError
    from supervisor.records import Failure

    from .turn import Outcome, Turn


class Bell:
    """Wakes everybody who waits, and nobody twice: look first, then wait, and no ring is missed."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def ring(self) -> None:
        rung, self._event = self._event, trio.Event()
        rung.set()

    async def wait(self) -> None:
        await self._event.wait()


class Job:
    """An ask on its way: it belongs to the agent, so that whoever asked may go away without leaving half a prompt."""

    def __init__(
        self, turn: Turn, prompt: str, on_written: Callable[[], None] = lambda: None, heeded: str = ""
    ) -> None:  # fmt: skip
        """`heeded` is a word that counts also where more is said than does."""
        self.turn, self.prompt, self.on_written = turn, prompt, on_written
        self.measures = Measures(heeded)
        self.done = trio.Event()
        self.outcome: Outcome | None = None
        self.error: AgentError | None = None
        self.interrupt = False
        self.abandoned = False
        self.hopeless: Failure | None = None
        """Why it is of no use that the CLI goes on trying."""
