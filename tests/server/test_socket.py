"""The socket as programs use it: a real server, real connections, real (fake) agents."""

from __future__ import annotations

import contextlib
import hmac
import http.client
import json
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import trio
from serving import Place, place, until
from support import eventually, toml_file
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect as raw

from supervisor.driving.tree import Sweeper
from supervisor.errors import Refused, ServerError
from supervisor.events import Status
from supervisor.runtime import questions
from supervisor.server import viewers
from supervisor.server.page import Page
from supervisor.server.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


SPAWN = {"type": "agent_spawn_request", "agent_config": {"name": "Zoe", "role": "helper", "cli_backend": "fake"}}


async def test_a_conversation_over_the_socket(folder: Path) -> None:
    """A1–A9: start it, hear every word in order, and why it ended."""
    async with place(folder) as here, here.client() as client:
        assert (await client.request({"type": "startAutoMode", "topic": "Is maths discovered or invented?"}))[
            "type"
        ] == "ack"
        seen = await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "keyword"
        kinds = {event["type"] for event in seen}
        assert {"agent_spawned", "autoModeStarted", "turn_started", "agent_state_update", "agentMessage",
                "message_added", "agent_speech", "turn_ended", "agent_usage", "agent_text_delta"} <= kinds  # fmt: skip
        seqs = [event["seq"] for event in seen if "seq" in event]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
        spoken = [event for event in seen if event["type"] == "agent_speech"]
        assert spoken[0]["recipients"] == ["agent_002", "player_0"]
        assert all(event["signal"] == "transcript" for event in seen if event["type"] == "turn_ended")
        assert "CONVERSATION_END" not in json.dumps(seen)


async def test_spawn_query_and_terminate(folder: Path) -> None:
    """C1, C2, C3: confirmed with id and request id; a repeated request does not spawn twice."""
    async with place(folder) as here, here.client() as client:
        first = await client.request(SPAWN, "r1")
        assert (first["type"], first["agent_id"], first["request_id"]) == ("agent_spawned", "agent_001", "r1")
        assert (await client.request(SPAWN, "r1"))["agent_id"] == "agent_001"
        with pytest.raises(Refused, match="There is a Zoe already"):
            await client.request(SPAWN, "r2")
        state: dict[str, Any] = {}
        while not state.get("pid"):
            state = await client.request({"type": "get_agent_state", "agent_id": "agent_001"})
        assert state["state"] == "idle"
        assert state["memory_bytes"] > 1_000_000
        for key in ("position", "current_task", "active", "participating", "thinking", "uptime", "cpu_percent",
                    "tokens", "context_used"):  # fmt: skip
            assert key in state
        await client.request({"type": "agent_terminate_request", "agent_id": "agent_001"})
        assert (await until(client, "agent_removed"))[-1]["reason"] == "terminated"
        with pytest.raises(Refused, match="no agent"):
            await client.request({"type": "get_agent_state", "agent_id": "agent_001"})


