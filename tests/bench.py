"""What driving costs: turns through the driver against the same turns over bare pipes, in one run on one machine."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
import trio
from office_under_test import RULES, Office
from support import FakeCli, driven, launch, new_ask_id, toml_file

from supervisor import events as e
from supervisor.bus import BROADCASTS
from supervisor.config import LifeEntry
from supervisor.config import Office as Configured
from supervisor.core import inputs
from supervisor.core.office.default import TEXT as DEFAULT_PLAN
from supervisor.core.office.plan import Plan
from supervisor.driving.backends.claude_lines import ClaudeTranscript
from supervisor.driving.transcript import Transcript
from supervisor.runtime import AgentRuntime
from supervisor.store.folder import StateFolder

TURNS = 300


def bare(home: Path, scenario: Path) -> list[float]:
    """Ask and read until the result, with nothing in between."""
    times = []
    with FakeCli(home, "--scenario", str(scenario), "--tools", "", "--include-partial-messages") as cli:
        cli.turn("warm up")
        for number in range(TURNS):
            begun = time.perf_counter()
            cli.turn(f"n{number}")
            times.append(time.perf_counter() - begun)
    return times


async def through_the_driver(folder: Path, scenario: Path) -> tuple[list[float], float]:
    times = []
    async with driven(launch(folder, scenario)) as it:
        await it.agent.ask(new_ask_id(), "warm up")
        before = psutil.Process().cpu_times()
        for number in range(TURNS):
            begun = time.perf_counter()
            await it.agent.ask(new_ask_id(), f"n{number}")
            times.append(time.perf_counter() - begun)
        after = psutil.Process().cpu_times()
    return times, (after.user + after.system - before.user - before.system) / TURNS


def starting(home: Path) -> tuple[float, float, float]:
    """Start to first answer, the interpreter's own start, and the memory of an idle one."""
    times, floor = [], []
    for _ in range(10):
        begun = time.perf_counter()
        os.spawnlp(os.P_WAIT, "python", "python", "-S", "-E", "-c", "pass")
        floor.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        with FakeCli(home) as cli:
            cli.send({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}})
            cli.read()
            times.append(time.perf_counter() - begun)
            memory = psutil.Process(cli.process.pid).memory_info().rss
    return statistics.median(times), statistics.median(floor), memory


