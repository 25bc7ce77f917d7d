"""`supervisor talk` as somebody would run it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import ROOT, SUPERVISOR, server, supervisor, toml_file

from supervisor.cli.exporting import quoted
from supervisor.cli.options import printable
from supervisor.config import BackendEntry
from supervisor.core.rooms.topics import draw
from supervisor.driving.backends import BACKENDS

if TYPE_CHECKING:
    from pathlib import Path


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    """D20: from office.toml, with its people, its rules and its outcome; an unknown one is one line."""
    text = """
        [templates.duel]
        people = [{ name = "Una", role = "optimist" }, { name = "Vic", role = "sceptic" }]
        settings = { max_messages = 2, outcome = true }
        """
    path = toml_file(tmp_path / "office.toml", text)
    where = ("--config", str(path), "--state-dir", str(tmp_path / "s"), "--seed", "1")
    done = supervisor("talk", "Ship on Friday?", "--template", "duel", *where)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Una (optimist): ") == 1
    assert "Who held what" in done.stdout
    wrong = supervisor("talk", "--template", "dual", *where)
    assert wrong.returncode == 2
    known = "debate, code-review, brainstorm, interview, panel, duel"
    assert wrong.stderr == f"supervisor: There is no template 'dual'; choose one of {known}.\n"


def test_two_agents_argue_until_they_agree() -> None:
    """A4, A6: real processes relay their words, the keyword ends it and is never shown; a seed repeats it."""
    first = supervisor("talk", "Is maths discovered or invented?", "--seed", "7")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Is maths discovered or invented?\n")
    assert first.stdout.count("Ada (optimist): ") >= 4
    assert first.stdout.count("Bo (sceptic): ") >= 4
    assert "[CONVERSATION_END]" not in first.stdout
    assert "said-" not in first.stdout
    assert supervisor("talk", "Is maths discovered or invented?", "--seed", "7").stdout == first.stdout


def test_the_timer_ends_it_in_mid_turn() -> None:
    """A7: although an agent would think for half a minute."""
    environment = {**os.environ, "FAKE_CLI_THINK": "30", "PIXEL_AGENTS_AUTO_MODE_DURATION_MS": "600"}
    begun = time.monotonic()
    done = subprocess.run([*SUPERVISOR, "talk", "--seed", "1"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Time is up.\n")
    assert time.monotonic() - begun < 15


def test_a_keyword_that_comes_too_early_is_not_heeded() -> None:
    """A10: it is stripped all the same, and the talk goes on."""
    done = supervisor("talk", "Is maths discovered or invented?", "--seed", "7", "--min-turns", "16", "--turns", "16")
    assert done.stdout.count("Ada (optimist): ") + done.stdout.count("Bo (sceptic): ") == 16
    assert "[CONVERSATION_END]" not in done.stdout


def test_a_topic_is_drawn_by_the_seed() -> None:
    """A3: without a topic one of the pool is taken, the same for the same seed."""
    first, again = (supervisor("talk", "--seed", "5", "--turns", "1").stdout for _ in range(2))
    assert first == again
    assert first.split("\n")[0] == draw("5")


def test_three_agents_and_a_limit() -> None:
    cast = [f"--agent={who}" for who in ("Ada:optimist", "Bo:sceptic", "Cy:engineer:fake")]
    done = supervisor("talk", "Should we rewrite the legacy system?", *cast, "--turns", "4", "--seed", "1")
    names = [line.split(" (")[0] for line in done.stdout.splitlines() if " (" in line and "): " in line]
    assert names == ["Ada", "Bo", "Cy", "Ada"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "Ada"], "--agent 'Ada': expected NAME:ROLE or NAME:ROLE:BACKEND."),
        (["--agent", "Ada:x", "--agent", "Ada:y"], "Two agents have the same name: give each its own."),
        (["--agent", "Ada:x"], "A conversation needs two agents: give --agent twice."),
        (
            ["--agent", "A:x:nope", "--agent", "B:y"],
            "There is no backend 'nope'; choose one of claude, codex, gemini, opencode, fake.",
        ),
        (["--keyword", " "], "The keyword is empty or too long: give a word that nobody says by accident."),
        (["--turns", "-1"], "Invalid value for '--turns'"),
        (["--duration", "0"], "Invalid value for '--duration'"),
        (["--duration", "nan"], "--duration nan: expected a number of seconds."),
        (["--duration", "inf"], "--duration inf: expected a number of seconds."),
        (["--agent", "_x:a", "--agent", "Bo:b"], "--agent '_x:a': The name '_x' cannot be mentioned"),
        (
            ["--export", "/nowhere/talk.md"],
            "/nowhere/talk.md cannot be written: choose a file",
        ),
        (["--pattern", "fly"], "There is no pattern 'fly'; choose one of walk-to-agent, stay-at-desk, meet-at-table."),
        (["--loud"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    """Exit status 2, one line that says what to do, no traceback."""
    done = supervisor("talk", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("supervisor: ")
    assert done.stderr.count("\n") == 1


def test_a_cli_that_is_not_installed() -> None:
    """Exit status 1 and the way out."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = [*SUPERVISOR, "talk", "--agent", "Ada:x:claude", "--agent", "Bo:y"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == (
        "supervisor: claude was not found: install it (npm install -g @anthropic-ai/claude-code) or correct it in the "
        "configuration.\n"
    )