async def test_however_many_ask_for_figures_the_processes_are_looked_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C3: and whoever came since is seen at once."""
    monkeypatch.setattr(questions, "FRESH_SECONDS", 100)
    sweeps = []
    sweep = Sweeper.sweep

    def counted(self: Sweeper, roots: Mapping[str, int]) -> Any:
        sweeps.append(roots)
        return sweep(self, roots)

    monkeypatch.setattr(Sweeper, "sweep", counted)
    async with place(folder) as here, here.client() as client:
        for number in (1, 2):
            person = {"name": f"A{number}", "role": "helper", "cli_backend": "fake"}
            agent = (await client.request({**SPAWN, "agent_config": person}))["agent_id"]
            question = {"type": "get_agent_state", "agent_id": agent}
            while not (first := await client.request(question))["pid"]:
                pass
            again = await client.request(question)
            assert again["memory_bytes"] == first["memory_bytes"] > 0
            assert len(sweeps) == number


async def test_request_ids_outlive_a_restart(folder: Path) -> None:
    """The same client, the same request, another server: answered again, not carried out again."""
    for _ in range(2):
        async with place(folder) as here, here.client(client_id="me") as client:
            assert (await client.request(SPAWN, "once"))["agent_id"] == "agent_001"
            assert len(here.runtime.core.state.agents) == 1


async def test_every_transition_is_told_and_recorded(folder: Path) -> None:
    """C4, C5: and a command against the table is refused with an error."""
    scenario = toml_file(
        folder / "s.toml", "[[turn]]\nsteps = [ { wait = 0.2 }, { text = 'hello' }, { silence = true } ]"
    )
    async with place(folder, "--scenario", str(scenario)) as here, here.client() as client:
        await client.request({"type": "startAutoMode", "topic": "x"})
        await until(client, "agent_state_update", state="speaking")
        with pytest.raises(Refused, match="speaking and does not move") as refused:
            await client.request({"type": "move_agent", "agent_id": "agent_001", "position": {"x": 1, "y": 1}})
        assert refused.value.code == "invalid_state"
        await client.request({"type": "stopAutoMode"})
        await until(client, "autoModeEnded", reason="user")
        rows = here.runtime._store._connection.execute("SELECT old_state, new_state FROM agent_state_history")
        assert list(rows) == [
            ("idle", "listening"), ("listening", "thinking"), ("thinking", "speaking"), ("speaking", "idle")
        ]  # fmt: skip


async def test_the_timer_preempts_over_the_socket(folder: Path) -> None:
    """A7: within a second of the deadline, although somebody is in mid-turn."""
    async with place(folder, "--think", "30") as here, here.client() as client:
        await client.request({"type": "startAutoMode", "topic": "x", "maxDurationMs": 500})
        end = (await until(client, "autoModeEnded"))[-1]
        assert end["reason"] == "timer"
        assert 500 <= end["durationMs"] < 1500


async def test_the_keyword_in_tools_and_thoughts_ends_nothing(folder: Path) -> None:
    """A6: only what is said counts, also when it is split over two blocks."""
    word = "[CONVERSATION_END]"
    steps = f"""{{ think = "{word}" }}, {{ tool = "Bash", input = {{ command = "echo {word}" }}, result = "{word}" }},
        {{ text = "no" }}"""
    scenario = toml_file(folder / "s.toml", f"[[turn]]\nsteps = [ {steps} ]\n[[turn]]\nsteps = [ {{ keyword = 2 }} ]")
    async with place(folder, "--scenario", str(scenario)) as here, here.client() as client:
        await client.request({"type": "startAutoMode", "topic": f"What is {word}?"})
        seen = await until(client, "autoModeEnded")
        assert (seen[-1]["reason"], seen[-1]["turns"]) == ("keyword", 3)
        texts = [event["text"] for event in seen if event["type"] == "agentMessage"]
        assert texts == ["no", "no"]


async def test_a_turn_that_goes_on_after_the_keyword_is_cut_short(folder: Path) -> None:
    """A6: at once means within a second or so."""
    steps = '{ text = "Done. [CONVERSATION_END]" }, { tool = "Bash", seconds = 60 }'
    scenario = toml_file(folder / "s.toml", f"[[turn]]\nsteps = [ {steps} ]")
    async with place(folder, "--scenario", str(scenario)) as here, here.client() as client:
        await client.request({"type": "startAutoMode", "topic": "x"})
        end = (await until(client, "autoModeEnded"))[-1]
        assert (end["reason"], end["durationMs"] < 10_000) == ("keyword", True)


@pytest.mark.parametrize(("crashes", "reason"), [(1, "message_limit"), (2, "agent_exit")])
async def test_an_exit_in_mid_turn(folder: Path, crashes: int, reason: str) -> None:
    """A9: survived once, and the second time it ends."""
    marker = "{ crash = 3 }"
    body = f"[[turn]]\nsteps = [ {marker} ]\n" * crashes
    scenario = toml_file(folder / "s.toml", body + '[[turn]]\nsay = "fine"\n' * 3)
    async with place(folder, "--scenario", str(scenario), max_messages=3) as here, here.client() as client:
        await client.request({"type": "startAutoMode", "topic": "x"})
        seen = await until(client, "autoModeEnded")
        assert any(event["type"] == "turn_restarted" for event in seen)
        assert seen[-1]["reason"] == reason


async def test_a_late_viewer_sees_the_present_and_a_returning_one_misses_nothing(folder: Path) -> None:
    """A8: a snapshot, or exactly the events since."""
    async with place(folder) as here:
        async with here.client() as first:
            await first.request({"type": "startAutoMode", "topic": "Is maths discovered or invented?"})
            seen = await until(first, "autoModeEnded")
        stored = [event for event in seen if "seq" in event]
        cut = stored[len(stored) // 2]["seq"]
        async with here.client(since=cut) as again:
            missed = again.welcome["events"]
            assert [m["seq"] for m in missed] == list(range(cut + 1, again.welcome["seq"] + 1))
            assert [m for m in missed if m["seq"] <= stored[-1]["seq"]] == [s for s in stored if s["seq"] > cut]
        async with here.client(since=10**9) as ahead:
            snapshot = ahead.welcome["snapshot"]
        assert snapshot["rooms"][0]["end"]["reason"] == "keyword"
        assert len([m for m in snapshot["rooms"][0]["messages"] if m["type"] == "agent"]) == stored[-1]["turns"]
        async with here.client() as reader:
            history = await reader.request({"type": "get_history", "limit": 3})
            assert len(history["messages"]) == 3
            before = history["messages"][0]["seq"]
            older = await reader.request({"type": "get_history", "limit": 2, "before": before})
            assert all(m["seq"] < before for m in older["messages"])


async def test_who_comes_later_is_told_what_still_hinders(folder: Path) -> None:
    """What was said of it once, before anybody came, is still so."""
    async with place(folder) as here:
        here.runtime._watcher.trouble = "files cannot be watched (none left); looking every second instead"
        async with here.client() as late:
            told = (await until(late, "status", level="warning"))[-1]
            assert told["message"] == here.runtime.hindrance


async def test_rubbish_gets_an_error_each_and_the_connection_goes_on(folder: Path) -> None:
    async with place(folder) as here, raw(here.ws_url) as rough:
        await rough.send(json.dumps({"type": "hello", "token": here.tokens.operator}))
        assert json.loads(await rough.recv())["type"] == "welcome"
        for text, code in (
            ("x", "bad_message"),
            ('{"type":"fly","request_id":"7"}', "unknown_type"),
            (b"\xff", "bad_message"),
        ):
            await rough.send(text)
            answer = json.loads(await rough.recv())
            assert (answer["type"], answer["code"]) == ("error", code)
        await rough.send('{"type":"get_history","request_id":"9"}')
        assert json.loads(await rough.recv())["request_id"] == "9"


async def test_a_viewers_token_may_only_look(folder: Path) -> None:
    async with place(folder) as here, here.client(here.tokens.viewer) as client:
        assert client.welcome["scope"] == "viewer"
        with pytest.raises(Refused, match="may look") as refused:
            await client.request({"type": "startAutoMode"})
        assert refused.value.code == "forbidden"


async def close_code(here: Place, *messages: str | bytes, **options: Any) -> int:
    async with raw(here.ws_url, **options) as rough:
        with contextlib.suppress(ConnectionClosed):
            for message in messages:
                await rough.send(message)
            while True:
                await rough.recv()
        return rough.close_code or 0


async def test_how_the_door_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4401 for a wrong token or no proper hello, 4408 for silence, 1009 for too much."""
    monkeypatch.setattr(viewers, "HELLO_SECONDS", 0.2)
    async with place(folder) as here:
        assert await close_code(here, '{"type":"hello","token":"wrong"}') == 4401
        assert await close_code(here, '{"type":"startAutoMode"}') == 4401
        assert await close_code(here) == 4408
        hello = json.dumps({"type": "hello", "token": here.tokens.operator})
        assert await close_code(here, hello, "x" * 300_000) == 1009
        headers = {"Authorization": f"Bearer {here.tokens.viewer}"}
        async with raw(here.ws_url, additional_headers=headers) as rough:
            await rough.send('{"type":"hello"}')
            assert json.loads(await rough.recv())["scope"] == "viewer"
        with pytest.raises(ServerError, match="the token is wrong"):
            async with here.client("nope"):
                pass


