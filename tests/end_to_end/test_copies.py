"""An office that was copied, by a backup or with its whole folder: both go on, and neither knows of the other."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import trio
from promises import rows
from pysqlite3 import dbapi2 as sqlite3
from serving import Place, place
from support import alive, supervisor, toml_file, turns

from supervisor.store import store

if TYPE_CHECKING:
    from pathlib import Path

PIDS = "SELECT pid FROM processes ORDER BY pid"
ASKS = "SELECT ask_id FROM prompts"
OFFICE = "SELECT value FROM meta WHERE key = 'office_id'"
SESSIONS = "SELECT body ->> '$.session_id' FROM events WHERE type IN ('agent_spawned', 'agent_session')"


def copy(original: Path, to: Path, how: str) -> None:
    if how == "folder":
        shutil.copytree(original, to)
    else:
        to.mkdir(parents=True)
        store.back_up(original / "office.db", to / "office.db")


async def more_turns(here: Place, count: int, **begin: Any) -> list[dict[str, Any]]:
    """Wait until so many more were answered here."""
    ended: list[dict[str, Any]] = []
    async with here.client() as client:
        if begin:
            await client.request({"type": "startAutoMode", **begin})
        async for event in client.events:
            ended += [event] if event["type"] == "turn_ended" and event["outcome"] == "answered" else []
            if len(ended) == count:
                break
    return ended


@pytest.fixture
def counting(tmp_path: Path) -> tuple[str, str]:
    scenario = toml_file(tmp_path / "s.toml", turns("{ wait = 0.1 }, { text = 'I count.' }", after="repeat"))
    return "--scenario", str(scenario)


@pytest.mark.parametrize("how", ["backup", "folder"])
async def test_a_copy_is_an_office_of_its_own(tmp_path: Path, counting: tuple[str, str], how: str) -> None:
    """E6: no CLI of the original ends, no session and no ask is used by both; an open turn is asked anew."""
    original, there = tmp_path / "one" / "state", tmp_path / "two" / "state"
    async with place(tmp_path / "one", *counting) as one:
        await more_turns(one, 2, topic="Tea?")
        pids = [pid for (pid,) in rows(original, PIDS)]
        copy(original, there, how)
        asked, sessions = {*rows(there, ASKS)}, {*rows(there, SESSIONS)}
        async with place(tmp_path / "two", *counting) as two:
            ended = await more_turns(two, 3)
            assert [event["turn"] for event in ended] == [*range(ended[0]["turn"], ended[0]["turn"] + 3)]
            assert ended[0]["turn"] > 2
            await more_turns(one, 2)
            assert all(alive(pid) for pid in pids)
            assert [pid for (pid,) in rows(original, PIDS)] == pids
            fresh = {*rows(there, SESSIONS)} - sessions
            assert len(fresh) == 2
            assert not fresh & {*rows(original, SESSIONS)}
        assert {*rows(there, ASKS)} & {*rows(original, ASKS)} == asked
        async with place(tmp_path / "two", *counting) as again:  # by now it is at home
            await more_turns(again, 2)
            assert {*rows(there, SESSIONS)} - sessions == fresh
            assert all(alive(pid) for pid in pids)


async def test_an_office_of_an_older_version_keeps_its_sessions(tmp_path: Path, counting: tuple[str, str]) -> None:
    """It has no mark of its place yet."""
    state = tmp_path / "state"
    async with place(tmp_path, *counting) as here:
        await more_turns(here, 2, topic="Tea?")
    (state / "place").unlink()
    with contextlib.closing(sqlite3.connect(state / "office.db", isolation_level=None)) as database:
        assert database.execute("DELETE FROM meta WHERE key = 'place'").rowcount == 1
    before = rows(state, SESSIONS)
    async with place(tmp_path, *counting) as here:
        await more_turns(here, 2)
    assert rows(state, SESSIONS) == before


async def test_a_backup_that_is_put_back_begins_fresh_sessions(tmp_path: Path, counting: tuple[str, str]) -> None:
    """E6: what was asked since then stands in the old ones, under the ids that would be given again."""
    state = tmp_path / "state"
    async with place(tmp_path, *counting) as here:
        await more_turns(here, 2, topic="Tea?")
        store.back_up(state / "office.db", tmp_path / "copy.db")
        await more_turns(here, 2)
    asked = {*rows(state, ASKS)}
    for path in state.glob("office.db*"):
        path.unlink()
    (tmp_path / "copy.db").rename(state / "office.db")
    known, sessions = {*rows(state, ASKS)}, {*rows(state, SESSIONS)}
    async with place(tmp_path, *counting) as here:
        await more_turns(here, 3)
    assert not {*rows(state, ASKS)} - known & asked
    assert len({*rows(state, SESSIONS)} - sessions) == 2


async def test_a_talk_in_a_copy_makes_it_an_office_of_its_own_and_wakes_nobody(
    tmp_path: Path, counting: tuple[str, str]
) -> None:
    """Its processes are known by one name from then on; the others begin fresh sessions at the next start."""
    original, there = tmp_path / "one" / "state", tmp_path / "two" / "state"
    async with place(tmp_path / "one", *counting) as one:
        await more_turns(one, 2, topic="Tea?")
    copy(original, there, "backup")
    sessions = {*rows(there, SESSIONS)}
    arguments = ("talk", "Coffee?", "--turns", "2", "--seed", "3", "--state-dir", str(there))
    done = await trio.to_thread.run_sync(lambda: supervisor(*arguments))
    assert done.returncode == 0, done.stderr
    own = rows(there, OFFICE)
    assert own != rows(original, OFFICE)
    async with place(tmp_path / "two", *counting) as two:
        await more_turns(two, 2)
        assert rows(there, OFFICE) == own
        assert len({*rows(there, SESSIONS)} - sessions) >= 2
    async with place(tmp_path / "two", *counting) as again:  # by now it is at home
        sessions = {*rows(there, SESSIONS)}
        await more_turns(again, 2)
        assert {*rows(there, SESSIONS)} == sessions