def test_ctrl_c_stops_it_without_leftovers(tmp_path: Path) -> None:
    """Exit status 130; the check after every test sees that no agent is left, and no folder is either."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "FAKE_CLI_THINK": "30"}
    command = [*SUPERVISOR, "talk", "--seed", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    assert process.stdout
    process.stdout.readline()
    assert process.stdout.read(1) == "\n"
    process.stdout.read(len("Ada"))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def in_a_terminal(*arguments: str, **environment: str) -> tuple[int, list[bytes]]:
    """The exit status, and the pieces in which the output came."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*SUPERVISOR, *arguments], stdout=follower, stderr=follower, stdin=follower, env={**os.environ, **environment}
    )
    os.close(follower)
    pieces = []
    with contextlib.suppress(OSError):  # the other end is closed
        while data := os.read(leader, 4096):
            pieces.append(data)
    os.close(leader)
    return process.wait(10), pieces


def test_in_a_terminal_the_words_stream_and_the_keyword_never_shows(tmp_path: Path) -> None:
    """A6, D18: pieces arrive over time; the keyword, spelled out in two blocks, does not, nor does a part of it."""
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    scenario = f'[[turn]]\nsteps = [ {{ text = "{words}" }}, {{ keyword = 2 }} ]'
    path = toml_file(tmp_path / "s.toml", scenario)
    status, pieces = in_a_terminal("talk", "--seed", "3", FAKE_CLI_SCENARIO=str(path))
    text = re.sub(r"\x1b\[[\d;?]*\w", "", b"".join(pieces).decode())
    assert status == 0
    assert words.strip() in " ".join(text.split())
    assert len(pieces) > 5
    assert "[CONV" not in text
    assert "_END" not in text
    assert "They agree." in text


def test_a_failure_is_tried_once_more_and_then_ends_it(tmp_path: Path) -> None:
    """Decision: nobody can press Retry, so it is tried once more, and then ends with `error`."""
    path = toml_file(tmp_path / "s.toml", "[[turn]]\nsteps = [ { text = 'Half a' }, { error = 'forbidden' } ]\n" * 2)
    status, pieces = in_a_terminal("talk", "--seed", "3", FAKE_CLI_SCENARIO=str(path))
    lines = re.sub(r"\x1b\[[\d;?]*\w|\r", "", b"".join(pieces).decode()).split("\n")
    assert status == 1
    assert any("⚠️ Ada Failed to respond: API Error: 403 No access for this account" in line for line in lines)
    assert "Something failed (API Error: 403 No access for this account)." in lines


def test_when_nobody_reads_on_it_ends_quietly() -> None:
    """`supervisor talk | head -1` shows no traceback."""
    command = f"{sys.executable} -c 'from supervisor.cli import main; main()' talk --seed 1 | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1


