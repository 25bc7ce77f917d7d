"""Whoever has no token: few at a time, for a few seconds, with little to say, and a nuisance to nobody."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest
import trio
from serving import Place, place, until
from support import eventually
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect as raw

from supervisor.errors import Refused, ServerError
from supervisor.server import server, strangers, viewers
from supervisor.server.page import Page
from supervisor.server.viewers import Allowance
from supervisor.store.folder import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UPGRADE = (
    "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{}\r\n"
)
LITTLE = b"GET / HTTP/1.1\r\nHost: "


def frame(payload: bytes, first: int = 0x81) -> bytes:
    """As a client sends it, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack("!H", length)
    return bytes([first]) + size + bytes(4) + payload


async def knock(here: Place, *pieces: bytes, seconds: float = 8) -> bytes:
    """Send raw bytes, and read until the server has had enough."""
    answer = b""
    with trio.fail_after(seconds):
        async with await trio.open_tcp_stream("127.0.0.1", here.server.port) as stream:
            with contextlib.suppress(trio.BrokenResourceError):
                for piece in pieces:
                    await stream.send_all(piece)
                    await trio.lowlevel.checkpoint()
                while chunk := await stream.receive_some():
                    answer += chunk
    return answer


async def welcomed(here: Place) -> float:
    """How long it takes somebody with a token to come in."""
    begun = trio.current_time()
    async with here.client() as client:
        assert client.welcome["scope"] == "operator"
        return trio.current_time() - begun


def test_after_a_wrong_token_everybody_waits_and_nobody_for_long() -> None:
    turns = strangers.Turns()
    assert [turns.wait(100.0) for _ in range(3)] == [0.0] * 3
    turns.failed(100.0)
    waits = [turns.wait(100.0) for _ in range(50)]
    assert waits[:3] == pytest.approx([0.3, 0.6, 0.9])
    assert waits[20:] == [strangers.MOST_TURN_SECONDS] * 30
    turns.failed(102.0)
    assert turns.wait(102.0) == pytest.approx(0.3)
    assert turns.wait(103.0) == 0.0


async def test_wrong_tokens_take_their_time_one_after_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many try at once; and who has the right one waits no longer than for a few of them."""
    monkeypatch.setattr(strangers, "FAILED_SECONDS", 0.5)
    monkeypatch.setattr(strangers, "MOST_TURN_SECONDS", 5)
    async with place(folder) as here:
        begun = trio.current_time()
        ends: list[float] = []

        async def guess() -> None:
            with pytest.raises(ServerError, match="the token is wrong"):
                async with here.client("x" * 43):
                    pass
            ends.append(trio.current_time() - begun)

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(guess)
            await eventually(lambda: ends and here.server._strangers.waiting >= 3)
            assert await welcomed(here) >= 0.1
        assert ends[-1] >= 5 * 0.5


async def test_who_does_not_wait_for_the_answer_has_not_guessed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right token that is shown after a wrong one is not told from a wrong one by its speed."""
    monkeypatch.setattr(strangers, "FAILED_SECONDS", 600)
    monkeypatch.setattr(strangers, "MOST_TURN_SECONDS", 600)
    async with place(folder) as here:
        with pytest.raises(ServerError, match="the token is wrong"):
            async with here.client("x" * 43):
                pass
        looked_at: list[str] = []
        monkeypatch.setattr(here.server._gate, "scope", looked_at.append)
        for token in ("y" * 43, here.tokens.operator):
            async with raw(here.ws_url) as rough:
                await rough.send(json.dumps({"type": "hello", "token": token}))
                await eventually(lambda: here.server._strangers.waiting == 1)
            await eventually(lambda: here.server._strangers.waiting == 0)
        assert looked_at == []


async def test_whoever_guesses_and_hangs_up_keeps_nobody_out(folder: Path) -> None:
    """Nothing is left of it, and it takes nobody's place."""
    async with place(folder) as here:
        request = UPGRADE.format(here.server.port, "").encode()
        guess = frame(json.dumps({"type": "hello", "token": "x" * 43}).encode())

        async def hit_and_run() -> None:
            for _ in range(30):
                async with await trio.open_tcp_stream("127.0.0.1", here.server.port) as stream:
                    await stream.send_all(request + guess)
                    await stream.receive_some()

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(hit_and_run)
        await eventually(lambda: not here.server._viewers)
        assert await welcomed(here) < 5


