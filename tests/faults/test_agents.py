"""What CLIs do to an office, and what the machine does to them: the conversation goes on, and people are told."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
import trio
from serving import place, until
from support import QUICK, alive, driven, eventually, launch, new_ask_id, texts, toml_file, turns
from trio._core._thread_cache import THREAD_CACHE

from supervisor.config import BackendEntry
from supervisor.core import effects
from supervisor.driving import tree, watcher
from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends.claude import ClaudeDialogue
from supervisor.driving.backends.fake import Fake
from supervisor.errors import AgentStopped
from supervisor.records import Note, Ready

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from supervisor.driving.backends.base import Launch, Reply
    from supervisor.driving.turn import Outcome

TALK = {"type": "startAutoMode", "topic": "Is maths discovered or invented?"}
OPENED = '{"type":"control_response","response":{"subtype":"success","request_id":"supervisor-open"}}'


@pytest.fixture
def few_files() -> Iterator[Any]:
    """Call it, and this process may open no further file; afterwards it may again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []

    def lower(to: int = 0) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (to or max(int(fd) for fd in os.listdir("/proc/self/fd")), hard))
        with contextlib.suppress(OSError):
            while not to:
                fillers.append(os.dup(2))  # also the gaps in between
        while to and fillers:
            os.close(fillers.pop())

    yield lower
    lower(soft)


async def pid_of(client: Any, agent_id: str) -> int:
    """Of its CLI, once it is up."""
    while True:
        state = await client.request({"type": "get_agent_state", "agent_id": agent_id})
        if state["pid"]:
            return int(state["pid"])


async def test_no_file_is_left_for_a_cli(folder: Path, few_files: Any) -> None:
    """EMFILE: it is tried again, said, and nobody has to leave; with files again, the conversation goes on."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with place(folder, "--think", "0.2") as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended")
        pids = [await pid_of(client, agent) for agent in ("agent_001", "agent_002")]
        few_files()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        seen = await until(client, "status", level="warning")
        assert "Too many open files" in seen[-1]["message"]
        few_files(soft)
        seen += await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "keyword"
        assert not [event for event in seen if event["type"] == "agent_removed"]


async def test_no_file_is_left_when_it_is_to_come_up_again(folder: Path, few_files: Any) -> None:
    """EMFILE: not even its transcript can be looked for; it waits, and nobody has to leave."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        await it.agent.ask(new_ask_id(), "one")
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        few_files()
        async with trio.open_nursery() as nursery:
            answers: list[str] = []

            async def ask() -> None:
                answers.append((await it.agent.ask(new_ask_id(), "two")).text)

            nursery.start_soon(ask)
            await eventually(lambda: any("Too many open files" in note.text for note in it.of(Note)))
            assert it.agent.written() == 0
            few_files(soft)
        assert answers == ["echo: two"]


