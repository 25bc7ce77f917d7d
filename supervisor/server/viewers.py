"""One connection: hello, welcome, then commands one way and frames the other.

A viewer is a cursor over the ring with the database behind it. Every send has a deadline, and whoever is too slow is
let go; it comes back with `since` and misses nothing.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, Protocol

import trio
from websockets.exceptions import ConnectionClosed

from supervisor.bus import Behind
from supervisor.errors import Refused
from supervisor.events import Status, encoder

from . import protocol
from .gate import bearer, nonce_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.bus import Bus, Frame, Subscription
    from supervisor.core.inputs import AnyCommand

    from .gate import Gate, Scope
    from .strangers import Connection, Strangers

HELLO_SECONDS = 5.0
SEND_SECONDS = 10.0
CLOSE_SECONDS = 2.0
MOST_MISSED = 10_000
MOST_WAITING = 64
"""How many answers may wait before no more commands are read."""
PER_SECOND, AT_ONCE = 500.0, 1000.0
"""How many messages of a client are read in a second, and how many after it was silent for a while."""

WRONG_TOKEN, NO_HELLO, TOO_SLOW = 4401, 4408, 4409


class Desk(Protocol):
    """What a connection needs of the runtime."""

    bus: Bus
    trouble: str
    """Why nobody can be welcomed at the moment."""

    async def request(self, command: AnyCommand, client: str) -> str: ...
    async def look(self, take: Callable[[], None]) -> None: ...
    def snapshot(self) -> dict[str, Any]: ...
    def now(self) -> float: ...
    async def missed(self, after: int, until: int) -> list[str]: ...
    @property
    def seq(self) -> int: ...
    @property
    def hindrance(self) -> str: ...


class Allowance:
    """How much somebody may say: it grows with time, up to a most."""

    def __init__(self, now: float) -> None:
        self._left, self._at = AT_ONCE, now

    def wait(self, now: float) -> float:
        """One more message was read; returns after how many seconds the next may be."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * PER_SECOND) - 1
        self._at = now
        return max(0.0, -self._left / PER_SECOND)


