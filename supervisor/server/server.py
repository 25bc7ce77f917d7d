"""The server: plain requests are answered from memory, the socket is handed to a viewer."""

from __future__ import annotations

import errno
import ipaddress
import logging
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import trio
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.trio.server import serve

from supervisor.errors import ServerError

from .gate import HEADERS, LOOPBACK, Gate, bracketed
from .page import Page
from .strangers import MOST_BYTES, Connection, Strangers
from .viewers import SEND_SECONDS, Viewer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from websockets.trio.server import Server as SocketServer

    from supervisor.store.folder import Tokens

    from .viewers import Desk

OPEN_SECONDS = 5.0
CLOSE_SECONDS = 3.0
MOST_VIEWERS = 500


class Server:
    """Serves one runtime on one port of this machine."""

    def __init__(
        self, desk: Desk, tokens: Tokens, *, host: str = LOOPBACK, origins: Sequence[str] = (),
        send_seconds: float = SEND_SECONDS,
    ) -> None:  # fmt: skip
        """`host` is the address to listen on; `origins` are pages elsewhere that may use the socket."""
        self._desk, self._tokens, self._send_seconds = desk, tokens, send_seconds
        self._host, self._origins = host, origins
        self._page = Page()
        self._strangers = Strangers()
        self._viewers: set[Viewer] = set()
        self._log = logging.getLogger("supervisor.server")
        self._log.addHandler(logging.NullHandler())
        self._log.propagate = False
        self.port = 0

    @property
    def viewers(self) -> int:
        """How many have come in with a token; those who have not are counted by `Strangers`."""
        return sum(viewer.let_in for viewer in self._viewers)

    @property
    def url(self) -> str:
        """Where it is found from this machine."""
        address = ipaddress.ip_address(self._host)
        here = ("::1" if address.version == 6 else LOOPBACK) if address.is_unspecified else self._host
        return f"http://{bracketed(here)}:{self.port}/"

    async def listen(self, port: int) -> list[trio.SocketListener]:
        """Take the port, before anything else is begun; raises ServerError."""
        try:
            listeners = await trio.open_tcp_listeners(port, host=self._host)
        except (OSError, OverflowError) as error:
            number = error.errno if isinstance(error, OSError) else None
            if number == errno.EADDRNOTAVAIL:
                raise ServerError(f"{self._host} is no address of this machine: choose another with --host.") from None
            why = "is in use already" if number == errno.EADDRINUSE else f"cannot be used ({error})"
            raise ServerError(f"Port {port} {why}: choose another with --port, or 0 for any free one.") from None
        self.port = listeners[0].socket.getsockname()[1]
        self._gate = Gate(self.port, self._tokens, host=self._host, origins=self._origins)
        return listeners

    def rotate(self, tokens: Tokens) -> None:
        """From now on other tokens hold, and whoever came in with the old ones is sent out."""
        self._gate.tokens = tokens
        for viewer in self._viewers:
            viewer.sign_out()

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
            self._viewer, listeners=listeners, process_request=self._request, process_response=self._refusal,
            server_header=None, compression=None,
            create_connection=partial(Connection, self._strangers),  # type: ignore[arg-type]  # any callable does
            max_size=MOST_BYTES, open_timeout=OPEN_SECONDS, close_timeout=2, ping_interval=20, ping_timeout=20,
            logger=self._log, task_status=task_status,
        )  # fmt: skip

    async def _viewer(self, connection: Any) -> None:
        viewer = Viewer(connection, self._desk, self._gate, self._strangers, self._send_seconds)
        self._viewers.add(viewer)
        try:
            await viewer.run()
        finally:
            self._viewers.discard(viewer)

    def _refusal(self, connection: Any, request: Request, response: Response) -> None:
        """What the library itself refuses is refused with the same strict headers."""
        if response.status_code >= 400 and "Content-Security-Policy" not in response.headers:
            response.headers.update(HEADERS)

    def _request(self, connection: Any, request: Request) -> Response | None:
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
            if self.viewers >= MOST_VIEWERS:
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
