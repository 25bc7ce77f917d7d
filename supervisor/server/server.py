"""The server: plain requests are answered from memory, the socket is handed to a viewer."""

from __future__ import annotations

import errno
import logging
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import trio
from websockets.datastructures import Headers
from websockets.exceptions import InvalidMessage
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.trio.server import ServerConnection, serve

from supervisor.errors import ServerError

from . import protocol
from .gate import HEADERS, Gate
from .page import Page
from .viewers import SEND_SECONDS, Viewer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from websockets.trio.server import Server as SocketServer

    from supervisor.store.folder import Tokens

    from .viewers import Desk

HOST = "127.0.0.1"
CLOSE_SECONDS = 3.0
MOST_CONNECTIONS = 500
NOT_A_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n"
    b"Connection: close\r\n\r\nOnly GET.\n"
)


class Connection(ServerConnection):
    """One that answers also what is no request it can read, such as one with a body."""

    def __init__(self, nursery: Any, stream: Any, protocol: Any, server: Any, **options: Any) -> None:
        send_eof = protocol.send_eof

        def answer_and_end() -> None:
            if isinstance(protocol.handshake_exc, InvalidMessage) and protocol.state is State.CONNECTING:
                protocol.writes.append(NOT_A_REQUEST)
            send_eof()

        protocol.send_eof = answer_and_end
        super().__init__(nursery, stream, protocol, server, **options)


class Server:
    """Serves one runtime on one port of this machine."""

    def __init__(self, desk: Desk, tokens: Tokens, *, send_seconds: float = SEND_SECONDS) -> None:
        self._desk, self._tokens, self._send_seconds = desk, tokens, send_seconds
        self._page = Page()
        self._log = logging.getLogger("supervisor.server")
        self._log.addHandler(logging.NullHandler())
        self._log.propagate = False
        self.port = 0
        self.viewers = 0
        """How many connections there are."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    async def listen(self, port: int) -> list[trio.SocketListener]:
        """Take the port, before anything else is begun; raises ServerError."""
        try:
            listeners = await trio.open_tcp_listeners(port, host=HOST)
        except (OSError, OverflowError) as error:
            used = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            why = "is in use already" if used else f"cannot be used ({error})"
            raise ServerError(f"Port {port} {why}: choose another with --port, or 0 for any free one.") from None
        self.port = listeners[0].socket.getsockname()[1]
        self._gate = Gate(self.port, self._tokens)
        return listeners

    @asynccontextmanager
    async def running(self, listeners: list[trio.SocketListener]) -> AsyncIterator[None]:
        """Serve while the block runs; at the end viewers are told that it goes away."""
        async with trio.open_nursery() as nursery:
            server: SocketServer = await nursery.start(self._serve, listeners)
            try:
                yield
            finally:
                with trio.move_on_after(CLOSE_SECONDS, shield=True):
                    await server.aclose()
                nursery.cancel_scope.cancel()

    async def _serve(self, listeners: list[trio.SocketListener], *, task_status: Any) -> None:
        await serve(
            self._viewer, listeners=listeners, process_request=self._request, server_header=None,
            create_connection=Connection, max_size=protocol.MOST_BYTES,
            open_timeout=5, close_timeout=2, ping_interval=20, ping_timeout=20,
            logger=self._log, task_status=task_status,
        )  # fmt: skip

    async def _viewer(self, connection: ServerConnection) -> None:
        self.viewers += 1
        try:
            await Viewer(connection, self._desk, self._gate, self._send_seconds).run()
        finally:
            self.viewers -= 1

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """None lets the socket open; everything else is answered here and now."""
        path = request.path.partition("?")[0]
        headers = request.headers
        socket = path == "/ws"
        denied = self._gate.check(request.method, headers.get_all("Host"), headers.get_all("Origin"), socket)
        if denied is not None:
            return self._plain(denied.status, denied.text, request.method)
        if socket:
            if headers.get("Upgrade", "").lower() != "websocket":
                return self._plain(426, "This is a WebSocket.", request.method)
            if self.viewers >= MOST_CONNECTIONS:
                return self._plain(503, "Too many viewers.", request.method)
            return None
        if path == "/healthz":
            return self._plain(200, "ok", request.method)
        file = self._page.find(path)
        if file is None:
            return self._plain(404, "There is nothing here.", request.method)
        return self._respond(200, file.type, file.body, request.method)

    def _plain(self, status: int, text: str, method: str) -> Response:
        return self._respond(status, "text/plain; charset=utf-8", text.encode() + b"\n", method)

    def _respond(self, status: int, kind: str, body: bytes, method: str) -> Response:
        headers = Headers([
            *HEADERS.items(), ("Content-Type", kind), ("Content-Length", str(len(body))), ("Connection", "close")
        ])  # fmt: skip
        if status == 405:
            headers["Allow"] = "GET, HEAD"
        return Response(status, HTTPStatus(status).phrase, headers, b"" if method == "HEAD" else body)
