"""Nothing is lost (E6): the supervisor is killed with SIGKILL, over and over, and goes on where it was."""

from __future__ import annotations

import contextlib
import math
import random
import shutil
import signal
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
import trio
from promises import Life, Viewer, examine, furnish, orphans, rows, strays
from support import ROOT, eventually, server, toml_file
from support import turns as scripted
from websockets.exceptions import WebSocketException

from supervisor.client import connect
from supervisor.errors import ServerError

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.store.folder import ServerNote

MORTAL = ROOT / "tests" / "mortal.py"
LONGEST = 10.0
"""How many seconds a life lasts at most where its end is to come by itself."""
HOW = ("at any moment", "between two statements", "between two system calls")


class Fate(NamedTuple):
    """How a life ends, where nothing else does it before: seconds after its start, or after its server is there."""

    started: float
    ready: float
    events: int = 0
    """How much happens before: on a busy machine seconds say little."""
    before: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def fate(how: str, number: int, chance: random.Random) -> Fate:
    match how:
        case "between two statements":
            return Fate(30, LONGEST, 10_000, command=(sys.executable, str(MORTAL), str(chance.randint(1, 300))))
        case "between two system calls":
            calls = "pwrite64,fdatasync"
            kill = f"inject={calls}:signal=KILL:when={chance.randint(1, 200)}"
            return Fate(
                30, LONGEST, 10_000, ("strace", "-f", "-D", "-o", "/dev/null", "-e", f"trace={calls}", "-e", kill)
            )
        case _ if number % 4 == 3:  # while it is still on its way up
            return Fate(chance.uniform(0, 0.7), 0)
        case _:
            return Fate(30, LONGEST, chance.randint(0, 60))


def has_tables(state: Path) -> bool:
    """It did not die before it had any."""
    return bool(rows(state, "SELECT 1 FROM sqlite_master WHERE name = 'events'"))


@pytest.mark.parametrize("how", HOW)
async def test_no_turn_is_lost_or_repeated_however_often_it_is_killed(
    tmp_path: Path, pytestconfig: pytest.Config, how: str
) -> None:
    """E6: nothing lost, repeated, misattributed or left over; the database is whole; viewers miss nothing; and a
    command is carried out once, however often it has to be sent until somebody answers it."""
    if how == "between two system calls" and shutil.which("strace") is None:
        pytest.skip("strace is missing; the other two ways of dying are tried")
    kills = math.ceil(int(pytestconfig.getoption("--kills")) / len(HOW))
    chance = random.Random(f"{how} {kills}")
    config, state, viewer = furnish(tmp_path / "office"), tmp_path / "state", Viewer()
    begun, turns, own, commands = False, 0, 0, 0

    async def command(note: ServerNote) -> None:
        nonlocal commands
        with contextlib.suppress(ServerError):
            async with connect(note.ws_url, note.token, client_id="me") as client:
                with contextlib.suppress(ServerError, WebSocketException):
                    while True:
                        task = {"type": "assign_task", "agent_id": "agent_001", "task_name": f"task {commands + 1}"}
                        await client.request(task, f"request {commands + 1}")
                        commands += 1
                        await trio.sleep(0.05)

    async def after(seq: int, enough: trio.CancelScope) -> None:
        await viewer.reaches(seq)
        enough.cancel()

    async def live(fate: Fate) -> int:
        """Until it is dead; returns how it died by itself, or 0."""
        life = Life(tmp_path, config, fate.before, fate.command)
        status = 0
        async with trio.open_nursery() as nursery:
            with trio.move_on_after(fate.started):
                if (note := await life.ready()) is not None:
                    assert strays(state, note.pid) == []
                    nursery.start_soon(viewer.watch, note)
                    nursery.start_soon(command, note)
            with trio.move_on_after(fate.ready):
                nursery.start_soon(after, viewer.last + fate.events, enough := trio.CancelScope())
                with enough:
                    status = await life.gone()
                await trio.sleep(chance.uniform(0, 0.05))
            life.process.kill()
            assert await life.gone() == -signal.SIGKILL
            nursery.cancel_scope.deadline = trio.current_time() + 5  # until the viewer has noticed
        return status

    for number in range(kills):
        own += await live(fate(how, number, chance)) == -signal.SIGKILL
        if begun := begun or ((state / "office.db").exists() and has_tables(state)):
            record = examine(state, viewer=viewer)
            assert record.broken == [], f"after kill {number + 1}"
            assert record.turns >= turns
            turns = record.turns
        await trio.sleep(chance.choice((0, 0, 0.05, 0.2)))  # the next one comes while CLIs still answer, or later
    with trio.fail_after(60):  # and it is still able to go on
        while examine(state).turns < turns + 4:
            await live(Fate(30, LONGEST, 60))
    record = examine(state, viewer=viewer)
    assert record.broken == []
    tasks = [name for (name,) in rows(state, "SELECT task_name FROM agent_tasks ORDER BY id")]
    assert tasks == [f"task {number + 1}" for number in range(len(tasks))]
    assert commands <= len(tasks) <= commands + 1
    await eventually(lambda: not orphans(state))  # their stdin is closed: they finish and go
    assert (tmp_path / "stderr.txt").read_text() == ""
    assert how == HOW[0] or own * 2 >= kills, f"only {own} of {kills} died {how}"
    print(
        f"\nkilled {how}: {kills} times ({own} by itself), {record.turns} turns, {record.last} events, "
        f"{commands} commands, nothing lost"
    )


async def test_an_answer_to_the_second_try_is_not_lost_with_the_supervisor(tmp_path: Path) -> None:
    """E6: its CLI had been killed too, so that the prompt lies before the place to which the transcript was read."""
    tries = scripted("{ crash = -9 }", '{ wait = 0.7 }, { text = "after all" }', after="silence")
    scenario = toml_file(tmp_path / "s.toml", tries)
    options = {"FAKE_CLI_SCENARIO": str(scenario), "FAKE_CLI_SPEED": "0"}

    def tried_again() -> bool:
        return any(b"No response requested" in path.read_bytes() for path in tmp_path.rglob("*.jsonl"))

    with server(tmp_path, "--auto", **options) as started:
        await eventually(tried_again, 30)
        started.process.kill()
        await eventually(lambda: started.process.poll() is not None)
    with server(tmp_path, **options):
        await eventually(lambda: rows(started.folder, "SELECT 1 FROM events WHERE type = 'turn_ended'"), 30)
    said = rows(started.folder, "SELECT author_name, content FROM messages WHERE type = 'agent'")
    assert said[:1] == [("Ada", "after all")]
    assert rows(started.folder, "SELECT COUNT(*) FROM prompts WHERE status = 'answered'") == [(len(said),)]
