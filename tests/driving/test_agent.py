"""One driven agent with the fake CLI behind it: every way a turn can go, and nothing left running."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import trio
import trio.testing
from support import QUICK, alive, asking, driven, eventually, launch, new_ask_id, texts, toml_file

from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends import backend
from supervisor.driving.backends.fake import Fake
from supervisor.driving.watcher import Watcher
from supervisor.errors import AgentBusy, AgentStopped, AskRepeated, CannotStart, ConfigError, PromptTooLarge
from supervisor.records import (
    Compacted,
    Damage,
    Delta,
    MessageEnd,
    Note,
    PromptSeen,
    PromptTaken,
    RateLimit,
    Ready,
    Retry,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

if TYPE_CHECKING:
    from supervisor.driving.agent import Limits
    from supervisor.driving.backends.base import Launch
    from supervisor.driving.turn import Outcome
    from supervisor.records import AnyRecord


SHORT = msgspec.structs.replace(QUICK, silence=0.3, interrupt=0.5)


def turns(*steps: str, after: str = "echo", start: str = "") -> str:
    """A scenario with one turn for each list of steps."""
    body = "".join(f"[[turn]]\nsteps = [ {step} ]\n" for step in steps)
    return f'after = "{after}"\n[start]\n{start}\n{body}'


async def one_turn(folder: Path, steps: str, limits: Limits = QUICK) -> Outcome:
    scenario = toml_file(folder.parent / "s.toml", turns(steps))
    async with driven(launch(folder, scenario), limits=limits) as it:
        return await it.agent.ask(new_ask_id(), "hello")


# -- what works ---------------------------------------------------------------------------------------------------


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


# -- what fails ---------------------------------------------------------------------------------------------------

ERRORS = {
    "authentication": "authentication", "forbidden": "authentication", "not_found": "invalid_request",
    "bad_request": "invalid_request", "low_credit": "billing", "rate_limit_long": "rate_limit",
    "overloaded": "overloaded", "server": "server", "refused": "network", "prompt_too_long": "context",
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), ERRORS.items())
async def test_each_api_error_is_a_failed_turn(folder: Path, name: str, kind: str) -> None:
    """E5: the error's kind is ours, whatever the CLI calls it, and the agent stays usable."""
    scenario = toml_file(folder.parent / "s.toml", turns(f'{{ error = "{name}", retry_delay = 0.001 }}'))
    async with driven(launch(folder, scenario)) as it:
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert outcome.status == "failed"
        assert outcome.signal == "transcript"
        assert outcome.failure is not None
        assert outcome.failure.kind == kind
        assert outcome.detail.startswith("API Error")
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


@pytest.mark.parametrize("name", ["rate_limit_short", "server_recovers", "cut_stream"])
async def test_retries_are_told_and_do_not_end_the_turn(folder: Path, name: str) -> None:
    """E5: the CLI's own retries."""
    steps = f'{{ error = "{name}", retry_delay = 0.01 }}, {{ text = "at last" }}'
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(steps)))) as it:
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert (outcome.status, outcome.text) == ("answered", "at last")
        assert [retry.attempt for retry in it.of(Retry)][:1] == [1]


