"""A small client of the socket, for the commands, the tests, and programs of your own.

async with connect(url, token) as office:
    answer = await office.request({"type": "startAutoMode", "topic": "Tabs or spaces?"})
    async for event in office.events:
        ...
"""

from __future__ import annotations

import contextlib
import json
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.trio.client import connect as connect_socket

from supervisor.errors import Refused, ServerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from websockets.trio.client import ClientConnection

ANSWER_SECONDS = 30.0
KEPT_EVENTS = 10_000
"""How many events wait for somebody to look at them."""


class Client:
    """An open connection: requests are answered, everything else arrives as events."""

    def __init__(self, socket: ClientConnection, welcome: dict[str, Any]) -> None:
        self.welcome = welcome
        self._socket = socket
        self._waiting: dict[str, tuple[trio.Event, dict[str, Any]]] = {}
        self._send, self.events = trio.open_memory_channel[dict[str, Any]](KEPT_EVENTS)
        """What happens, in order, until the connection ends: `async for event in client.events`."""

    async def request(self, message: dict[str, Any], request_id: str | None = None) -> dict[str, Any]:
        """Send a command and wait for its one answer; raises Refused for an `error`."""
        request_id = request_id or uuid.uuid4().hex
        done, answer = self._waiting[request_id] = (trio.Event(), {})
        await self._socket.send(json.dumps({**message, "request_id": request_id}))
        with trio.move_on_after(ANSWER_SECONDS) as scope:
            await done.wait()
        self._waiting.pop(request_id, None)
        if scope.cancelled_caught or not answer:
            raise ServerError("The server did not answer.")
        if answer["type"] == "error":
            raise Refused(answer["code"], answer["message"])
        return answer

    def _keep(self, message: dict[str, Any]) -> None:
        """Whoever only asks and never looks at events must not be held up by them: the oldest are let go."""
        try:
            self._send.send_nowait(message)
        except trio.WouldBlock:
            self.events.receive_nowait()
            self._send.send_nowait(message)

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed, trio.BrokenResourceError):
            while True:
                message = json.loads(await self._socket.recv())
                waiting = self._waiting.get(message.get("request_id", ""))
                if waiting is not None:
                    waiting[1].update(message)
                    waiting[0].set()
                else:
                    self._keep(message)
        for done, _ in self._waiting.values():
            done.set()
        await self._send.aclose()


@asynccontextmanager
async def connect(
    ws_url: str, token: str, *, since: int | None = None, client_id: str | None = None, patient: bool = True
) -> AsyncIterator[Client]:  # fmt: skip
    """Say hello and be welcomed; raises ServerError where that fails.

    A server that can save nothing welcomes nobody until it can; whoever is not `patient` gets its reason as an error.
    """
    hello = {"type": "hello", "token": token, "since": since, "client_id": client_id}
    try:
        # Without a limit of its queue: with one, closing hangs in the library where more came than was read.
        async with connect_socket(ws_url, max_size=None, max_queue=None, open_timeout=5) as socket:
            await socket.send(json.dumps({key: value for key, value in hello.items() if value is not None}))
            while (welcome := json.loads(await socket.recv()))["type"] != "welcome":
                if not patient:
                    raise ServerError(f"The server at {ws_url} is in trouble: {welcome['message']}.")
            async with trio.open_nursery() as nursery:
                client = Client(socket, welcome)
                nursery.start_soon(client._read)
                yield client
                nursery.cancel_scope.cancel()
    except ConnectionClosed as closed:
        why = "the token is wrong" if closed.rcvd and closed.rcvd.code == 4401 else "it closed the connection"
        raise ServerError(f"The server at {ws_url} did not let us in: {why}.") from None
    except (OSError, WebSocketException, trio.TooSlowError) as error:
        raise ServerError(f"There is no server at {ws_url} ({error}): start one with `supervisor start`.") from None
