"""An ask on its way, and how everybody who waits for something about it is woken."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from supervisor.records import AnyRecord, Damage, Note, PromptSeen

from .measure import Measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.errors import AgentError
    from supervisor.records import Failure

    from .turn import Outcome, Turn


MOST_REMARKS = 1000
"""How many of them are kept about what was written while nobody was reading."""


class Bell:
    """Wakes everybody who waits, and nobody twice: look first, then wait, and no ring is missed."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def ring(self) -> None:
        rung, self._event = self._event, trio.Event()
        rung.set()

    async def wait(self) -> None:
        await self._event.wait()


class Held:
    """What is read of a transcript while it is not known yet where the open ask begins in it: no more than matters."""

    def __init__(self, ask_id: str, seen: bool) -> None:
        """`seen`: its prompt may stand before everything that is read."""
        self._ask_id, self._seen = ask_id, seen
        self._before: deque[AnyRecord] = deque(maxlen=MOST_REMARKS)
        self._records: list[AnyRecord] = []

    def add(self, record: AnyRecord, *, old_news: bool) -> None:
        if isinstance(record, PromptSeen) and self._ask_id in record.ask_ids:
            self._before.extend(one for one in self._records if isinstance(one, Damage | Note))
            self._records = [record]
        elif self._records or (self._seen and not old_news):
            self._records.append(record)
        elif isinstance(record, Damage | Note):
            self._before.append(record)

    def records(self) -> list[AnyRecord]:
        """From the last prompt of the ask on; before that only what could not be read, and what somebody may want to
        know."""
        return [*self._before, *self._records]


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
