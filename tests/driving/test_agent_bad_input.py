"""One driven agent and bad input: a clear error each, nothing hangs, nothing left running."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
import trio
import trio.testing
from support import (
    QUICK,
    alive,
    asking,
    driven,
    eventually,
    launch,
    new_ask_id,
    texts,
    toml_file,
    turns,
)

from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends import backend
from supervisor.driving.watcher import Watcher
from supervisor.errors import AgentBusy, AgentStopped, AskRepeated, CannotStart, ConfigError, PromptTooLarge
from supervisor.records import (
    Ready,
)

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.driving.limits import Limits


async def refused(folder: Path, limits: Limits = QUICK, **fields: object) -> str:
    """The one line that somebody gets to see."""
    with pytest.RaisesGroup(pytest.RaisesExc(CannotStart)) as caught:
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)
            agent = DrivenAgent(backend("fake"), launch(folder, **fields), watcher, lambda _: None, limits=limits)  # type: ignore[arg-type]  # fields of Launch
            await nursery.start(agent.run)
    return str(caught.value.exceptions[0])


async def test_a_missing_cli(folder: Path) -> None:
    assert "was not found: install it" in await refused(folder, command=("/no/such/claude",))


async def test_a_cli_that_may_not_be_executed(folder: Path) -> None:
    assert "may not be executed" in await refused(folder, command=("/etc/passwd",))


async def test_a_cli_that_dies_at_start_six_times(folder: Path) -> None:
    """Six tries, each in the log, and the last words in the message."""
    scenario = toml_file(folder.parent / "s.toml", turns(start='crash = 7\nstderr = "no licence"'))
    message = await refused(folder, scenario=scenario)
    assert message == "agent_001 was started 6 times and did not come up: exit status 7, no licence"
    assert (folder / "stderr.log").read_text().count("no licence") == 6


async def test_a_cli_that_comes_up_at_the_third_try(folder: Path) -> None:
    """C1: with pauses in between, and a note for each."""
    scenario = toml_file(folder.parent / "s.toml", turns(start="crash = 1\ntimes = 2"))
    async with driven(launch(folder, scenario)) as it:
        assert len([note for note in it.notes if "did not start" in note]) == 2
        assert (await it.agent.ask(new_ask_id(), "hello")).text == "echo: hello"


async def test_a_cli_that_never_says_anything(folder: Path) -> None:
    limits = msgspec.structs.replace(QUICK, start=0.2, starts=2)
    message = await refused(folder, limits, command=(sys.executable, "-c", "import time; time.sleep(600)"))
    assert message.endswith("did not come up: it said nothing for 0.2 s")


async def test_a_cli_that_closes_its_stdin(folder: Path) -> None:
    """It cannot be spoken to; nothing hangs."""
    limits = msgspec.structs.replace(QUICK, start=0.3, starts=2)
    code = "import os, time; os.close(0); time.sleep(600)"
    with trio.fail_after(15):
        message = await refused(folder, limits, command=(sys.executable, "-c", code))
    assert "it closed its stdin" in message or "it said nothing" in message


async def test_a_folder_that_cannot_be_used(folder: Path) -> None:
    (folder.parent / "file").write_text("x")
    assert "cannot be used: Not a directory" in await refused(folder.parent / "file" / "agent")


async def test_a_stop_while_it_starts(folder: Path) -> None:
    """C2: a mute CLI is not waited for."""
    what = launch(folder, command=(sys.executable, "-c", "import time; time.sleep(600)"))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)
            limits = msgspec.structs.replace(QUICK, start=60)
            agent = DrivenAgent(backend("fake"), what, watcher, lambda _: None, limits=limits)

            async def run() -> None:
                with pytest.raises(AgentStopped):
                    await agent.run()
                nursery.cancel_scope.cancel()

            nursery.start_soon(run)
            await eventually(lambda: agent.pid)
            await agent.stop()


async def test_instructions_that_look_like_a_flag(folder: Path) -> None:
    async with driven(launch(folder, instructions="-x --help")) as it:
        assert (await it.agent.ask(new_ask_id(), "hello")).status == "answered"


async def test_a_cli_that_is_something_else(folder: Path) -> None:
    """A program that ends at once with status 0 is no agent either."""
    assert "exit status 0" in await refused(folder, command=("/bin/true",))


async def test_a_prompt_of_ten_megabytes(folder: Path) -> None:
    """Refused before anything is sent, and the agent does not mind; one of four megabytes is answered."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns('{ text = "ok" }')))) as it:
        with pytest.raises(PromptTooLarge, match=r"10,000,000 bytes, the limit is 4,194,304: shorten it\."):
            await it.agent.ask(new_ask_id(), "x" * 10_000_000)
        assert (await it.agent.ask(new_ask_id(), "y" * 4_000_000)).text == "ok"


