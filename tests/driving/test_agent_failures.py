"""One driven agent whose turns fail: API errors, crashes, silence and hangs."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from support import (
    SHORT,
    alive,
    asking,
    driven,
    eventually,
    launch,
    new_ask_id,
    one_turn,
    texts,
    toml_file,
    turns,
)

from supervisor.records import (
    Compacted,
    PromptSeen,
    RateLimit,
    Retry,
)

if TYPE_CHECKING:
    from pathlib import Path

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
        assert outcome.detail.startswith("it is not let in (HTTP 401)" if name == "authentication" else "API Error")
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
