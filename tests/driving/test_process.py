"""Real processes: spoken to, read, and gone with everything they started."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import trio
from support import alive, eventually

from supervisor.driving.environment import MARK
from supervisor.driving.process import AgentProcess, CappedLog, new_mark, says_full
from supervisor.driving.tree import Sweeper, leaders, members
from supervisor.errors import CannotStart

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.driving.lines import Line


class Case:
    """A process under test that runs a piece of Python."""

    def __init__(self, folder: Path, code: str, *, command: list[str] | None = None, **fields: Any) -> None:
        self.lines: list[Line] = []
        self.log = CappedLog(folder / "stderr.log", fields.pop("cap", 1 << 20))
        self.mark = new_mark(fields.pop("owner", "office"), "agent_001")
        environment = {"PATH": os.environ["PATH"], MARK: self.mark}
        self.process = AgentProcess(
            command or [sys.executable, "-c", code], cwd=fields.pop("cwd", folder), environment=environment,
            mark=self.mark, log=self.log, on_line=self.lines.append, **fields,
        )  # fmt: skip

    @property
    def said(self) -> list[str]:
        return [line.data.decode() for line in self.lines]

    async def run(self, nursery: trio.Nursery) -> AgentProcess:
        await nursery.start(self.process.run)
        return self.process


async def test_it_hears_and_is_heard(folder: Path) -> None:
    """C1: stdin, stdout, stderr and the status."""
    case = Case(folder, "import sys\nfor l in sys.stdin: print('got', l, end='', flush=True)\nsys.exit('bye')")
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await process.write(b"one\ntwo\n")
        await eventually(lambda: case.said == ["got one", "got two"])
        await process.stop(close_grace=5, term_grace=1)
    assert process.status == 1
    assert case.log.last_line == "bye"
    assert (folder / "stderr.log").read_text() == "bye\n"
    case.log.close()


async def test_it_has_a_session_and_an_environment_of_its_own(folder: Path) -> None:
    case = Case(folder, "import os; print(os.getsid(0) == os.getpid(), sorted(os.environ))")
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await process.exited.wait()
    assert case.said[0].startswith("True")
    assert "HOME" not in case.said[0]
    case.log.close()


GRANDCHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], {extra})
print(child.pid, flush=True)
{then}
"""
FATES = {
    "ends by itself": "sys.exit(0)",
    "is killed": "os.kill(os.getpid(), 9)",
    "waits to be stopped": "time.sleep(600)",
    "ignores TERM": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
}


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("extra", ["start_new_session=True", "", "stdout=sys.stdout, stdin=subprocess.DEVNULL"])
async def test_no_descendant_survives(folder: Path, fate: str, extra: str) -> None:
    """C2: however the CLI ends, what it started ends with it, also in a session of its own or holding stdout."""
    case = Case(folder, GRANDCHILD.format(extra=extra, then=FATES[fate]))
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        (pid,) = await eventually(lambda: [int(text) for text in case.said])
        if fate not in ("ends by itself", "is killed"):
            assert alive(pid)
            await process.stop(close_grace=0.05, term_grace=0.2)
        with trio.fail_after(5):
            await process.exited.wait()
    assert not alive(pid)
    assert members(process.pid, case.mark) == []
    assert process.leftover == 0
    case.log.close()


@pytest.mark.parametrize("extra", ["start_new_session=True", ""])
async def test_a_cli_is_known_by_its_mark(folder: Path, extra: str) -> None:
    """E6: also where it has started somebody who leads a session too."""
    owner = f"office {os.getpid()}"
    case = Case(folder, GRANDCHILD.format(extra=extra, then="time.sleep(600)"), owner=owner)
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await eventually(lambda: case.said)
        assert leaders(owner) == {"agent_001": process.pid}
        await process.stop(close_grace=0.05, term_grace=0.2)
    assert leaders(owner) == {}
    case.log.close()


async def test_cancelling_ends_the_tree_at_once(folder: Path) -> None:
    """C2: rule 4, the process ends with its owner."""
    case = Case(folder, GRANDCHILD.format(extra="start_new_session=True", then="time.sleep(600)"))
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        (pid,) = await eventually(lambda: [int(text) for text in case.said])
        nursery.cancel_scope.cancel()
    assert not alive(pid)
    assert process.status == -signal.SIGKILL
    case.log.close()


async def test_a_writer_is_not_held_up_by_one_that_does_not_read(folder: Path) -> None:
    """C1: a full pipe blocks the write and nothing else, and the write can be given up."""
    case = Case(folder, "import time; time.sleep(600)")
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        with trio.move_on_after(0.1) as scope:
            await process.write(b"x" * (1 << 20))
        assert scope.cancelled_caught
        await process.stop(close_grace=0.01, term_grace=1)
    case.log.close()


