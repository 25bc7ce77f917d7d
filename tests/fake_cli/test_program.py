"""The fake CLI as a program: stdin, signals, resuming, bad lines, and how little it costs."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from support import FakeCli, eventually_sync, new_ask_id, toml_file

if TYPE_CHECKING:
    from pathlib import Path

SLOW = """
[[turn]]
speed = 30
say = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
"""
INITIALIZE = {"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}}
INTERRUPT = {"type": "control_request", "request_id": "x", "request": {"subtype": "interrupt"}}


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [line.get("state") or line["type"] for line in lines]


def text_of(lines: list[dict[str, Any]]) -> str:
    blocks = [b for line in lines if line["type"] == "assistant" for b in line["message"]["content"]]
    return "".join(block.get("text", "") for block in blocks)


def test_nothing_before_the_first_prompt(tmp_path: Path) -> None:
    """E2: only `initialize` is answered, and no transcript is made by it."""
    with FakeCli(tmp_path) as cli:
        cli.send(INITIALIZE)
        answer = cli.read()
        assert answer is not None
        assert answer["response"]["request_id"] == "i"
        assert answer["response"]["subtype"] == "success"
        assert cli.finish() == 0
        assert not cli.config.exists()


def test_a_turn_is_acknowledged_answered_and_completed(tmp_path: Path) -> None:
    """E2: the prompt's own uuid goes through queued, started and completed, into the result and the transcript."""
    with FakeCli(tmp_path) as cli:
        uuid = new_ask_id()
        lines = cli.turn("hello", uuid)
        assert kinds(lines) == ["queued", "started", "system", "assistant", "result", "completed"]
        assert lines[-2]["user_message_uuids"] == [uuid]
        assert [line["uuid"] for line in cli.transcript if line["type"] == "user"] == [uuid]


def test_the_transcript_lies_where_the_real_one_puts_it(tmp_path: Path) -> None:
    """E2: below projects, in a folder named after the working folder, readable by the owner alone."""
    session = new_ask_id()
    work = tmp_path / "a folder.with_odd-chars"
    work.mkdir()
    with FakeCli(tmp_path, "--session-id", session, cwd=work) as cli:
        cli.turn("hello")
        (path,) = cli.config.glob("projects/*/*.jsonl")
    expected = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(work.resolve()))
    assert path.parent.name == expected
    assert path.name == f"{session}.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_long_working_folder_is_cut_and_hashed(tmp_path: Path) -> None:
    work = tmp_path / ("x" * 120) / ("y" * 120)
    work.mkdir(parents=True)
    with FakeCli(tmp_path, cwd=work) as cli:
        cli.turn("hello")
        (path,) = cli.config.glob("projects/*/*.jsonl")
    assert len(path.parent.name) == 207
    assert path.parent.name[200] == "-"


def test_content_blocks_and_a_megabyte(tmp_path: Path) -> None:
    """E2: a list of blocks is a prompt as well, and a long line is no trouble."""
    scenario = toml_file(tmp_path / "s.toml", 'after = "echo"')
    with FakeCli(tmp_path, "--scenario", str(scenario)) as cli:
        blocks = [{"type": "text", "text": "x" * (1 << 20)}]
        cli.send({"type": "user", "message": {"role": "user", "content": blocks}})
        assert len(text_of(cli.until("result"))) == (1 << 20) + len("echo: ")


@pytest.mark.parametrize(
    "line",
    ["this is not JSON", "[1, 2]", '{"no": "type"}', '{"type":"user","message":{"role":"assistant","content":"x"}}',
     '{"type":"user"}', '{"type":"user","uuid":[1],"message":{"role":"user","content":"x"}}'],
)  # fmt: skip
def test_a_bad_line_kills_it(tmp_path: Path, line: str) -> None:
    """E2: as in the real one, exit status 1 and a word on stderr."""
    with FakeCli(tmp_path) as cli:
        cli.send(line)
        assert cli.process.wait(10) == 1
        assert "Error parsing" in cli.errors


def test_unknown_types_are_ignored(tmp_path: Path) -> None:
    with FakeCli(tmp_path) as cli:
        cli.send({"type": "keep_alive"}, {"type": "control_request", "request_id": "q", "request": {"subtype": "huh"}})
        answer = cli.read()
        assert answer is not None
        assert answer["response"]["error_code"] == "unsupported_request"
        assert cli.turn("hello")