async def test_a_server_proves_itself_before_it_is_told_anything(folder: Path) -> None:
    """Where it is asked to; then it is greeted as always."""
    async with place(folder) as here, raw(f"{here.ws_url}?nonce=once", max_size=None) as rough:
        asked = f"127.0.0.1:{here.server.port} once".encode()
        tokens = (here.tokens.operator, here.tokens.viewer)
        proofs = [hmac.new(token.encode(), asked, "sha256").hexdigest() for token in tokens]
        assert json.loads(await rough.recv()) == {"type": "proof", "proofs": proofs}
        await rough.send(json.dumps({"type": "hello", "token": here.tokens.viewer}))
        assert json.loads(await rough.recv())["scope"] == "viewer"


async def test_viewers_are_told_that_it_goes_away(folder: Path) -> None:
    codes: list[int] = []
    async with trio.open_nursery() as nursery, place(folder) as here:

        async def stay(*, task_status: trio.TaskStatus[None]) -> None:
            async with raw(here.ws_url) as rough:
                await rough.send(json.dumps({"type": "hello", "token": here.tokens.operator}))
                await rough.recv()
                task_status.started()
                with contextlib.suppress(ConnectionClosed):
                    while True:
                        await rough.recv()
                codes.append(rough.close_code or 0)

        await nursery.start(stay)
    assert codes == [1001]


