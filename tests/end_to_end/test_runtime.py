"""The whole of it: long conversations, kill -9, clean stops, two servers."""

from __future__ import annotations

import os
import signal
import sqlite3 as stdlib_sqlite3
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import trio
from pysqlite3 import dbapi2 as sqlite3
from support import (
    QUICK,
    SUPERVISOR,
    Started,
    alive,
    eventually,
    eventually_sync,
    server,
    supervisor,
    toml_file,
    turns,
)  # fmt: skip

from supervisor.client import connect
from supervisor.config import Office
from supervisor.core import inputs
from supervisor.driving import tree
from supervisor.events import AutoModeEnded, Settings, Status, TurnStarted
from supervisor.runtime import AgentRuntime
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
    from pathlib import Path


def rows(folder: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(folder / "office.db")
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


async def test_two_hundred_turns_stand_in_order_and_memory_stays(folder: Path) -> None:
    """C9: at no think time; less than 5 MB more from turn 50 to turn 200."""
    state = StateFolder(folder / "state")
    scenario = toml_file(folder / "s.toml", 'after = "repeat"\n[[turn]]\nsay = "I count."')
    office = Office(settings=Settings(response_delay=0, max_messages=200))
    memory: dict[int, int] = {}
    with trio.fail_after(120), state.locked():
        runtime = AgentRuntime(state, office, limits=QUICK, arguments={"fake": ("--scenario", str(scenario))})
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            following = runtime.bus.subscribe(lambda frame: isinstance(frame.event, TurnStarted | AutoModeEnded))
            await runtime.request(inputs.StartAutoMode(topic="count"), "test")
            over = False
            while not over:
                for frame in await following.receive():
                    if isinstance(frame.event, TurnStarted) and frame.event.turn in (50, 200):
                        memory[frame.event.turn] = psutil.Process().memory_info().rss
                    over = isinstance(frame.event, AutoModeEnded)
            await runtime.stop()
            nursery.cancel_scope.cancel()
    said = rows(state.path, "SELECT sender FROM agent_conversations WHERE sender = agent_id ORDER BY id")
    assert [sender for (sender,) in said] == ["agent_001", "agent_002"] * 100
    heard = rows(
        state.path, "SELECT COUNT(*) FROM agent_conversations WHERE sender LIKE 'agent%' AND sender != agent_id"
    )
    assert heard == [(199,)]
    assert rows(state.path, "SELECT DISTINCT status FROM prompts") == [("answered",)]
    assert memory[200] - memory[50] < 5_000_000


async def told(started: Started, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until a server has told so many events of a kind."""
    found: list[dict[str, Any]] = []
    with trio.fail_after(60):
        async with connect(started.ws_url, started.token, since=0) as client:
            for event in client.welcome["events"]:
                found += [event] if event["type"] == kind else []
            if len(found) < count:
                async for event in client.events:
                    found += [event] if event["type"] == kind else []
                    if len(found) >= count:
                        break
    return found


@pytest.mark.parametrize("moment", ["thinking", "speaking"])
async def test_after_kill_nine_it_goes_on_without_losing_or_repeating_a_turn(tmp_path: Path, moment: str) -> None:
    """E6: the open ask keeps its id; what was said before is not said again; nothing of the old one is left."""
    options = {"thinking": {"FAKE_CLI_THINK": "0.4", "FAKE_CLI_SPEED": "0"},
               "speaking": {"FAKE_CLI_THINK": "0", "FAKE_CLI_SPEED": "900"}}[moment]  # fmt: skip
    topic = "Is maths discovered or invented?"
    with server(tmp_path, "--auto", "--seed", "7", "--topic", topic, **options) as started:
        await told(started, "turn_ended", 3)
        async with connect(started.ws_url, started.token) as client:
            async for event in client.events:
                if event["type"] == "agent_state_update" and event["state"] == moment:
                    break
        os.kill(started.process.pid, signal.SIGKILL)
        await eventually(lambda: started.process.poll() is not None)
    before = rows(started.folder, "SELECT body FROM events WHERE type = 'agent_speech' ORDER BY seq")
    pids = [pid for (pid,) in rows(started.folder, "SELECT pid FROM processes")]
    assert len(pids) == 2
    with server(tmp_path, "--seed", "7", FAKE_CLI_THINK="0", FAKE_CLI_SPEED="0") as again:
        (end,) = await told(again, "autoModeEnded")
        assert end["reason"] == "keyword"
        assert not any(alive(pid) for pid in pids)
    spoken = rows(started.folder, "SELECT body FROM events WHERE type = 'agent_speech' ORDER BY seq")
    assert spoken[: len(before)] == before
    seqs = [seq for (seq,) in rows(started.folder, "SELECT seq FROM events ORDER BY seq")]
    assert seqs == list(range(1, len(seqs) + 1))
    speakers = [
        s for (s,) in rows(started.folder, "SELECT agent_id FROM events WHERE type='agent_speech' ORDER BY seq")
    ]
    assert speakers == (["agent_001", "agent_002"] * 20)[: len(speakers)]
    prompted = rows(started.folder, "SELECT COUNT(*), COUNT(DISTINCT ask_id) FROM prompts")
    assert prompted == [(end["turns"], end["turns"])]
    transcripts = [p.read_text() for p in (started.folder / "agents").rglob("*.jsonl")]
    for (ask_id,) in rows(started.folder, "SELECT ask_id FROM prompts"):
        assert sum(f'"uuid":"{ask_id}"' in text.replace(" ", "") for text in transcripts) == 1
    assert rows(started.folder, "PRAGMA integrity_check") == [("ok",)]
    topic_said = [m for (m,) in rows(started.folder, "SELECT content FROM messages WHERE type = 'agent' ORDER BY seq")]
    reference = supervisor("talk", topic, "--seed", "7", "--state-dir", str(tmp_path / "other"))
    assert [line.partition("): ")[2] for line in reference.stdout.splitlines() if "): " in line] == topic_said


async def test_a_clean_stop_suspends_and_a_start_goes_on(tmp_path: Path) -> None:
    """No `autoModeEnded` in between, and the same number of prompts as turns, but for the one that was interrupted."""
    with server(tmp_path, "--auto", "--seed", "7", FAKE_CLI_THINK="0.2", FAKE_CLI_SPEED="0") as started:
        await told(started, "turn_ended", 2)
        done = supervisor("stop", "--state-dir", str(started.folder))
        assert done.returncode == 0, done.stderr
    assert rows(started.folder, "SELECT COUNT(*) FROM events WHERE type = 'autoModeEnded'") == [(0,)]
    assert not (started.folder / "server.json").exists()
    with server(tmp_path, "--seed", "7", FAKE_CLI_THINK="0", FAKE_CLI_SPEED="0") as again:
        (end,) = await told(again, "autoModeEnded")
    assert end["reason"] == "keyword"
    with server(tmp_path, "--fresh") as fresh:
        await told(fresh, "room_created", 2)  # whoever is quick comes before it is opened
        async with connect(fresh.ws_url, fresh.token) as client:
            assert [room["room_id"] for room in client.welcome["snapshot"]["rooms"]] == ["room_002"]
    assert rows(started.folder, "SELECT COUNT(*) FROM messages WHERE type = 'agent'")[0][0] >= end["turns"]


def test_one_server_a_folder_and_talk_beside_it_refuses(tmp_path: Path) -> None:
    with server(tmp_path) as started:
        for command in ("start", "talk"):
            done = supervisor(
                command, "--state-dir", str(started.folder), *(["--port", "0"] if command == "start" else [])
            )
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert "is using" in done.stderr
            assert "supervisor stop" in done.stderr
        assert supervisor("status", "--state-dir", str(started.folder)).stdout.startswith("A server runs at http://127")
        assert "Nobody is here." in supervisor("agents", "--state-dir", str(started.folder)).stdout
        other = supervisor(
            "start", "--state-dir", str(tmp_path / "b"), "--port", started.url.rstrip("/").rpartition(":")[2]
        )
        assert (other.returncode, other.stderr.count("\n")) == (1, 1)
        assert "is in use already: choose another with --port" in other.stderr
    done = supervisor("status", "--state-dir", str(started.folder))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert supervisor("stop", "--state-dir", str(started.folder)).returncode == 1


def test_what_others_may_read(tmp_path: Path) -> None:
    """Tokens are in files that are for nobody else."""
    with server(tmp_path) as started:
        for name in ("server.json", "tokens.json", "office.db"):
            assert (started.folder / name).stat().st_mode & 0o077 == 0
        assert started.folder.stat().st_mode & 0o077 == 0


def test_ctrl_c_once_and_twice(tmp_path: Path) -> None:
    """Once: clean, exit status 130. Twice: at once. Neither leaves a process."""
    for times in (1, 2):
        folder = tmp_path / str(times)
        scenario = toml_file(tmp_path / "s.toml", "[[turn]]\nsteps = [ { hang = true } ]")
        command = [*SUPERVISOR, "start", "--auto", "--port", "0", "--no-open", "--state-dir", str(folder)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "FAKE_CLI_SCENARIO": str(scenario)},
        )  # fmt: skip
        assert process.stdout
        process.stdout.readline()
        eventually_sync(partial(thinking, folder / "office.db"))
        process.send_signal(signal.SIGINT)
        out = process.stdout.readline() + process.stdout.readline()
        if times == 2:
            process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Stopping; " in out
        assert ("everything is saved" in rest) == (times == 1)
        assert errors == ""


def thinking(path: Path) -> bool:
    try:
        connection = stdlib_sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        found = connection.execute("SELECT 1 FROM agent_state_history WHERE new_state = 'thinking'").fetchone()
        connection.close()
    except stdlib_sqlite3.Error:
        return False
    return found is not None


async def test_a_database_that_cannot_be_written_holds_everything_back(folder: Path) -> None:
    """Nothing goes out that is not safe; when there is room again, it goes on."""
    state = StateFolder(folder / "state")
    with trio.fail_after(60), state.locked():
        runtime = AgentRuntime(state, Office(settings=Settings(response_delay=0)), limits=QUICK)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            await runtime.look(lambda: None)
            following = runtime.bus.subscribe()
            runtime._store._connection.execute("PRAGMA max_page_count = 1")
            async with trio.open_nursery() as asking:
                asking.start_soon(runtime.request, inputs.StartAutoMode(topic="x" * 4000), "test")
                frames = await following.receive()
                assert isinstance(frames[0].event, Status)
                assert "trying again" in frames[0].event.message
                assert all(frame.seq is None for frame in frames)
                runtime._store._connection.execute("PRAGMA max_page_count = 1000000")
            while not any(isinstance(frame.event, AutoModeEnded) for frame in await following.receive()):
                pass
            await runtime.stop()
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 8])
async def test_a_stop_at_any_moment_suspends(folder: Path, turns: int) -> None:
    """Also in the middle of a commit: the last word is always that it was suspended, and it goes on from there."""
    state = StateFolder(folder / "state")
    office = Office(settings=Settings(response_delay=0, min_turns=100_000, max_messages=turns + 3))
    with trio.fail_after(60), state.locked():
        for until in (turns, 10_000):
            runtime = AgentRuntime(state, office, limits=QUICK, arguments={"fake": ("--seed", "7")})
            async with trio.open_nursery() as nursery:
                await nursery.start(runtime.run)
                following = runtime.bus.subscribe()
                if until == turns:
                    await runtime.request(inputs.StartAutoMode(topic="count"), "test")
                over = False
                while not over:
                    for frame in await following.receive():
                        over |= isinstance(frame.event, TurnStarted) and frame.event.turn >= until
                        over |= isinstance(frame.event, AutoModeEnded)
                await runtime.stop()
                nursery.cancel_scope.cancel()
            kinds = rows(state.path, "SELECT type FROM events WHERE type LIKE 'autoMode%' ORDER BY seq")
            assert kinds[-1] == (("autoModePaused",) if until == turns else ("autoModeEnded",))
    assert rows(state.path, "SELECT COUNT(*) FROM messages WHERE type = 'agent'") == [(turns + 3,)]


async def test_what_a_cli_had_started_does_not_outlive_kill_nine(tmp_path: Path) -> None:
    """A grandchild in a session of its own, whose CLI ended by itself when its stdin closed."""
    scenario = toml_file(
        tmp_path / "s.toml", turns('{ grandchild = "own-session", seconds = 120 }, { text = "x" }', after="silence")
    )
    with server(tmp_path, "--auto", FAKE_CLI_SCENARIO=str(scenario)) as started:
        await told(started, "turn_ended", 1)
        (marked,) = {name for name in marks() if name}
        os.kill(started.process.pid, signal.SIGKILL)
        await eventually(lambda: started.process.poll() is not None)
    assert tree.owned(marked)
    with server(tmp_path, FAKE_CLI_SCENARIO=str(scenario)) as again:
        await told(again, "autoModeResumed")
        left = [psutil.Process(pid).cmdline() for pid in tree.owned(marked)]
        assert all("fake_cli" in command for command in left)


def marks() -> set[str]:
    """The owners of marked processes below this one."""
    return {tree._mark(child.pid).partition(":")[0] for child in psutil.Process().children(recursive=True)}


def test_a_backend_that_is_configured_no_longer_is_one_line(tmp_path: Path) -> None:
    """And the folder can be used again with the file, or with --fresh."""
    file = toml_file(
        tmp_path / "o.toml",
        "[backends.opus]\nkind = 'fake'\n[[agents]]\nname = 'Ada'\nrole = 'x'\nbackend = 'opus'\n",
    )
    with server(tmp_path, "--config", str(file)) as started:
        pass
    done = supervisor("start", "--state-dir", str(started.folder), "--port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Ada uses the backend 'opus', which is not configured" in done.stderr
    with server(tmp_path, "--fresh"):
        pass


async def test_a_new_topic_on_the_command_line_is_talked_about(tmp_path: Path) -> None:
    """Also where another conversation was suspended; without a topic that one goes on."""
    options = {"FAKE_CLI_THINK": "30"}
    with server(tmp_path, "--auto", "--topic", "Tea?", **options) as started:
        await told(started, "autoModeStarted")
    with server(tmp_path, "--auto", **options) as started:
        assert "Tea?" in supervisor("status", "--state-dir", str(started.folder)).stdout
    with server(tmp_path, "--auto", "--topic", "Coffee?", "--duration", "60", **options) as started:
        started_ones = await told(started, "autoModeStarted", 2)
    assert [event["topic"] for event in started_ones] == ["Tea?", "Coffee?"]
    assert started_ones[1]["endsAt"] - started_ones[1]["at"] == pytest.approx(60)


async def test_a_room_keeps_its_own_settings_where_no_flag_says_otherwise(tmp_path: Path) -> None:
    file = toml_file(
        tmp_path / "o.toml",
        "[[rooms]]\nname = 'R'\ntopic = 'Tea or coffee?'\nsettings = { max_duration_ms = 50_000, min_turns = 3 }\n",
    )
    with server(tmp_path, "--auto", "--config", str(file), FAKE_CLI_THINK="30") as started:
        (begun,) = await told(started, "autoModeStarted")
        assert (begun["topic"], round(begun["endsAt"] - begun["at"])) == ("Tea or coffee?", 50)
    with server(tmp_path / "b", "--auto", "--config", str(file), "--duration", "20", FAKE_CLI_THINK="30") as started:
        (begun,) = await told(started, "autoModeStarted")
        assert round(begun["endsAt"] - begun["at"]) == 20