def test_an_interrupt_gives_the_text_so_far_and_leaves_it_usable(tmp_path: Path) -> None:
    """E2: partial text, a note, a result with an error, `cancelled` last; then the next prompt runs."""
    scenario = toml_file(tmp_path / "s.toml", SLOW)
    with FakeCli(tmp_path, "--scenario", str(scenario), "--include-partial-messages") as cli:
        uuid = cli.ask("go")
        while (line := cli.read()) and line.get("event", {}).get("type") != "content_block_delta":
            pass
        cli.send(INTERRUPT)
        lines = cli.until("command_lifecycle", state="cancelled")
        result = lines[-2]
        assert lines[-1]["command_uuid"] == uuid
        assert result["type"] == "result"
        assert result["is_error"]
        assert result["terminal_reason"] == "aborted_streaming"
        assert result["user_message_uuids"] == [uuid]
        assert text_of(lines).startswith("one two three")
        assert text_of(cli.turn("again")) == "echo: again"
        written = [line["message"] for line in cli.transcript if line["type"] in ("user", "assistant")]
        assert written[2]["content"][0]["text"] == "[Request interrupted by user]"


def test_an_interrupt_while_idle_is_only_acknowledged(tmp_path: Path) -> None:
    with FakeCli(tmp_path) as cli:
        cli.send(INTERRUPT)
        answer = cli.read()
        assert answer is not None
        assert answer["response"]["response"] == {"still_queued": []}
        assert kinds(cli.turn("hello"))[0] == "queued"


def test_closed_stdin_in_mid_turn_finishes_the_turn(tmp_path: Path) -> None:
    """E2: the answer is whole, in the transcript as well, and the status is 0."""
    with FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", SLOW))) as cli:
        cli.ask("go")
        cli.until("system")
        assert cli.finish() == 0
        assert "seventeen" in json.dumps(cli.transcript)


def test_it_finishes_its_turn_even_if_nobody_reads_its_output(tmp_path: Path) -> None:
    """E2, E6: when the supervisor was killed, the answer is still written."""
    with FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", SLOW))) as cli:
        cli.ask("go")
        cli.until("system")
        assert cli.process.stdout
        cli.process.stdout.close()
        assert cli.finish() == 0
        assert "seventeen" in json.dumps(cli.transcript)


def test_closed_stdin_after_a_failed_turn(tmp_path: Path) -> None:
    """E2: as measured, the status is 1 if the last turn failed."""
    scenario = toml_file(tmp_path / "s.toml", '[[turn]]\nsteps = [ { error = "forbidden" } ]')
    with FakeCli(tmp_path, "--scenario", str(scenario)) as cli:
        cli.ask("x")
        cli.until("result", is_error=True)
        assert cli.finish() == 1


def in_mid_speech(cli: FakeCli) -> None:
    """Its prompt is written down, and the next line comes when all is said: whoever kills it now tears none."""
    while cli.until("stream_event")[-1]["event"]["type"] != "content_block_delta":
        pass


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)])
def test_signals_end_it_without_a_result(tmp_path: Path, number: signal.Signals, status: int) -> None:
    scenario = str(toml_file(tmp_path / "s.toml", SLOW))
    with FakeCli(tmp_path, "--scenario", scenario, "--include-partial-messages") as cli:
        cli.ask("go")
        in_mid_speech(cli)
        cli.process.send_signal(number)
        assert cli.process.wait(10) == status
        assert "seventeen" not in json.dumps(cli.transcript)


def test_sigint_breaks_off_the_turn_and_exits_with_0(tmp_path: Path) -> None:
    with FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", SLOW))) as cli:
        cli.ask("go")
        cli.until("system")
        cli.process.send_signal(signal.SIGINT)
        assert cli.until("result")[-1]["terminal_reason"] == "aborted_streaming"
        assert cli.process.wait(10) in (0, 1)


def test_prompts_in_mid_turn_are_merged_into_one(tmp_path: Path) -> None:
    """E2: two prompts that waited together become one turn, and the result names both."""
    with FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", SLOW))) as cli:
        cli.ask("go")
        cli.until("system")
        first, second = cli.ask("second q"), cli.ask("third q")
        cli.until("result")
        lines = cli.until("result")
        assert lines[-1]["user_message_uuids"] == [first, second]
        assert text_of(lines) == "echo: second q\nthird q"
        merged = [line for line in cli.transcript if line.get("mergedSendUuids")]
        assert [line["mergedSendUuids"] for line in merged] == [[first, second]]


