"""One driven agent with the fake CLI behind it: asked, interrupted, cancelled, stopped and resumed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from typing import TYPE_CHECKING

import msgspec
import pytest
import trio
import trio.testing
from support import (
    QUICK,
    SHORT,
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
from supervisor.driving.backends.fake import Fake
from supervisor.driving.watcher import Watcher
from supervisor.errors import AgentBusy, AgentStopped
from supervisor.records import (
    Delta,
    MessageEnd,
    PermissionAsked,
    PermissionGone,
    PromptSeen,
    PromptTaken,
    Thinking,
    ToolResult,
    ToolUse,
    TurnEnd,
    Usage,
)

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.driving.turn import Outcome
    from supervisor.records import AnyRecord


async def test_a_whole_turn_in_records(folder: Path) -> None:
    """E4, E5: prompt, thinking, tool, text, usage and end come out in order, once each."""
    steps = (
        '{ think = "Hm." }, { text = "Let me look." }, '
        '{ tool = "Bash", input = { command = "ls" }, result = "main.py" }, { text = "One file." }'
    )
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(steps)))) as it:
        ask = new_ask_id()
        outcome = await it.agent.ask(ask, "hello")
        assert outcome.status == "answered"
        assert outcome.signal == "transcript"
        assert outcome.texts == ("Let me look.", "One file.")
        assert outcome.ask_id == ask
        kinds = [
            type(r) for r in it.records if isinstance(r, (PromptSeen, Thinking, ToolUse, ToolResult, Usage, MessageEnd))
        ]
        assert kinds == [PromptSeen, Thinking, Usage, ToolUse, ToolResult, Usage, MessageEnd]
        assert texts(it.records) == ["Let me look.", "One file."]
        await eventually(lambda: [r.state for r in it.of(PromptTaken)] == ["queued", "started", "completed"])
        assert "".join(r.text for r in it.of(Delta)) == "Let me look.One file."
        assert all(r.offset is not None for r in it.of(PromptSeen, ToolUse))


async def test_many_turns_stay_in_order(folder: Path) -> None:
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        for number in range(30):
            outcome = await it.agent.ask(new_ask_id(), f"n{number}")
            assert (outcome.text, outcome.signal) == (f"echo: n{number}", "transcript")
        assert texts(it.records) == [f"echo: n{number}" for number in range(30)]


async def test_text_streams_before_the_turn_is_over(folder: Path) -> None:
    """D18: deltas come while the agent still speaks."""
    scenario = toml_file(folder.parent / "s.toml", '[[turn]]\nspeed = 60\nsay = "one two three four five six seven"')
    async with driven(launch(folder, scenario)) as it, asking(it) as outcomes:
        await eventually(lambda: it.of(Delta))
        assert not outcomes
        await eventually(lambda: outcomes)
        assert "".join(delta.text for delta in it.of(Delta)) == outcomes[0].text


async def test_interrupting_keeps_the_text_and_the_agent(folder: Path) -> None:
    """A7: broken off at once, with what was said so far; the next ask works."""
    scenario = toml_file(folder.parent / "s.toml", f'[[turn]]\nspeed = 40\nsay = "{"word " * 200}"')
    async with driven(launch(folder, scenario)) as it, asking(it) as outcomes:
        await eventually(lambda: it.of(Delta))
        await it.agent.interrupt()
        await eventually(lambda: outcomes)
        assert outcomes[0].status == "interrupted"
        assert outcomes[0].text.startswith("word word")
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


async def test_interrupting_an_idle_agent_does_nothing(folder: Path) -> None:
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        await it.agent.interrupt()
        assert (await it.agent.ask(new_ask_id(), "hello")).text == "echo: hello"


async def test_a_stopped_agent_is_resumed_by_another(folder: Path) -> None:
    """E6: the same session goes on, and only what is new is read."""
    what = launch(folder, toml_file(folder.parent / "s.toml", turns()))
    async with driven(what) as it:
        await it.agent.ask(new_ask_id(), "first")
        mark, path = it.agent.bookmark(), it.agent.transcript_path
    async with driven(what, bookmark=mark) as it:
        await it.agent.ask(new_ask_id(), "second")
        assert texts(it.records) == ["echo: second"]
        assert it.agent.transcript_path == path


async def test_stopping_in_mid_turn_is_an_outcome(folder: Path) -> None:
    """C2: stop interrupts, then closes, and the one who asked hears of it."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ silence = true }"))
    async with driven(launch(folder, scenario)) as it, asking(it) as outcomes:
        await it.agent.stop()
        await eventually(lambda: outcomes)
        assert outcomes[0].status == "interrupted"
        with pytest.raises(AgentStopped):
            await it.agent.ask(new_ask_id(), "too late")


