"""What driving costs: turns through the driver against the same turns over bare pipes, in one run on one machine."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import psutil
import trio
from office_under_test import RULES, Office
from support import FakeCli, driven, launch, new_ask_id, toml_file

from supervisor import events as e
from supervisor.core import inputs
from supervisor.core.office.default import TEXT as DEFAULT_PLAN
from supervisor.core.office.plan import Plan
from supervisor.driving.backends.claude_lines import ClaudeTranscript
from supervisor.driving.transcript import Transcript

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
    print(f"fake CLI: up in {start * 1e3:.0f} ms, {start / floor:.1f} × a bare interpreter; {memory / 1e6:.1f} MB")
    print(f"a turn over bare pipes {pipes * 1e3:.2f} ms; driven {turn * 1e3:.2f} ms, {turn / pipes:.2f} ×")
    print(f"the driver's own CPU {cpu * 1e3:.2f} ms a turn; p99 of a driven turn {sorted(times)[-3] * 1e3:.1f} ms")
    print(f"a way over 64×64 tiles {large * 1e3:.2f} ms, {large / usual:.0f} × the way to the nearest desk")
    print(f"a core step, 100 agents and 10,000 messages {crowded * 1e3:.2f} ms, {crowded / empty:.1f} × two and none")
    print(f"transcripts: {whole:.0f} MB/s; with every third line torn {torn:.0f} MB/s, {whole / torn:.1f} × slower")


if __name__ == "__main__":
    main()