async def test_a_wrong_token_is_no_way_to_fill_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows it may be no longer than what a stranger may say; who is let in may say more."""
    monkeypatch.setattr(strangers, "FAILED_SECONDS", 1.0)
    async with place(folder) as here:
        async with raw(here.ws_url, compression=None) as first:
            await first.send('{"type":"hello","token":"wrong"}')
            with pytest.raises(ConnectionClosed):
                await first.recv()
        async with raw(here.ws_url, compression=None) as rough:
            await rough.send('{"type":"hello","token":"wrong"}')
            await eventually(lambda: here.server._strangers.waiting)
            with contextlib.suppress(ConnectionClosed):
                for _ in range(3):  # the limit of the next one holds already
                    await rough.send("x" * 5000)
                await rough.recv()
            assert rough.close_code == 1009
        async with here.client() as client:
            with pytest.raises(Refused):
                await client.request({"type": "user_message", "room_id": "nowhere", "content": "x" * 100_000})


async def test_a_first_message_is_short_and_later_ones_may_be_long(folder: Path) -> None:
    """1009 before a token was shown; afterwards also what came in the same breath is read."""
    async with place(folder) as here:
        hello: dict[str, Any] = {"type": "hello", "token": here.tokens.operator}
        async with raw(here.ws_url) as rough:
            await rough.send(json.dumps({**hello, "client_id": "x" * 5000}))
            with pytest.raises(ConnectionClosed):
                await rough.recv()
            assert rough.close_code == 1009
        async with raw(here.ws_url, compression=None) as rough:
            await rough.send(json.dumps(hello))
            await rough.send(json.dumps({"type": "create_room", "name": "x" * 100_000, "request_id": "long"}))
            assert json.loads(await rough.recv())["type"] == "welcome"
            while json.loads(await rough.recv()).get("request_id") != "long":
                pass


async def test_a_request_that_never_ends_is_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its length, and by its slowness: a letter now and then does not keep the door open."""
    monkeypatch.setattr(server, "OPEN_SECONDS", 1.0)
    async with place(folder) as here:
        lines = [b"X-%d: %s\r\n" % (number, b"y" * 4000) for number in range(100)]
        assert await knock(here, b"GET / HTTP/1.1\r\nHost: x\r\n", *lines) == b""

        async def trickle() -> None:
            async with await trio.open_tcp_stream("127.0.0.1", here.server.port) as stream:
                await stream.send_all(LITTLE)
                begun = trio.current_time()
                with contextlib.suppress(trio.BrokenResourceError):
                    while True:
                        await stream.send_all(b"a")
                        with trio.move_on_after(0.05):
                            if not await stream.receive_some():
                                break
                assert 0.9 < trio.current_time() - begun < 8

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(trickle)
            await eventually(lambda: len(here.server._strangers) == 20)
            await welcomed(here)
            assert len(here.server._strangers) == 20
        await eventually(lambda: len(here.server._strangers) == 0)


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
async def test_a_thousand_silent_sockets_keep_nobody_out(folder: Path) -> None:
    """The oldest of them go, so that there is always room at the door, and few files are open."""
    async with place(folder) as here, here.client() as inside:
        files = len(os.listdir("/proc/self/fd"))
        silent = []
        try:
            for number in range(1000):
                silent.append(one := socket.socket())
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    one.connect(("127.0.0.1", here.server.port))
                if number % 50 == 0:
                    await trio.lowlevel.checkpoint()
            last = silent[-1].getsockname()
            await eventually(lambda: last in [one.remote_address for one in here.server._strangers._connections], 30)
            assert len(here.server._strangers) == strangers.MOST_STRANGERS
            assert await welcomed(here) < 5
            await eventually(lambda: len(os.listdir("/proc/self/fd")) - files - 1000 <= strangers.MOST_STRANGERS + 10)
            assert (await inside.request({"type": "create_room", "name": "R"}))["type"] == "ack"
        finally:
            for one in silent:
                one.close()
        await eventually(lambda: len(here.server._strangers) == 0)