async def test_cancelling_in_mid_turn_leaves_nothing(folder: Path) -> None:
    """C2: rule 4: cancelled while writing and reading, the tree is gone."""
    scenario = toml_file(folder.parent / "s.toml", turns('{ grandchild = "own-session" }, { hang = true }'))
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            watcher, records = Watcher(), list["AnyRecord"]()
            await nursery.start(watcher.run)
            agent = DrivenAgent(backend("fake"), launch(folder, scenario), watcher, records.append, limits=QUICK)
            await nursery.start(agent.run)
            nursery.start_soon(agent.ask, new_ask_id(), "go")
            await eventually(lambda: records)
            pid = agent.pid
            nursery.cancel_scope.cancel()
    assert pid is not None
    assert not alive(pid)


async def test_a_cancelled_ask_is_over_before_the_next_begins(folder: Path) -> None:
    """E4: the turn is interrupted, and its words are not put into the next one's mouth."""
    for steps in ('{ wait = 0.5 }, { text = "FIRST" }', '{ tool = "Bash", seconds = 0.5 }, { text = "FIRST" }'):
        scenario = toml_file(folder.parent / "s.toml", turns(steps))
        async with driven(launch(folder, scenario)) as it:
            with trio.move_on_after(0.1):
                await it.agent.ask(new_ask_id(), "one")
            outcome = await it.agent.ask(new_ask_id(), "two")
            assert (outcome.status, outcome.texts) == ("answered", ("echo: two",))