async def test_no_file_is_left_for_one_that_comes(folder: Path, few_files: Any) -> None:
    """EMFILE: it waits at the door until there are files again."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with place(folder) as here, here.client() as client:
        few_files()
        await client.request({"type": "agent_spawn_request", "agent_config": {"name": "Cy", "role": "guest"}})
        seen = await until(client, "status", level="warning")
        assert "Too many open files" in seen[-1]["message"]
        few_files(soft)
        assert await pid_of(client, "agent_001")
        assert not [event for event in seen if event["type"] == "agent_removed"]


class Named(Fake):
    """A CLI that reads a file of ours and has names of its own for its sessions, another one each time."""

    def files(self, launch: Launch) -> dict[str, str]:
        return {"SYSTEM.md": "Be kind."}

    def dialogue(self, launch: Launch) -> NamedDialogue:
        return NamedDialogue(launch)


class NamedDialogue(ClaudeDialogue):
    def hear(self, line: bytes) -> Reply:
        reply, name = super().hear(line), new_ask_id()
        told = [msgspec.structs.replace(one, session=name) if isinstance(one, Ready) else one for one in reply.records]
        return reply._replace(records=told)


class Full:
    """A disk on which nothing with some words in its path can be made, for as many tries as are given."""

    def __init__(self) -> None:
        self.words, self.number, self.left = "", errno.ENOSPC, 0

    def refuse(self, path: object) -> None:
        if self.left and self.words in str(path):
            self.left -= 1
            raise OSError(self.number, os.strerror(self.number), path)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Full:
    full, opens, makes = Full(), os.open, os.mkdir

    def open_(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_CREAT:
            full.refuse(path)
        return opens(path, flags, *rest, **options)

    def mkdir(path: Any, *rest: Any, **options: Any) -> None:
        full.refuse(path)
        makes(path, *rest, **options)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "mkdir", mkdir)
    return full


FEW = msgspec.structs.replace(QUICK, starts=2, backoff=0.001, backoff_most=0.002)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(
    ("words", "tries"), [("/fake", 9), ("/stderr.log", 9), ("/SYSTEM.md", 9), ("/sessions", 1), ("/sessions/", 4)]
)
async def test_a_disk_is_full_when_one_comes(folder: Path, full: Full, number: int, words: str, tries: int) -> None:
    """ENOSPC, and a quota: it waits for room however often it has to look, and says so."""
    full.words, full.number, full.left = words, number, tries
    async with driven(launch(folder), kind=Named(), limits=FEW) as it:
        assert full.left == 0
        assert len([note for note in it.notes if os.strerror(number) in note]) == tries
        assert (await it.agent.ask(new_ask_id(), "hello")).status == "answered"


async def test_a_disk_is_full_when_one_is_needed_again(folder: Path, full: Full) -> None:
    """The turn waits; whoever does not want to wait breaks it off, and with room the next one is answered."""
    async with driven(launch(folder), kind=Named(), limits=FEW) as it:
        assert (await it.agent.ask(new_ask_id(), "hello")).status == "answered"
        pid = it.agent.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        full.words, full.left = "/sessions/", 10_000
        outcomes: list[Outcome] = []

        async def ask() -> None:
            outcomes.append(await it.agent.ask(new_ask_id(), "and now?"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await eventually(lambda: len(it.notes) > 2)
            await it.agent.interrupt()
        assert outcomes[0].status == "interrupted"
        full.left = 0
        assert (await it.agent.ask(new_ask_id(), "and now?")).status == "answered"


@pytest.mark.parametrize("words", ["/SYSTEM.md", "/sessions/"])
async def test_one_that_waits_for_room_can_be_stopped(folder: Path, full: Full, words: str) -> None:
    """At once, also in a long pause."""
    patient = msgspec.structs.replace(QUICK, backoff=600, backoff_most=600)
    full.words, full.left = words, 1
    notes: list[Any] = []
    with trio.fail_after(30), pytest.RaisesGroup(AgentStopped):
        async with trio.open_nursery() as nursery:
            watching = watcher.Watcher()
            nursery.start_soon(watching.run)
            agent = DrivenAgent(Named(), launch(folder), watching, notes.append, limits=patient)
            nursery.start_soon(agent.run)
            await eventually(lambda: [one for one in notes if isinstance(one, Note)])
            await agent.stop()


async def test_a_cli_that_finds_no_room_itself(folder: Path) -> None:
    """It says so and ends; it is started again until it does not."""
    says = 'printf x >> tries; [ $(wc -c < tries) -gt 4 ] || { echo "ENOSPC: no space left on device" >&2; exit 1; }'
    command = ("sh", "-c", f'{says}; exec "$0" -P -m fake_cli "$@"', sys.executable)
    async with driven(launch(folder, command=command), limits=FEW) as it:
        assert len([note for note in it.notes if "ENOSPC" in note]) == 4


async def test_no_room_is_left_for_one_that_comes(folder: Path, full: Full) -> None:
    """It waits at the door, and nobody has to leave."""
    full.words, full.left = "/stderr.log", 9
    async with place(folder) as here, here.client() as client:
        await client.request({"type": "agent_spawn_request", "agent_config": {"name": "Cy", "role": "guest"}})
        seen = await until(client, "status", level="warning")
        assert "No space left" in seen[-1]["message"]
        assert await pid_of(client, "agent_001")
        assert full.left == 0


async def test_no_process_is_left_for_a_cli(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EAGAIN: as when it dies at its start, there are several tries, with pauses."""
    real, tries = trio.lowlevel.open_process, 0

    async def refuse(*arguments: Any, **options: Any) -> trio.Process:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return await real(*arguments, **options)

    monkeypatch.setattr(trio.lowlevel, "open_process", refuse)
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        assert len([note for note in it.notes if "Resource temporarily unavailable" in note]) == 2
        assert (await it.agent.ask(new_ask_id(), "hello")).text == "echo: hello"