RUBBISH = {
    "nothing": b"",
    "noise": bytes(range(256)) * 20,
    "NULs": b"\0" * 5000,
    "empty lines": b"\r\n" * 3000,
    "TLS": bytes.fromhex("16030100f1010000ed0303") + b"\x55" * 230,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(20),
    "CONNECT": b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n",
    "a whole address": b"GET http://127.0.0.1:{}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a long line": b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
    "two requests": b"GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
    "a folded header": b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    "a lone LF": b"GET / HTTP/1.1\nHost: a\n\n",
}
FRAMES = {
    "unmasked": b"\x81\x05hello",
    "reserved bits": frame(b"x", 0xF1),
    "unknown opcode": frame(b"x", 0x83),
    "going on with nothing": frame(b"x", 0x80),
    "a ping of pings": frame(b"p", 0x89) * 2000 + frame(b"", 0x88),
    "a ping that is too long": frame(b"p" * 200, 0x89),
    "a fragmented ping": frame(b"p", 0x09),
    "a length without an end": b"\x81\xff" + b"\xff" * 8,
    "no UTF-8": frame(b"\xff\xfe"),
    "a close of one byte": frame(b"x", 0x88),
    "a hello in binary": frame(b"\x00\x01", 0x82),
    "half a frame": b"\x81\xfe\x10\x00\x00",
}


