"""What is configured for somebody, and where it works."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest
import trio
from support import QUICK, driven, eventually, launch, toml_file

from supervisor.cli import options
from supervisor.core import inputs
from supervisor.errors import ConfigError
from supervisor.events import Settings
from supervisor.runtime import AgentRuntime
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
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
cwd = "shop"
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
    (tmp_path / "shop").mkdir()
    own, other = await launches(tmp_path, toml_file(tmp_path / "office.toml", ADA), "other", "fake")
    assert (own.model, own.tools, own.cwd) == ("o2", "all", str(tmp_path / "shop"))
    assert own.arguments[-2:] == ("--seed", "3")
    assert (other.model, other.tools, other.cwd, other.arguments) == ("", "none", "", ())


async def test_without_a_backend_an_entry_is_for_the_default_one(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    file = toml_file(tmp_path / "office.toml", f'default_backend = "other"\n{ADA}'.replace('backend = "other"\nm', "m"))
    own, other = await launches(tmp_path, file, "", "fake")
    assert (own.model, own.tools, other.model, other.tools) == ("o2", "all", "", "none")


async def test_a_working_folder_is_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the supervisor is started, and however the file is named there."""
    shop, elsewhere = tmp_path / "house" / "shop", tmp_path / "elsewhere"
    for folder in (shop, elsewhere):
        folder.mkdir(parents=True)
    toml_file(tmp_path / "house" / "office.toml", ADA)
    monkeypatch.chdir(elsewhere)
    (own,) = await launches(tmp_path, Path("../house/office.toml"), "other")
    assert own.place == str(shop)
    async with driven(own) as it:
        assert it.agent.pid is not None
        assert Path(psutil.Process(it.agent.pid).cwd()) == shop.resolve()


def test_a_folder_of_a_launch_is_the_same_from_inside_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CLI is told that stands in it already is no relative name."""
    monkeypatch.chdir(tmp_path)
    assert launch(tmp_path, cwd="shop").place == str(tmp_path / "shop")


@pytest.mark.parametrize("there", ["nothing", "a file"])
def test_a_working_folder_that_is_not_there_is_told_at_once(tmp_path: Path, there: str) -> None:
    if there == "a file":
        (tmp_path / "shop").touch()
    file = toml_file(tmp_path / "office.toml", ADA)
    with pytest.raises(ConfigError) as wrong:
        options.office(file)
    assert str(wrong.value) == f"{file}: agents[0].cwd: expected a folder, there is none at {tmp_path / 'shop'}."


@pytest.mark.parametrize(
    "key", ["floor_plan = '~nobody-here/plan'\n", "[[agents]]\nname = 'Ada'\nrole = 'x'\ncwd = '~nobody-here/x'\n"]
)
def test_a_home_of_nobody_is_told_in_one_line(tmp_path: Path, key: str) -> None:
    file = toml_file(tmp_path / "office.toml", key)
    with pytest.raises(ConfigError, match="nobody's home is at ~nobody-here"):
        options.office(file)
