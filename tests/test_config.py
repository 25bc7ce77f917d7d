"""`office.toml`: what is right is taken, what is wrong is told with its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from support import ROOT, supervisor, toml_file

from supervisor import config
from supervisor.cli.options import room_settings
from supervisor.core.rooms.templates import TEMPLATES
from supervisor.driving import backends
from supervisor.errors import ConfigError
from supervisor.events import Settings

if TYPE_CHECKING:
    from pathlib import Path

KINDS = backends.facts()
ANN = "[[agents]]\nname = 'A'\nrole = 'r'\n"
EXAMPLE = ROOT / "docs" / "office.example.toml"


def test_the_example_is_right() -> None:
    office = config.parse(EXAMPLE.read_text(), "example", KINDS, TEMPLATES)
    assert {agent.name for agent in office.agents} >= set(office.rooms[0].agents)
    assert office.backend("opus").kind == "claude"
    assert room_settings(office, office.rooms[0]).min_turns == 6
    assert room_settings(office, office.rooms[0]).response_delay == office.settings.response_delay


def test_an_empty_file_is_an_office_with_defaults() -> None:
    assert config.parse("", "x", KINDS, {}) == config.Office()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents = [", "x.toml: Invalid value (at end of document)."),
        ("port = 5", "x.toml: port: there is no such key; expected one of default_backend, backends, agents,"),
        ("[[agents]]\nname = 'A'", "x.toml: agents[0].role: expected a value, there is none."),
        (f"{ANN}[[agents]]\nname = 5\nrole = ''", "x.toml: agents[1].name: expected str, got int."),
        (f"{ANN}colour = 'red'", "x.toml: agents[0].colour: there is no such key; expected"),
        (f"{ANN}backend = 'nope'", "x.toml: agents[0].backend: expected one of claude, codex, fake, gemini, opencode."),
        (ANN * 2, "x.toml: agents[1].name: there is a A already"),
        ("[agents]\nname = 'A'", "x.toml: agents: expected tables that begin with [[agents]]."),
        ("[backends.x]\nkind = 'vim'", "x.toml: backends.x.kind: expected one of claude, codex, gemini,"),
        ("[backends.x]\nprogram = 'vim'", "there is no such key; expected one of kind, command, arguments,"),
        ("[settings]\nmin_turns = 'two'", "x.toml: settings.min_turns: expected int, got str."),
        ("[settings]\nminturns = 2", "x.toml: settings.minturns: there is no such key; expected one of keyword,"),
        ("[backends.x]\nkind = 'acp'", "x.toml: backends.x.command: expected the program and its arguments"),
        ("[backends.claude.parameters]\nheat = 2",
         "x.toml: backends.claude.parameters.heat: claude takes no such parameter; expected one of effort,"),
        (f"{ANN}parameters = {{ heat = 2 }}", "x.toml: agents[0].parameters.heat: fake takes no such parameter"),
        ("[backends.claude]\ntools = 'some'", "x.toml: backends.claude.tools: "),
        ("default_backend = 'x'", "x.toml: default_backend: expected one of claude, codex, fake, gemini, opencode."),
        (ANN.replace("'A'", "'Ada Lovelace'"), "x.toml: agents[0]: The name 'Ada Lovelace' cannot be mentioned"),
        (ANN.replace("'r'", "' '"), "x.toml: agents[0]: A needs a role"),
        (ANN + ANN.replace("'A'", "'a'"), "x.toml: agents[1].name: there is a a already"),
        ("most_agents = 1", "x.toml: most_agents: expected 2 or more, got 1."),
        ("wander_seconds = -1", "x.toml: wander_seconds: expected a number of seconds"),
        ("[backends.x]\nmodel = 5", "x.toml: backends.x.model: expected str, got int."),
        ("[[rooms]]\nname = 'R'\nagents = ['Zoe']", "x.toml: rooms[0].agents: there is no agent 'Zoe'"),
        ("[[rooms]]\nname = 'R'\ntemplate = 'duel'", "rooms[0].template: expected one of debate, code-review,"),
        ("[templates.t]\nsays = 'x'", "x.toml: templates.t.people: expected a value, there is none."),
        ("[templates.t]\npeople = [{ name = 'A', role = 'r' }]", "templates.t.people: expected two or more people"),
        ("[templates.t]\npeople = [{ name = 'A', rank = 'r' }]", "rank: there is no such key; expected one of name,"),
        ("[templates.t]\npeople = [{ name = 'A', role = 'r' }, { name = 'B', role = 'r', backend = 'vim' }]",
         "templates.t.people: B: expected one of claude, codex, fake, gemini, opencode."),
        ("[[rooms]]\nname = 'R'\nsettings = { keyword = 5 }", "rooms[0].settings.keyword: expected str, got int."),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_key_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        config.parse(text, "x.toml", KINDS, TEMPLATES)
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_the_commands_tell_them_as_one_line(tmp_path: Path) -> None:
    """Exit status 2; also for a value out of range, and for a file that is not there."""
    for text, message in (
        ("[settings]\nresponse_delay = 99", "settings: The response delay has to lie between 0 and 30 seconds."),
        ("x", "Expected '='"),
    ):
        path = toml_file(tmp_path / "office.toml", text)
        for command in ("start", "talk"):
            done = supervisor(command, "--config", str(path), "--state-dir", str(tmp_path / "state"))
            assert done.returncode == 2
            assert done.stderr.count("\n") == 1
            assert message in done.stderr
    done = supervisor("talk", "--config", str(tmp_path / "none.toml"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot be read" in done.stderr


def test_a_configured_backend_talks(tmp_path: Path) -> None:
    """Any backend name will do, and an agent's own arguments count."""
    text = """
        [backends.quick]
        kind = "fake"
        arguments = ["--model", "fake-quick"]
        [[agents]]
        name = "Una"
        role = "optimist"
        backend = "quick"
        [[agents]]
        name = "Vic"
        role = "sceptic"
        """
    path = toml_file(tmp_path / "office.toml", text)
    done = supervisor("talk", "--config", str(path), "--turns", "2", "--seed", "1", "--state-dir", str(tmp_path / "s"))
    assert done.returncode == 0, done.stderr
    assert "Una (optimist): " in done.stdout
    assert "Vic (sceptic): " in done.stdout


