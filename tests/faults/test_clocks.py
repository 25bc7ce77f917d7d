"""Time: what is waited for takes as long as it takes in the real world, whatever happens to clocks meanwhile."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
import trio
from promises import rows
from serving import Place, crashing, place, until
from support import QUICK, alive, asking, driven, eventually, launch, new_ask_id, toml_file, turns

from supervisor.driving import tree
from supervisor.runtime import leftovers, runtime
from supervisor.runtime.clock import Clock
from supervisor.store.store import Process

if TYPE_CHECKING:
    from pathlib import Path


DAY = 86_400.0
TALK = {"type": "startAutoMode", "topic": "Tea?"}


async def after_a_start(here: Place, kind: str) -> dict[str, Any]:
    """The first event of a kind that this server made."""
    async with here.client(since=0) as client:
        events = [event for event in client.welcome["events"] if event["at"] >= here.runtime.started_at]
        found = next((event for event in events if event["type"] == kind), None)
        return found or (await until(client, kind))[-1]


@pytest.mark.parametrize("down", [0.0, 2.5])
async def test_a_rate_limit_is_over_when_it_is_over(folder: Path, down: float) -> None:
    """E6, D14: after a crash not a moment earlier; where the time has passed meanwhile, at once."""
    scenario = toml_file(folder / "s.toml", turns("{ rate_limit = true, resets_in = 2 }"))
    async with crashing(folder, "--scenario", str(scenario)) as (_, client):
        await client.request(TALK)
        paused = (await until(client, "autoModePaused", reason="rate_limit"))[-1]
    await trio.sleep(down)
    begun = time.time()
    async with place(folder, "--scenario", str(scenario)) as here:
        resumed = await after_a_start(here, "autoModeResumed")
        assert paused["retryAt"] <= time.time() < max(begun, paused["retryAt"]) + 1
        assert resumed["at"] >= paused["retryAt"]


def signed_at(folder: Path) -> float:
    """When the last sign of life was stored."""
    given = rows(folder / "state", "SELECT value FROM meta WHERE key = 'alive_at'")
    return float(given[0][0]) if given else 0.0


async def test_the_failsafe_timer_counts_what_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E6, A7: the time in which nobody was there does not count, and that of a silent thought does."""
    monkeypatch.setattr(runtime, "SIGN_SECONDS", 0.1)
    scenario = toml_file(folder / "s.toml", turns(after="silence"))
    arguments = ("--scenario", str(scenario))
    async with crashing(folder, *arguments, max_duration_ms=3000) as (_, client):
        await client.request(TALK)
        begun = (await until(client, "autoModeStarted"))[-1]
        thinking = (await until(client, "agent_state_update", state="thinking"))[-1]
        await eventually(lambda: signed_at(folder) > thinking["at"] + 0.5)
    left_at = signed_at(folder)
    async with place(folder, *arguments) as here:
        resumed = await after_a_start(here, "autoModeResumed")
        assert resumed["endsAt"] - begun["endsAt"] == pytest.approx(resumed["at"] - left_at, abs=0.001)
        ended = await after_a_start(here, "autoModeEnded")
        assert ended["reason"] == "timer"
        assert resumed["endsAt"] <= ended["at"] < resumed["endsAt"] + 0.5


async def test_a_countdown_goes_on(folder: Path) -> None:
    """E6, D8: the next prompt goes out when it was announced."""
    async with crashing(folder, response_delay=1.5) as (_, client):
        await client.request(TALK)
        await until(client, "turn_ended")
        due = next(e["next_response_at"] for e in await until(client, "room_updated") if e["type"] == "room_updated")
        assert due is not None
    async with place(folder) as here:
        asked = await after_a_start(here, "turn_started")
        assert due <= asked["at"] < due + 1