def test_a_prompt_during_a_tool_is_absorbed(tmp_path: Path) -> None:
    """E2: it belongs to the running turn, as the transcript shows."""
    scenario = '[[turn]]\nsteps = [ { tool = "Bash", seconds = 0.3, result = "slept" }, { text = "done" } ]'
    with FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", scenario))) as cli:
        first = cli.ask("go")
        cli.until("assistant")
        second = cli.ask("nudge")
        result = cli.until("result")[-1]
        assert result["user_message_uuids"] == [first, second]
        assert [x["reason"] for x in cli.transcript if x.get("operation") == "remove"] == ["absorbed_mid_turn"]


def test_a_uuid_is_answered_once_in_a_process(tmp_path: Path) -> None:
    """E2, E6: a repeated prompt gets no second turn, and no word either, as measured."""
    with FakeCli(tmp_path) as cli:
        uuid = new_ask_id()
        cli.turn("only once", uuid)
        cli.ask("only once", uuid)
        lines = cli.turn("second")
        assert uuid not in json.dumps(lines)


def test_a_uuid_that_an_earlier_process_answered_is_completed(tmp_path: Path) -> None:
    """E6: after a resume the repeated prompt is only acknowledged."""
    session, uuid = new_ask_id(), new_ask_id()
    with FakeCli(tmp_path, "--session-id", session) as cli:
        cli.turn("only once", uuid)
        cli.finish()
    with FakeCli(tmp_path, "--resume", session) as cli:
        assert kinds(cli.turn("only once", uuid)) == ["completed"]


def killed_in_mid_turn(tmp_path: Path) -> tuple[str, str]:
    """The ids of a session and of the prompt it was killed over."""
    session, uuid = new_ask_id(), new_ask_id()
    scenario = str(toml_file(tmp_path / "s.toml", SLOW))
    with FakeCli(tmp_path, "--session-id", session, "--scenario", scenario, "--include-partial-messages") as cli:
        cli.ask("go", uuid)
        in_mid_speech(cli)
        cli.process.kill()
        cli.process.wait()
    return session, uuid


def test_a_turn_that_was_killed_runs_when_its_uuid_comes_again(tmp_path: Path) -> None:
    """E6: and the prompt is not written a second time."""
    session, uuid = killed_in_mid_turn(tmp_path)
    with FakeCli(tmp_path, "--resume", session) as cli:
        assert kinds(cli.turn("go", uuid))[-2:] == ["result", "completed"]
        written = [x["type"] for x in cli.transcript if x["type"] in ("user", "assistant")]
        assert written == ["user", "assistant", "assistant"]
        models = [x["message"].get("model") for x in cli.transcript if x["type"] == "assistant"]
        assert models[0] == "<synthetic>"


def test_a_killed_turn_is_given_up_when_something_else_is_asked_first(tmp_path: Path) -> None:
    session, uuid = killed_in_mid_turn(tmp_path)
    with FakeCli(tmp_path, "--resume", session) as cli:
        cli.turn("something else")
        cli.ask("go", uuid)
        assert uuid not in json.dumps(cli.turn("third"))
        assert "No response requested." in json.dumps(cli.transcript)


def test_resume_of_an_unknown_session(tmp_path: Path) -> None:
    """E2: exit status 1 and a result whose errors say why."""
    with FakeCli(tmp_path, "--resume", new_ask_id()) as cli:
        result = cli.read()
        assert result is not None
        assert "No conversation found" in result["errors"][0]
        assert cli.process.wait(10) == 1


def test_a_session_id_that_exists_already(tmp_path: Path) -> None:
    session = new_ask_id()
    with FakeCli(tmp_path, "--session-id", session) as cli:
        cli.turn("hello")
        cli.finish()
    with FakeCli(tmp_path, "--session-id", session) as cli:
        assert cli.process.wait(10) == 1
        assert "use --resume" in cli.errors


def test_a_resumed_session_is_found_from_another_folder(tmp_path: Path) -> None:
    session = new_ask_id()
    (tmp_path / "other").mkdir()
    with FakeCli(tmp_path, "--session-id", session) as cli:
        cli.turn("hello")
        cli.finish()
    with FakeCli(tmp_path, "--resume", session, cwd=tmp_path / "other") as cli:
        cli.turn("again")
        assert len([line for line in cli.transcript if line["type"] == "user"]) == 2