async def test_who_does_not_read_is_let_go_and_disturbs_nobody(folder: Path) -> None:
    """4409 or 1006; others hear everything meanwhile."""
    async with place(folder, send_seconds=0.3) as here:
        port = here.server.port
        deaf = socket.create_connection(("127.0.0.1", port))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        lines = [
            "GET /ws HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "", "",
        ]  # fmt: skip
        deaf.sendall("\r\n".join(lines).encode())
        body = json.dumps({"type": "hello", "token": here.tokens.operator}).encode()
        deaf.sendall(bytes([0x81, 0x80 | len(body), 0, 0, 0, 0]) + body)
        async with here.client() as client:
            await client.request({"type": "startAutoMode", "topic": "Is maths discovered or invented?"})
            await until(client, "autoModeEnded")
            for _ in range(400):  # more than any buffer on the way holds
                here.runtime.show(Status(message="x" * 20_000))
                await trio.lowlevel.checkpoint()
            await eventually(lambda: here.server.viewers == 1)
            assert (await client.request({"type": "get_history"}))["messages"]
        deaf.close()


class Plain(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


async def plain(here: Place, path: str, method: str = "GET", **headers: str) -> Plain:
    def fetch() -> Plain:
        connection = http.client.HTTPConnection("127.0.0.1", here.server.port, timeout=10)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        found = Plain(answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()})
        connection.close()
        return found

    return await trio.to_thread.run_sync(fetch)


async def test_plain_requests(folder: Path) -> None:
    """The page, a sign of life, and nothing else; strict headers on each."""
    async with place(folder) as here:
        before = here.runtime.seq
        page = await plain(here, "/")
        assert page.status == 200
        assert "script-src 'self'" in page.headers["content-security-policy"]
        for path in ("/main.js", "/style.css", "/favicon.ico", "/favicon.svg", "/main.js?v=1"):
            assert (await plain(here, path)).status == 200
        assert (await plain(here, "/healthz")).body == b"ok\n"
        head = await plain(here, "/", "HEAD")
        assert (head.status, head.body) == (200, b"")
        for path in (
            "/nothing", "/../pyproject.toml", "/%2e%2e/pyproject.toml", "/README.md", "//etc/passwd", "/main.js%00.png",
            "/art/..%2fmain.js", "/..%5cmain.js", "/%252e%252e/main.js", "/art/../main.js", "/./main.js",
            "/main.js/", "/MAIN.JS", "/__init__.py", "/art", "/ws/", "/wS", "/healthz/x",
        ):  # fmt: skip
            answer = await plain(here, path)
            assert answer.status == 404, path
            assert "content-security-policy" in answer.headers
        assert (await plain(here, "/ws")).status == 426
        strict = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
                  "cross-origin-opener-policy": "same-origin",
                  "cross-origin-resource-policy": "same-origin"}  # fmt: skip
        for path in ("/", "/nothing", "/ws", "/healthz"):
            assert strict.items() <= (await plain(here, path)).headers.items()
        bad = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        refused = await plain(here, "/ws", **bad)  # by the library: there is no key
        assert refused.status == 400
        assert strict.items() <= refused.headers.items()
        assert (await plain(here, "/", Host="evil.example")).status == 421
        assert (await plain(here, "/", Origin="http://evil.example")).status == 403
        assert (await plain(here, "/", "DELETE")).status == 405
        for file in Page()._files:
            assert (await plain(here, f"{file}?agent_spawn_request=1&token={here.tokens.operator}")).status == 200
        assert here.runtime.seq == before


async def test_a_port_that_is_taken(folder: Path) -> None:
    async with place(folder) as here:
        with pytest.raises(ServerError, match=f"Port {here.server.port} is in use already: choose another"):
            await Server(here.runtime, here.tokens).listen(here.server.port)


async def test_numbers_beyond_all_measure_are_refused_and_not_fatal(folder: Path) -> None:
    async with place(folder) as here, here.client() as client:
        for message in (
            {"type": "get_history", "before": 10**30},
            {"type": "get_history", "limit": -5},
            {"type": "complete_task", "task_id": 10**30},
            {"type": "move_agent", "agent_id": "agent_001", "position": {"x": 10**12, "y": 1}},
            {"type": "create_room", "name": "x" * 250_000},
        ):
            try:
                answer = (await client.request(message))["type"]
            except Refused as refused:
                answer = refused.code
            assert answer in ("bad_message", "unknown_agent", "ack")


