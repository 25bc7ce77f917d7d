"""The database: full, locked, killed in the middle of it, copied while it is written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trio
from promises import rows
from pysqlite3 import dbapi2 as sqlite3
from serving import place, until
from support import ROOT, eventually
from websockets.trio.client import connect as connect_socket

from supervisor.cli import control
from supervisor.core import inputs
from supervisor.errors import ServerError, StoreError
from supervisor.events import Status
from supervisor.runtime import runtime
from supervisor.runtime.answers import error, message
from supervisor.store import store
from supervisor.store.folder import ServerNote
from supervisor.store.store import Batch, Prompt, Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
TALK = {"type": "startAutoMode", "topic": "Tea?"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "office.db"


def shape(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return sorted(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'said_%'").fetchall())
    finally:
        connection.close()


def older(path: Path) -> None:
    """As the first version left it, with something that was said."""
    Store(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "DROP TABLE said", "DELETE FROM _sqlite_migrations WHERE name = 'm002_search'", "PRAGMA user_version = 1",
        "INSERT INTO messages VALUES ('m', 1, 'r', 'agent', 'a', 'Ann', 'tea', 1, 1.0, NULL)",
    ):  # fmt: skip
        connection.execute(statement)
    connection.close()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[Any]:
    """Another program writes to it, and does not come to an end."""
    other = sqlite3.connect(folder / "state" / "office.db", isolation_level=None, timeout=10)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


DIE = """
import os, sys
from pathlib import Path
from mortal import live_until
from supervisor.store.store import Store
for statement, path in enumerate(sys.argv[1:], 1):
    if os.fork() == 0:
        live_until(statement)
        Store(Path(path))
        os._exit(0)
    print(status := os.waitstatus_to_exitcode(os.wait()[1]))
    if status == 0:
        break
"""


@pytest.mark.parametrize("before", ["nothing", "the first version"])
def test_a_migration_that_is_killed_half_way(tmp_path: Path, before: str) -> None:
    """C9: killed before each statement of it in turn, the next start makes the same of it."""
    whole = tmp_path / "whole.db"
    Store(whole).close()
    paths = [tmp_path / f"{number}.db" for number in range(100)]
    if before != "nothing":
        older(tmp_path / "older.db")
        for path in paths:
            shutil.copy(tmp_path / "older.db", path)
    command = [sys.executable, "-c", DIE, *map(str, paths)]
    died = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    statuses = [int(line) for line in died.stdout.splitlines()]
    deaths = statuses.index(0)
    assert deaths > 10, died.stderr
    assert set(statuses[:deaths]) == {-signal.SIGKILL}
    for path in paths[:deaths]:
        again = Store(path)
        assert len(again.search("tea")) == (before != "nothing")
        again.close()
        assert shape(path) == shape(whole)


def test_another_program_holds_the_database_at_the_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and nothing is touched; when it is free, it is used."""
    Store(path).close()
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another program is writing to it"):
        Store(path)
    other.execute("ROLLBACK")
    other.close()
    Store(path).close()


def test_a_disk_without_room_at_the_very_first_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says so, wherever the room ends; with room again, it begins."""
    connect, pages = sqlite3.connect, 0

    def small(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    path, refused = tmp_path / "office.db", 0
    while True:
        pages += 1
        try:
            Store(path).close()
            break
        except StoreError as error:
            refused += "is full" in str(error)
    assert refused == pages - 1 > 10


async def test_another_program_holds_the_database_while_it_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewers are told, nothing goes out, and when it is free everything goes on."""
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.2)
    async with place(folder) as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended")
        other = sqlite3.connect(folder / "state" / "office.db", isolation_level=None, timeout=10)
        other.execute("BEGIN IMMEDIATE")
        seen = await until(client, "status", level="error")
        assert "cannot be written (database is locked); trying again" in seen[-1]["message"]
        last = other.execute("SELECT MAX(seq) FROM events").fetchone()[0]
        told = [event["seq"] for event in seen if "seq" in event]
        assert max(told, default=0) <= last
        other.execute("ROLLBACK")
        other.close()
        seen = await until(client, "autoModeEnded")
        assert any(event.get("message") == "the database can be written again" for event in seen)
        assert seen[-1]["reason"] == "keyword"