class Viewer:
    """One client from its hello to its end."""

    def __init__(
        self, connection: Connection, desk: Desk, gate: Gate, strangers: Strangers, send_seconds: float
    ) -> None:  # fmt: skip
        self._connection, self._desk, self._gate, self._strangers = connection, desk, gate, strangers
        self._send_seconds = send_seconds
        self._welcome_here = trio.CancelScope()
        self._signed_out = False
        self.let_in = False
        """Whether it has shown a token."""
        self._answers: deque[str] = deque()
        self._sent = trio.Event()
        self._client = secrets.token_hex(8)
        self._scope: Scope = "viewer"
        self._seq = 0  # the last event that it has had
        self._subscription: Subscription | None = None

    def sign_out(self) -> None:
        """Its token is not good any more."""
        self._signed_out = True
        self._welcome_here.cancel()

    async def run(self) -> None:
        with self._welcome_here:
            await self._serve()
        if self._signed_out:
            await self._close(WRONG_TOKEN, "the token was changed")

    async def _serve(self) -> None:
        hello = await self._hello()
        if hello is None:
            return
        self._client = hello.client_id or self._client
        welcome = await self._welcome(hello)
        if not welcome or not await self._send(welcome):  # nobody is welcomed by a server that stops
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, nursery)
            await self._read()
            nursery.cancel_scope.cancel()

    # -- opening --------------------------------------------------------------------------------------------------

    async def _hello(self) -> protocol.Hello | None:
        request = self._connection.request
        assert request is not None  # it was answered before
        if (nonce := nonce_of(request.path)) is not None:
            proofs = self._gate.proofs(nonce, request.headers["Host"].lower())
            if not await self._send(encoder.encode({"type": "proof", "proofs": proofs}).decode()):
                return None
        data: Any = None
        with trio.move_on_after(HELLO_SECONDS):
            try:
                data = await self._connection.recv()
            except ConnectionClosed:
                return None
        if data is None:
            await self._close(NO_HELLO, "no hello")
            return None
        hello = protocol.hello(data)
        if hello is None:
            await self._close(WRONG_TOKEN, "say hello first")
            return None
        given = bearer(request.headers.get_all("Authorization"))
        if not await self._strangers.turn(self._connection):
            return None
        scope = self._gate.scope(hello.token or given or "")
        if scope is None:
            self._strangers.failed()
            await self._close(WRONG_TOKEN, "wrong token")
            return None
        self._strangers.gone(self._connection)
        self.let_in = True
        self._scope = scope
        return hello

    async def _welcome(self, hello: protocol.Hello) -> str:
        """A snapshot, or exactly what was missed; from the same moment on the ring is followed."""
        whole: dict[str, Any] = {}
        since = hello.since

        def take() -> None:
            self._subscription = self._desk.bus.subscribe()
            self._seq = self._desk.seq
            if since is None or not self._seq - MOST_MISSED <= since <= self._seq:
                whole["snapshot"] = self._desk.snapshot()
            if self._desk.hindrance:
                self._answers.append(_told("warning", self._desk.hindrance))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_trouble, nursery)
            await self._desk.look(take)
            nursery.cancel_scope.cancel()
        if self._subscription is None:
            return ""
        head: dict[str, Any] = {
            "type": "welcome", "protocol": protocol.PROTOCOL, "scope": self._scope, "seq": self._seq,
            "time": self._desk.now(),
        }  # fmt: skip
        if hello.request_id is not None:
            head["request_id"] = hello.request_id
        if "snapshot" in whole or since is None:
            return encoder.encode({**head, **whole}).decode()
        missed = await self._desk.missed(since, self._seq)
        return f'{encoder.encode(head).decode()[:-1]},"events":[{",".join(missed)}]}}'

    async def _tell_trouble(self, nursery: trio.Nursery) -> None:
        """Why the welcome takes so long, as often as everybody is told."""
        following = self._desk.bus.subscribe(_is_trouble)
        frames = [_told("error", self._desk.trouble)] if self._desk.trouble else []
        while True:
            for frame in frames:
                with trio.CancelScope(shield=True):  # whole, or the welcome could not be read
                    if not await self._send(frame):
                        nursery.cancel_scope.cancel()
                        return
            frames = []
            with contextlib.suppress(Behind):
                frames = [frame.text for frame in await following.receive()]

    # -- to the client --------------------------------------------------------------------------------------------

    async def _write(self, nursery: trio.Nursery) -> None:
        while True:
            for frame in await self._next():
                if not await self._send(frame):
                    nursery.cancel_scope.cancel()
                    return

    async def _next(self) -> list[str]:
        """Answers first, then what happened; what fell out of the ring comes from the database."""
        assert self._subscription is not None
        while True:
            frames = list(self._answers)
            self._answers.clear()
            sent, self._sent = self._sent, trio.Event()
            sent.set()
            try:
                for frame in self._subscription.ready():
                    frames.append(frame.text)
                    self._seq = frame.seq or self._seq
            except Behind:
                missed = await self._desk.missed(self._seq, 1 << 62)
                frames += missed
                self._seq += len(missed)
                self._subscription.wanted = self._is_new
            if frames:
                return frames
            await self._desk.bus.wait()

    def _is_new(self, frame: Frame) -> bool:
        """What came from the database may also still be on its way through the ring."""
        return frame.seq is None or frame.seq > self._seq

    async def _send(self, text: str) -> bool:
        """False when the client is gone or too slow; then it is closed already."""
        with trio.move_on_after(self._send_seconds):
            try:
                await self._connection.send(text)
            except ConnectionClosed:
                return False
            return True
        await self._close(TOO_SLOW, "too slow")
        return False

    async def _close(self, code: int, reason: str) -> None:
        with trio.move_on_after(CLOSE_SECONDS):
            await self._connection.aclose(code, reason)

    # -- from the client ------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        allowance = Allowance(trio.current_time())
        while True:
            try:
                data = await self._connection.recv()
            except ConnectionClosed:
                return
            self._answers.append(await self._handle(data))
            self._desk.bus.wake()
            while len(self._answers) >= MOST_WAITING:  # no more is read of who does not read; sending has a deadline
                await self._sent.wait()
            await trio.sleep(allowance.wait(trio.current_time()))

    async def _handle(self, data: str | bytes) -> str:
        try:
            command = protocol.command(data, may_change=self._scope == "operator")
        except Refused as refused:
            request_id = protocol.head(data).request_id
            answer = {"type": "error", "code": refused.code, "message": str(refused)}
            return encoder.encode(answer if request_id is None else {**answer, "request_id": request_id}).decode()
        return await self._desk.request(command, self._client)


def _told(level: Literal["warning", "error"], text: str) -> str:
    return encoder.encode(Status(level=level, message=text)).decode()


def _is_trouble(frame: Frame) -> bool:
    return isinstance(frame.event, Status) and frame.event.level == "error"