def test_control_sequences_of_agents_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\x07\x9dc\nd‮e") == "a[31mbc\nde"


def test_every_command_has_help_with_an_example() -> None:
    """And stands in the README."""
    from supervisor.cli import cli

    readme = (ROOT / "README.md").read_text()
    for name, command in cli.commands.items():
        assert command.help
        assert "Example" in command.help
        assert f"supervisor {name}" in readme
    assert "Usage" in supervisor("--help").stdout
    assert supervisor("--version").stdout.startswith("supervisor, version ")


def test_one_event_a_line_and_nothing_else() -> None:
    """A6, A9: it ends with the reason, no line holds the keyword, and a seed gives the same words again."""
    talks = []
    for _ in range(2):
        done = supervisor("talk", "--seed", "7", "--json")
        assert done.returncode == 0
        events = [json.loads(line) for line in done.stdout.splitlines()]
        assert (events[-1]["type"], events[-1]["reason"]) == ("autoModeEnded", "keyword")
        assert "[CONVERSATION_END]" not in done.stdout
        assert done.stderr == ""
        names = {event["agent_id"]: event["name"] for event in events if event["type"] == "agent_spawned"}
        talks.append([(names[x["agent_id"]], x["content"]) for x in events if x["type"] == "agent_speech"])
    assert talks[0] == talks[1]
    assert len(talks[0]) >= 8


def test_what_was_said_can_be_listed_read_and_exported(tmp_path: Path) -> None:
    """Also in a format for programs."""
    place = ["--state-dir", str(tmp_path / "state")]
    supervisor("talk", "Tea or coffee?", "--seed", "7", "--turns", "3", *place)
    assert "Tea or coffee?" in supervisor("rooms", *place).stdout
    assert supervisor("history", *place).stdout.count("Ada: ") == 2
    page = supervisor("export", "room_001", *place).stdout
    assert page.startswith("# Tea or coffee?\n")
    assert page.count("**Ada (optimist):**") == 2
    whole = json.loads(supervisor("export", "--format", "json", *place).stdout)
    assert whole["ends"][0]["reason"] == "message_limit"
    assert len([m for m in whole["messages"] if m["type"] == "agent"]) == 3
    lines = supervisor("export", "--format", "jsonl", *place).stdout.splitlines()
    assert {"autoModeStarted", "message_added", "autoModeEnded"} <= {json.loads(line)["type"] for line in lines}
    supervisor("export", "-o", str(tmp_path / "x.md"), *place)
    assert (tmp_path / "x.md").read_text() == page
    for wrong in (["history", "nowhere"], ["export", "-o", str(tmp_path / "no" / "x.md")]):
        done = supervisor(*wrong, *place)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    empty = supervisor("rooms", "--state-dir", str(tmp_path / "empty"))
    assert (empty.returncode, empty.stderr.count("\n")) == (1, 1)


def test_an_unwritable_state_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for command in ("talk", "start"):
        done = supervisor(command, "--state-dir", str(tmp_path / "file" / "state"))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "choose another with --state-dir" in done.stderr


def test_a_database_of_a_newer_version_is_one_line(tmp_path: Path) -> None:
    supervisor("talk", "--turns", "1", "--state-dir", str(tmp_path))
    data = bytearray((tmp_path / "office.db").read_bytes())
    data[60:64] = (99).to_bytes(4, "big")
    (tmp_path / "office.db").write_bytes(data)
    for command in ("talk", "start", "rooms"):
        done = supervisor(command, "--state-dir", str(tmp_path))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "newer version" in done.stderr
    assert (tmp_path / "office.db").read_bytes() == data


def test_a_backend_without_a_program_is_one_line(tmp_path: Path) -> None:
    done = supervisor("start", "--backend", "acp", "--port", "0", "--no-open", "--state-dir", str(tmp_path / "state"))
    assert done.returncode == 2
    assert done.stderr.startswith("supervisor: The backend 'acp' needs a command: give it in office.toml")


CLI = """#!/bin/sh
case "$1" in
  --version) echo "$VERSION (Claude Code)" ;;
  auth) exit "$SIGNED_OUT" ;;
esac
"""


@pytest.mark.parametrize(
    ("version", "out", "key", "told"),
    [
        ("2.1.326", "1", "", "not signed in: run `claude auth login`"),
        ("2.1.326", "0", "", "backend claude: signed in"),
        ("2.1.326", "1", "k", "backend claude: signed in by ANTHROPIC_API_KEY"),
        ("1.0.3", "0", "", "claude 1.0.3 is too old, 2.1.0 or newer is needed: npm install -g"),
        ("3.0.0", "0", "", "backend claude: 3.0.0 (Claude Code), newer than 2.1.326, which was tested"),
        ("soon", "0", "", "does not say its version; 2.1.326 was tested"),
    ],
)
def test_the_doctor_knows_versions_and_who_is_signed_in(
    tmp_path: Path, version: str, out: str, key: str, told: str
) -> None:
    """Without looking into anything that somebody signs in with."""
    program = toml_file(tmp_path / "claude", CLI.replace("$VERSION", version).replace("$SIGNED_OUT", out))
    program.chmod(0o755)
    config = toml_file(tmp_path / "o.toml", f"[backends.claude]\ncommand = ['{program}']\n")
    done = supervisor("doctor", "--config", str(config), ANTHROPIC_API_KEY=key)
    assert told in done.stdout


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN")) or name.startswith("AWS_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("more", "key", "told"),
    [
        ("", "DEEPSEEK_API_KEY", "signed in by DEEPSEEK_API_KEY"),
        ("allow = ['HOUSE_*']\n", "HOUSE_LLM_KEY", "signed in by HOUSE_LLM_KEY"),
        ("environment = { LLM_TOKEN = 'x' }\n", "", "signed in by LLM_TOKEN"),
        ("", "HOUSE_LLM_KEY", "not signed in"),
    ],
)
def test_the_doctor_knows_the_keys_that_are_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, key: str, told: str
) -> None:
    """Also those that the configuration names."""
    without_keys(monkeypatch)
    program = toml_file(tmp_path / "opencode", "#!/bin/sh\necho 9.9.9\n")
    program.chmod(0o755)
    config = toml_file(tmp_path / "o.toml", f"[backends.opencode]\ncommand = ['{program}']\n{more}")
    monkeypatch.setenv("HOME", str(tmp_path))
    if key:
        monkeypatch.setenv(key, "k")
    assert f"backend opencode: {told}" in supervisor("doctor", "--config", str(config)).stdout


