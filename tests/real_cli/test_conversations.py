"""Real CLIs in a room: they talk, use tools, are interrupted, limited, killed and refused, and nothing is lost."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
import trio
from support import SUPERVISOR, eventually, eventually_sync, supervisor

from real_cli.clis import CLIS, KEY, Cli
from real_cli.conftest import ready
from real_cli.house import KEYWORD, LIMITS, backends, house, in_turn, who
from real_cli.stub import Asked, Fault, Reply, Say, Stub, Use
from supervisor import events as e
from supervisor.core import inputs
from supervisor.core.rooms import pausing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real_cli

LONG = Say(" ".join(f"word{n}" for n in range(600)), pace=0.1)
ENOUGH = [Say("I hold that tabs are kind."), Say("Then we agree."), Say(f"Good. {KEYWORD}")]
OTHER = [Say("I hold that spaces are safe."), Say("Agreed, tabs it is."), Say("Never asked.")]
TALK = [
    ("Ada", "I hold that tabs are kind."), ("Bo", "I hold that spaces are safe."), ("Ada", "Then we agree."),
    ("Bo", "Agreed, tabs it is."), ("Ada", "Good."),
]  # fmt: skip


# -- talking -----------------------------------------------------------------------------------------------------------


async def test_two_agents_talk_to_the_keyword(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E1, A4, A6: their own words, in turn, each prompt once, and the keyword nowhere."""
    stub.script = in_turn(Ada=ENOUGH, Bo=OTHER)
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == TALK
        assert len(stub.requests) == 5
        assert {asked.key.removeprefix("Bearer ") for asked in stub.requests} == {KEY}
        assert not [
            event for event in it.seen if KEYWORD in str(msgspec.to_builtins(event)) and "settings" not in str(event)
        ]
        used = [usage for usage in it.of(e.UsageReported) if usage.context_tokens]
        assert used
        assert used[-1].context_tokens <= 240
        assert {event.signal for event in it.of(e.TurnEnded)} == {"transcript"}
        assert it.of(e.AgentMessage)[0].transcript.offset is not None


async def test_it_streams(cli: Cli, scratch: Path, stub: Stub) -> None:
    """D18: words are shown as they come."""
    stub.script = in_turn(Ada=[Say("One two three four five six seven eight.", pace=0.05)], Bo=[Say(KEYWORD)])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
        pieces = [delta.text for delta in it.of(e.TextDelta)]
        assert len(pieces) >= 4
        assert "".join(pieces) == "One two three four five six seven eight."


