"""An office under fire for some minutes: soak.py MINUTES [SEED]. Ends with 1 where a promise was broken.

Agents are killed and frozen, the database is locked by others, the supervisor is frozen, killed and restarted; viewers
come, go and stop reading; and all the while everybody counts (see promises.py). In the first half the supervisor lives
on, so that its memory and its files can be watched.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import trio
from promises import Life, Viewer, examine, furnish, orphans, strays
from pysqlite3 import dbapi2 as sqlite3
from support import ROOT, become_subreaper, children, end_children
from websockets.exceptions import WebSocketException
from websockets.trio.client import connect as raw

from supervisor.client import connect
from supervisor.errors import Refused, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.store.folder import ServerNote

ROOMS = (("Ada", "Bo"), ("Cy", "Dee"), ("Eve", "Finn", "Gus"))
PACE = 0.25
FAULT_SECONDS = 1.5
FORGETFUL = (sys.executable, str(ROOT / "tests" / "forgetful.py"))
MOST_GROWTH = 3 << 20
"""How much memory may seem to grow from the third quarter of the first life to the last: what is kept is full after a
minute (see forgetful.py), and viewers come and go. In 30 minutes that finds what grows by less than 1 MB a minute."""
MORE_FILES = 4


class Witness(Viewer):
    """Sees everything, and knows which rooms need a push."""

    def __init__(self) -> None:
        super().__init__()
        self.wants: dict[str, str] = {}
        self.counted: Counter[str] = Counter()

    def _take(self, event: dict[str, Any]) -> None:
        super()._take(event)
        match event["type"]:
            case "autoModeEnded":
                self.wants[event["roomId"]] = "startAutoMode"
                self.counted[f"ended by {event['reason']}"] += 1
            case "autoModePaused" if event["reason"] != "suspended":
                self.wants[event["roomId"]] = "resumeAutoMode"
                self.counted["pauses"] += 1
            case "autoModeStarted" | "autoModeResumed":
                self.wants.pop(event["roomId"], None)
            case "turn_restarted":
                self.counted["turns tried again"] += 1


class Soak:
    def __init__(self, place: Path, minutes: float, seed: str) -> None:
        self.place, self.state = place, place / "state"
        self.chance = random.Random(seed)
        self.begun, self.seconds = time.monotonic(), minutes * 60
        turns = int(self.seconds / PACE) + 100
        self.config = furnish(place / "office", ROOMS, pace=PACE, turns=turns)
        self.witness = Witness()
        self.did: Counter[str] = Counter()
        self.broken: list[str] = []
        self.samples: list[tuple[int, int]] = []
        """Memory and files of the first supervisor, now and then."""
        self.turns = 0

    @property
    def share(self) -> float:
        """How much of the time is over."""
        return (time.monotonic() - self.begun) / self.seconds

    async def run(self) -> None:
        first = True
        while self.share < 1:
            left = self.seconds * (0.5 if first else 1) - (time.monotonic() - self.begun)
            await self._live(left if first else min(left, self.chance.uniform(2, 15)), first=first)
            first = False
        await self._live(3, first=False, last=True)

    async def _live(self, seconds: float, *, first: bool, last: bool = False) -> None:
        """One life of the supervisor; it ends as chance will have it."""
        life = Life(self.place, self.config, command=FORGETFUL)
        with trio.fail_after(60):
            note = await life.ready()
        if note is None:
            raise SystemExit(f"The supervisor did not start: {life.errors.read_text()}")
        self.broken += [f"an orphan: {one}" for one in strays(self.state, note.pid)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.witness.watch, note)
            nursery.start_soon(self._moderate, note)
            nursery.start_soon(self._visitors, note, nursery)
            nursery.start_soon(self._torment, note.pid)
            if first:
                nursery.start_soon(self._measure, note.pid)
            with trio.move_on_after(seconds):
                self.broken.append(f"the supervisor ended by itself, with status {await life.gone()}")
            clean = last or self.chance.random() < 0.3
            self.did["supervisors stopped" if clean else "supervisors killed"] += 1
            life.process.send_signal(signal.SIGTERM if clean else signal.SIGKILL)
            life.process.send_signal(signal.SIGCONT)
            with trio.move_on_after(60):
                status = await life.gone()
                if status != (0 if clean else -signal.SIGKILL):
                    self.broken.append(f"a supervisor ended with status {status}")
            await trio.sleep(0.1)  # for what the witness has still to read
            nursery.cancel_scope.cancel()
        if clean:
            self.broken += [f"an orphan after a stop: {one}" for one in orphans(self.state)]
        if last or self.chance.random() < 0.2:
            self._examine()
        await trio.sleep(self.chance.choice((0, 0, 0.3, 1)))

    def _examine(self) -> None:
        record = examine(self.state, ROOMS, viewer=self.witness, kept=False)
        self.broken += record.broken
        if record.turns < self.turns:
            self.broken.append(f"{self.turns} turns have become {record.turns}")
        self.turns = record.turns

    async def _measure(self, pid: int) -> None:
        process = psutil.Process(pid)
        while True:
            await trio.sleep(self.seconds / 200)
            with contextlib.suppress(psutil.Error):
                self.samples.append((process.memory_info().rss, process.num_fds()))

    # -- those who look and help ------------------------------------------------------------------------------------

    async def _moderate(self, note: ServerNote) -> None:
        """Whatever waits for somebody to press a button goes on."""
        with contextlib.suppress(ServerError):
            async with connect(note.ws_url, note.token) as client:
                with contextlib.suppress(ServerError, WebSocketException):
                    while True:
                        for room, what in [*self.witness.wants.items()]:
                            with contextlib.suppress(Refused):
                                await client.request({"type": what, "roomId": room})
                        await trio.sleep(0.3)

    async def _visitors(self, note: ServerNote, nursery: trio.Nursery) -> None:
        while True:
            await trio.sleep(self.chance.uniform(0.2, 2))
            kind = self.chance.choice((self._glance, self._glance, self._stare))
            nursery.start_soon(kind, note)

    async def _glance(self, note: ServerNote) -> None:
        self.did["viewers"] += 1
        since = self.chance.choice((None, max(0, self.witness.last - 500)))
        with contextlib.suppress(ServerError):
            async with connect(note.ws_url, note.view_token, since=since) as client:
                with trio.move_on_after(self.chance.uniform(0, 3)):
                    async for _ in client.events:
                        pass

    async def _stare(self, note: ServerNote) -> None:
        """One that does not read any more."""
        self.did["viewers that stopped reading"] += 1
        with contextlib.suppress(OSError, WebSocketException, trio.TooSlowError):
            async with raw(note.ws_url, max_queue=1, open_timeout=5, close_timeout=1) as socket:
                await socket.send(f'{{"type":"hello","token":"{note.view_token}","since":0}}')
                await trio.sleep(self.chance.uniform(1, 20))

    # -- faults -----------------------------------------------------------------------------------------------------

    async def _torment(self, pid: int) -> None:
        faults: list[tuple[str, Callable[[int], Any]]] = [
            ("agents killed", lambda pid: self._strike(pid, signal.SIGKILL)),
            ("agents killed", lambda pid: self._strike(pid, signal.SIGTERM)),
            ("agents frozen", lambda pid: self._freeze(self._agents(pid)[:1], 3)),
            ("offices frozen", lambda pid: self._freeze([psutil.Process(pid), *self._agents(pid)], 7)),
            ("locks", lambda pid: self._lock(3)),
        ]
        while True:
            await trio.sleep(self.chance.expovariate(1 / FAULT_SECONDS))
            name, fault = self.chance.choices(faults, (4, 2, 4, 1, 1))[0]
            self.did[name] += 1
            with contextlib.suppress(psutil.Error):
                await fault(pid)

    def _agents(self, pid: int) -> list[psutil.Process]:
        found = psutil.Process(pid).children()
        self.chance.shuffle(found)
        return found

    async def _strike(self, pid: int, number: signal.Signals) -> None:
        for process in self._agents(pid)[:1]:
            process.send_signal(number)
        await trio.lowlevel.checkpoint()

    async def _freeze(self, processes: list[psutil.Process], most: float) -> None:
        try:
            for process in processes:
                process.suspend()
            await trio.sleep(self.chance.uniform(0.2, most))
        finally:
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.resume()

    async def _lock(self, most: float) -> None:
        other = sqlite3.connect(self.state / "office.db", isolation_level=None, timeout=0.5)
        try:
            with contextlib.suppress(sqlite3.OperationalError):
                other.execute("BEGIN IMMEDIATE")
                await trio.sleep(self.chance.uniform(0.1, most))
                other.execute("ROLLBACK")
        finally:
            other.close()

    # -- the end ----------------------------------------------------------------------------------------------------

    def verdict(self) -> str:
        """All of it in one line."""
        if words := (self.place / "stderr.txt").read_text():
            self.broken.append(f"words on stderr: {words[-2000:]}")
        self.broken += [f"left running: {one}" for one in children()]
        early, late = self._window(0.5, 0.75), self._window(0.75, 1.0)
        if late[0] > early[0] + MOST_GROWTH:
            self.broken.append(f"memory grew from {early[0] / 2**20:.1f} to {late[0] / 2**20:.1f} MB")
        if late[1] > early[1] + MORE_FILES:
            self.broken.append(f"open files grew from {early[1]} to {late[1]}")
        counted = ", ".join(f"{count} {name}" for name, count in sorted({**self.did, **self.witness.counted}.items()))
        return (
            f"soak: {self.seconds / 60:g} minutes, {self.turns} turns, {self.witness.last} events; {counted}; memory "
            f"{early[0] / 2**20:.1f} → {late[0] / 2**20:.1f} MB, files {early[1]} → {late[1]}; "
            f"{len(self.broken)} promises broken"
        )

    def _window(self, begin: float, end: float) -> tuple[int, int]:
        """The least there was of each in a part of the first life: viewers and CLIs come and go."""
        count = len(self.samples)
        part = self.samples[int(begin * count) : int(end * count)] or [(0, 0)]
        return min(memory for memory, _ in part), min(files for _, files in part)


def main() -> None:
    if len(sys.argv) < 2 or not sys.argv[1].replace(".", "", 1).isdigit():
        sys.exit("Usage: scripts/soak MINUTES [SEED]")
    seed = sys.argv[2] if len(sys.argv) > 2 else os.urandom(4).hex()
    become_subreaper()
    os.environ["MALLOC_ARENA_MAX"] = "1"  # with one for each thread it takes long until memory stands still
    print(f"soak: seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), float(sys.argv[1]), seed)
        try:
            trio.run(soak.run)
            print(soak.verdict())
        finally:
            end_children()
    for one in soak.broken:
        print(f"broken: {one}", file=sys.stderr)
    sys.exit(bool(soak.broken))


if __name__ == "__main__":
    main()