async def test_whoever_comes_while_nothing_can_be_saved_is_told_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and welcomed when that is possible; commands do not wait for it."""
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.1)
    async with place(folder) as here, here.client() as client:
        with locked(folder) as other:
            here.runtime.ended("nobody")  # a step that waits
            await until(client, "status", level="error")
            note = ServerNote(pid=1, url="", ws_url=here.ws_url, token=here.tokens.operator, view_token="")
            with pytest.raises(ServerError, match=r"cannot be written \(database is locked\)"):
                await control.snapshot(note)
            async with connect_socket(here.ws_url) as socket:
                await socket.send(f'{{"type":"hello","token":"{here.tokens.operator}"}}')
                for _ in range(2):  # as often as everybody else
                    told = json.loads(await socket.recv())
                    assert (told["type"], told["level"]) == ("status", "error")
                other.execute("ROLLBACK")
                while (told := json.loads(await socket.recv()))["type"] == "status":
                    pass
                assert told["type"] == "welcome"


async def test_what_was_said_can_be_read_while_nothing_can_be_saved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCKED_SECONDS", 100)
    async with place(folder) as here, here.client() as client, here.client() as reader, trio.open_nursery() as nursery:
        await client.request(TALK)
        await until(client, "autoModeEnded")
        seq = here.runtime.seq
        with locked(folder) as other:
            nursery.start_soon(client.request, {"type": "create_room", "name": "later"})
            await eventually(lambda: here.runtime.seq > seq)  # decided, and not saved
            said = (await reader.request({"type": "get_history", "room_id": "room_001"}))["messages"]
            found = await reader.request({"type": "search", "query": said[-2]["content"]})
            assert found["messages"][0]["content"] == said[-2]["content"]
            other.execute("ROLLBACK")


async def test_a_question_that_takes_its_time_holds_up_no_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    over = []

    def slow(*_: Any) -> list[Any]:
        begun.set()
        go.wait(10)
        over.append(True)
        return []

    monkeypatch.setattr(Store, "search", slow)
    async with place(folder) as here, here.client() as client, here.client() as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.request, {"type": "search", "query": "tea"})
        await eventually(begun.is_set)
        await client.request({"type": "create_room", "name": "now"})
        assert not over
        go.set()


async def test_a_question_that_comes_too_late_is_answered_all_the_same(folder: Path) -> None:
    async with place(folder) as here:
        await here.runtime.stop()
        answer = await here.runtime.request(inputs.Search(query="tea", request_id="r1"), "me")
        assert answer == error("r1", "invalid_state", "The supervisor stops.")


async def test_a_patient_client_waits_until_it_is_welcomed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.1)
    async with place(folder) as here, here.client() as client, trio.open_nursery() as nursery:
        with locked(folder) as other:
            here.runtime.ended("nobody")  # a step that waits
            await until(client, "status", level="error")

            async def come() -> None:
                async with here.client() as late:
                    assert late.welcome["snapshot"]["rooms"] == []

            nursery.start_soon(come)
            await until(client, "status", level="error")
            other.execute("ROLLBACK")


async def test_a_full_disk_loses_nothing_that_was_acknowledged(folder: Path) -> None:
    """Requests are answered when they are safe; a stop does not wait for room that never comes."""
    async with place(folder) as here, here.client(client_id="me") as client:
        await client.request({"type": "create_room", "name": "kept"}, "1")
        limit = here.runtime.store._connection.execute("PRAGMA page_count").fetchone()[0]
        here.runtime.store._connection.execute(f"PRAGMA max_page_count = {limit}")
        answered = []

        async def ask(number: int) -> None:
            name = f"{number} " + "x" * 150
            await client.request({"type": "create_room", "name": name}, f"n{number}")
            answered.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(ask, number)
            await until(client, "status", level="error")
            before = [*answered]
            await trio.sleep(0.2)
            assert answered == before
            here.runtime.store._connection.execute("PRAGMA max_page_count = 100000")
        assert sorted(answered) == list(range(40))
    async with place(folder) as again, again.client() as client:
        assert len(client.welcome["snapshot"]["rooms"]) == 41


async def test_a_request_that_is_sent_again_while_nothing_can_be_saved_is_answered_when_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is known before what it says is safe; then both get the same one, and it has happened once."""
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.1)
    answers: list[str] = []
    async with place(folder) as here, here.client() as client:

        async def ask() -> None:
            answers.append(await here.runtime.request(inputs.CreateRoom(name="once", request_id="r1"), "me"))

        with locked(folder) as other:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await until(client, "status", level="error")
                nursery.start_soon(ask)
                await until(client, "status", level="error")
                assert answers == []
                other.execute("ROLLBACK")
        assert answers == [message("ack", "r1")] * 2
        assert len(here.runtime.core.state.rooms) == 1