async def test_a_fast_client_that_reads_gets_every_answer(folder: Path) -> None:
    """Two thousand commands at once: each is answered once, in order."""
    async with place(folder) as here, raw(here.ws_url, max_size=None) as socket_:
        await socket_.send(json.dumps({"type": "hello", "token": here.tokens.operator}))
        await socket_.recv()

        async def send() -> None:
            for number in range(2000):
                await socket_.send(json.dumps({"type": "nope", "request_id": str(number)}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            answers = [json.loads(await socket_.recv()) for _ in range(2000)]
        assert [answer["request_id"] for answer in answers] == [str(number) for number in range(2000)]


async def test_what_is_no_request_gets_an_answer_too(folder: Path) -> None:
    """A body, and rubbish."""
    async with place(folder) as here:
        for request in (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", b"rubbish\r\n\r\n"):
            stream = await trio.open_tcp_stream("127.0.0.1", here.server.port)
            await stream.send_all(request)
            answer = b""
            with trio.fail_after(5):
                while chunk := await stream.receive_some():
                    answer += chunk
            assert answer.startswith(b"HTTP/1.1 400 ")
            await stream.aclose()


async def test_a_client_that_never_looks_at_events_can_go_on_asking(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are kept."""
    monkeypatch.setattr("supervisor.client.KEPT_EVENTS", 3)
    async with place(folder) as here, here.client() as client:
        for number in range(10):
            await client.request({"type": "create_room", "name": f"room {number}"})
        assert client.events.statistics().current_buffer_used == 3


async def test_in_manual_mode_eight_are_asked_and_stream_at_once(folder: Path) -> None:
    """D3, D18: all eight prompts are written before the first answer ends, and all stream in between."""
    arguments = ("--speed", "400", "--think", "0.5")
    async with place(folder, *arguments) as here, here.client() as client:
        await client.request({"type": "create_room", "name": "Eight"})
        for number in range(8):
            config = {"name": f"P{number}", "role": f"role {number}"}
            await client.request({"type": "agent_spawn_request", "agent_config": config, "room_id": "room_001"})
        await client.request(
            {"type": "user_message", "content": "Should cities ban private cars?", "room_id": "room_001"}
        )
        written, streamed, answers, early = set(), set(), 0, 0
        async for event in client.events:
            if event["type"] == "agent_state_update" and event["state"] == "thinking":
                written.add(event["agent_id"])
            if event["type"] == "agent_text_delta":
                streamed.add(event["agent_id"])
            if event["type"] == "turn_ended":
                early = early or len(written)
                answers += 1
                if answers == 8:
                    break
        assert early == 8
        assert len(streamed) >= 6  # some may skip
        async with here.client() as other:
            (room,) = other.welcome["snapshot"]["rooms"]
            ids = [message["id"] for message in room["pending"]]
            assert ids
            await other.request({"type": "resolve_pending", "accept": ids[:1], "dismiss": ids[1:]})
        seen = await until(client, "pending_resolved")
        added = [event["message"] for event in seen if event["type"] == "message_added"]
        assert sorted(message["active"] for message in added) == [False] * (len(ids) - 1) + [True]


async def test_an_agent_that_begins_anew_answers_out_of_a_fresh_session(folder: Path) -> None:
    """D4: a real CLI is replaced, and knows only what counts."""
    scenario = toml_file(folder / "s.toml", 'after = "echo"')
    async with place(folder, "--scenario", str(scenario)) as here, here.client() as client:
        await client.request({"type": "create_room", "name": "R"})
        config = {"name": "Ada", "role": "helper"}
        await client.request({"type": "agent_spawn_request", "agent_config": config, "room_id": "room_001"})
        await client.request({"type": "user_message", "content": "secret word"})
        seen = await until(client, "pending_added")
        await until(client, "turn_ended")
        first = (await client.request({"type": "get_agent_state", "agent_id": "agent_001"}))["pid"]
        await client.request({"type": "resolve_pending", "dismiss": [seen[-1]["message"]["id"]]})
        await client.request({"type": "user_message", "content": "new question"})
        seen = await until(client, "pending_added")
        assert [event["agent_id"] for event in seen if event["type"] == "agent_session"] == ["agent_001"]
        second = (await client.request({"type": "get_agent_state", "agent_id": "agent_001"}))["pid"]
        assert second != first
        transcripts = sorted((folder / "state" / "agents" / "agent_001").rglob("*.jsonl"))
        assert len(transcripts) == 2
