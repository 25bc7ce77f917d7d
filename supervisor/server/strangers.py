"""Those who have not shown a token yet: few at a time, for a few seconds, with little to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from websockets.exceptions import InvalidMessage
from websockets.frames import DATA_OPCODES
from websockets.protocol import State
from websockets.trio.server import ServerConnection

from . import protocol as wire

if TYPE_CHECKING:
    from websockets.frames import Frame

MOST_STRANGERS = 128
MOST_BYTES = 4096
"""How long the first message may be."""
MOST_HEAD_BYTES = 32 * 1024
"""How long a request may be with all its headers."""
FAILED_SECONDS = 0.3
"""How long after a wrong token the next one is looked at, right or wrong, and the one after that."""
MOST_TURN_SECONDS = 2.0
"""How long anybody waits for that, so that who has the right one is not kept out by those who guess."""
NOT_A_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"
    b"Content-Length: 10\r\nConnection: close\r\n\r\nOnly GET.\n"
)


class Turns:
    """When a token is looked at: at once, unless a wrong one was shown a moment ago."""

    def __init__(self) -> None:
        self._free = 0.0

    def wait(self, now: float) -> float:
        """How long the next one has to wait; then it is the turn of the one after that."""
        wait = min(max(0.0, self._free - now), MOST_TURN_SECONDS)
        if wait:
            self._free = now + wait + FAILED_SECONDS
        return wait

    def failed(self, now: float) -> None:
        self._free = max(self._free, now + FAILED_SECONDS)


class Strangers:
    """Everybody at the door, in the order in which they came."""

    def __init__(self) -> None:
        self._connections: dict[Connection, None] = {}
        self._turns = Turns()
        self.waiting = 0
        """How many have shown a token that is not looked at yet."""

    def __len__(self) -> int:
        return len(self._connections)

    def came(self, connection: Connection) -> None:
        """Where there are too many, the one that has stood there longest goes: who has a token shows it at once."""
        self._connections[connection] = None
        if len(self._connections) > MOST_STRANGERS:
            self.gone(oldest := next(iter(self._connections)))
            oldest.drop()

    def gone(self, connection: Connection) -> None:
        """It was let in, or has left."""
        self._connections.pop(connection, None)

    async def turn(self, connection: Connection) -> bool:
        """It shows a token: wait until that may be looked at; False when it has hung up, and has learned nothing."""
        seconds = self._turns.wait(trio.current_time())
        if not seconds:
            return True
        connection.protocol.max_message_size = MOST_BYTES
        self.waiting += 1
        try:
            with trio.move_on_after(seconds):
                await connection.wait_closed()
                return False
        finally:
            self.waiting -= 1
        connection.protocol.max_message_size = wire.MOST_BYTES
        return True

    def failed(self) -> None:
        """It was a wrong one."""
        self._turns.failed(trio.current_time())


class Connection(ServerConnection):
    """One that is a stranger at first, and answers also what is no request it can read, such as one with a body."""

    def __init__(
        self, strangers: Strangers, nursery: trio.Nursery, stream: Any, protocol: Any, server: Any, **options: Any
    ) -> None:  # fmt: skip
        self._strangers = strangers
        self._head_bytes = 0
        send_eof, receive_data, recv_frame = protocol.send_eof, protocol.receive_data, protocol.recv_frame

        def answer_and_end() -> None:
            if isinstance(protocol.handshake_exc, InvalidMessage) and protocol.state is State.CONNECTING:
                protocol.writes.append(NOT_A_REQUEST)
            send_eof()

        def receive_little(data: bytes) -> None:
            if protocol.state is State.CONNECTING:
                self._head_bytes += len(data)
                if self._head_bytes > MOST_HEAD_BYTES:
                    self.drop()
                    return
            receive_data(data)

        def first_frame(frame: Frame) -> None:
            """The parser asks for the limit of the next frame as soon as it has one, before anybody reads the first."""
            recv_frame(frame)
            if frame.fin and frame.opcode in DATA_OPCODES:
                protocol.max_message_size = wire.MOST_BYTES
                protocol.recv_frame = recv_frame

        protocol.send_eof, protocol.receive_data, protocol.recv_frame = answer_and_end, receive_little, first_frame
        super().__init__(nursery, stream, protocol, server, **options)
        strangers.came(self)

    def drop(self) -> None:
        """Without a word."""
        self.nursery.cancel_scope.cancel()

    async def close_stream(self) -> None:
        """The library leaves its reader waiting for ever where more was sent than anybody had read."""
        self._strangers.gone(self)
        await super().close_stream()
        if self.recv_flow_control is not None:
            self.resume_reading()
