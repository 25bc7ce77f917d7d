"""A limit for the memory of each agent: whoever goes beyond it is ended before the machine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from supervisor.driving.tree import Sweeper
from supervisor.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .colleague import Colleague

SWEEP_SECONDS = 2.0


class MemoryGuard:
    """Looks at whole process trees, every few seconds, where anybody has a limit."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}

    def limit(self, agent_id: str, megabytes: int) -> None:
        """How much an agent may use, with everything that it started; 0 means as much as it likes."""
        self._limits[agent_id] = megabytes

    async def run(self, colleagues: Mapping[str, Colleague]) -> None:
        """Until cancelled."""
        sweeper = Sweeper()
        async with trio.open_nursery() as nursery:
            while True:
                await trio.sleep(SWEEP_SECONDS)
                agents = {key: colleague.driven for key, colleague in colleagues.items() if self._limits.get(key)}
                roots = {key: pid for key, agent in agents.items() if (pid := agent.pid) is not None}
                figures = await in_thread(sweeper.sweep, roots) if roots else {}
                for key, used in figures.items():
                    limit = self._limits[key]
                    if used.memory > limit << 20 and agents[key].pid == roots[key]:
                        why = f"it used {used.memory >> 20} MB, its limit is {limit} MB (memory_mb), so it was ended"
                        nursery.start_soon(agents[key].end, why)
