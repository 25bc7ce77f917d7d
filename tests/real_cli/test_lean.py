"""Whoever only talks is told what we tell it, and nothing that its user keeps for working with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import driven, new_ask_id

from real_cli.clis import KEY
from real_cli.conftest import ready
from real_cli.stub import Say, Stub
from supervisor.driving.backends.base import Launch
from supervisor.driving.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from real_cli.clis import Cli
    from supervisor.config import Tools

pytestmark = pytest.mark.real_cli

LIMITS = Limits(start=60, starts=1, interrupt=5, close=3, term=2, silence=60)
MARK = "pomegranate"
SKILL = f"---\nname: {MARK}\ndescription: Use it for {MARK}.\n---\n{MARK}\n"
HOOKS = ("SessionStart", "UserPromptSubmit", "Stop", "BeforeAgent", "BeforeModel")

HOME = (".claude/CLAUDE.md", ".claude/rules/fruit.md", f".claude/output-styles/{MARK}.md", ".config/opencode/AGENTS.md")
"""Without `~/.codex/AGENTS.md` and `GEMINI.md`, for which there is no switch."""
HERE = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/rules/fruit.md", f"{MARK}.txt")
SKILLS = (".claude/skills", ".codex/skills", ".gemini/skills", ".config/opencode/skill", ".agents/skills")


def teach(cli: Cli, home: Path, here: Path, ran: Path) -> None:
    """Everything that it would read for working, and what it would run."""
    words = {home / name: MARK for name in HOME} | {here / name: MARK for name in HERE}
    words |= {home / folder / MARK / "SKILL.md": SKILL for folder in SKILLS}
    hook = [{"hooks": [{"type": "command", "command": f"touch {ran}; echo {MARK}"}]}]
    for place in (home, here):
        for name in (".claude/settings.json", ".gemini/settings.json", ".codex/hooks.json"):
            words[place / name] = json.dumps({"hooks": dict.fromkeys(HOOKS, hook), "outputStyle": MARK})
    for path, text in words.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if cli.name == "codex":
        config = home / ".codex" / "config.toml"
        config.write_text(f'notify = ["touch", "{ran}"]\n{config.read_text()}')


async def test_who_only_talks_is_told_nothing_else(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E5: neither in what its user wrote for it, nor in the folder that it works in, and no program of the user's."""
    stub.script = lambda asked: Say("Yes.")
    here, ran = scratch / "shop", scratch / "ran"
    here.mkdir()
    cli.settle_in(scratch / "home", stub.url)
    teach(cli, scratch / "home", here, ran)
    launch = Launch(
        agent_id="agent_001", folder=str(scratch / "agent"), session_id=new_ask_id(), command=cli.command(),
        environment=cli.environment(stub.url), model=cli.model, cwd=str(here), instructions="You are Ada.",
    )  # fmt: skip
    async with driven(launch, limits=LIMITS, name=cli.name) as it:
        for _ in range(2):
            outcome = await it.agent.ask(new_ask_id(), "Tabs or spaces?")
            assert outcome.status == "answered", outcome
    assert stub.requests
    assert not [asked.body for asked in stub.requests if MARK in json.dumps(asked.body)]
    assert not ran.exists()


@pytest.mark.parametrize(
    "settings",
    [{"env": {"ANTHROPIC_BASE_URL": "@", "ANTHROPIC_API_KEY": KEY}},
     {"env": {"ANTHROPIC_BASE_URL": "@"}, "apiKeyHelper": f"echo {KEY}"}],
    ids=["env", "helper"],
)  # fmt: skip
async def test_who_signs_in_by_claudes_settings_is_signed_in_for_talking(
    settings: dict[str, object], scratch: Path, stub: Stub
) -> None:
    """What `claude auth status` goes by holds for us."""
    cli = ready("claude")
    stub.script = lambda asked: Say("Yes.")
    file = scratch / "home" / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(settings).replace("@", stub.url))
    launch = Launch(
        agent_id="agent_001", folder=str(scratch / "agent"), session_id=new_ask_id(), command=cli.command(),
        environment={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}, instructions="You are Ada.",
    )  # fmt: skip
    async with driven(launch, limits=LIMITS, name="claude") as it:
        outcome = await it.agent.ask(new_ask_id(), "Tabs or spaces?")
    assert outcome.status == "answered", outcome
    assert {asked.key.removeprefix("Bearer ") for asked in stub.requests} == {KEY}


SERVER = """
[mcp_servers.{name}]
command = "sh"
args = ["-c", "touch {ran}; cat"]
startup_timeout_sec = 5
"""


@pytest.mark.parametrize("tools", ["none", "read"])
async def test_codex_reads_and_does_nothing_else(tools: Tools, scratch: Path, stub: Stub) -> None:
    """No tool server is started, whatever it is called and whoever configured it, and no other tool is there."""
    cli = ready("codex")
    stub.script = lambda asked: Say("Yes.")
    here, home, ran = scratch / "shop", scratch / "home", scratch / "ran"
    cli.settle_in(home, stub.url)
    with (home / ".codex" / "config.toml").open("a") as config:
        config.write(SERVER.format(name='"my.files"', ran=ran))
        config.write(f'[projects."{here}"]\ntrust_level = "trusted"\n')
    (here / ".codex").mkdir(parents=True)
    (here / ".codex" / "config.toml").write_text(SERVER.format(name="here", ran=ran))
    launch = Launch(
        agent_id="agent_001", folder=str(scratch / "agent"), session_id=new_ask_id(), command=cli.command(),
        environment=cli.environment(stub.url), cwd=str(here), instructions="You are Ada.", tools=tools,
    )  # fmt: skip
    async with driven(launch, limits=LIMITS, name="codex") as it:
        outcome = await it.agent.ask(new_ask_id(), "Tabs or spaces?")
    assert outcome.status == "answered", outcome
    assert not ran.exists()
    shell = {"exec_command", "write_stdin"} if tools == "read" else set()
    assert set(stub.requests[0].tools) - {"request_user_input"} == shell