async def test_a_stop_that_gives_up_on_the_database_acknowledges_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "LAST_WORDS_SECONDS", 0.2)
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.1)
    answers: list[str] = []
    async with place(folder) as here, here.client() as client:

        async def ask() -> None:
            answers.append(await here.runtime.request(inputs.CreateRoom(name="lost", request_id="r1"), "me"))

        with locked(folder):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await until(client, "status", level="error")
                await here.runtime.stop()
    assert answers == [error("r1", "invalid_state", "The supervisor stops, and this was not saved.")]
    async with place(folder) as again:
        assert not again.runtime.core.state.rooms


@pytest.mark.parametrize("stuck", [False, True])
async def test_a_stop_on_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, stuck: bool) -> None:
    """It ends all the same, also where a step waits for room already; the next start finds it as after a crash."""
    monkeypatch.setattr(runtime, "LAST_WORDS_SECONDS", 0.7)
    async with place(folder, "--think", "0.2") as here, here.client() as client:
        await client.request({**TALK, "topic": "Is maths discovered or invented?"})
        await until(client, "turn_started")
        following = here.runtime.bus.subscribe(lambda frame: isinstance(frame.event, Status))
        here.runtime.store._connection.execute("PRAGMA max_page_count = 1")
        if stuck:
            await following.receive()
        assert not await here.runtime.stop()
    assert any("trying again" in frame.text for frame in following.ready()) or stuck
    async with place(folder) as again, again.client(since=0) as client:
        assert (await until(client, "autoModeEnded"))[-1]["reason"] == "keyword"


async def test_an_answer_that_comes_while_a_stop_gives_up_is_not_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is free just when nobody waits for it any more: what was not saved has not happened, all of it."""
    monkeypatch.setattr(runtime, "LAST_WORDS_SECONDS", 0.5)
    monkeypatch.setattr(store, "LOCKED_SECONDS", 0.1)
    async with place(folder, "--think", "0.5") as here, here.client() as client:
        await client.request({**TALK, "topic": "Is maths discovered or invented?"})
        await until(client, "agent_state_update", state="thinking")
        other = sqlite3.connect(folder / "state" / "office.db", isolation_level=None, timeout=10)
        other.execute("BEGIN IMMEDIATE")
        here.runtime.ended("nobody")  # a step that waits
        await until(client, "status", level="error")
        await eventually(lambda: bool(here.runtime._batch.tails))  # a turn is over, in the next one
        close = here.runtime._close

        async def free_again(**options: Any) -> None:
            other.close()
            await close(**options)

        monkeypatch.setattr(here.runtime, "_close", free_again)
    async with place(folder) as again, again.client(since=0) as client:
        assert (await until(client, "autoModeEnded"))[-1]["reason"] == "keyword"
    odd = "SELECT ask_id, status FROM prompts WHERE status != 'answered'"
    assert rows(folder / "state", odd) == []


def test_a_backup_while_somebody_writes(path: Path) -> None:
    """C9: whole at any moment: of each step of the loop all or nothing."""
    writer, stop = Store(path), threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            pair = [Prompt(ask_id=f"{number}{x}", agent_id=x, prompt="p" * 500) for x in "ab"]
            try:
                writer.commit(Batch(at=float(number), prompts=pair))
            except BaseException as error:
                failed.append(error)
                raise

    thread = threading.Thread(target=write)
    thread.start()
    counts = []
    for number in range(8):
        copy = path.with_name(f"{number}.db")
        store.back_up(path, copy)
        connection = sqlite3.connect(copy)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (a, b) = (
            connection.execute("SELECT COUNT(*) FROM prompts WHERE agent_id = ?", (x,)).fetchone()[0] for x in "ab"
        )
        assert a == b
        counts.append(a)
        connection.close()
    stop.set()
    thread.join()
    writer.close()
    assert not failed
    assert counts[-1] > counts[0]