@pytest.mark.parametrize("pair", list(itertools.combinations(CLIS, 2)), ids="-".join)
def test_any_two_talk_in_the_terminal(pair: tuple[str, str], scratch: Path, stub: Stub) -> None:
    """As somebody would: `supervisor talk --agent Ada:optimist:one --agent Bo:sceptic:other`."""
    clis = [ready(name) for name in pair]
    stub.script = in_turn(Ada=ENOUGH, Bo=OTHER)
    config = configuration(scratch, clis, stub)
    done = supervisor(
        "talk", "Tabs or spaces?", "--agent", f"Ada:optimist:{pair[0]}", "--agent", f"Bo:sceptic:{pair[1]}", "--config",
        str(config), "--state-dir", str(scratch / "state"), timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for name, text in TALK:
        assert f"{name} ({'optimist' if name == 'Ada' else 'sceptic'}): {text}" in done.stdout
    assert KEYWORD not in done.stdout
    assert len(stub.requests) == 5


def test_codex_is_signed_in_by_its_login_and_not_by_a_key(scratch: Path) -> None:
    """What the doctor goes by: its app-server uses no exported key."""
    command = [*ready("codex").command(), "login"]
    given = {**os.environ, "OPENAI_API_KEY": KEY, "CODEX_API_KEY": KEY}
    (scratch / "home" / ".codex").mkdir()

    def signed_in() -> bool:
        done = subprocess.run([*command, "status"], env=given, capture_output=True, check=False)
        return done.returncode == 0

    assert not signed_in()
    subprocess.run([*command, "--with-api-key"], env=given, input=KEY.encode(), capture_output=True, check=True)
    assert signed_in()


def configuration(scratch: Path, clis: list[Cli], stub: Stub, more: str = "") -> Path:
    """An office.toml as a user would write it."""
    lines = [more]
    for cli in clis:
        cli.settle_in(scratch / "home", stub.url)
        entry = backends([cli], stub.url)[cli.name]
        environment = ", ".join(f'{name} = "{value}"' for name, value in entry.environment.items())
        lines += [
            f"[backends.{cli.name}]", f"command = {list(entry.command)}", f'model = "{entry.model}"',
            f"environment = {{ {environment} }}",
        ]  # fmt: skip
    path = scratch / "office.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


async def test_all_of_them_in_one_room(scratch: Path, stub: Stub) -> None:
    """E1: everybody hears everybody."""
    clis = [ready(name) for name in CLIS]
    names = ("Ada", "Bo", "Cy", "Dee")
    stub.script = in_turn(
        **{name: [Say(f"{name} is here."), Say(f"{name} has heard you. {KEYWORD}")] for name in names}
    )
    async with house(scratch, stub, clis) as it:
        await it.begin(clis)
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert [name for name, _ in it.said] == [*names, "Ada"]
        last = stub.requests[-1].last
        assert all(f"{name} is here." in last for name in names[1:])


async def test_parameters_reach_the_model(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E7: and hold for every generation."""
    parameters: dict[str, dict[str, str | int | float | bool]] = {
        "claude": {"effort": "low"}, "codex": {"model_reasoning_effort": "low"}, "gemini": {"temperature": 0.25},
        "opencode": {"temperature": 0.25},
    }  # fmt: skip
    given = parameters[cli.name]
    stub.script = in_turn(Ada=[Say("One."), Say(KEYWORD)], Bo=[Say("Two.")])
    async with house(scratch, stub, [cli]) as it:
        entry = it.runtime.office.backends[cli.name]
        changed = {cli.name: msgspec.structs.replace(entry, parameters=given)}
        it.runtime.office = msgspec.structs.replace(it.runtime.office, backends=changed)
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
    for asked in stub.requests:
        value = next(iter(given.values()))
        assert value in _leaves(asked.body), asked.body.keys()


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]


# -- tools -------------------------------------------------------------------------------------------------------------


def writes(cli: Cli, path: Path) -> Use:
    """Its own tool for making a file."""
    return {
        "claude": Use("Write", {"file_path": str(path), "content": "made"}),
        "codex": Use("exec_command", {"cmd": f"printf made > {path}"}),
        "gemini": Use("write_file", {"file_path": str(path), "content": "made"}),
        "opencode": Use("write", {"filePath": str(path), "content": "made"}),
    }[cli.name]


def makes(cli: Cli, path: Path) -> Any:
    """The first answer makes a file; then there is talk."""

    def script(asked: Asked) -> Reply:
        if who(asked) == "Ada" and not asked.after_tool and asked.answers == 0:
            return writes(cli, path)
        return Say("It is done.") if who(asked) == "Ada" else Say(KEYWORD)

    return script


async def test_who_works_uses_tools(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E5: what it uses is shown as it is used, with what came of it, in the folder that it was given."""
    shop = scratch / "shop"
    shop.mkdir()
    async with house(scratch, stub, [cli], tools="all", cwd=str(shop)) as it:
        path = shop / "made.txt"
        stub.script = makes(cli, path)
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
        assert path.read_text().strip() == "made"
        assert str(shop) in str(stub.requests[0].body)
        used = it.of(e.ToolUsed)
        assert [event.status for event in used] == ["started", "done"]
        assert "made.txt" in used[0].summary
        assert it.said[0] == ("Ada", "It is done.")
        assert not it.of(e.PermissionAsked)


@pytest.mark.parametrize("allow", [True, False, None], ids=["allowed", "denied", "nobody answers"])
async def test_a_person_is_asked(cli: Cli, allow: bool | None, scratch: Path, stub: Stub) -> None:
    """What could do harm waits for somebody, and the turn goes on either way."""
    async with house(scratch, stub, [cli], tools="ask") as it:
        path = scratch / "state" / "agents" / "agent_001" / "made.txt"
        stub.script = makes(cli, path)
        await it.begin([cli, cli], permission_wait=2.0 if allow is None else 60.0)
        asked = await it.until(e.PermissionAsked)
        assert "made.txt" in asked.permission.summary
        assert not path.exists()
        if allow is not None:
            await it.runtime.request(inputs.ResolvePermission(permission_id=asked.permission.id, allow=allow), "me")
        resolved = await it.until(e.PermissionResolved)
        assert (resolved.by == "timeout") == (allow is None)
        await it.until(e.AutoModeEnded)
        assert path.exists() == bool(allow)
        assert it.said[0] == ("Ada", "It is done.")


PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Add File: made.txt
+made of this
*** End Patch
EOF
"""


async def test_whoever_is_asked_sees_what_will_stand_in_the_file(cli: Cli, scratch: Path, stub: Stub) -> None:
    """Not only its name: it may be a program."""
    async with house(scratch, stub, [cli], tools="ask") as it:
        use = writes(cli, scratch / "state" / "agents" / "agent_001" / "made.txt")
        use = Use(use.tool, {"cmd": PATCH} if cli.name == "codex" else {**use.arguments, "content": "made of this"})

        def script(asked: Asked) -> Reply:
            return Say(KEYWORD) if asked.after_tool or asked.answers else use

        stub.script = script
        await it.begin([cli, cli])
        asked = await it.until(e.PermissionAsked)
        assert "made.txt" in asked.permission.summary
        assert "made of this" in asked.permission.summary
        await it.runtime.request(inputs.ResolvePermission(permission_id=asked.permission.id, allow=False), "me")
        await it.until(e.AutoModeEnded)


async def test_who_only_talks_has_no_tools(cli: Cli, scratch: Path, stub: Stub) -> None:
    """Lean: what is not there costs nothing and does no harm."""
    stub.script = in_turn(Ada=[Say(KEYWORD)], Bo=[])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.AutoModeEnded)
        assert set(stub.requests[0].tools) <= {"request_user_input"}


# -- ends and failures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speaking", [True, False], ids=["speaking", "silent"])
async def test_the_failsafe_timer_breaks_off_a_turn(cli: Cli, speaking: bool, scratch: Path, stub: Stub) -> None:
    """A7: within a second, also before the first word; the same agents can go on, and the model is asked no more."""
    stub.script = in_turn(Ada=[LONG if speaking else Fault(0), Say(KEYWORD)], Bo=[])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli], max_duration_ms=45_000 if cli.name == "opencode" else 15_000)  # it comes up slowly
        started = it.of(e.AutoModeStarted) or [await it.until(e.AutoModeStarted)]
        if speaking:
            await it.until(e.AgentStateChanged, state="speaking")
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "timer"
        assert end.at - started[0].endsAt < 1
        assert len(stub.requests) == 1
        await it.runtime.begin(inputs.StartAutoMode(maxDurationMs=60_000))
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert len(stub.requests) == 2


LIMITED = {
    "claude": Fault(429, "This request would exceed your rate limit.", headers=(("retry-after", "3600"),)),
    "codex": Fault(429, "The usage limit has been reached", "usage_limit_reached"),
    "gemini": Fault(429, "You exceeded your current quota. Please retry in 3600s.", "RESOURCE_EXHAUSTED"),
}


async def test_a_rate_limit_is_waited_for(cli: Cli, scratch: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """D14: the room pauses with the time of its end, goes on by itself, and keeps its order."""
    if cli.name == "opencode":  # it waits by itself, and nobody is told
        limited = Fault(429, "Rate limited.", headers=(("retry-after", "2"),))
    else:
        limited = LIMITED[cli.name]
    monkeypatch.setattr(pausing, "RATE_LIMIT_SECONDS", 2.0)
    stub.script = in_turn(Ada=[Say("One."), Say(KEYWORD)], Bo=[limited, Say("Two.")])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        if cli.name != "opencode":
            paused = await it.until(e.AutoModePaused)
            assert paused.reason == "rate_limit"
            assert paused.retryAt is not None
            if cli.name == "gemini":  # it says how long
                assert 3500 < paused.retryAt - paused.at < 3700
                await it.runtime.request(inputs.ResumeAutoMode(), "me")
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == [("Ada", "One."), ("Bo", "Two.")]


async def test_a_limit_that_names_its_end_is_waited_for_until_then(scratch: Path, stub: Stub) -> None:
    """D14: the real time, and no other; codex has it from the account's windows."""
    ends_at = int(time.time()) + 12
    windows = {"used-percent": "100", "window-minutes": "300", "reset-at": str(ends_at)}
    headers = tuple((f"x-codex-primary-{name}", value) for name, value in windows.items())
    limited = replace(LIMITED["codex"], headers=headers)
    stub.script = in_turn(Ada=[Say("One."), Say(KEYWORD)], Bo=[limited, Say("Two.")])
    codex = ready("codex")
    async with house(scratch, stub, [codex]) as it:
        await it.begin([codex, codex])
        paused = await it.until(e.AutoModePaused)
        assert (paused.reason, round(paused.retryAt)) == ("rate_limit", ends_at)
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == [("Ada", "One."), ("Bo", "Two.")]


FULL = {
    "claude": Fault(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "codex": Fault(400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
    "gemini": Fault(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                    "INVALID_ARGUMENT"),
    "opencode": Fault(400, "This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
}  # fmt: skip


async def test_a_full_context_ends_it(cli: Cli, scratch: Path, stub: Stub) -> None:
    """D12: with a reason of its own."""
    stub.script = lambda asked: FULL[cli.name]
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "context_limit"


async def test_a_wrong_key_is_told_in_the_room(cli: Cli, scratch: Path, stub: Stub) -> None:
    """D13: at once, in words that say what is wrong, with a way on."""
    stub.script = lambda asked: Fault(401, "Incorrect API key provided.", "UNAUTHENTICATED")
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        paused = await it.until(e.AutoModePaused, seconds=120)
        assert paused.reason == "failure"
        errors = [event.message.content for event in it.of(e.MessageAdded) if event.message.type == "error"]
        assert errors[0].startswith("⚠️ Ada Failed to respond: ")
        assert "API key" in errors[0] or "it is not let in" in errors[0]
        stub.script = in_turn(Ada=[Say(KEYWORD)], Bo=[])
        await it.runtime.request(inputs.RetryTurn(), "me")
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"


async def test_silence_is_ended_by_our_watchdog(cli: Cli, scratch: Path, stub: Stub) -> None:
    """No CLI gives up by itself; the room pauses, and Retry goes on."""
    stub.script = in_turn(Ada=[Fault(0), *[Say(KEYWORD)] * 2], Bo=[])
    limits = msgspec.structs.replace(LIMITS, silence=6, interrupt=3)
    async with house(scratch, stub, [cli], limits=limits) as it:
        await it.begin([cli, cli])
        paused = await it.until(e.AutoModePaused, seconds=120)
        assert paused.reason == "failure"
        assert "said nothing" in paused.detail
        await it.runtime.request(inputs.RetryTurn(), "me")
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"


async def test_a_stream_that_is_cut_runs_up_no_bill(cli: Cli, scratch: Path, stub: Stub) -> None:
    """Whatever the CLI makes of it, it asks its model a few times at the most."""
    stub.script = lambda asked: Fault(1)
    async with house(scratch, stub, [cli], limits=msgspec.structs.replace(LIMITS, silence=20)) as it:
        await it.begin([cli, cli], max_messages=1, max_wait_time=30.0)
        with trio.move_on_after(35):
            await it.until(e.TurnEnded, seconds=120)
        assert len(stub.requests) <= 13


# -- killed ------------------------------------------------------------------------------------------------------------


def once_slow(slow: Say = LONG) -> Any:
    """The second thing that Bo is asked for takes long, until it is asked again."""
    return in_turn(Ada=[Say("One."), Say("Three."), Say(KEYWORD)], Bo=[Say("Two."), slow, Say("Four.")])


EXPECTED = [("Ada", "One."), ("Bo", "Two."), ("Ada", "Three."), ("Bo", "Four.")]


async def test_a_cli_that_is_killed_in_mid_turn_goes_on(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E6: it takes up its session, no turn is lost, and none is there twice."""
    stub.script = once_slow()
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.TurnStarted, turn=4)
        await it.until(e.TextDelta)
        os.kill(it.pid("Bo"), signal.SIGKILL)
        await it.until(e.TurnRestarted)
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == EXPECTED
        held = [text for asked in stub.requests[-2:] if who(asked) == "Bo" for w, text in asked.turns if w == "user"]
        if cli.name != "claude":  # whose program itself tells the model again what it was asked
            assert sum("Three." in text for text in held) == 1, held


def test_a_supervisor_that_is_killed_in_mid_turn_goes_on(cli: Cli, scratch: Path, stub: Stub) -> None:
    """E6: the same with everything gone at once. Whose CLI finishes its turn meanwhile is not asked again."""
    slow = Say(" ".join(f"word{n}" for n in range(150)), pace=0.1)
    stub.script = once_slow(slow if cli.finishes else LONG)
    people = "".join(
        f'[[agents]]\nname = "{name}"\nrole = "debater"\nbackend = "{cli.name}"\n' for name in ("Ada", "Bo")
    )
    config = configuration(scratch, [cli], stub, people)
    state = scratch / "state"
    command = [*SUPERVISOR, "start", "--state-dir", str(state), "--no-open", "--port", "0", "--config", str(config),
               "--no-life"]  # fmt: skip
    first = subprocess.Popen([*command, "--auto", "--topic", "Tabs?"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert stub.wait_for(lambda: len(stub.requests) == 4, 60), first
        time.sleep(1)  # into the words of the long answer
    finally:
        first.kill()
        first.communicate()
    second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        eventually_sync(lambda: "keyword" in said(state)[1], 150)
    finally:
        second.send_signal(signal.SIGTERM)
        out, errors = second.communicate(timeout=30)
    assert second.returncode == 0, out + errors
    assert "Traceback" not in errors
    assert said(state)[0] == [*EXPECTED[:3], ("Bo", slow.text if cli.finishes else EXPECTED[3][1])]
    assert len(stub.requests) == (5 if cli.finishes else 6)


def said(state: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """What stands in the database, and the reasons of the ends."""
    from pysqlite3 import dbapi2 as sqlite3

    connection = sqlite3.connect(f"file:{state / 'office.db'}?mode=ro", uri=True)
    try:
        texts = [msgspec.json.decode(row[0]) for row in connection.execute("SELECT body FROM events ORDER BY seq")]
    except sqlite3.OperationalError:
        return [], []
    finally:
        connection.close()
    messages = [event["message"] for event in texts if event["type"] == "message_added"]
    spoken = [(m["author_name"], m["content"]) for m in messages if m["type"] == "agent"]
    return spoken, [event["reason"] for event in texts if event["type"] == "autoModeEnded"]


async def test_a_session_that_is_gone_is_told_again(cli: Cli, scratch: Path, stub: Stub) -> None:
    """Whatever became of the CLI's own memory, the room holds everything."""
    stub.script = once_slow()
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.TurnStarted, turn=4)
        await it.until(e.TextDelta)
        os.kill(it.pid("Bo"), signal.SIGKILL)
        forget(scratch / "home", cli)
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == EXPECTED
        renewed = it.of(e.SessionRenewed)
        assert len(renewed) == 1
        last = next(asked for asked in reversed(stub.requests) if who(asked) == "Bo")
        assert all(words in last.last for words in ("One.", "Two.", "Three."))


def forget(home: Path, cli: Cli) -> None:
    where = {
        "claude": ".claude/projects",
        "codex": ".codex/sessions",
        "gemini": ".gemini/tmp",
        "opencode": ".local/share/opencode",
    }[cli.name]
    for path in sorted((home / where).rglob("*"), reverse=True):
        if path.is_file() and path.suffix != ".json":
            path.unlink()


async def test_no_process_is_left_when_it_is_stopped_in_mid_turn(cli: Cli, scratch: Path, stub: Stub) -> None:
    """C2: the runner itself would find a child that was left; and it does not take long."""
    stub.script = lambda asked: LONG
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        await it.until(e.TextDelta)
        before = trio.current_time()
        await it.runtime.stop()
        assert trio.current_time() - before < 12


def runs(cli: Cli, command: str) -> Use:
    """Its own tool for commands."""
    return {
        "claude": Use("Bash", {"command": command}),
        "codex": Use("exec_command", {"cmd": command}),
        "gemini": Use("run_shell_command", {"command": command}),
        "opencode": Use("bash", {"command": command, "description": "Wait"}),
    }[cli.name]


def running(command: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == command.split()]


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_what_a_tool_runs_ends_with_its_cli(cli: Cli, how: str, scratch: Path, stub: Stub) -> None:
    """C2: also what it has begun in a session of its own."""
    (scratch / "log").touch()
    command = f"tail -f {scratch / 'log'}"

    def script(asked: Asked) -> Reply:
        return Say(KEYWORD) if asked.after_tool or asked.answers else runs(cli, command)

    stub.script = script
    async with house(scratch, stub, [cli], tools="all") as it:
        await it.begin([cli, cli], max_messages=1)
        await eventually(lambda: running(command), 60)
        if how == "killed":
            stub.script = lambda asked: Say(KEYWORD)
            os.kill(it.pid("Ada"), signal.SIGKILL)
            await it.until(e.AutoModeEnded)
            assert running(command) == []
    assert running(command) == []
