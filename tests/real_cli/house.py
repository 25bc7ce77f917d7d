"""A runtime whose agents are real CLIs, all of them sent to a stub."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import trio

from supervisor.config import AgentEntry, BackendEntry, LifeEntry, Office
from supervisor.core import inputs
from supervisor.driving.limits import Limits
from supervisor.events import Settings
from supervisor.runtime import AgentRuntime
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from pathlib import Path

    from real_cli.clis import Cli
    from real_cli.stub import Asked, Reply, Stub

KEYWORD = "[CONVERSATION_END]"
LIMITS = Limits(start=60, starts=6, backoff=0.2, interrupt=5, close=3, term=2)
PATIENT = {"response_delay": 0.0, "max_wait_time": 200.0, "max_duration_ms": 600_000}
"""Several large programs share two cores here."""
NAMES = ("Ada", "Bo", "Cy", "Dee")


def who(asked: Asked) -> str:
    """Whose CLI asks, by the introduction that it was given."""
    words = asked.system + " ".join(text for _, text in asked.turns)
    found = re.search(r"You are (\w+), in the role of", words)
    return found[1] if found else ""


def in_turn(**answers: Sequence[Reply]) -> Callable[[Asked], Reply]:
    """Everybody says what is next on their list; every request counts, whoever makes it."""
    left = {name: list(replies) for name, replies in answers.items()}

    def script(asked: Asked) -> Reply:
        return left[who(asked)].pop(0)

    return script


def backends(clis: Iterable[Cli], url: str, tools: Any = "none") -> dict[str, BackendEntry]:
    return {
        cli.name: BackendEntry(
            command=cli.command(), environment=cli.environment(url), model=cli.model, tools=tools, context_size=100_000
        )
        for cli in clis
    }


class House:
    """What happened so far, and what to wait for."""

    def __init__(self, runtime: AgentRuntime) -> None:
        self.runtime = runtime
        self.seen: list[Any] = []
        self._following = runtime.bus.subscribe()
        self._new: list[Any] = []

    async def until(self, kind: type, seconds: float = 200, **fields: Any) -> Any:
        with trio.move_on_after(seconds):
            while True:
                while self._new:
                    event = self._new.pop(0)
                    self.seen.append(event)
                    if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items()):
                        return event
                self._new += [frame.event for frame in await self._following.receive()]
        told = "\n".join(str(event)[:300] for event in self.seen[-25:])
        raise AssertionError(f"no {kind.__name__} {fields} within {seconds} s; the last events:\n{told}")

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def begin(self, clis: Iterable[Cli], **settings: Any) -> None:
        people = tuple(
            inputs.AgentConfig(name=name, role="debater", cli_backend=cli.name)
            for name, cli in zip(NAMES, clis, strict=False)
        )
        await self.runtime.begin(inputs.StartRoom(
            name="Room", settings=Settings(**{**PATIENT, **settings}), agents=people, auto=True,
            topic="Tabs or spaces?",
        ))  # fmt: skip

    def pid(self, name: str) -> int:
        agent_id = next(a.id for a in self.runtime.core.state.agents.values() if a.name == name)
        colleague = self.runtime.colleague(agent_id)
        assert colleague is not None
        assert colleague.driven.pid is not None
        return colleague.driven.pid

    @property
    def said(self) -> list[tuple[str, str]]:
        """What stands in the room."""
        (room,) = self.runtime.core.state.rooms.values()
        return [(m.author_name, m.content) for m in room.messages if m.type == "agent"]


@contextlib.asynccontextmanager
async def house(
    scratch: Path, stub: Stub, clis: Iterable[Cli], *, tools: Any = "none", limits: Limits = LIMITS, cwd: str = ""
) -> AsyncIterator[House]:
    """`cwd` is where Ada works."""
    clis = list(clis)
    for cli in clis:
        cli.settle_in(scratch / "home", stub.url)
    office = Office(
        backends=backends(clis, stub.url, tools), default_backend=clis[0].name, life=LifeEntry(on=False),
        wander_seconds=0, agents=(AgentEntry(name="Ada", role="debater", cwd=cwd),),
    )  # fmt: skip
    state = StateFolder(scratch / "state")
    with trio.fail_after(400), state.locked():
        runtime = AgentRuntime(state, office, limits=limits)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            yield House(runtime)
            await runtime.stop()
            nursery.cancel_scope.cancel()
