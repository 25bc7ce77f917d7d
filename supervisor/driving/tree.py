"""Whole process trees: finding them, ending them, and what they use.

A process belongs to an agent if it is in the group of the agent's process, carries the agent's mark in its environment,
or was seen to descend from it when the stop began. The mark finds what was daemonised; only a process that has thrown
away its environment, left the session, and outlives a CLI that ended by itself can slip through.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import psutil

from .environment import MARK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ROUNDS, ROUND_SECONDS = 200, 0.01
TICK = 1 / os.sysconf("SC_CLK_TCK")


def born(pid: int) -> float:
    """When a process began, in seconds since the machine did, whatever clocks are set to; 0 if it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        after_name = file.read().rpartition(b")")[2].split()
        return int(after_name[19]) * TICK
    return 0.0


def descendants(pid: int) -> dict[int, float]:
    """What descends from a process now, by pid and time of birth."""
    found = {}
    with contextlib.suppress(psutil.Error, OSError):
        for child in psutil.Process(pid).children(recursive=True):
            found[child.pid] = born(child.pid)
    return found


def members(group: int, mark: str, known: Mapping[int, float] | None = None) -> list[int]:
    """Every living process that is in the group, carries the mark or is known, wherever it has moved to."""
    known = known or {}
    return [
        pid for pid in psutil.pids() if not _ended(pid) and (_belongs(pid, group, mark) or _is(pid, known.get(pid)))
    ]


def owned(owner: str, but: Collection[str] = ()) -> list[int]:
    """Every living process that carries a mark of this owner, or of one agent of his (`owner:agent`)."""
    spared = tuple(f"{owner}:{agent_id}:" for agent_id in but)
    return [
        pid
        for pid in psutil.pids()
        if (mark := _mark(pid)).startswith(f"{owner}:") and not mark.startswith(spared) and not _ended(pid)
    ]


def leaders(owner: str) -> dict[str, int]:
    """The CLI of each agent of an owner: of the processes that lead a session the oldest; others it started itself."""
    found: dict[str, int] = {}
    for pid in sorted(owned(owner), key=lambda pid: (born(pid), pid)):
        with contextlib.suppress(OSError):
            if os.getsid(pid) == pid:
                found.setdefault(_mark(pid).removeprefix(f"{owner}:").rpartition(":")[0], pid)
    return found


def _mark(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        start = f"{MARK}=".encode()
        found = next((entry for entry in file.read().split(b"\0") if entry.startswith(start)), b"")
        return found[len(start) :].decode(errors="replace")
    return ""


def _is(pid: int, known: float | None) -> bool:
    """Whether it is still that process, and not another one with its number."""
    return bool(known) and born(pid) == known


def _belongs(pid: int, group: int, mark: str) -> bool:
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == group:
            return True
    return _mark(pid) == mark


def _ended(pid: int) -> bool:
    """Gone, or only waiting for its parent to take notice."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return True


def signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill(group: int, mark: str, known: Mapping[int, float] | None = None) -> int:
    """End the group, what carries the mark and what is known; returns how many are left, which should be none.

    Blocks for up to two seconds: call it in a thread. The ends are not waited for with `waitpid`, which would take the
    exit status away from whoever owns the child.
    """
    known = {**(known or {}), **descendants(group)}
    signal_group(group, signal.SIGKILL)  # needs no file, of which there may be none left to look with
    left: list[int] = []
    for _ in range(ROUNDS):
        with contextlib.suppress(OSError):
            left = members(group, mark, known)
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                return 0
        time.sleep(ROUND_SECONDS)
    return len(left)


def kill_owned(owner: str, but: Collection[str] = ()) -> int:
    """End everything of an owner but some agents; returns how many were there. Blocks: call it in a thread."""
    count = 0
    for _ in range(ROUNDS):
        try:
            left = owned(owner, but)
        except OSError:  # no file is left to look with
            time.sleep(ROUND_SECONDS)
            continue
        if not left:
            break
        count = max(count, len(left))
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_SECONDS)
    return count


class Figures(NamedTuple):
    """What a tree uses: CPU in per cent of one core since the last sweep, resident bytes, number of processes."""

    cpu_percent: float
    memory: int
    processes: int


class Sweeper:
    """Figures for all agents out of one pass over the process table; blocks for milliseconds: use a thread."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, float]] = {}
        self._at = time.monotonic()

    def sweep(self, roots: Mapping[str, int]) -> dict[str, Figures]:
        """Nothing, where there is no file left to look with."""
        with contextlib.suppress(OSError):
            return self._sweep(roots)
        return {}

    def _sweep(self, roots: Mapping[str, int]) -> dict[str, Figures]:
        now = time.monotonic()
        children: dict[int, list[int]] = {}
        seen: dict[int, tuple[float, float, int]] = {}
        for process in psutil.process_iter(["pid", "ppid", "cpu_times", "memory_info", "create_time"]):
            info = process.info
            times, memory = info["cpu_times"], info["memory_info"]
            if times is None or memory is None:
                continue
            children.setdefault(info["ppid"], []).append(info["pid"])
            seen[info["pid"]] = (info["create_time"], times.user + times.system, memory.rss)
        elapsed = max(now - self._at, 1e-3)
        figures = {agent: self._tree(pid, children, seen, elapsed) for agent, pid in roots.items() if pid in seen}
        self._before = {pid: (created, cpu) for pid, (created, cpu, _) in seen.items()}
        self._at = now
        return figures

    def _tree(
        self,
        root: int,
        children: dict[int, list[int]],
        seen: dict[int, tuple[float, float, int]],
        elapsed: float,
    ) -> Figures:
        cpu, memory, count, todo = 0.0, 0, 0, [root]
        while todo:
            pid = todo.pop()
            if pid not in seen:
                continue
            todo += children.get(pid, [])
            created, used, rss = seen[pid]
            before = self._before.get(pid)
            cpu += used - before[1] if before and before[0] == created else 0.0
            memory += rss
            count += 1
        return Figures(round(100 * cpu / elapsed, 1), memory, count)