async def test_an_ask_cancelled_in_mid_write_does_not_spoil_the_next(folder: Path) -> None:
    """C1: half a line on stdin would be glued to the next prompt."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns('{ text = "one" }')))) as it:
        pid = it.agent.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with trio.move_on_after(0.2):
            await it.agent.ask(new_ask_id(), "A" * 1_000_000)
        os.kill(pid, signal.SIGCONT)
        outcome = await it.agent.ask(new_ask_id(), "two")
        assert (outcome.status, outcome.text) == ("answered", "echo: two")


async def test_an_ask_that_was_cancelled_before_it_began_is_not_sent(folder: Path) -> None:
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        with trio.CancelScope() as scope:
            scope.cancel()
            await it.agent.ask(new_ask_id(), "never")
        assert (await it.agent.ask(new_ask_id(), "two")).text == "echo: two"
        assert [seen.text for seen in it.of(PromptSeen)] == ["two"]


async def test_stopping_in_mid_write(folder: Path) -> None:
    """C2: a stop is a stop, also for one that does not read."""
    limits = msgspec.structs.replace(QUICK, close=1.5, term=0.3)
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns())), limits=limits) as it:
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGSTOP)
        outcomes: list[Outcome] = []

        async def ask() -> None:
            outcomes.append(await it.agent.ask(new_ask_id(), "A" * 1_000_000))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await eventually(lambda: it.agent._job)
            await trio.testing.wait_all_tasks_blocked(0.05)
            await it.agent.stop()
        assert (outcomes[0].status, outcomes[0].signal) == ("interrupted", "stop")


@pytest.mark.parametrize("then", ["{ tool = 'Bash' }, { crash = 1 }", "{ hang = true }"])
async def test_words_that_were_only_printed_are_told_however_the_turn_ends(folder: Path, then: str) -> None:
    """E5: what stands in an outcome was told as a record as well."""
    scenario = toml_file(folder.parent / "s.toml", turns(f'{{ transcript = false }}, {{ text = "SAID" }}, {then}'))
    async with driven(launch(folder, scenario), limits=SHORT) as it:
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert outcome.status in ("exited", "silent")
        assert outcome.texts == ("SAID",)
        assert texts(it.records) == ["SAID"]


async def test_a_bookmark_is_good_after_the_stop(folder: Path) -> None:
    """E6: the natural moment to ask for it."""
    what = launch(folder, toml_file(folder.parent / "s.toml", turns()))
    async with driven(what) as it:
        await it.agent.ask(new_ask_id(), "first")
        await it.agent.stop()
        mark = it.agent.bookmark()
        assert mark.offset > 0
        assert it.agent.transcript_path is not None
    async with driven(what, bookmark=mark) as it:
        await it.agent.ask(new_ask_id(), "second")
        assert texts(it.records) == ["echo: second"]


async def test_a_session_that_is_taken_up_again_costs_only_what_is_new(folder: Path) -> None:
    """D7: the CLI counts on from where it was, and nothing is paid for twice; also after it was killed."""
    what = launch(folder, toml_file(folder.parent / "s.toml", turns()))
    costs: list[float] = []
    for end in ("stopped", "killed", "stopped", "stopped"):
        async with driven(what) as it:
            for _ in range(2):
                await it.agent.ask(new_ask_id(), "again")
            costs.append(it.of(TurnEnd)[-1].cost_usd or 0.0)
            assert it.agent.transcript_path is not None
            path = it.agent.transcript_path
            if end == "killed":
                assert it.agent.pid is not None
                os.kill(it.agent.pid, signal.SIGKILL)
    told = [json.loads(line) for line in path.read_text().splitlines()]
    theirs = [line["totalCostUSD"] for line in told if line["type"] == "cost-state"]
    assert theirs == [pytest.approx(costs[0]), pytest.approx(costs[0] + costs[2]), pytest.approx(sum(costs) - costs[1])]


async def test_who_is_stopped_while_its_cli_comes_up_is_not_asked(folder: Path) -> None:
    """A7: nothing is paid for what nobody wants any more."""
    scenario = toml_file(folder.parent / "s.toml", turns(start="wait = 0.5"))
    written = False

    def count() -> None:
        nonlocal written
        written = True

    async with driven(launch(folder, scenario)) as it:
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        outcomes: list[Outcome] = []

        async def ask() -> None:
            outcomes.append(await it.agent.ask(new_ask_id(), "hello", on_written=count))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await eventually(lambda: it.agent.pid)
            await it.agent.interrupt()
        assert outcomes[0].status == "interrupted"
        assert not written
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


@pytest.mark.parametrize("what", ["pid", "interrupt", "ask", "stop"])
async def test_anything_may_happen_while_it_is_started_again(folder: Path, what: str) -> None:
    """C1: in the middle of a restart nothing is assumed about a process that is not there yet."""
    scenario = toml_file(folder.parent / "s.toml", turns('{ wait = 0.3 }, { text = "one" }', after="repeat"))
    async with driven(launch(folder, scenario)) as it:
        await it.agent.ask(new_ask_id(), "first")
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        for checkpoints in range(1, 12):
            outcomes: list[Outcome] = []

            async def ask(outcomes: list[Outcome]) -> None:
                with contextlib.suppress(AgentStopped):
                    outcomes.append(await it.agent.ask(new_ask_id(), "again"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, outcomes)
                await eventually(lambda: it.agent._job)
                for _ in range(checkpoints):
                    await trio.lowlevel.checkpoint()
                if what == "pid":
                    assert it.agent.pid is None or it.agent.pid > 0
                elif what == "interrupt":
                    await it.agent.interrupt()
                elif what == "ask":
                    with pytest.raises(AgentBusy):
                        await it.agent.ask(new_ask_id(), "me too")
                else:
                    await it.agent.stop()
            if what == "stop":
                return
            assert outcomes[0].status == ("interrupted" if what == "interrupt" else "answered")
            assert it.agent.pid is not None
            os.kill(it.agent.pid, signal.SIGKILL)
            await eventually(lambda: it.agent.pid is None)


async def test_stop_and_ask_without_run(folder: Path) -> None:
    """C2: neither hangs."""
    agent = DrivenAgent(backend("fake"), launch(folder), Watcher(), lambda _: None)
    with trio.fail_after(5):
        with pytest.raises(AgentStopped, match="is not running"):
            await agent.ask(new_ask_id(), "hello")
        await agent.stop()
        await agent.stop()


async def test_an_asker_outlives_the_agent(folder: Path) -> None:
    """C2: when the agent's owner is cancelled, whoever waits elsewhere hears of it."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ silence = true }"))
    outcomes: list[Outcome] = []
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)
            agent = DrivenAgent(backend("fake"), launch(folder, scenario), watcher, lambda _: None, limits=QUICK)

            async def ask() -> None:
                outcomes.append(await agent.ask(new_ask_id(), "go"))
                with pytest.raises(AgentStopped):
                    await agent.ask(new_ask_id(), "and again")
                nursery.cancel_scope.cancel()

            async with trio.open_nursery() as owner:
                await owner.start(agent.run)
                nursery.start_soon(ask)
                await eventually(lambda: agent._job)
                owner.cancel_scope.cancel()
    assert outcomes[0].status == "interrupted"