async def test_no_thread_is_left_for_anybody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EAGAIN, as it really is: no process means no thread either, and everything is saved and ended all the same."""
    start, none = threading.Thread.start, False

    def refuse(thread: threading.Thread) -> None:
        if none:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    async with place(folder, "--think", "0.2") as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended")
        none = True
        with trio.fail_after(20):  # those that are idle are used up, or go home after ten seconds
            while THREAD_CACHE._idle_workers:
                THREAD_CACHE._idle_workers.clear()
                await trio.sleep(0.05)
        os.kill(await pid_of(client, "agent_001"), signal.SIGKILL)
        os.kill(await pid_of(client, "agent_002"), signal.SIGKILL)
        seen = await until(client, "status", level="warning")
        assert "start new thread" in seen[-1]["message"]
        assert (await client.request({"type": "create_room", "name": "kept"}))["type"] == "ack"
        none = False
        seen += await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "keyword"


async def test_whoever_is_stopped_may_take_its_leave(folder: Path) -> None:
    """Its stdin is closed, and what it still has to write it writes: nobody is killed who would have gone."""
    left = folder / "left"
    leaves = ("sh", "-c", f'"$0" -P -m fake_cli "$@"; sleep 0.1; echo $? > {left}', sys.executable)
    patient = msgspec.structs.replace(QUICK, close=10)
    backends = {"fake": BackendEntry(command=leaves)}
    async with place(folder, limits=patient, backends=backends) as here, here.client() as client:
        await client.request({"type": "agent_spawn_request", "agent_config": {"name": "Cy", "role": "guest"}})
        driven = here.runtime._colleagues["agent_001"].driven
        await eventually(lambda: driven._program and driven._program.ready)
    assert left.read_text() == "0\n"


async def test_two_fresh_sessions_while_the_old_one_is_slow_to_go(folder: Path) -> None:
    """There is never more than one CLI of an agent's."""
    slow = msgspec.structs.replace(QUICK, close=0.5)
    async with place(folder, limits=slow) as here, here.client() as client:
        await client.request({"type": "agent_spawn_request", "agent_config": {"name": "Cy", "role": "guest"}})
        first = await pid_of(client, "agent_001")
        driven = here.runtime._colleagues["agent_001"].driven
        await eventually(lambda: driven._program and driven._program.ready)
        os.kill(first, signal.SIGSTOP)
        for _ in range(2):
            here.runtime._carry_out(effects.Renew(agent_id="agent_001"))
        while first in (pids := tree.owned(f"{here.runtime._owner}:agent_001")):
            assert pids == [first]
            await trio.sleep(0.01)
        await eventually(lambda: here.runtime._colleagues["agent_001"].driven.pid)
        assert len(tree.owned(f"{here.runtime._owner}:agent_001")) == 1