@pytest.mark.parametrize("jump", [DAY, -DAY])
async def test_the_clock_is_set_while_it_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """Nothing happens: within a run only the clock counts that nobody sets."""
    async with place(folder, response_delay=0.2) as here, here.client() as client:
        await client.request(TALK)
        seen = await until(client, "turn_ended")
        set_by(monkeypatch, jump)
        for _ in range(3):
            seen += await until(client, "turn_ended")
        times = [event["at"] for event in seen if "seq" in event]
        assert times == sorted(times)
        assert times[-1] - times[0] < 30


@pytest.mark.parametrize("jump", [DAY / 2, -DAY])
async def test_the_clock_is_set_while_nobody_is_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Nobody waits for a day that was there already; what is waited for begins anew, and the conversation goes on."""
    async with crashing(folder, response_delay=1.0) as (_, client):
        await client.request(TALK)
        await until(client, "turn_ended")
        await until(client, "room_updated")
    set_by(monkeypatch, jump)
    async with place(folder, response_delay=1.0) as here:
        with trio.fail_after(15):
            await after_a_start(here, "turn_started")
            async with here.client() as client:
                await until(client, "turn_ended")


def set_by(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The machine's clock is set."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


async def test_a_cli_that_outlived_us_is_known_also_after_the_clock_was_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E6: its time of birth is counted from the start of the machine, so that it may finish its turn."""
    async with driven(launch(folder)) as it:
        assert it.agent.pid is not None
        known = Process(agent_id="agent_001", pid=it.agent.pid, born=tree.born(it.agent.pid))
        family = tree.descendants(os.getpid())
        booted = psutil.boot_time()
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted + DAY)
        assert leftovers.alive(known)
        assert family[it.agent.pid] == tree.descendants(os.getpid())[it.agent.pid]
        assert not leftovers.alive(Process(agent_id="agent_001", pid=it.agent.pid, born=known.born - 5))


def test_the_clock_stands_still_while_everything_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does on a laptop that is shut, where the machine's own counter stops."""
    here = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: here)
    clock = Clock()
    before = clock.now()
    here += 3
    assert clock.now() == pytest.approx(before + 3)
    here += 3600
    assert clock.now() == pytest.approx(before + 3)
    here += 1
    assert clock.now() == pytest.approx(before + 4)


def test_the_clock_never_goes_back_behind_what_was_stored() -> None:
    clock = Clock()
    clock.not_before(time.time() + DAY)
    assert clock.now() >= time.time() + DAY - 1
    assert clock.at(time.time() + 60) == pytest.approx(clock.now() + 60, abs=1)


async def test_a_laptop_that_is_shut_and_opened(folder: Path) -> None:
    """SIGSTOP of an agent and of everything that waits for it: silence while nobody was awake is no silence."""
    limits = msgspec.structs.replace(QUICK, silence=1.0)
    scenario = toml_file(folder.parent / "s.toml", turns('{ wait = 0.8 }, { text = "awake" }'))
    async with driven(launch(folder, scenario), limits=limits) as it, asking(it) as outcomes:
        pid = it.agent.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4)  # noqa: ASYNC251  nothing here is awake
        os.kill(pid, signal.SIGCONT)
        await eventually(lambda: outcomes)
        assert (outcomes[0].status, outcomes[0].text) == ("answered", "awake")


async def test_the_watchdog_of_one_that_is_stopped_alone(folder: Path) -> None:
    """An agent that alone stands still is silent: it is ended, and answers the next ask."""
    limits = msgspec.structs.replace(QUICK, silence=0.3, interrupt=0.3)
    scenario = toml_file(folder.parent / "s.toml", turns('{ wait = 0.2 }, { text = "late" }'))
    async with driven(launch(folder, scenario), limits=limits) as it:
        async with asking(it) as outcomes:
            pid = it.agent.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            await eventually(lambda: outcomes)
        assert outcomes[0].status == "silent"
        assert not alive(pid)
        assert (await it.agent.ask(new_ask_id(), "again")).status == "answered"