async def test_a_stop_is_not_called_a_crash(folder: Path) -> None:
    """C2: a CLI that cannot even react is killed, on purpose."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ silence = true }"))
    async with driven(launch(folder, scenario)) as it, asking(it) as outcomes:
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGSTOP)
        await it.agent.stop()
        await eventually(lambda: outcomes)
        assert (outcomes[0].status, outcomes[0].signal) in [("interrupted", "stop"), ("interrupted", "watchdog")]


# -- permissions -------------------------------------------------------------------------------------------------------

WANTS = '{ tool = "Bash", input = { command = "make" }, result = "made", permission = true }, { text = "So be it." }'


@pytest.mark.parametrize("allow", [True, False])
async def test_it_asks_before_it_uses_a_tool(folder: Path, allow: bool) -> None:
    """Who was asked decides; the turn goes on either way."""
    scenario = toml_file(folder.parent / "s.toml", turns(WANTS))
    async with driven(launch(folder, scenario, tools="ask")) as it, asking(it) as outcomes:
        (asked,) = await eventually(lambda: it.of(PermissionAsked))
        assert (asked.tool, asked.summary) == ("Bash", "make")
        assert not it.of(ToolResult)
        await it.agent.permit(asked.permission_id, allow)
        await eventually(lambda: outcomes)
        assert (outcomes[0].status, outcomes[0].text) == ("answered", "So be it.")
        (result,) = it.of(ToolResult)
        assert (result.summary, result.is_error) == (("made", False) if allow else ("This was not allowed.", True))
        assert not it.of(PermissionGone)


@pytest.mark.parametrize(("tools", "is_error"), [("all", False), ("read", True), ("none", True)])
async def test_nobody_is_asked_where_it_is_settled(folder: Path, tools: str, is_error: bool) -> None:
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(WANTS)), tools=tools)) as it:
        assert (await it.agent.ask(new_ask_id(), "go")).status == "answered"
        assert not it.of(PermissionAsked)
        assert [result.is_error for result in it.of(ToolResult)] == [is_error]


async def test_an_interrupt_takes_back_what_it_asked_for(folder: Path) -> None:
    scenario = toml_file(folder.parent / "s.toml", turns(WANTS))
    async with driven(launch(folder, scenario, tools="ask")) as it, asking(it) as outcomes:
        (asked,) = await eventually(lambda: it.of(PermissionAsked))
        await it.agent.interrupt()
        await eventually(lambda: outcomes)
        assert outcomes[0].status == "interrupted"
        assert asked.permission_id in [gone.permission_id for gone in it.of(PermissionGone)]
        await it.agent.permit(asked.permission_id, allow=True)  # too late
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


async def test_who_waits_for_a_permission_is_not_taken_for_silent(folder: Path) -> None:
    """One that says nothing is ended by the watchdog, and one that has waited for longer than that is not."""
    waits = toml_file(folder.parent / "waits.toml", turns(WANTS))
    silent = toml_file(folder.parent / "silent.toml", turns("{ silence = true }"))
    async with (
        driven(launch(folder / "a", waits, tools="ask"), limits=SHORT) as it,
        driven(launch(folder / "b", silent), limits=SHORT) as other,
        asking(it) as outcomes,
    ):
        (asked,) = await eventually(lambda: it.of(PermissionAsked))
        assert (await other.agent.ask(new_ask_id(), "go")).status == "silent"
        assert not outcomes
        await it.agent.permit(asked.permission_id, allow=True)
        await eventually(lambda: outcomes)
        assert (outcomes[0].status, outcomes[0].text) == ("answered", "So be it.")


@pytest.mark.parametrize(("tested", "notes"), [("1.0", 1), ("99.0", 0)])
async def test_a_version_that_nobody_tested_is_told_once(folder: Path, tested: str, notes: int) -> None:
    """Whatever it does otherwise than expected; not again with every turn and every start."""
    kind = Fake()
    kind.tested = tested
    async with driven(launch(folder), kind=kind) as it:
        await it.agent.ask(new_ask_id(), "go")
        await it.agent.end("for the test")
        await it.agent.ask(new_ask_id(), "go")
        assert len([note for note in it.notes if "tested" in note]) == notes
