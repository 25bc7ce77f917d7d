"""The fake CLI and the real claude in the same situations: the same records of ours come out, in the same order."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
import trio
from support import brief, driven, eventually, new_ask_id, toml_file

from real_cli.conftest import ready
from real_cli.stub import Asked, Fault, Reply, Say, Stub, Use
from supervisor.driving.backends.base import Launch
from supervisor.driving.limits import Limits
from supervisor.records import (
    Delta,
    Failure,
    MessageEnd,
    PromptSeen,
    PromptTaken,
    Retry,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    TurnEnd,
    Usage,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Driven

    from supervisor.driving.turn import Outcome

pytestmark = pytest.mark.real_cli

LIMITS = Limits(start=30, starts=1, interrupt=5, close=3, term=2, silence=60)
SLOW = " ".join(f"w{n}" for n in range(100))

SITUATIONS: dict[str, tuple[str, list[Reply]]] = {
    "two turns": ('[[turn]]\nsay = "One thing."\n[[turn]]\nsay = "Another."', [Say("One thing."), Say("Another.")]),
    "thinking": (
        '[[turn]]\nsteps = [{ think = "Hm." }, { text = "So it is." }]\n[[turn]]\nsay = "Yes."',
        [Say("So it is.", thinking="Hm."), Say("Yes.")],
    ),
    "a tool": (
        '[[turn]]\nsteps = [{ tool = "Read", input = { file_path = "FILE" }, result = "hello" }, { text = "Read." }]\n'
        '[[turn]]\nsay = "Yes."',
        [Use("Read", {"file_path": "FILE"}), Say("Read."), Say("Yes.")],
    ),
    "refused": (
        '[[turn]]\nsteps = [{ error = "forbidden" }]\n[[turn]]\nsay = "Yes."',
        [Fault(403, "Request not allowed"), Say("Yes.")],
    ),
    "too much": (
        '[[turn]]\nsteps = [{ error = "prompt_too_long" }]\n[[turn]]\nsay = "Yes."',
        [Fault(400, "prompt is too long: 210000 tokens > 200000 maximum"), Say("Yes.")],
    ),
    "tries again": (
        '[[turn]]\nsteps = [{ error = "server_recovers", retry_delay = 0.5 }, { text = "At last." }]\n'
        '[[turn]]\nsay = "Yes."',
        [Fault(500, "Internal server error"), Say("At last."), Say("Yes.")],
    ),
    "limited": (
        '[[turn]]\nsteps = [{ error = "rate_limit_long" }]\n[[turn]]\nsay = "Yes."',
        [Fault(429, "Too much.", headers=(("retry-after", "3600"),)), Say("Yes.")],
    ),
    "broken off": (f'[[turn]]\nspeed = 40\nsay = "{SLOW}"\n[[turn]]\nsay = "Yes."', [Say(SLOW, pace=0.1), Say("Yes.")]),
    "killed": (
        f'[[turn]]\nspeed = 40\nsay = "{SLOW}"\n[[turn]]\nsay = "Yes."',
        [Say(SLOW, pace=0.1), Say("Yes."), Say("Yes.")],
    ),
}  # fmt: skip


async def played(it: Driven, name: str) -> list[Outcome]:
    """The same two asks; in some situations the first does not get far."""
    first, outcomes = new_ask_id(), []

    async def ask(ask_id: str) -> None:
        outcomes.append(await it.agent.ask(ask_id, "go"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, first)
        if name in ("broken off", "killed"):
            await eventually(lambda: len(it.of(Delta)) > 2 and it.of(PromptSeen), 30)
            if name == "killed":
                assert it.agent.pid is not None
                os.kill(it.agent.pid, signal.SIGKILL)
            else:
                await it.agent.interrupt()
    await ask(first if name == "killed" else new_ask_id())
    return outcomes


def seen(it: Driven) -> dict[str, list[str]]:
    """What it came to, without what chance decides: how a text is cut into pieces, and how far a broken one got."""
    kinds = PromptSeen | Text | Thinking | ToolUse
    written = [brief(record) for record in it.records if record.offset is not None and isinstance(record, kinds)]
    return {
        "written": [line.partition(SLOW[:5])[0] + "…" if SLOW[:5] in line else line for line in written],
        "tools": [str(record.is_error) for record in it.of(ToolResult)],
        "failures": [record.kind for record in it.of(Failure)],
        "counted": [str(len(it.of(Usage))), str(len({record.tokens for record in it.of(Window)}))],
        "costs": [str(record.cost_usd is not None) for record in it.of(TurnEnd)],
        "ends": [str(len(it.of(MessageEnd)) > 0)],
        "taken": [record.state for record in it.of(PromptTaken) if record.state != "completed"],  # may come after us
        "turns": [record.outcome for record in it.of(TurnEnd)],
        "retries": [record.kind for record in it.of(Retry)],
    }


def what(outcome: Outcome) -> tuple[Any, ...]:
    cut = tuple(text[:5] for text in outcome.texts)
    return (outcome.status, outcome.signal, cut, outcome.failure.kind if outcome.failure else None, outcome.seen)


@pytest.mark.parametrize("name", SITUATIONS)
async def test_the_fake_one_behaves_like_the_real_one(name: str, scratch: Path, stub: Stub) -> None:
    """E2."""
    cli = ready("claude")
    scenario, replies = SITUATIONS[name]
    file = scratch / "file.txt"
    file.write_text("hello\n")
    script = scripted([exchange(reply, str(file)) for reply in replies])
    stub.script = script
    common: dict[str, Any] = {"agent_id": "agent_001", "instructions": "You are Ada, the optimist.", "tools": "read"}
    real = Launch(
        folder=str(scratch / "real"), session_id=new_ask_id(), command=cli.command(),
        environment=cli.environment(stub.url), **common,
    )  # fmt: skip
    path = toml_file(scratch / "scenario.toml", scenario.replace("FILE", str(file)))
    fake = Launch(folder=str(scratch / "fake"), session_id=new_ask_id(), arguments=("--scenario", str(path)), **common)
    async with driven(real, limits=LIMITS, name="claude") as it:
        real_outcomes = await played(it, name)
        real_seen = seen(it)
    async with driven(fake, limits=LIMITS) as it:
        fake_outcomes = await played(it, name)
        fake_seen = seen(it)
    assert [what(outcome) for outcome in fake_outcomes] == [what(outcome) for outcome in real_outcomes]
    assert fake_seen == real_seen


def exchange(reply: Reply, path: str) -> Reply:
    return Use(reply.tool, {"file_path": path}) if isinstance(reply, Use) else reply


def scripted(replies: list[Reply]) -> Callable[[Asked], Reply]:
    left = list(replies)
    return lambda asked: left.pop(0)