@pytest.mark.parametrize(
    ("out", "told"), [("0", "signed in"), ("1", "not signed in: run `codex login`, or `codex login")]
)
def test_the_doctor_does_not_take_a_key_for_a_sign_in_where_it_is_none(tmp_path: Path, out: str, told: str) -> None:
    """Codex as it is driven uses no exported key."""
    program = toml_file(tmp_path / "codex", f'#!/bin/sh\n[ "$1" = login ] && exit {out}\necho codex-cli 0.169.0\n')
    program.chmod(0o755)
    config = toml_file(tmp_path / "o.toml", f"[backends.codex]\ncommand = ['{program}']\n")
    done = supervisor("doctor", "--config", str(config), OPENAI_API_KEY="k", CODEX_API_KEY="k")
    assert f"backend codex: {told}" in done.stdout


@pytest.mark.parametrize("data", ["", "elsewhere"])
def test_the_doctor_knows_where_who_is_signed_in_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    """A file that is there is enough, also where the folder of data was moved."""
    program = toml_file(tmp_path / "opencode", "#!/bin/sh\necho 9.9.9\n")
    program.chmod(0o755)
    config = toml_file(tmp_path / "o.toml", f"[backends.opencode]\ncommand = ['{program}']\n")
    moved = str(tmp_path / data) if data else ""
    for name, value in {"HOME": str(tmp_path), "XDG_DATA_HOME": moved}.items():
        monkeypatch.setenv(name, value)
    without_keys(monkeypatch)
    signed_in = tmp_path / (data or ".local/share") / "opencode" / "auth.json"
    assert "backend opencode: not signed in" in supervisor("doctor", "--config", str(config)).stdout
    signed_in.parent.mkdir(parents=True)
    signed_in.touch()
    assert "backend opencode: signed in" in supervisor("doctor", "--config", str(config)).stdout