async def test_a_rate_limit_with_its_reset_time(folder: Path) -> None:
    """D14: when to come back."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ rate_limit = true, resets_in = 90 }"))
    async with driven(launch(folder, scenario)) as it:
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert outcome.failure is not None
        assert outcome.failure.kind == "rate_limit"
        (limit,) = it.of(RateLimit)
        assert limit.status == "rejected"
        assert limit.resets_at


async def test_a_compaction_is_told(folder: Path) -> None:
    steps = '{ compact = 150000 }, { text = "shorter now" }'
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(steps)))) as it:
        assert (await it.agent.ask(new_ask_id(), "hello")).text == "shorter now"
        assert [c.before_tokens for c in it.of(Compacted)] == [150000]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_an_automatic_continuation_is_not_the_end(folder: Path, reason: str) -> None:
    """E4: the turn goes on in another message."""
    outcome = await one_turn(folder, f'{{ text = "first" }}, {{ stop = "{reason}" }}, {{ text = "second" }}')
    assert outcome.texts == ("first", "second")


CRASHES = {
    "before the answer": "{ crash = 3 }",
    "during the answer": '{ text = "half an answer" }, { crash = 3 }',
    "by a signal": "{ crash = -9 }",
}


@pytest.mark.parametrize("steps", CRASHES.values(), ids=CRASHES)
async def test_a_crash_without_an_answer(folder: Path, steps: str) -> None:
    """E4: the exit is the outcome; asked again under the same id, the resumed session answers, once."""
    scenario = toml_file(folder.parent / "s.toml", turns(steps, '{ text = "after all" }'))
    what = launch(folder, scenario)
    async with driven(what) as it:
        ask = new_ask_id()
        outcome = await it.agent.ask(ask, "hello")
        assert (outcome.status, outcome.signal, outcome.seen) == ("exited", "exit", True)
        assert "status -9" in outcome.detail or "status 3" in outcome.detail
        again = await it.agent.ask(ask, "hello")
        assert (again.status, again.signal) == ("answered", "transcript")
        assert len(it.of(PromptSeen)) == 1


async def test_a_crash_after_the_answer_loses_nothing(folder: Path) -> None:
    """E4: what stands in the transcript was said."""
    scenario = toml_file(folder.parent / "s.toml", turns('{ text = "said" }, { exit = 9 }'))
    async with driven(launch(folder, scenario)) as it:
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert (outcome.status, outcome.text) == ("answered", "said")
        await eventually(lambda: it.agent.pid is None)
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


async def test_killed_by_somebody_else(folder: Path) -> None:
    scenario = toml_file(folder.parent / "s.toml", turns("{ silence = true }"))
    async with driven(launch(folder, scenario)) as it, asking(it) as outcomes:
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: outcomes)
        assert outcomes[0].status == "exited"


async def test_an_agent_that_died_while_idle_is_started_again(folder: Path) -> None:
    """C1: the next ask finds it up, and its session goes on."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        await it.agent.ask(new_ask_id(), "first")
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        assert (await it.agent.ask(new_ask_id(), "second")).text == "echo: second"
        assert texts(it.records) == ["echo: first", "echo: second"]


async def test_an_agent_that_died_before_its_first_turn(folder: Path) -> None:
    """There is nothing to resume yet, so it begins anew."""
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns()))) as it:
        assert it.agent.pid is not None
        os.kill(it.agent.pid, signal.SIGKILL)
        await eventually(lambda: it.agent.pid is None)
        assert (await it.agent.ask(new_ask_id(), "first")).text == "echo: first"


async def test_silence_is_broken_by_the_watchdog(folder: Path) -> None:
    """E4: nothing for too long: interrupted by the CLI's own means, and the agent stays usable."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ silence = true }"))
    async with driven(launch(folder, scenario), limits=SHORT) as it:
        pid = it.agent.pid
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert (outcome.status, outcome.signal) == ("silent", "watchdog")
        assert "0.3 s" in outcome.detail
        assert it.agent.pid == pid
        assert (await it.agent.ask(new_ask_id(), "again")).text == "echo: again"


async def test_a_hang_is_ended_by_force(folder: Path) -> None:
    """E4: deaf to the interrupt, it is ended, and started again for the next ask."""
    scenario = toml_file(folder.parent / "s.toml", turns("{ ignore_term = true }, { hang = true }"))
    async with driven(launch(folder, scenario), limits=SHORT) as it:
        pid = it.agent.pid
        outcome = await it.agent.ask(new_ask_id(), "hello")
        assert (outcome.status, outcome.signal) == ("silent", "watchdog")
        assert pid is not None
        assert not alive(pid)
        assert (await it.agent.ask(new_ask_id(), "again")).status == "answered"


async def test_work_that_takes_long_is_not_silence(folder: Path) -> None:
    """E4: as long as something comes now and then, the watchdog waits."""
    steps = ", ".join('{ text = "x" }, { wait = 0.15 }' for _ in range(6))
    assert (await one_turn(folder, steps, SHORT)).status == "answered"


# -- damage and odd output ----------------------------------------------------------------------------------------


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


async def test_a_line_of_fifty_megabytes(folder: Path) -> None:
    """E3: it takes a moment, and nothing is lost."""
    limits = msgspec.structs.replace(QUICK, transcript_wait=10)
    outcome = await one_turn(folder, '{ damage = "huge", value = 50000000 }, { text = "after it" }', limits)
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

    def watched(self, launch: Launch, environment: dict[str, str]) -> Path:
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


async def test_a_flood_of_output(folder: Path) -> None:
    steps = "{ flood = 3000000, stream = 'stdout' }, { flood = 3000000, stream = 'stderr' }, { text = 'dry' }"
    async with driven(launch(folder, toml_file(folder.parent / "s.toml", turns(steps)))) as it:
        assert (await it.agent.ask(new_ask_id(), "one")).text == "dry"
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


# -- bad input ----------------------------------------------------------------------------------------------------


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
    with pytest.raises(ConfigError, match=r"no backend 'nope'; choose one of claude, fake\."):
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
