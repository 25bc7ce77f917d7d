"""What goes on in a real CLI between the prompt and the words: its thoughts, its retries, and how much it can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from real_cli.house import KEYWORD, house, in_turn
from real_cli.stub import Fault, Say, Stub
from supervisor import events as e
from supervisor.core import inputs

if TYPE_CHECKING:
    from pathlib import Path

    from real_cli.clis import Cli

pytestmark = pytest.mark.real_cli


TROUBLE = {"codex": Fault(1)}
"""What each tries again after, and says so; gemini and opencode keep it to themselves."""
HOLDS = {"claude": 1_000_000, "codex": 258_400, "opencode": 128_000}


async def test_what_goes_on_inside_is_told(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E5, D12: in one vocabulary, whatever the CLI calls it."""
    trouble = TROUBLE.get(cli.name, Fault(503, "Overloaded.", "UNAVAILABLE"))
    stub.script = in_turn(
        Ada=[trouble, Say("One.", thinking="Let me see."), Say(f"Three. {KEYWORD}")], Bo=[Say("Two.")]
    )
    async with house(scratch, stub, [cli]) as it:
        rules = it.runtime.core.rules
        unsaid = {cli.name: msgspec.structs.replace(rules.backends[cli.name], context_max=None)}
        it.runtime.core.rules = msgspec.structs.replace(rules, backends=unsaid)
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
        assert it.said == [("Ada", "One."), ("Bo", "Two."), ("Ada", "Three.")]
        if cli.name in ("claude", "codex"):
            assert [again.attempt for again in it.of(e.Retried)] == [1]
        if cli.name != "opencode":  # the API that it is given here knows no thoughts
            (thought,) = it.of(e.Thought)
            assert thought.text.endswith("Let me see.")
        assert it.of(e.UsageReported)[-1].context_max == HOLDS.get(cli.name, 200_000)


async def test_how_full_a_context_is_comes_from_the_model(cli: Cli, scratch: Path, stub: Stub) -> None:
    """D12: a warning at 80 %, and an end at 95 %, by what was really read."""
    stub.script = in_turn(
        Ada=[Say("One.", input_tokens=42_000), Say("Three.", input_tokens=48_000)], Bo=[Say("Two.", input_tokens=900)]
    )
    async with house(scratch, stub, [cli]) as it:
        rules = it.runtime.core.rules
        small = {cli.name: msgspec.structs.replace(rules.backends[cli.name], context_max=50_000)}
        it.runtime.core.rules = msgspec.structs.replace(rules, backends=small)
        await it.begin([cli, cli])
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "context_limit"
        (warned,) = it.of(e.ContextWarning)
        assert 42_000 <= warned.context_tokens < 43_000
        assert it.said == [("Ada", "One."), ("Bo", "Two."), ("Ada", "Three.")]


async def test_what_a_session_has_cost_is_counted_once(cli: Cli, scratch: Path, stub: Stub) -> None:
    """D7: also where its CLI counts on from before when it takes the session up again."""
    stub.script = in_turn(Ada=[Say("One."), Say(f"Three. {KEYWORD}"), Say(KEYWORD)], Bo=[Say("Two.")])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
        before = it.runtime.core.state.agents["agent_001"].cost_usd
    async with house(scratch, stub, [cli]) as it:
        await it.runtime.begin(inputs.StartAutoMode(topic="Coffee?"))
        await it.until(e.AutoModeEnded)
        after = it.runtime.core.state.agents["agent_001"].cost_usd
    assert (after > 0) == (cli.name in ("claude", "opencode"))  # the others do not say it
    assert after - before <= before  # one turn after two, with a little more to read in it