async def test_one_that_uses_too_much_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It and what it started is ended, everybody is told why, and the same turn is tried once more."""
    monkeypatch.setattr("supervisor.runtime.memory.SWEEP_SECONDS", 0.1)
    hog = turns("{ memory = 300 }, { silence = true }", after="repeat")
    scenario = toml_file(folder / "s.toml", hog)
    backends = {"fake": BackendEntry(memory_mb=150)}
    async with place(folder, "--scenario", str(scenario), backends=backends) as here, here.client() as client:
        await client.request(TALK)
        seen = await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "agent_exit"
        told = [event["message"] for event in seen if event["type"] == "status" and event["level"] == "warning"]
        assert any("its limit is 150 MB (memory_mb), so it was ended" in text for text in told)
        (again,) = [event for event in seen if event["type"] == "turn_restarted"]
        assert "its limit is 150 MB" in again["detail"]
        assert "its limit is 150 MB" in seen[-1]["detail"]


async def test_one_that_keeps_within_its_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtime.memory.SWEEP_SECONDS", 0.02)
    async with place(folder, backends={"fake": BackendEntry(memory_mb=2000)}) as here, here.client() as client:
        await client.request(TALK)
        seen = await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "keyword"


async def test_one_that_hangs_in_silence(folder: Path) -> None:
    """E4, D13: the watchdog interrupts it, the conversation waits with Retry, and goes on with the same people."""
    limits = msgspec.structs.replace(QUICK, silence=0.4)
    scenario = toml_file(folder / "s.toml", turns("{ silence = true }", '{ text = "I am back." }', after="echo"))
    arguments = ("--scenario", str(scenario))
    async with place(folder, *arguments, limits=limits, max_messages=4) as here, here.client() as client:
        await client.request(TALK)
        for _ in range(2):  # each of the two once
            seen = await until(client, "autoModePaused")
            assert "it said nothing for 0.4 s and was interrupted" in seen[-1]["detail"]
            assert [event["signal"] for event in seen if event["type"] == "turn_ended"][-1] == "watchdog"
            await client.request({"type": "retry_turn"})
        seen = await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "message_limit"


async def test_one_that_answers_and_will_not_go(folder: Path) -> None:
    """C2: a result, and no end: not by a closed stdin, and not by TERM."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        assert (await it.agent.ask(new_ask_id(), "hello")).text == "echo: hello"
        pid = it.agent.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with trio.fail_after(5):
            await it.agent.stop()
        assert not alive(pid)


async def test_one_that_dies_while_it_is_written_to(folder: Path) -> None:
    """E4: a part of a long prompt is gone with it; that is an outcome, and nothing hangs."""
    code = (
        f"import os, sys\nsys.stdin.buffer.raw.read(1000)\nprint('{OPENED}', flush=True)\n"
        "os.read(0, 70_000)\nos._exit(5)"
    )
    async with driven(launch(folder, command=(sys.executable, "-c", code))) as it:
        for _ in range(2):
            outcome = await it.agent.ask(new_ask_id(), "x" * 2_000_000)
            assert (outcome.status, outcome.signal) == ("exited", "exit")
            assert "status 5" in outcome.detail


async def test_a_watch_that_loses_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E3: an overflow of inotify is silent; what the CLI prints, and the rescan, are enough."""

    async def deaf(*_: object, **__: object) -> AsyncIterator[set[Any]]:
        while True:
            await trio.sleep(3600)
            yield set()

    monkeypatch.setattr(watcher, "awatch", deaf)
    scenario = toml_file(folder.parent / "s.toml", turns('{ text = "one" }', '{ transcript = 0.3 }, { text = "two" }'))
    async with driven(launch(folder, scenario)) as it:
        assert [(await it.agent.ask(new_ask_id(), "x")).signal for _ in range(3)] == ["transcript"] * 3
        assert texts(it.records) == ["one", "two", "echo: x"]


async def test_one_whose_children_are_killed_by_the_machine(folder: Path) -> None:
    """As when memory runs out for all: two of three CLIs go at once, and each is back for its next turn."""
    async with place(folder, "--think", "0.1", max_messages=8, min_turns=8) as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended")
        pids = [await pid_of(client, agent) for agent in ("agent_001", "agent_002")]
        for pid in pids:
            psutil.Process(pid).kill()
        seen = await until(client, "autoModeEnded")
        assert seen[-1]["reason"] == "message_limit"
        assert seen[-1]["turns"] == 8
        await eventually(lambda: not any(alive(pid) for pid in pids))
