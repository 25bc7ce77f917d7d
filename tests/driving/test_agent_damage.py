"""One driven agent whose CLI writes and prints badly, or leaves processes about."""

from __future__ import annotations

import re
from pathlib import Path
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
    launch,
    new_ask_id,
    one_turn,
    texts,
    toml_file,
    turns,
)

from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends.fake import Fake
from supervisor.driving.watcher import Watcher
from supervisor.records import (
    Damage,
    Note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.driving.backends.base import Launch
    from supervisor.records import AnyRecord


@pytest.mark.parametrize("kind", ["torn", "spliced", "nul", "joined", "utf8", "huge", "truncated", "replaced"])
async def test_a_damaged_transcript_loses_no_answer(folder: Path, kind: str) -> None:
    """E3: the answer is read out of the damage, by the transcript and not by stdout."""
    steps = f'{{ damage = "{kind}", value = 2000000 }}, {{ text = "still here" }}'
    scenario = toml_file(folder.parent / "s.toml", turns('{ text = "before" }', steps))
    async with driven(launch(folder, scenario)) as it:
        await it.agent.ask(new_ask_id(), "one")
        outcome = await it.agent.ask(new_ask_id(), "two")
        assert (outcome.text, outcome.signal) == ("still here", "transcript")
        assert texts(it.records) == ["before", "still here"]
        if kind in ("torn", "spliced", "nul"):
            assert it.of(Damage)


async def test_half_a_line_and_the_rest_later(folder: Path) -> None:
    outcome = await one_turn(folder, '{ damage = "half", value = 0.25 }, { text = "whole" }')
    assert (outcome.text, outcome.signal) == ("whole", "transcript")


async def test_a_line_of_a_hundred_megabytes(folder: Path) -> None:
    """E3: it takes a moment, and nothing is lost."""
    limits = msgspec.structs.replace(QUICK, transcript_wait=20)
    outcome = await one_turn(folder, '{ damage = "huge", value = 100000000 }, { text = "after it" }', limits)
    assert (outcome.text, outcome.signal) == ("after it", "transcript")


async def test_a_result_without_a_transcript_line(folder: Path) -> None:
    """E4: after a wait stdout's text counts, and the outcome says so."""
    outcome = await one_turn(folder, '{ transcript = false }, { text = "only printed" }')
    assert (outcome.text, outcome.signal) == ("only printed", "stdout")


async def test_a_transcript_that_never_appears(folder: Path) -> None:
    """E4: one note that says so, and the words come as records all the same, once."""
    elsewhere = folder.parent / "elsewhere"
    what = launch(folder, toml_file(folder.parent / "s.toml", turns()), environment={"FAKE_CLI_X": "1"})
    backend_with_wrong_folder = WrongFolder()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            watcher, records = Watcher(), list["AnyRecord"]()
            await nursery.start(watcher.run)
            agent = DrivenAgent(backend_with_wrong_folder, what, watcher, records.append, limits=QUICK)
            await nursery.start(agent.run)
            outcome = await agent.ask(new_ask_id(), "hello")
            assert (outcome.text, outcome.signal) == ("echo: hello", "stdout")
            await agent.stop()
            nursery.cancel_scope.cancel()
    assert texts(records) == ["echo: hello"]
    assert [r.text for r in records if isinstance(r, Note)] == [
        f"there is no transcript below {elsewhere}; what was printed is used instead"
    ]


class WrongFolder(Fake):
    """Looks for the transcript where it never is."""

    def watched(self, launch: Launch, environment: Mapping[str, str]) -> Path:
        return Path(launch.folder).parent / "elsewhere"


async def test_a_transcript_that_comes_long_after_the_result(folder: Path) -> None:
    """E4: what was told from stdout is not told again when it is written after all."""
    limits = msgspec.structs.replace(QUICK, transcript_wait=0.1)
    scenario = toml_file(folder.parent / "s.toml", turns('{ transcript = 0.5 }, { text = "late" }'))
    async with driven(launch(folder, scenario), limits=limits) as it:
        assert (await it.agent.ask(new_ask_id(), "hello")).signal == "stdout"
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"
        assert texts(it.records) == ["late", "echo: again"]


async def test_a_transcript_that_comes_after_the_result(folder: Path) -> None:
    """E4: it is waited for."""
    outcome = await one_turn(folder, '{ transcript = 0.15 }, { text = "late" }')
    assert (outcome.text, outcome.signal) == ("late", "transcript")


async def test_a_second_result_that_nobody_asked_for(folder: Path) -> None:
    """E4: it does not end the turn, nor the next one."""
    scenario = turns('{ extra_result = true }, { wait = 0.1 }, { text = "mine" }')
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", scenario))) as it:
        assert (await it.agent.ask(new_ask_id(), "one")).text == "mine"
        assert (await it.agent.ask(new_ask_id(), "two")).text == "echo: two"


async def test_output_that_is_not_json(folder: Path) -> None:
    """A word of what came, and the turn goes on."""
    steps = "{ print = 'Warning: something' }, { print = '[1, 2]' }, { print = '{\"type\": 17}' }, { text = 'fine' }"
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(steps)))) as it:
        assert (await it.agent.ask(new_ask_id(), "one")).text == "fine"
        damage = it.of(Damage)
        assert [d.source for d in damage] == ["stdout", "stdout"]
        assert "Warning: something" in damage[0].reason


def most_memory() -> int:
    """The most that this process has had since `forget_the_most`."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) << 10


def forget_the_most() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def test_a_flood_of_output(folder: Path) -> None:
    """200 MB of it: it is not kept, neither on the disk nor in memory."""
    steps = "{ flood = 100000000, stream = 'stdout' }, { flood = 100000000, stream = 'stderr' }, { text = 'dry' }"
    first = "{ flood = 1000000, stream = 'stdout' }, { flood = 1000000, stream = 'stderr' }, { text = 'wet' }"
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(first, steps)))) as it:
        assert (await it.agent.ask(new_ask_id(), "one")).text == "wet"
        forget_the_most()
        before = most_memory()
        assert (await it.agent.ask(new_ask_id(), "two")).text == "dry"
        assert most_memory() - before < 8 << 20
        logs = [path.stat().st_size for path in folder.glob("stderr.log*")]
        assert sum(logs) <= 2 * QUICK.log_bytes


@pytest.mark.parametrize("kind", ["plain", "own-session", "holds-stdout"])
async def test_a_grandchild_is_gone_after_the_stop(folder: Path, kind: str) -> None:
    """C2: the check after every test would find it."""
    outcome = await one_turn(folder, f'{{ grandchild = "{kind}" }}, {{ text = "started" }}')
    assert outcome.status == "answered"


async def test_a_grandchild_is_gone_after_a_crash(folder: Path) -> None:
    """C2: it holds stdout, which must not delay the news of the crash."""
    begun = trio.current_time()
    outcome = await one_turn(folder, '{ grandchild = "holds-stdout" }, { crash = 1 }')
    assert outcome.status == "exited"
    assert trio.current_time() - begun < 8


async def test_one_that_ignores_term(folder: Path) -> None:
    """C2: and everything else as well, so that only KILL is left."""
    scenario = turns("{ ignore_term = true }, { hang = true }")
    what = launch(folder, toml_file(folder.parent / "s.toml", scenario))
    async with driven(what) as it, asking(it):
        pid = it.agent.pid
        await it.agent.stop()
        assert pid is not None
        assert not alive(pid)
