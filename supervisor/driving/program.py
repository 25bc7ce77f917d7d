"""An agent's CLI while it runs: one process, the dialogue that is held with it, and what is known of the two."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from supervisor.records import Damage, Failure, SessionLost

from .backends.base import UNREADABLE, Reply

if TYPE_CHECKING:
    from .backends.base import Dialogue
    from .lines import Line
    from .process import AgentProcess


class Program:
    """It ends with its process; whoever is asked again is another one."""

    def __init__(self, process: AgentProcess, dialogue: Dialogue) -> None:
        self.process, self.dialogue = process, dialogue
        self.ready = False
        self.refused: Failure | SessionLost | None = None
        """Why it will not come up."""
        self.passing = False
        """It is the machine that has no room for it at the moment."""
        self.given: deque[str] = deque(maxlen=64)
        """The asks it has had."""
        self.permissions: set[str] = set()
        """What somebody is asked for."""
        self.ended_for = ""
        """Why it was ended by us, in the middle of whatever it did."""
        self.mourned = False
        """It is gone, and its transcript was read to the end."""

    @property
    def running(self) -> bool:
        return not self.process.exited.is_set()

    @property
    def settled(self) -> bool:
        """Whether it is known if it comes up."""
        return self.ready or self.refused is not None or not self.running

    async def write(self, data: bytes, seconds: float) -> bool:
        """Whether all of it was taken in time; one that takes only a part of a line is of no use any more."""
        with trio.move_on_after(seconds):
            try:
                await self.process.write(data)
                return True
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return False
        return False

    def hear(self, line: Line) -> Reply:
        """What a line of stdout means; the CLI may want something in return."""
        if line.too_long:
            return Reply([Damage(length=line.length, reason="longer than the limit for a line", source="stdout")])
        if not line.data.strip():
            return Reply([])
        try:
            return self.dialogue.hear(line.data)
        except UNREADABLE:
            shown = line.data[:80].decode("utf-8", "replace")
            reason = f"not a line of its protocol: {shown!r}"
            return Reply([Damage(length=line.length, reason=reason, source="stdout")])