async def test_a_prompt_with_anything_in_it(folder: Path) -> None:
    """Newlines, NULs, line separators, lone surrogates: one prompt is one line."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        for prompt in ("a\nb\r\n\u2028c", "nul \0 here", "lone \ud800 one", "🐈 עברית", ' " \\ '):
            assert (await it.agent.ask(new_ask_id(), prompt)).text.startswith("echo: ")


async def test_an_agent_that_does_not_read_its_stdin(folder: Path) -> None:
    """The write is given up, the process ended, and nothing hangs."""
    deaf = (
        "import sys, time\nsys.stdin.readline()\n"
        'print(\'{"type":"control_response","response":{"subtype":"success","request_id":"supervisor-open"}}\', '
        "flush=True)\ntime.sleep(600)"
    )
    limits = msgspec.structs.replace(QUICK, write=0.3)
    async with driven(launch(folder, command=(sys.executable, "-c", deaf)), limits=limits) as it:
        pid = it.agent.pid
        outcome = await it.agent.ask(new_ask_id(), "x" * 1_000_000)
        assert (outcome.status, outcome.signal) == ("unread", "watchdog")
        assert "did not read its input for 0.3 s" in outcome.detail
        assert pid is not None
        assert not alive(pid)


async def test_two_asks_at_once(folder: Path) -> None:
    scenario = toml_file(folder.parent / "s.toml", turns("{ wait = 0.3 }, { text = 'one' }"))
    async with driven(launch(folder, scenario)) as it, asking(it):
        with pytest.raises(AgentBusy, match="wait or interrupt"):
            await it.agent.ask(new_ask_id(), "me too")


async def test_the_same_ask_twice(folder: Path) -> None:
    """E6: a CLI keeps silent about it, so we do not even try."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        ask = new_ask_id()
        await it.agent.ask(ask, "hello")
        with pytest.raises(AskRepeated, match="use a new id"):
            await it.agent.ask(ask, "hello")


async def test_an_ask_that_an_earlier_process_answered(folder: Path) -> None:
    """E6: put again after a restart, it is acknowledged and not answered twice."""
    what = launch(folder, toml_file(folder.parent / "s.toml", turns()))
    ask = new_ask_id()
    async with driven(what) as it:
        await it.agent.ask(ask, "hello")
        mark = it.agent.bookmark()
    async with driven(what, bookmark=mark) as it:
        outcome = await it.agent.ask(ask, "hello", seen=True)
        assert (outcome.status, outcome.text) == ("repeated", "")
        assert texts(it.records) == []


def test_an_unknown_backend() -> None:
    with pytest.raises(ConfigError, match=r"no backend 'nope'; choose one of claude, codex, .*, fake\."):
        backend("nope")


async def test_the_version_is_told(folder: Path) -> None:
    async with driven(launch(folder)) as it:
        assert it.of(Ready)[0].version == "2.1.326"


async def test_many_agents_at_once(tmp_path: Path) -> None:
    """C1: twenty agents under one watcher, each with its own answer."""
    scenario = toml_file(tmp_path / "s.toml", turns())
    outcomes: dict[int, str] = {}
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)

            async def live(number: int) -> None:
                what = launch(tmp_path / str(number), scenario, agent_id=f"agent_{number:03}")
                async with trio.open_nursery() as own:
                    agent = DrivenAgent(backend("fake"), what, watcher, lambda _: None, limits=QUICK)
                    await own.start(agent.run)
                    outcomes[number] = (await agent.ask(new_ask_id(), f"I am {number}")).text
                    await agent.stop()

            async with trio.open_nursery() as agents:
                for number in range(20):
                    agents.start_soon(live, number)
            nursery.cancel_scope.cancel()
    assert outcomes == {number: f"echo: I am {number}" for number in range(20)}