def test_the_doctor_sees_whether_a_cli_comes_up(tmp_path: Path) -> None:
    """With its own command line, up to where it could be asked; what was made for that is gone."""
    lasts = toml_file(tmp_path / "lasts", '#!/bin/sh\n[ "$1" = --version ] && echo 2.1.326 && exit\nexit 3\n')
    lasts.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    config = toml_file(
        tmp_path / "o.toml",
        f"[backends.good]\nkind = 'fake'\n[backends.bad]\nkind = 'claude'\ncommand = ['{lasts}']\n"
        "environment = { ANTHROPIC_API_KEY = 'k' }\n",
    )
    done = supervisor("doctor", "--start", "--config", str(config), TMPDIR=str(temporary))
    assert "ok  backend good: comes up within" in done.stdout
    assert "BAD backend bad: bad was started once and did not come up: exit status 3" in done.stdout
    assert done.returncode == 1
    assert not list(temporary.iterdir())
    assert "comes up" not in supervisor("doctor", "--config", str(config)).stdout


def test_the_doctor_waits_for_nobody_who_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = toml_file(tmp_path / "silent", "#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    doctor = importlib.import_module("supervisor.cli.doctor")
    monkeypatch.setattr(doctor, "START_SECONDS", 0.3)
    found = doctor.comes_up("it", BACKENDS["claude"], BackendEntry(command=(str(silent),)), needed=True)
    assert found == (False, "backend it: it was started once and did not come up: it said nothing for 0.3 s", True)


def test_the_doctor_and_completion() -> None:
    done = supervisor("doctor")
    assert re.search(r"^ok  [\d,]+ files may be open at once$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout
    assert "backend fake: " in done.stdout
    assert "backend codex: codex was not found: npm install -g @openai/codex, or name it" in done.stdout
    assert "SQLite" in done.stdout
    assert "_SUPERVISOR_COMPLETE" in supervisor("completion", "bash").stdout
    words = supervisor("", _SUPERVISOR_COMPLETE="bash_complete", COMP_WORDS="supervisor ex", COMP_CWORD="1").stdout
    assert "export" in words


def test_a_template_and_the_outcome(tmp_path: Path) -> None:
    """D20, D22: the people of the template talk, and it ends with what came of it, on top of the export too."""
    file = tmp_path / "talk.md"
    done = supervisor(
        "talk", "Should we rewrite the legacy system?", "--template", "code-review", "--summary", "--seed", "3",
        "--export", str(file), "--state-dir", str(tmp_path / "state"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Cy (author of the change): " in done.stdout
    assert "Kit (operator): " in done.stdout
    said, _, outcome = done.stdout.partition("Outcome, by ")
    assert said
    assert "Agreed: " in outcome
    assert outcome.endswith("They agree.\n")
    text = file.read_text()
    assert text.index("## Outcome") < text.index("## Conversation")
    stored = json.loads(supervisor("export", "last", "--format", "json", "--state-dir", str(tmp_path / "state")).stdout)
    assert quoted(stored["outcome"]) in text


def test_an_outcome_is_asked_for_also_after_a_limit() -> None:
    done = supervisor("talk", "--turns", "2", "--summary", "--json", "--seed", "1")
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds.index("autoModeEnded") < kinds.index("room_outcome")
    assert done.returncode == 0


def test_an_exported_page_keeps_words_as_words(tmp_path: Path) -> None:
    """Whatever somebody said, it is neither markup nor a script."""
    scenario = toml_file(
        tmp_path / "s.toml", 'after = "repeat"\n[[turn]]\nsay = "<script>alert(1)</script> & <b>bold</b>"'
    )
    file = tmp_path / "talk.html"
    done = supervisor(
        "talk", "<img src=x>", "--turns", "2", "--export", str(file), "--state-dir", str(tmp_path / "state"),
        FAKE_CLI_SCENARIO=str(scenario),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;bold&lt;/b&gt;" in text
    assert "<script" not in text
    assert "<img" not in text


def test_rooms_are_listed_with_their_mode_and_queue(tmp_path: Path) -> None:
    people = "".join(f"[[agents]]\nname = '{name}'\nrole = 'r'\n" for name in ("Ann", "Ben"))
    file = toml_file(tmp_path / "o.toml", people)
    with server(tmp_path, "--config", str(file)) as started:
        assert "manual  Ann, Ben" in " ".join(
            supervisor("rooms", "--state-dir", str(started.folder)).stdout.split("\n")
        )
