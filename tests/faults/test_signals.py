"""Signals from outside: an office that is told to stop is suspended, and one that was frozen goes on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import termios
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import trio
from promises import orphans, rows
from pysqlite3 import dbapi2 as sqlite3
from support import SUPERVISOR, eventually, eventually_sync, server, toml_file

from supervisor.client import connect
from supervisor.driving import tree

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from supervisor.client import Client

TALK = ("start", "--auto", "--topic", "Tea?", "--seed", "7", "--port", "0", "--no-open", "--no-life")


def thinking(place: Path) -> bool:
    with contextlib.suppress(sqlite3.Error):
        return bool(rows(place, "SELECT 1 FROM agent_state_history WHERE new_state = 'thinking'"))
    return False


def suspended(place: Path) -> bool:
    last = rows(place, "SELECT body FROM events WHERE type LIKE 'autoMode%' ORDER BY seq DESC LIMIT 1")
    return '"suspended"' in last[0][0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_stop_suspends_everything(tmp_path: Path, number: signal.Signals) -> None:
    """As Ctrl-C does: nothing is lost, and nobody is left."""
    state = tmp_path / "state"
    pipe = subprocess.PIPE
    command = [*SUPERVISOR, *TALK, "--state-dir", str(state)]
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, env={**os.environ, "FAKE_CLI_THINK": "30"})
    eventually_sync(lambda: thinking(state), 30)
    process.send_signal(number)
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == 0
    assert suspended(state)
    assert orphans(state) == []


def test_the_terminal_is_closed(tmp_path: Path) -> None:
    """There is nothing to write to any more, and it is suspended all the same."""
    state = tmp_path / "state"
    ours, theirs = os.openpty()

    def own_it() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [*SUPERVISOR, *TALK, "--state-dir", str(state)], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=own_it, env={**os.environ, "FAKE_CLI_THINK": "30"},
    )  # fmt: skip
    os.close(theirs)
    eventually_sync(lambda: thinking(state), 30)
    os.close(ours)
    assert process.wait(30) == 0
    assert suspended(state)
    assert orphans(state) == []


@pytest.mark.parametrize(
    ("command", "numbers"),
    [
        (["nohup"], [signal.SIGHUP]),
        (["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"], [signal.SIGHUP, signal.SIGINT]),
        (["sh", "-c", "trap '' HUP INT TERM; exec \"$@\"", "sh"], [signal.SIGHUP, signal.SIGINT]),
    ],
)
def test_what_was_ignored_at_the_start_stays_ignored(tmp_path: Path, command: list[str], numbers: list[int]) -> None:
    """As with `nohup supervisor start &`: the terminal is closed, and the office goes on; TERM ends it."""
    state = tmp_path / "state"
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*command, *SUPERVISOR, *TALK, "--state-dir", str(state)],
        stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env={**os.environ, "FAKE_CLI_THINK": "0.1"},
    )  # fmt: skip
    eventually_sync(lambda: thinking(state), 30)
    for number in numbers:
        process.send_signal(number)
    eventually_sync(lambda: len(rows(state, "SELECT 1 FROM events WHERE type = 'turn_ended'")) >= 3, 30)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 0


async def follow(client: Client, *kinds: str) -> dict[str, Any]:
    async for event in client.events:
        if event["type"] in kinds:
            return event
    raise AssertionError(f"none of {kinds}")


@contextlib.asynccontextmanager
async def frozen(pids: Sequence[int]) -> AsyncIterator[None]:
    """All of them stand still in the block; a process with threads needs a moment for it."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        await eventually(lambda: {psutil.Process(pid).status() for pid in pids} == {psutil.STATUS_STOPPED})
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


async def test_everything_is_frozen_and_thawed(tmp_path: Path) -> None:
    """A laptop is shut: all of it stands still for longer than anybody is waited for, and then goes on."""
    config = toml_file(tmp_path / "o.toml", "[settings]\nmax_wait_time = 4\nresponse_delay = 0\n")
    options = {"FAKE_CLI_THINK": "1.0", "FAKE_CLI_SPEED": "0"}
    with server(tmp_path, "--auto", "--seed", "7", "--topic", "Tea?", "--config", str(config), **options) as started:
        async with connect(started.ws_url, started.token, since=0) as client:
            await follow(client, "turn_ended")
            await follow(client, "turn_started")
            async with frozen([started.process.pid, *tree.descendants(started.process.pid)]):
                await trio.sleep(6)
            assert (await follow(client, "turn_ended", "autoModePaused", "autoModeEnded"))["outcome"] == "answered"
            assert (await follow(client, "turn_ended", "autoModePaused", "autoModeEnded"))["outcome"] == "answered"