async def test_writing_to_one_that_is_gone_raises(folder: Path) -> None:
    case = Case(folder, "")
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await process.exited.wait()
        with pytest.raises(trio.ClosedResourceError):
            await process.write(b"x")
    case.log.close()


async def test_the_last_line_without_a_newline_is_heard(folder: Path) -> None:
    case = Case(folder, "print('half', end='')")
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await process.exited.wait()
    assert case.said == ["half"]
    case.log.close()


async def test_a_flood_on_stderr_is_capped(folder: Path) -> None:
    """C2: the newest is kept, twice the cap at most, and the process is not held up."""
    case = Case(folder, "import sys\nfor n in range(20000): print('noise', n, 'x' * 80, file=sys.stderr)", cap=100_000)
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await process.exited.wait()
    case.log.close()
    sizes = [path.stat().st_size for path in folder.glob("stderr.log*")]
    assert len(sizes) == 2
    assert max(sizes) <= 100_000
    assert "noise 19999" in case.log.last_line


async def test_a_descendant_without_session_group_or_mark(folder: Path) -> None:
    """C2: one that threw away its environment is known by its descent when the stop begins."""
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, env={})
print(child.pid, flush=True)
sys.stdin.read()
"""
    case = Case(folder, code)
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        (pid,) = await eventually(lambda: [int(text) for text in case.said])
        await process.stop(close_grace=5, term_grace=1)
    assert not alive(pid)
    case.log.close()


def test_a_log_that_was_taken_away(folder: Path) -> None:
    """C2: it begins anew, and nobody is disturbed."""
    log = CappedLog(folder / "stderr.log", 1000)
    log.write(b"x" * 900)
    (folder / "stderr.log").unlink()
    log.write(b"y" * 900)
    assert (folder / "stderr.log").read_bytes() == b"y" * 900
    log.close()


def test_last_words_carry_no_control_sequences(folder: Path) -> None:
    log = CappedLog(folder / "stderr.log")
    log.write(b"fine\n\x1b]52;c;aGk=\x07\x1b[31mred\x1b[0m\n")
    log.close()
    assert "\x1b" not in log.last_line
    assert "red" in log.last_line


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["/no/such/program"], "/no/such/program was not found: install it or correct it in the configuration."),
        (["/etc/passwd"], "/etc/passwd may not be executed: check its permissions."),
        (["/bin/true", "a\0b"], "/bin/true could not be started: embedded null byte."),
    ],
)
async def test_a_program_that_cannot_be_started(folder: Path, command: list[str], message: str) -> None:
    """One clear line that says what to do."""
    case = Case(folder, "", command=command)
    with pytest.RaisesGroup(pytest.RaisesExc(CannotStart, match="^" + message.replace(".", r"\."))):
        async with trio.open_nursery() as nursery:
            await case.run(nursery)
    case.log.close()


async def test_a_missing_working_folder_is_named(folder: Path) -> None:
    case = Case(folder, "", cwd=folder / "gone")
    with pytest.RaisesGroup(pytest.RaisesExc(CannotStart, match="working folder .*gone is missing")):
        async with trio.open_nursery() as nursery:
            await case.run(nursery)
    case.log.close()


async def test_figures_of_a_whole_tree(folder: Path) -> None:
    """C3: CPU and memory of the process and what it started, out of one sweep."""
    burn = "import os, sys\nif os.fork() == 0:\n  while True: pass\nprint('up', flush=True)\nsys.stdin.read()"
    case = Case(folder, burn)
    sweeper = Sweeper()
    async with trio.open_nursery() as nursery:
        process = await case.run(nursery)
        await eventually(lambda: case.said)
        sweeper.sweep({"a": process.pid})
        figures = await eventually(
            lambda: next((f for f in sweeper.sweep({"a": process.pid}).values() if f.cpu_percent > 5), None)
        )
        assert figures.processes == 2
        assert figures.memory > 4 << 20
        assert sweeper.sweep({"gone": 2**22 - 1}) == {}
        await process.stop(close_grace=0.05, term_grace=1)
    case.log.close()
    assert psutil.pid_exists(os.getpid())


@pytest.mark.parametrize(
    ("words", "full"),
    [
        ("Error: ENOSPC: no space left on device, write", True), ("SQLITE_FULL: database or disk is full", True),
        ("Disk quota exceeded (os error 122)", True), ("You exceeded your current quota", False), ("", False),
    ],
)  # fmt: skip
def test_a_full_disk_in_the_words_of_programs(words: str, full: bool) -> None:
    assert says_full(words) == full