def decoding() -> tuple[float, float]:
    """Megabytes a second through the line buffer and the decoder, healthy and with every third line torn."""
    from support import SAMPLES

    lines = [line for path in SAMPLES.glob("*.transcript.jsonl") for line in path.read_bytes().split(b"\n") if line]
    speeds = []
    for torn in (False, True):
        kept = [line[: len(line) // 2] if torn and n % 3 == 0 else line for n, line in enumerate(lines)]
        data = b"".join(line + b"\n" for line in kept) * 20
        begun = time.perf_counter()
        Transcript(ClaudeTranscript()).feed(data)
        speeds.append(len(data) / (time.perf_counter() - begun) / 1e6)
    return speeds[0], speeds[1]


def finding_ways() -> tuple[float, float]:
    """A way from corner to corner of 64×64 tiles with 200 people at their places, and of the usual office."""
    size = 64
    rows = ["##E" + "#" * (size - 3), *("#" + "." * (size - 2) + "#" for _ in range(size - 2)), "#" * size]
    rows[31] = "#" + "." * 30 + "c" + "." * 31 + "#"
    rows[32] = "#" + "." * 30 + "DD" + "." * 30 + "#"
    found = []
    for plan in (Plan("\n".join(rows)), Plan(DEFAULT_PLAN)):
        avoid = frozenset(home.tile for home in plan.homes[1:201:3])
        goal = plan.homes[0].tile if plan.width < size else plan.tile(62, 62)
        times = []
        for _ in range(50):
            begun = time.perf_counter()
            assert plan.path(plan.door, [goal], avoid)
            times.append(time.perf_counter() - begun)
        found.append(statistics.median(times))
    return found[0], found[1]


def deciding() -> tuple[float, float]:
    """A step of the core in a room of 100 agents and 10,000 messages, and in one of two agents and no messages.

    Everybody has had a turn before, so that each prompt holds what was said since, and not all there ever was.
    """
    times = []
    for count, messages in ((100, 10_000), (2, 0)):
        office = Office(msgspec.structs.replace(RULES, most_agents=200))
        people = tuple(inputs.AgentConfig(name=f"P{n}", role="r") for n in range(count))
        settings = e.Settings(response_delay=0)
        office.tell(inputs.StartRoom(name="R", settings=settings, agents=people))
        for n in range(messages):
            office.core._say(office.room, "user", f"message {n}", e.PERSON, "You")
        office.tell(inputs.StartAutoMode(topic="x"))
        steps = []
        for n in range(count + 200):
            (ask,) = office.core.state.asks
            over = inputs.TurnOver(ask_id=ask, status="answered", signal="x", text=f"answer {n}")
            begun = time.perf_counter()
            office.core.decide(over, office.now)
            steps.append(time.perf_counter() - begun)
        times.append(statistics.median(steps[count:]))
    return times[0], times[1]


class Figures(NamedTuple):
    """A hundred agents that all decide."""

    decisions: int
    seconds: float
    cpu: float
    growth: float
    p50: float
    p99: float


def kept(process: psutil.Process) -> int:
    """The memory that is in use, without what the allocator holds back for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return process.memory_info().rss


async def living(folder: Path, count: int = 100, wanted: int = 2000) -> Figures:
    """Everybody decides again and again; every broadcast goes to a hundred subscribers beside the agents' own."""
    state = StateFolder(folder / "state")
    answers = ('{"action": "speak", "text": "Good morning."}', *['{"action": "move", "to": "desk"}'] * 3)
    turns = "".join(f"[[turn]]\nsay = '''{answer}'''\n" for answer in answers)
    scenario = toml_file(folder / "life.toml", f'after = "repeat"\n{turns}')
    office = Configured(life=LifeEntry(idle_seconds=1.0, per_hour=100_000, hearing_distance=1), wander_seconds=0)
    delays = [0] * 2000  # how many took so many tenths of a millisecond: what is measured may not grow
    sent: dict[int, float] = {}

    with state.locked():
        runtime = AgentRuntime(state, office, arguments={"fake": ("--scenario", str(scenario))})
        publish = runtime.bus.publish

        def stamped(events: Any) -> None:
            now = time.perf_counter()
            for event in events:
                if isinstance(event, BROADCASTS):
                    sent[event.seq] = now
                    if len(sent) > 2000:
                        del sent[next(iter(sent))]
            publish(events)

        runtime.bus.publish = stamped  # type: ignore[method-assign]  # to see when it left

        async def listen() -> None:
            with runtime.bus.mailbox(BROADCASTS) as mailbox:
                while True:
                    for event in await mailbox.receive():
                        took = time.perf_counter() - sent[event.seq]
                        delays[min(len(delays) - 1, int(took * 1e4))] += 1

        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            plan = Plan(DEFAULT_PLAN)  # everybody is at their place from the beginning
            places = [plan.position(home.tile) for home in plan.homes]
            people = tuple(inputs.AgentConfig(name=f"P{n}", role="r", initial_position=places[n]) for n in range(count))
            await runtime.begin(inputs.StartRoom(name="R", settings=e.Settings(), agents=people))
            for _ in range(count):
                nursery.start_soon(listen)
            decided = runtime.bus.mailbox((e.AgentDecided,))
            done = 0
            with decided:
                while done < 2000:  # everybody is up, and what is bounded is full
                    done += len(await decided.receive())
                delays[:] = [0] * len(delays)
                process = psutil.Process()
                used, memory, begun = process.cpu_times(), kept(process), time.perf_counter()
                done = 0
                while done < wanted:
                    done += len(await decided.receive())
            seconds = time.perf_counter() - begun
            now = process.cpu_times()
            growth = (kept(process) - memory) / done
            await runtime.stop()
            nursery.cancel_scope.cancel()
    ranked = [*itertools.accumulate(delays)]
    p50, p99 = (next(n for n, count in enumerate(ranked) if count >= ranked[-1] * share) / 1e4 for share in (0.5, 0.99))
    cpu = (now.user + now.system - used.user - used.system) / seconds
    return Figures(done, seconds, cpu, growth, p50, p99)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        scenario = toml_file(home / "s.toml", 'after = "echo"')
        for part in ("a", "b"):
            (home / part).mkdir()
        start, floor, memory = starting(home / "a")
        pipes = statistics.median(bare(home / "b", scenario))
        times, cpu = trio.run(through_the_driver, home / "c", scenario)
        turn = statistics.median(times)
        whole, torn = decoding()
        large, usual = finding_ways()
        crowded, empty = deciding()
        (home / "d").mkdir()
        life = trio.run(living, home / "d")
    print(f"fake CLI: up in {start * 1e3:.0f} ms, {start / floor:.1f} × a bare interpreter; {memory / 1e6:.1f} MB")
    print(f"a turn over bare pipes {pipes * 1e3:.2f} ms; driven {turn * 1e3:.2f} ms, {turn / pipes:.2f} ×")
    print(f"the driver's own CPU {cpu * 1e3:.2f} ms a turn; p99 of a driven turn {sorted(times)[-3] * 1e3:.1f} ms")
    print(f"a way over 64×64 tiles {large * 1e3:.2f} ms, {large / usual:.0f} × the way to the nearest desk")
    print(f"a core step, 100 agents and 10,000 messages {crowded * 1e3:.2f} ms, {crowded / empty:.1f} × two and none")
    print(f"100 agents, {life.decisions} decisions in {life.seconds:.0f} s: bus p50 {life.p50 * 1e3:.1f} ms, p99 "
          f"{life.p99 * 1e3:.1f} ms, {life.growth / 1e3:.2f} kB a decision, {life.cpu:.2f} of a core")  # fmt: skip
    print(f"transcripts: {whole:.0f} MB/s; with every third line torn {torn:.0f} MB/s, {whole / torn:.1f} × slower")


if __name__ == "__main__":
    main()
