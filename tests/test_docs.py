"""What the documentation shows is run, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest
from support import ROOT, driven, new_ask_id, server, toml_file

from supervisor import errors, events, records
from supervisor.driving.backends import base
from supervisor.driving.limits import Limits
from supervisor.driving.turn import Outcome
from supervisor.server import protocol

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_example_of_driving_an_agent_runs(tmp_path: Path) -> None:
    """As it stands on the page, in an empty folder."""
    (code,) = blocks(ROOT / "docs" / "driving.md", "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("answered transcript\n")
    assert "system" in done.stdout


def test_the_smallest_backend_on_the_page_is_the_real_one() -> None:
    code, _ = blocks(ROOT / "docs" / "adding-a-cli.md", "python")
    source = (ROOT / "supervisor" / "driving" / "backends" / "fake.py").read_text()
    for line in code.splitlines():
        assert line.strip() in source


POLLY = """\
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    print(json.dumps({"says": given.get("prompt") or "hello"}), flush=True)
    if "ask" in given:
        print(json.dumps({"says": "."}), flush=True)
"""


async def test_the_worked_example_of_a_backend_works(folder: Path) -> None:
    """As it stands on the page: driven like any other, with its transcript kept."""
    _, code = blocks(ROOT / "docs" / "adding-a-cli.md", "python")
    program = toml_file(folder.parent / "polly.py", POLLY)
    names: dict[str, Any] = {**vars(base), **vars(records), "msgspec": msgspec, "Any": Any}
    exec("from __future__ import annotations\n" + code, names)
    launch = base.Launch(
        agent_id="agent_001", folder=str(folder), session_id=new_ask_id(), command=(sys.executable, str(program))
    )
    async with driven(launch, kind=names["Polly"]()) as it:
        outcome = await it.agent.ask(new_ask_id(), "Who is a good bird?")
        assert (outcome.status, outcome.signal, outcome.text) == ("answered", "transcript", "Who is a good bird?")
        assert outcome.seen
        assert it.agent.transcript_path == base.kept_transcript(launch)


def test_names_on_the_page_about_driving_exist() -> None:
    page = (ROOT / "docs" / "driving.md").read_text()
    for name in re.findall(r"`([A-Z]\w+)`", page):
        assert name in ("KILL", "TERM") or any(hasattr(place, name) for place in (records, errors)) or name in (
            Limits.__name__, Outcome.__name__, "DrivenAgent",
        ), name  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_error_stands_in_the_tree_of_errors() -> None:
    """The drawing in the docstring is complete."""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert re.search(rf"\b{name}\b", errors.__doc__ or ""), name


def test_every_message_of_the_socket_stands_on_its_page() -> None:
    """Both ways, and the codes of errors."""
    page = (ROOT / "docs" / "protocol.md").read_text()
    told = [kind.__struct_config__.tag for kind in (*events.AnyEvent.__args__, events.TextDelta, events.Status)]
    for name in (*protocol.TYPES, *told):
        assert f"`{name}`" in page, name
    source = "".join(path.read_text() for path in (ROOT / "supervisor").rglob("*.py"))
    for code in re.findall(r'Refused\(\s*"(\w+)"', source):
        assert f"`{code}`" in page, code


def test_the_example_of_the_client_runs(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "protocol.md", "python")
    with server(tmp_path, "--seed", "7", FAKE_CLI_SPEED="0", FAKE_CLI_THINK="0") as started:
        code += f"\n\ntrio.run(main, {started.ws_url!r}, {started.token!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("message_limit\n")
    assert done.stdout.startswith("agent_001 ")


def test_the_example_of_a_life_of_their_own_runs(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "life.md", "python")
    with server(tmp_path, "--seed", "7", "--life", FAKE_CLI_SPEED="0", FAKE_CLI_THINK="0") as started:
        code += f"\n\ntrio.run(main, {started.ws_url!r}, {started.token!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.match(r"agent_00\d (wait|move|speak|collaborate) ", done.stdout)


def test_every_reason_of_an_end_is_explained() -> None:
    page = (ROOT / "docs" / "operating.md").read_text()
    for reason in get_args(events.EndReason):
        assert f"| `{reason}` |" in page
