"""A CLI that outlived its supervisor in the middle of a turn: nobody else waits for it, and what it says counts."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from promises import orphans, rows
from pysqlite3 import dbapi2 as sqlite3
from serving import place, until
from support import QUICK, alive, eventually, server

from supervisor.client import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ASKED = "SELECT ask_id, written_at FROM prompts WHERE status IN ('written', 'seen')"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CLI_THINK", "0")
    monkeypatch.setenv("FAKE_CLI_SPEED", "0")


async def leave_behind(folder: Path) -> int:
    """Kill a supervisor while an agent answers the first ask; returns the pid of its CLI, which stands still."""
    thinks = {"FAKE_CLI_THINK": "0.5", "FAKE_CLI_SPEED": "0"}
    with server(folder, "--auto", "--topic", "Tea?", "--seed", "7", **thinks) as started:
        async with connect(started.ws_url, started.token, since=0) as client:
            thinking = (await until(client, "agent_state_update", state="thinking"))[-1]
        ((pid,),) = rows(started.folder, f"SELECT pid FROM processes WHERE agent_id = '{thinking['agent_id']}'")
        os.kill(pid, signal.SIGSTOP)
        started.process.kill()
        await eventually(lambda: started.process.poll() is not None)
    return int(pid)


@contextlib.asynccontextmanager
async def left_behind(folder: Path) -> AsyncIterator[int]:
    pid = await leave_behind(folder)
    assert len(rows(folder / "state", ASKED)) == 1
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def first_turn(here: Any) -> dict[str, Any]:
    async with here.client(since=0) as client:
        for event in client.welcome["events"]:
            if event["type"] == "turn_ended":
                return dict(event)
        return (await until(client, "turn_ended"))[-1]


async def test_the_office_is_open_while_it_finishes_and_its_answer_counts(folder: Path) -> None:
    """E6: however long it takes; the prompt is not sent again."""
    async with left_behind(folder) as pid:
        ((asked, written),) = rows(folder / "state", ASKED)
        async with place(folder) as here, here.client() as client:
            await client.request({"type": "update_settings", "response_delay": 0.1})
            assert alive(pid)
            os.kill(pid, signal.SIGCONT)
            ended = await first_turn(here)
            assert (ended["ask_id"], ended["outcome"]) == (asked, "answered")
            assert asked in here.runtime.core.at_work  # so that its room does not give it up before it is silent
            assert not alive(pid)
    assert rows(folder / "state", f"SELECT written_at FROM prompts WHERE ask_id = '{asked}'") == [(written,)]
    assert rows(folder / "state", "SELECT 1 FROM events WHERE type = 'turn_restarted'") == []


@pytest.mark.parametrize("stored", ["nothing", "the one before"])
async def test_a_cli_whose_start_was_not_stored_any_more_is_known_by_its_mark(folder: Path, stored: str) -> None:
    """E6: killed between the writing of a prompt and the commit of its process, nothing is paid for twice."""
    async with left_behind(folder) as pid:
        ((asked, _),) = rows(folder / "state", ASKED)
        with sqlite3.connect(folder / "state" / "office.db") as connection:
            if stored == "nothing":
                connection.execute("DELETE FROM processes")
            else:
                connection.execute("UPDATE processes SET born = born - 100")
            connection.execute("UPDATE prompts SET status = 'queued', written_at = NULL, seen_at = NULL")
        connection.close()
        async with place(folder) as here:
            assert alive(pid)
            os.kill(pid, signal.SIGCONT)
            ended = await first_turn(here)
            assert (ended["ask_id"], ended["outcome"]) == (asked, "answered")
    assert rows(folder / "state", f"SELECT written_at FROM prompts WHERE ask_id = '{asked}'") == [(None,)]


async def test_who_writes_nothing_any_more_is_ended_and_asked_again(folder: Path) -> None:
    async with left_behind(folder) as pid:
        ((asked, written),) = rows(folder / "state", ASKED)
        async with place(folder, limits=msgspec.structs.replace(QUICK, silence=1.0)) as here:
            ended = await first_turn(here)
            assert (ended["ask_id"], ended["outcome"]) == (asked, "answered")
            assert not alive(pid)
    ((again,),) = rows(folder / "state", f"SELECT written_at FROM prompts WHERE ask_id = '{asked}'")
    assert again > written


async def test_a_stop_does_not_wait_for_it_and_leaves_nobody(folder: Path) -> None:
    async with left_behind(folder) as pid:
        async with place(folder):
            assert alive(pid)
        assert not alive(pid)
        assert orphans(folder / "state") == []
        async with place(folder) as here:
            assert (await first_turn(here))["outcome"] == "interrupted"  # by the stop, as everywhere
            async with here.client(since=0) as client:
                await until(client, "turn_ended", outcome="answered")


async def test_whoever_stops_the_conversation_ends_it_too(folder: Path) -> None:
    """Nobody waits for its answer any more, and nothing more is paid for it."""
    async with left_behind(folder) as pid, place(folder) as here, here.client() as client:
        assert alive(pid)
        await client.request({"type": "stopAutoMode"})
        await eventually(lambda: not alive(pid))
        await client.request({"type": "startAutoMode", "topic": "Coffee?"})
        await until(client, "turn_ended", outcome="answered")


async def test_killed_again_while_it_waits_it_still_knows_it(folder: Path) -> None:
    async with left_behind(folder) as pid:
        ((asked, written),) = rows(folder / "state", ASKED)
        with server(folder) as second:
            assert alive(pid)
            second.process.kill()
            await eventually(lambda: second.process.poll() is not None)
        async with place(folder) as here:
            assert alive(pid)
            os.kill(pid, signal.SIGCONT)
            assert (await first_turn(here))["outcome"] == "answered"
    assert rows(folder / "state", f"SELECT written_at FROM prompts WHERE ask_id = '{asked}'") == [(written,)]
