"""A CLI that speaks the Agent Client Protocol, as a program that does no more than each test wants."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import trio
from support import driven, launch, new_ask_id

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.driving.turn import Outcome

SILENT = """
import json, sys

def say(**fields):
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)

for line in sys.stdin:
    heard = json.loads(line)
    match heard["method"]:
        case "initialize":
            say(id=heard["id"], result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        case "session/new":
            say(id=heard["id"], result={"sessionId": "theirs"})
        case "session/prompt":
            asked = heard["id"]
        case "session/cancel":
            say(id=asked, result={"stopReason": "cancelled"})
"""


async def test_who_has_said_nothing_yet_can_be_interrupted(folder: Path) -> None:
    """A7: nothing shows that it has begun, and it may work for hours; it is told to stop all the same."""
    async with driven(launch(folder, command=(sys.executable, "-c", SILENT)), name="acp") as it:
        outcomes: list[Outcome] = []
        written = trio.Event()

        async def ask() -> None:
            outcomes.append(await it.agent.ask(new_ask_id(), "Hi", on_written=written.set))

        before = it.agent.pid
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await written.wait()
            await it.agent.interrupt()
        assert (outcomes[0].status, outcomes[0].signal) == ("interrupted", "transcript")
        assert it.agent.pid == before