async def test_rubbish_from_raw_sockets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind before and after the upgrade; no answer is a welcome, and the next client is served."""
    monkeypatch.setattr(server, "OPEN_SECONDS", 1.0)
    monkeypatch.setattr(viewers, "HELLO_SECONDS", 1.0)
    monkeypatch.setattr(strangers, "FAILED_SECONDS", 0.0)
    async with place(folder) as here:
        port = str(here.server.port)
        upgrade = UPGRADE.format(port, "").encode()
        answers: dict[str, bytes] = {}

        async def throw(name: str, *pieces: bytes) -> None:
            answers[name] = await knock(here, *pieces, seconds=20)

        async with trio.open_nursery() as nursery:
            for name, data in RUBBISH.items():
                nursery.start_soon(throw, name, data.replace(b"{}", port.encode()))
            for name, data in FRAMES.items():
                nursery.start_soon(throw, name, upgrade, data)
        for name in RUBBISH:
            assert not answers[name] or answers[name].startswith(b"HTTP/1.1 4"), name
        for name in FRAMES:
            assert b"welcome" not in answers[name], name
        await welcomed(here)
        await eventually(lambda: (len(here.server._strangers), here.server.viewers) == (0, 0))


async def test_nothing_is_left_of_who_sent_more_than_was_read(folder: Path) -> None:
    """A wrong token, and then much: the tasks of the connection end with it, although its queue is full."""
    async with place(folder) as here:
        before = tasks()
        async with await trio.open_tcp_stream("127.0.0.1", here.server.port) as stream:
            await stream.send_all(UPGRADE.format(here.server.port, "").encode())
            await stream.receive_some()
            await stream.send_all(frame(b'{"type":"hello","token":"wrong"}') + frame(b"x") * 5000)
            while await stream.receive_some():
                pass
        await eventually(lambda: tasks() <= before)


def tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


async def test_nothing_is_compressed(folder: Path) -> None:
    """So no small message becomes a large one, and no length tells what is in it."""
    async with place(folder) as here, raw(here.ws_url, compression="deflate") as socket_:
        assert socket_.protocol.extensions == []


async def test_who_leaves_in_mid_command_leaves_nothing_undone(folder: Path) -> None:
    """It is carried out once, others hear of it, and who comes back is answered what it was answered."""
    async with place(folder) as here, here.client() as other:
        spawn = {"type": "agent_spawn_request", "request_id": "r1", "agent_config": {"name": "Ada", "role": "helper"}}
        hello = {"type": "hello", "token": here.tokens.operator, "client_id": "me"}
        rude = socket.create_connection(("127.0.0.1", here.server.port))
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it ends with a reset
        rude.sendall(UPGRADE.format(here.server.port, "").encode())
        rude.sendall(frame(json.dumps(hello).encode()) + frame(json.dumps(spawn).encode()))
        await until(other, "agent_spawned")
        rude.close()
        await eventually(lambda: here.server.viewers == 1)
        async with here.client(client_id="me") as again:
            assert (await again.request(spawn, "r1"))["agent_id"] == "agent_001"
        assert len(here.runtime.core.state.agents) == 1


async def test_new_tokens_send_everybody_out(folder: Path) -> None:
    """4401 for those inside, at once; the old tokens are worth nothing, the new ones are."""
    async with place(folder) as here:
        codes = []

        async def stay(token: str, *, task_status: trio.TaskStatus[None]) -> None:
            async with raw(here.ws_url) as rough:
                await rough.send(json.dumps({"type": "hello", "token": token}))
                await rough.recv()
                task_status.started()
                with contextlib.suppress(ConnectionClosed):
                    await rough.recv()
                codes.append(rough.close_code)

        async with trio.open_nursery() as nursery:
            for token in (here.tokens.operator, here.tokens.viewer):
                await nursery.start(stay, token)
            new = Tokens.fresh()
            begun = trio.current_time()
            here.server.rotate(new)
        assert codes == [4401, 4401]
        assert trio.current_time() - begun < 1
        for token in (here.tokens.operator, here.tokens.viewer):
            with pytest.raises(ServerError, match="the token is wrong"):
                async with here.client(token):
                    pass
        async with here.client(new.viewer) as client:
            assert client.welcome["scope"] == "viewer"


def test_how_much_a_client_may_say() -> None:
    allowance = Allowance(0.0)
    assert [allowance.wait(0.0) for _ in range(1000)] == [0.0] * 1000
    assert allowance.wait(0.0) == pytest.approx(1 / 500)
    assert allowance.wait(1.0) == 0.0
    assert sum(allowance.wait(1.0) == 0.0 for _ in range(2000)) == 498
    allowance.wait(1000.0)
    assert sum(allowance.wait(1000.0) == 0.0 for _ in range(2000)) == 999


async def test_who_talks_without_end_does_not_drown_out_others(folder: Path) -> None:
    """It is read more slowly; others are answered meanwhile."""
    async with place(folder) as here, here.client() as other, raw(here.ws_url) as loud:
        await loud.send(json.dumps({"type": "hello", "token": here.tokens.operator}))
        await loud.recv()
        many = int(viewers.AT_ONCE + viewers.PER_SECOND)

        async def shout() -> None:
            for _ in range(many):
                await loud.send('{"type": "get_history", "room_id": "nowhere"}')

        async with trio.open_nursery() as nursery:
            nursery.start_soon(shout)
            begun, slowest = trio.current_time(), 0.0
            for number in range(20):
                asked = trio.current_time()
                await other.request({"type": "create_room", "name": f"room {number}"})
                slowest = max(slowest, trio.current_time() - asked)
            answered = 0
            while answered < many:
                answered += json.loads(await loud.recv())["type"] == "error"
            took = trio.current_time() - begun
        assert slowest < 2
        assert took > 0.9


def test_a_link_that_leads_out_of_the_page_is_not_followed(tmp_path: Path) -> None:
    """Neither to a file nor to a folder; a link within the page is."""
    (tmp_path / "secret.js").write_text("secret")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "main.js").write_text("main")
    (tmp_path / "page" / "same.js").symlink_to("main.js")
    (tmp_path / "page" / "out.js").symlink_to("../secret.js")
    (tmp_path / "page" / "up").symlink_to("..")
    page = Page(tmp_path / "page")
    assert page.find("/main.js")
    assert page.find("/same.js")
    for path in ("/out.js", "/up/secret.js", "/up/page/main.js"):
        assert page.find(path) is None