def run(tmp_path: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [sys.executable, "-P", "-m", "fake_cli", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, cwd=tmp_path)


def test_the_plain_mode(tmp_path: Path) -> None:
    """E2: a prompt as argument or on stdin, the answer as text or JSON."""
    assert "mathematics" in run(tmp_path, "-p", "Is mathematics discovered or invented?").stdout
    answer = json.loads(run(tmp_path, "-p", "--output-format", "json", stdin="Is maths discovered?").stdout)
    assert answer["type"] == "result"
    assert run(tmp_path, "-p").stderr == "fake-cli: a prompt is missing: give it as an argument or on stdin.\n"


def test_flags_that_do_not_fit_together(tmp_path: Path) -> None:
    assert "--verbose" in run(tmp_path, "-p", "--output-format", "stream-json", "x").stderr
    assert "needs --output-format" in run(tmp_path, "-p", "--input-format", "stream-json").stderr


def test_flags_of_the_real_one_that_change_nothing_here(tmp_path: Path) -> None:
    """E2: the whole lean command line of the real program is taken."""
    lean = ["--tools", "", "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands"]
    with FakeCli(tmp_path, *lean, "--system-prompt", "You are Ada.", "--model", "some-model") as cli:
        lines = cli.turn("hello")
        init = next(line for line in lines if line.get("subtype") == "init")
        assert init["tools"] == []
        assert init["model"] == "some-model"


def test_bad_surroundings_are_one_line(tmp_path: Path) -> None:
    """A wrong number, a config folder that cannot be, an id that is none."""
    for extra in ({"FAKE_CLI_SPEED": "abc"}, {"CLAUDE_CONFIG_DIR": "/dev/null/x"}):
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **extra}
        command = [sys.executable, "-P", "-m", "fake_cli", "-p", "hello"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
    assert "is not a valid UUID" in run(tmp_path, "-p", "x", "--session-id", "nonsense").stderr


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    """E2: what it prints and writes is always UTF-8."""
    scenario = toml_file(tmp_path / "s.toml", 'after = "echo"')
    with FakeCli(tmp_path, "--scenario", str(scenario)) as cli:
        cli.send('{"type":"user","message":{"role":"user","content":"lone \\ud800 one"}}')
        assert text_of(cli.until("result")) == "echo: lone \ufffd one"


def test_a_control_request_that_is_none(tmp_path: Path) -> None:
    with FakeCli(tmp_path) as cli:
        cli.send('{"type":"control_request","request":"x"}')
        answer = cli.read()
        assert answer is not None
        assert answer["response"]["subtype"] == "error"


def test_the_demo_ends_quietly_when_nobody_reads_on() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m fake_cli.demo --seed 2 | head -n 2"], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 2


def test_help_and_version(tmp_path: Path) -> None:
    assert "examples:" in run(tmp_path, "--help").stdout
    assert "(fake-cli)" in run(tmp_path, "--version").stdout


def test_it_is_small_and_quick(tmp_path: Path) -> None:
    """E2: under 15 MB after a persona's answer, so that hundreds run on one machine; the time is measured elsewhere."""
    with FakeCli(tmp_path) as cli:
        for number in range(6):
            cli.turn(f"Should we rewrite the legacy system? {number}")
        memory = psutil.Process(cli.process.pid).memory_info().rss
    assert memory < 15 * (1 << 20)


def test_it_imports_little(tmp_path: Path) -> None:
    """What would cost a megabyte each is not imported just to answer."""
    code = (
        "import sys; sys.argv = ['fake-cli', '-p', 'Should we rewrite the legacy system?']\n"
        "import fake_cli.__main__ as m\ntry: m.main()\nexcept SystemExit: pass\n"
        "print(sorted({'typing', 'tomllib', 'subprocess', 'uuid', 'hashlib', 'asyncio'} & set(sys.modules)))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"


def test_stdin_lines_without_a_uuid_get_one(tmp_path: Path) -> None:
    with FakeCli(tmp_path) as cli:
        cli.send({"type": "user", "message": {"role": "user", "content": "hello"}})
        result = cli.until("result")[-1]
        assert "user_message_uuids" not in result
        assert eventually_sync(lambda: [x for x in cli.transcript if x["type"] == "assistant"])
