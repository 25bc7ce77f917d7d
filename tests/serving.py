"""A runtime with its server in this process, and clients of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import trio
from support import QUICK

from supervisor.client import Client, connect
from supervisor.config import BackendEntry, LifeEntry, Office
from supervisor.events import Settings
from supervisor.runtime import AgentRuntime
from supervisor.server.server import Server
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from supervisor.driving.limits import Limits
    from supervisor.store.folder import Tokens


class Place:
    def __init__(self, runtime: AgentRuntime, server: Server, tokens: Tokens) -> None:
        self.runtime, self.server, self.tokens = runtime, server, tokens
        self.ws_url = server.url.replace("http", "ws") + "ws"

    def client(self, token: str = "", **options: Any) -> contextlib.AbstractAsyncContextManager[Client]:
        return connect(self.ws_url, token or self.tokens.operator, **options)


@contextlib.asynccontextmanager
async def place(
    folder: Path,
    *arguments: str,
    send_seconds: float = 10.0,
    life: LifeEntry | None = None,
    limits: Limits = QUICK,
    backends: dict[str, BackendEntry] | None = None,
    **settings: Any,
) -> AsyncIterator[Place]:
    """A server in this process; nobody in it has a life of its own unless that is asked for."""
    state = StateFolder(folder / "state")
    quiet = LifeEntry(on=False)
    conversing = Settings(**{"response_delay": 0.0, **settings})
    office = Office(settings=conversing, life=life or quiet, wander_seconds=0, backends=backends or {})
    with trio.fail_after(60), state.locked():
        runtime = AgentRuntime(state, office, limits=limits, arguments={"fake": ("--seed", "7", *arguments)})
        server = Server(runtime, state.tokens(), send_seconds=send_seconds)
        listeners = await server.listen(0)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            async with server.running(listeners):
                yield Place(runtime, server, state.tokens())
                await runtime.stop()
            nursery.cancel_scope.cancel()


class Crash(Exception):
    """The supervisor is gone, without a word."""


@contextlib.asynccontextmanager
async def crashing(folder: Path, *arguments: str, **settings: Any) -> AsyncIterator[tuple[Place, Client]]:
    """A server that ends as by `kill -9` when the block is left: nothing more is decided or saved."""
    with pytest.RaisesGroup(Crash, flatten_subgroups=True):
        async with place(folder, *arguments, **settings) as here, here.client() as client:
            yield here, client
            raise Crash


async def until(client: Client, kind: str, **fields: Any) -> list[dict[str, Any]]:
    """All events up to the first of this type with these fields."""
    seen = []
    async for event in client.events:
        seen.append(event)
        if event["type"] == kind and all(event.get(k) == v for k, v in fields.items()):
            return seen
    raise AssertionError(f"no {kind} {fields}")