def test_the_reference_page_knows_every_key() -> None:
    """And no key that does not exist."""
    page = (ROOT / "docs" / "office-toml.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for title, kind in (("The file", config.Office), ("`[backends.NAME]`", config.BackendEntry),
                        ("`[[agents]]`", config.AgentEntry), ("`[[rooms]]`", config.RoomEntry),
                        ("`[templates.NAME]`", config.TemplateEntry), ("`[life]`", config.LifeEntry),
                        ("`[settings]`", Settings)):  # fmt: skip
        named = re.findall(r"^\| `(\w+)` \|", sections[title], re.MULTILINE)
        assert named == [field.name for field in msgspec.structs.fields(kind)], title
        for field in msgspec.structs.fields(kind):
            if isinstance(field.default, int | float | str) and not isinstance(field.default, bool) and field.default:
                assert f"`{field.default}`" in sections[title], field.name


@pytest.mark.parametrize(
    ("backend", "default", "configured", "its_own"),
    [
        ("", "claude", False, True), ("", "codex", False, False), ("", "codex", True, True),
        ("claude", "codex", False, True), ("codex", "claude", True, False),
    ],
)  # fmt: skip
def test_an_entry_is_for_whom_it_means(backend: str, default: str, configured: bool, its_own: bool) -> None:
    """Whoever came by it keeps it, whatever becomes the default; who only has the name on another CLI gets nothing."""
    entry = config.AgentEntry(name="Ada", role="sceptic", backend=backend, tools="all")
    office = config.Office(agents=(entry,), default_backend=default)
    assert office.entry("Ada", "claude", configured=configured) == (entry if its_own else None)
