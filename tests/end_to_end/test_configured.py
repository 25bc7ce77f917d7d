"""What is configured for somebody."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
import trio
from support import QUICK, eventually, toml_file

from supervisor.cli import options
from supervisor.core import inputs
from supervisor.events import Settings
from supervisor.runtime import AgentRuntime
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.driving.backends.base import Launch

ADA = """
[backends.other]
kind = "fake"
model = "o1"

[[agents]]
name = "Ada"
role = "maintainer"
backend = "other"
model = "o2"
tools = "all"
arguments = ["--seed", "3"]
memory_mb = 500
"""


async def launches(folder: Path, config: Path, *backends: str) -> list[Launch]:
    """How Ada is started on each of them, in rooms of their own."""
    state = StateFolder(folder / "state")
    office = msgspec.structs.replace(options.office(config), wander_seconds=0)
    found = []
    with trio.fail_after(60), state.locked():
        runtime = AgentRuntime(state, office, limits=QUICK)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            for backend in backends:
                ada = inputs.AgentConfig(name="Ada", role="x", cli_backend=backend)
                await runtime.begin(inputs.StartRoom(name=backend, settings=Settings(), agents=(ada,)))
            for agent_id in runtime.core.state.agents:
                colleague = await eventually(partial(runtime.colleague, agent_id))
                found.append(colleague.driven.launch)
            await runtime.stop()
            nursery.cancel_scope.cancel()
    return found


async def test_an_entry_is_for_its_own_cli_only(tmp_path: Path) -> None:
    """Somebody of that name on another CLI gets none of it, and least of all what it may do."""
    own, other = await launches(tmp_path, toml_file(tmp_path / "office.toml", ADA), "other", "fake")
    assert (own.model, own.tools) == ("o2", "all")
    assert own.arguments[-2:] == ("--seed", "3")
    assert (other.model, other.tools, other.arguments) == ("", "none", ())


async def test_without_a_backend_an_entry_is_for_the_default_one(tmp_path: Path) -> None:
    file = toml_file(tmp_path / "office.toml", f'default_backend = "other"\n{ADA}'.replace('backend = "other"\nm', "m"))
    own, other = await launches(tmp_path, file, "", "fake")
    assert (own.model, own.tools, other.model, other.tools) == ("o2", "all", "", "none")
