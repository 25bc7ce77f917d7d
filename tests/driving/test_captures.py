"""Captures of codex, gemini and opencode: each decodes to the records that a reader of it would expect."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import ROOT, brief, three_ways

from supervisor.driving.backends import BACKENDS, codex_lines
from supervisor.driving.backends.acp import Acp, AcpTranscript
from supervisor.driving.backends.base import UNREADABLE, Launch, failure_kind, version_of, wait_named_in
from supervisor.driving.backends.claude_lines import ClaudeOutput, ClaudeTranscript
from supervisor.driving.backends.codex_lines import CodexTranscript
from supervisor.driving.lines import Line
from supervisor.driving.transcript import Transcript, decode
from supervisor.records import (
    AnyRecord,
    Damage,
    Delta,
    Failure,
    PermissionAsked,
    PermissionGone,
    PromptSeen,
    PromptTaken,
    RateLimit,
    Ready,
    SessionLost,
    Text,
    Thinking,
    TurnEnd,
    Usage,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.driving.backends.base import Decoder, Dialogue

DATA = ROOT / "tests" / "data"
LAUNCH = Launch(agent_id="agent_001", folder="/nowhere", session_id="s", instructions="You are Ada.")


def expected(cli: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in (DATA / cli / "expected.txt").read_text(encoding="utf-8").split("\n## ")[1:]:
        name, *lines = block.strip("\n").split("\n")
        found[name] = lines
    return found


EXPECTED = {(cli, name): lines for cli in ("codex", "gemini", "opencode") for name, lines in expected(cli).items()}


def replay(cli: str, path: Path) -> Iterator[tuple[bytes, Any]]:
    """The capture once more with our dialogue: what was written and kept, and what each line of output meant.

    A prompt of the capture is put when the turn before it is over, an interrupt when its turn has been taken up.
    """
    dialogue = BACKENDS[cli].dialogue(LAUNCH)
    dialogue.open()
    written = [
        json.loads(line) for line in path.with_name(path.name.replace("stdout", "stdin")).read_text().splitlines()
    ]
    prompts = [line for line in written if line["method"] in ("turn/start", "session/prompt")]
    stops = {
        written[at - 1]["id"]
        for at, line in enumerate(written)
        if line["method"] in ("turn/interrupt", "session/cancel")
    }
    last: Any = None
    shift = 1 if cli == "codex" else 0  # its configuration is read in between
    for captured in path.read_bytes().splitlines():
        line = captured
        if shift and isinstance(answer := json.loads(captured), dict) and answer.get("id", 0) > 1:
            line = json.dumps({**answer, "id": answer["id"] + shift}).encode()
        reply = dialogue.hear(line)
        if shift and b'"userAgent"' in line:
            dialogue.hear(b'{"id":2,"result":{"config":{}}}')
        yield line if reply.keep else b"", reply.records
        over = any(isinstance(record, TurnEnd | Ready) for record in reply.records)
        if over and prompts:
            last = prompts.pop(0)
            asked = last["params"].get("input") or last["params"]["prompt"]
            yield dialogue.ask(f"ask {last['id']}", asked[0]["text"]), []
        elif last and last["id"] in stops and any(isinstance(record, PromptTaken) for record in reply.records):
            assert dialogue.interrupt()


def told(records: list[AnyRecord]) -> list[str]:
    """In a few words each, deltas joined."""
    lines: list[str] = []
    for record in records:
        if isinstance(record, Delta) and lines and lines[-1].startswith("delta "):
            lines[-1] += record.text
        else:
            lines.append(brief(record))
    return [line.replace("\n", "\\n") for line in lines]


def outcome(cli: str, name: str) -> list[str]:
    path = DATA / cli / name.partition(" ")[0]
    if name.endswith(".transcript.jsonl"):
        return told(three_ways(path.read_bytes() + b'{"timestamp":"half', lambda: Transcript(CodexTranscript()).feed))
    steps = [*replay(cli, path)]
    if name.endswith(" kept"):
        kept = b"".join(line.rstrip(b"\n") + b"\n" for line, _ in steps if line)
        return told(three_ways(kept + b'{"jsonrpc":"2.0', lambda: Transcript(BACKENDS[cli].decoder()).feed))
    return told([record for _, records in steps for record in records])


@pytest.mark.parametrize(("cli", "name"), EXPECTED)
def test_a_capture_decodes_to_what_a_reader_expects(cli: str, name: str) -> None:
    """E4, E5: transcripts fed whole, byte by byte and in pieces; output in a dialogue of our own."""
    assert outcome(cli, name) == EXPECTED[cli, name]


def test_every_capture_is_expected() -> None:
    there = {(path.parent.name, path.name) for path in DATA.glob("*/*.jsonl") if path.parent.name != "claude"}
    assert {(cli, name.partition(" ")[0]) for cli, name in EXPECTED} == {
        pair for pair in there if "stdin" not in pair[1]
    }


@pytest.mark.parametrize("cli", ["gemini", "opencode"])
def test_what_is_printed_and_what_is_kept_have_the_same_names(cli: str) -> None:
    """Else the end of a turn would wait for lines that never come."""
    steps = [*replay(cli, DATA / cli / "acp.stdout.jsonl")]
    kept = Transcript(BACKENDS[cli].decoder()).feed(b"".join(line.rstrip(b"\n") + b"\n" for line, _ in steps if line))
    printed = [record for _, records in steps for record in records]
    names = [record.uuid for record in printed if isinstance(record, Text)]
    assert names == [record.uuid for record in kept if isinstance(record, Text)]
    assert len(set(names)) == len(names) > 3
    assert all(record.offset is not None for record in kept)


def test_a_file_that_is_read_again_says_nothing_twice() -> None:
    data = (DATA / "codex" / "exec-ok.transcript.jsonl").read_bytes()
    decoder = CodexTranscript()
    first = Transcript(decoder).feed(data)
    assert [record for record in first if isinstance(record, Text)]
    assert not [record for record in Transcript(decoder).feed(data) if isinstance(record, Text)]


@pytest.mark.parametrize("decoder", [CodexTranscript, AcpTranscript])
@pytest.mark.parametrize(
    "line", [b"{", b"17", b'"x"', b"[]", b"{}", b'{"type":7}', b"\xff\xfe", b'{"params":3}', b"null"]
)
def test_rubbish_is_damage_or_nothing(decoder: Callable[[], Decoder], line: bytes) -> None:
    records = decode(decoder(), Line(0, line, len(line) + 1))
    assert all(isinstance(record, Damage) for record in records)


# -- dialogues ---------------------------------------------------------------------------------------------------------


def sent(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def hear(dialogue: Dialogue, **fields: Any) -> Any:
    return dialogue.hear(json.dumps({"jsonrpc": "2.0", **fields}).encode())


def acp(cli: str = "acp", **fields: Any) -> Dialogue:
    dialogue = BACKENDS[cli].dialogue(Launch(**{**LAUNCH_FIELDS, **fields}))
    dialogue.open()
    hear(dialogue, id=1, result={"agentInfo": {"version": "1.2"}, "agentCapabilities": {"loadSession": True}})
    return dialogue


LAUNCH_FIELDS: dict[str, Any] = {"agent_id": "agent_001", "folder": "/nowhere", "session_id": "s"}


def update(dialogue: Dialogue, **fields: Any) -> Any:
    return hear(dialogue, method="session/update", params={"update": fields})


def test_a_session_that_holds_a_prompt_is_not_given_it_again() -> None:
    """E6: the history that is told when a session is loaded shows it, even if it is told late."""
    dialogue = acp(resume=True, own_id="theirs")
    reply = hear(dialogue, id=2, result={})
    for _ in range(3):  # as long as anything comes, it is not ready
        (ping,) = sent(reply.write)
        assert not reply.records
        update(dialogue, sessionUpdate="user_message_chunk", content={"type": "text", "text": "Hi <!-- ask a1 -->"})
        reply = hear(dialogue, id=ping["id"], error={"code": -32601, "message": "no"})
    reply = hear(dialogue, id=sent(reply.write)[0]["id"], error={"code": -32601, "message": "no"})
    assert reply.records == [Ready(version="1.2", session="theirs")]
    (again,) = sent(dialogue.ask("a1", "Hi"))
    assert "Hi" not in again["params"]["prompt"][0]["text"]
    assert "cut off" in again["params"]["prompt"][0]["text"]
    (other,) = sent(dialogue.ask("a2", "Ho"))
    assert other["params"]["prompt"][0]["text"].startswith("Ho")


def test_history_is_not_speech() -> None:
    dialogue = acp(resume=True, own_id="theirs")
    reply = hear(dialogue, id=2, result={})
    update(dialogue, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "long ago"})
    for _ in range(2):
        reply = hear(dialogue, id=sent(reply.write)[0]["id"], error={"code": -32601, "message": "no"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    update(dialogue, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "now"})
    records = hear(dialogue, id=line["id"], result={"stopReason": "end_turn"}).records
    assert [record.text for record in records if isinstance(record, Text)] == ["now"]


@pytest.mark.parametrize(
    ("capable", "answer"),
    [(False, None), (True, {"error": {"code": -32603, "message": "Internal error", "data": {"details": "gone"}}})],
)
def test_a_session_that_cannot_be_loaded_is_lost(capable: bool, answer: Any) -> None:
    dialogue = Acp().dialogue(Launch(**LAUNCH_FIELDS, resume=True, own_id="theirs"))
    dialogue.open()
    reply = hear(dialogue, id=1, result={"agentCapabilities": {"loadSession": capable}})
    if answer:
        reply = hear(dialogue, id=2, **answer)
    assert [type(record) for record in reply.records] == [SessionLost]


def test_one_that_takes_no_system_prompt_is_told_who_it_is_first() -> None:
    dialogue = acp(instructions="You are Ada.")
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    first, second = sent(dialogue.ask("a1", "Hi") + dialogue.ask("a2", "Ho"))
    assert first["params"]["prompt"][0]["text"].startswith("You are Ada.\n\nHi")
    assert second["params"]["prompt"][0]["text"].startswith("Ho")


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
def test_a_cli_that_asks_its_model_for_ever_is_stopped(kind: str) -> None:
    """No runaway bill: message after message, and nothing done in between."""
    dialogue = acp("opencode")
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    writes = [
        update(dialogue, sessionUpdate=kind, messageId=f"m{n}", content={"type": "text", "text": "I"}).write
        for n in range(5)
    ]
    assert [bool(write) for write in writes] == [False, False, True, False, False]
    assert sent(writes[2])[0]["method"] == "session/cancel"
    records = hear(dialogue, id=line["id"], result={"stopReason": "cancelled"}).records
    assert [record.kind for record in records if isinstance(record, Failure)] == ["network"]
    assert records[-1].outcome == "failed"


@pytest.mark.parametrize(
    ("cli", "said"),
    [("acp", ["I was about", "to say tabs.", "Or not."]), ("opencode", ["to say tabs.", "Or not."])],
)
def test_one_message_after_the_other_is_two_or_the_second_try_of_one(cli: str, said: list[str]) -> None:
    """What opencode had begun when its stream was cut, it begins anew under another name."""
    dialogue = acp(cli)
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    records: list[AnyRecord] = []
    for kind, message, text in (
        ("message", "m1", "I was about"), ("message", "m2", "to say "), ("message", "m2", "tabs."),
        ("thought", "m2", "Really?"), ("message", "m2", "Or not."),
    ):  # fmt: skip
        content = {"type": "text", "text": text}
        records += update(dialogue, sessionUpdate=f"agent_{kind}_chunk", messageId=message, content=content).records
    records += hear(dialogue, id=line["id"], result={"stopReason": "end_turn"}).records
    assert [record.text for record in records if isinstance(record, Text)] == said
    assert [record.text for record in records if isinstance(record, Thinking)] == ["Really?"]


@pytest.mark.parametrize("kind", ["message", "thought"])
def test_an_answer_without_end_does_not_fill_the_memory(kind: str) -> None:
    """All of it comes out, in blocks."""
    dialogue = acp()
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    content = {"type": "text", "text": "word " * 20_000}
    records: list[AnyRecord] = []
    for _ in range(30):
        records += update(dialogue, sessionUpdate=f"agent_{kind}_chunk", content=content).records
    blocks = [record.text for record in records if isinstance(record, Text | Thinking)]
    assert len(blocks) == 2
    records += hear(dialogue, id=line["id"], result={"stopReason": "end_turn"}).records
    blocks = [record.text for record in records if isinstance(record, Text | Thinking)]
    assert "".join(blocks) == content["text"] * 30


def test_all_that_was_read_and_written_is_counted() -> None:
    """D7: what was put into the cache, and what was thought, costs too; and so does a turn that was broken off."""
    dialogue = acp("opencode")
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    cost = {"amount": 0.5, "currency": "USD"}
    assert update(dialogue, sessionUpdate="usage_update", used=90, size=128_000, cost=cost).records == [
        Window(tokens=128_000)
    ]
    used = {"inputTokens": 4, "cachedReadTokens": 30, "cachedWriteTokens": 56, "outputTokens": 15, "thoughtTokens": 9}
    records = hear(dialogue, id=line["id"], result={"stopReason": "end_turn", "usage": used}).records
    (usage,) = [record for record in records if isinstance(record, Usage)]
    assert (usage.input_tokens, usage.output_tokens, usage.context_tokens) == (90, 24, 90)
    (line,) = sent(dialogue.ask("a2", "Ho"))
    update(dialogue, sessionUpdate="usage_update", used=90, cost={"amount": 0.75, "currency": "USD"})
    records = hear(dialogue, id=line["id"], result={"stopReason": "cancelled"}).records
    assert records[-1].cost_usd == 0.75


def test_one_that_uses_tools_between_its_messages_is_not() -> None:
    dialogue = acp()
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    dialogue.ask("a1", "Hi")
    for n in range(12):
        text = {"type": "text", "text": "I"}
        assert not update(dialogue, sessionUpdate="agent_message_chunk", messageId=f"m{n}", content=text).write
        update(dialogue, sessionUpdate="tool_call", toolCallId=f"t{n}", title="ls", status="in_progress")


OPTIONS = [
    {"optionId": "always", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"},
    {"optionId": "no", "kind": "reject_once"},
]  # fmt: skip


@pytest.mark.parametrize(("tools", "chosen"), [("none", "no"), ("read", "no"), ("all", "once"), ("ask", "")])
def test_permissions_follow_the_configuration(tools: Any, chosen: str) -> None:
    """Nobody is asked where it is said already; where somebody is, the answer goes back, once."""
    dialogue = acp(tools=tools)
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    call = {"toolCallId": "t", "title": "rm -r build", "kind": "execute"}
    reply = hear(dialogue, id=0, method="session/request_permission", params={"toolCall": call, "options": OPTIONS})
    if chosen:
        (answer,) = sent(reply.write)
        assert answer == {"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": chosen}}}
        return
    (asked,) = reply.records
    assert isinstance(asked, PermissionAsked)
    assert (asked.tool, asked.summary) == ("execute", "rm -r build")
    (answer,) = sent(dialogue.permit(asked.permission_id, True))
    assert answer["result"]["outcome"]["optionId"] == "once"
    assert dialogue.permit(asked.permission_id, False) == b""
    reply = hear(dialogue, id="x", method="session/request_permission", params={"toolCall": call, "options": OPTIONS})
    records = hear(dialogue, id=line["id"], result={"stopReason": "end_turn"}).records
    assert [type(record) for record in records if isinstance(record, PermissionGone)] == [PermissionGone]


def test_whoever_is_to_allow_a_command_sees_all_of_it() -> None:
    """Not what the agent says about it, and not its beginning only."""
    command = "ls\n" + "true && " * 100 + "rm -r /"
    dialogue = acp(tools="ask")
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    dialogue.ask("a1", "Hi")
    call = {"toolCallId": "t", "title": "List", "rawInput": {"description": "List files", "command": command}}
    (asked,) = hear(dialogue, id=0, method="session/request_permission", params={"toolCall": call}).records
    assert asked.summary == command
    output = ClaudeOutput("x")
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": call["rawInput"]}
    (wish,) = output.decode(json.dumps({"type": "control_request", "request_id": "r", "request": request}).encode())
    assert isinstance(wish, PermissionAsked)
    assert wish.summary == command


def test_what_is_not_offered_is_refused() -> None:
    dialogue = acp()
    (answer,) = sent(hear(dialogue, id=9, method="fs/read_text_file", params={"path": "/etc/passwd"}).write)
    assert answer["error"]["code"] == -32601


def test_codex_waits_for_its_limit_where_it_says_when_it_ends() -> None:
    """D14: the failure says that it is used up, the account's limits say until when."""
    dialogue = BACKENDS["codex"].dialogue(LAUNCH)
    dialogue.open()
    hear(dialogue, id=1, result={"userAgent": "x/0.169.0 (Debian)"})
    hear(dialogue, id=2, result={"config": {}})
    assert hear(dialogue, id=3, result={"thread": {"id": "t"}}).records == [Ready(version="0.169.0", session="t")]
    dialogue.ask("a1", "Hi")
    hear(dialogue, method="turn/started", params={"threadId": "t", "turn": {"id": "u1"}})
    limits = {"primary": {"usedPercent": 100, "resetsAt": 5000}, "secondary": {"usedPercent": 7, "resetsAt": 9000}}
    hear(dialogue, method="account/rateLimits/updated", params={"rateLimits": limits})
    error = {"message": "You've hit your usage limit.", "codexErrorInfo": "usageLimitExceeded"}
    turn = {"threadId": "t", "turn": {"id": "u1", "status": "failed", "error": error}}
    records = hear(dialogue, method="turn/completed", params=turn).records
    assert [r.resets_at for r in records if isinstance(r, RateLimit) and r.status == "rejected"] == [5000]
    assert [r.kind for r in records if isinstance(r, Failure)] == ["rate_limit"]


def codex_in_a_turn(**fields: Any) -> Any:
    dialogue = BACKENDS["codex"].dialogue(msgspec.structs.replace(LAUNCH, **fields))
    dialogue.open()
    hear(dialogue, id=1, result={"userAgent": "x/0.169.0 (Debian)"})
    hear(dialogue, id=2, result={"config": {}})
    hear(dialogue, id=3, result={"thread": {"id": "t"}})
    dialogue.ask("a1", "Hi")
    hear(dialogue, method="turn/started", params={"threadId": "t", "turn": {"id": "u1"}})
    return dialogue


def test_codex_does_not_wait_for_a_limit_that_was_not_reached() -> None:
    """D14: a passing refusal is over in a moment, whatever the account's windows say."""
    dialogue = codex_in_a_turn()
    limits = {"primary": {"usedPercent": 3, "resetsAt": 5000}, "secondary": {"usedPercent": 12, "resetsAt": 9000}}
    hear(dialogue, method="account/rateLimits/updated", params={"rateLimits": limits})
    info = {"responseTooManyFailedAttempts": {"httpStatusCode": 429}}
    turn = {"id": "u1", "status": "failed", "error": {"message": "exceeded retry limit", "codexErrorInfo": info}}
    records = hear(dialogue, method="turn/completed", params={"threadId": "t", "turn": turn}).records
    assert [r.kind for r in records if isinstance(r, Failure)] == ["rate_limit"]
    assert not [r for r in records if isinstance(r, RateLimit)]


def test_of_two_limits_that_are_used_up_the_later_end_counts() -> None:
    limits = {"primary": {"usedPercent": 120, "resetsAt": 5000}, "secondary": {"usedPercent": 100, "resetsAt": 9000}}
    (limit,) = hear(codex_in_a_turn(), method="account/rateLimits/updated", params={"rateLimits": limits}).records
    assert (limit.status, limit.resets_at) == ("used up", 9000)


def test_whoever_is_to_allow_a_change_sees_what_will_stand_in_the_file() -> None:
    """By path and by content, with what is too long said."""
    dialogue = codex_in_a_turn(tools="ask")
    changes = [{"path": "a.py", "kind": {"type": "add"}, "diff": "import os\n"}]
    item = {"type": "fileChange", "id": "c1", "changes": changes, "status": "inProgress"}
    hear(dialogue, method="item/started", params={"item": item})
    (asked,) = hear(dialogue, id=7, method="item/fileChange/requestApproval", params={"itemId": "c1"}).records
    assert asked.summary == "a.py:\nimport os\n"
    output = ClaudeOutput("x")
    for wanted, shown in (
        ({"file_path": "a.py", "content": "import os"}, "a.py\ncontent: import os"),
        ({"to": "a@b", "body": "secret", "copies": 3}, "a@b\nbody: secret\ncopies: 3"),
        ({"file_path": "a", "edits": [{"old": "x"}]}, 'a\nedits: [{"old": "x"}]'),
        ({"command": "x" * 5000}, "x" * 4000 + "\n… and 1,000 more characters"),
    ):
        request = {"subtype": "can_use_tool", "tool_name": "T", "input": wanted}
        (wish,) = output.decode(json.dumps({"type": "control_request", "request_id": "r", "request": request}).encode())
        assert isinstance(wish, PermissionAsked)
        assert wish.summary == shown


def test_codex_is_not_given_again_what_its_thread_holds() -> None:
    """E6: the turn that was cut off names the prompt."""
    dialogue = BACKENDS["codex"].dialogue(Launch(**LAUNCH_FIELDS, resume=True, own_id="t"))
    dialogue.open()
    hear(dialogue, id=1, result={"userAgent": "x/0.169.0"})
    (resume,) = sent(hear(dialogue, id=2, result={"config": {}}).write)
    assert resume["method"] == "thread/resume"
    turns = [
        {"status": "completed", "items": [{"type": "userMessage", "clientId": "a1"}]},
        {"status": "interrupted", "items": [{"type": "userMessage", "clientId": "a2"}]},
    ]
    hear(dialogue, id=3, result={"thread": {"id": "t", "turns": turns}})
    (again,) = sent(dialogue.ask("a2", "Hi"))
    assert "cut off" in again["params"]["input"][0]["text"]
    (fresh,) = sent(dialogue.ask("a3", "Ho"))
    assert fresh["params"]["input"][0]["text"] == "Ho"


def codex(**fields: Any) -> Dialogue:
    dialogue = BACKENDS["codex"].dialogue(Launch(**{**LAUNCH_FIELDS, **fields}))
    dialogue.open()
    hear(dialogue, id=1, result={"userAgent": "x/0.169.0"})
    return dialogue


def test_codex_answers_late_for_nobody_else() -> None:
    """The end of a turn that was given up is not the end of the next one."""
    dialogue = codex()
    hear(dialogue, id=2, result={"config": {}})
    hear(dialogue, id=3, result={"thread": {"id": "t"}})
    dialogue.ask("a1", "Hi")
    hear(dialogue, id=4, result={"turn": {"id": "u1"}})
    dialogue.ask("a2", "Ho")
    hear(dialogue, id=5, result={"turn": {"id": "u2"}})
    done = {"threadId": "t", "turn": {"id": "u1", "status": "completed"}}
    assert not hear(dialogue, method="turn/completed", params=done).records
    done = {"threadId": "t", "turn": {"id": "u2", "status": "completed"}}
    (end,) = hear(dialogue, method="turn/completed", params=done).records
    assert end.ask_ids == ("a2",)


@pytest.mark.parametrize(("tools", "off"), [("none", True), ("read", True), ("ask", False), ("all", False)])
def test_codex_talks_without_the_tool_servers_of_its_user(tools: Any, off: bool) -> None:
    """No sandbox holds them; a name may have dots in it."""
    dialogue = codex(tools=tools)
    (start,) = sent(hear(dialogue, id=2, result={"config": {"mcp_servers": {"my.files": {"command": "x"}}}}).write)
    assert start["method"] == "thread/start"
    assert start["params"].get("config") == ({"mcp_servers": {"my.files": {"enabled": False}}} if off else None)


def test_codex_is_asked_for_its_configuration_where_it_works() -> None:
    """A project may have tool servers of its own."""
    dialogue = BACKENDS["codex"].dialogue(Launch(**{**LAUNCH_FIELDS, "cwd": "/shop"}))
    dialogue.open()
    asked = sent(hear(dialogue, id=1, result={"userAgent": "x/0.169.0"}).write)[-1]
    assert (asked["method"], asked["params"]) == ("config/read", {"cwd": "/shop"})


@pytest.mark.parametrize(("tools", "off", "on"), [("none", "shell_tool", ""), ("read", "plugins", "shell_tool")])
def test_codex_has_the_tools_that_it_was_given(tools: Any, off: str, on: str) -> None:
    command = BACKENDS["codex"].command(Launch(**{**LAUNCH_FIELDS, "tools": tools}))
    assert off in command
    assert on not in command
    assert 'web_search="disabled"' in command


def test_codex_without_the_name_of_its_thread_has_lost_it() -> None:
    dialogue = codex(resume=True)
    assert [type(record) for record in hear(dialogue, id=2, result={"config": {}}).records] == [SessionLost]


def test_an_answer_to_one_process_is_none_to_the_next() -> None:
    """Each counts its requests from the beginning; what somebody allowed was another thing."""
    names = []
    for _ in range(2):
        dialogue = acp(tools="ask")
        hear(dialogue, id=2, result={"sessionId": "theirs"})
        dialogue.ask("a1", "Hi")
        call = {"toolCallId": "t", "title": "ls"}
        (asked,) = hear(dialogue, id=0, method="session/request_permission", params={"toolCall": call}).records
        names.append(asked.permission_id)
    assert len(set(names)) == 2
    assert dialogue.permit(names[0], True) == b""


def test_whoever_breaks_off_answers_first_what_is_waited_for() -> None:
    dialogue = acp(tools="ask")
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    dialogue.ask("a1", "Hi")
    hear(dialogue, id=7, method="session/request_permission", params={"toolCall": {}, "options": OPTIONS})
    denied, cancel = sent(dialogue.interrupt())
    assert (denied["id"], denied["result"]["outcome"]["optionId"]) == (7, "no")
    assert cancel["method"] == "session/cancel"


@pytest.mark.parametrize("error", [5, "boom", None, [], {}, {"code": "x"}, {"message": None}, {"message": {"a": 1}}])
def test_an_odd_error_is_still_the_end_of_the_turn(error: Any) -> None:
    dialogue = acp()
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    (line,) = sent(dialogue.ask("a1", "Hi"))
    records = hear(dialogue, id=line["id"], error=error).records
    assert isinstance(records[-1], TurnEnd)
    assert records[-1].outcome == "failed"


@pytest.mark.parametrize(
    "params", [5, "x", [1], None, {"toolCall": 5, "options": "x"}, {"options": ["x", {"kind": 5}]}]
)
def test_whatever_a_cli_wants_it_gets_an_answer(params: Any) -> None:
    for dialogue, method in ((acp(), "session/request_permission"), (codex(), "item/permissions/requestApproval")):
        (answer,) = sent(hear(dialogue, id=7, method=method, params=params).write)
        assert answer["id"] == 7


NUMBERS = st.integers()
VAST = st.sampled_from([10**15, 10**308, 10**400, 10**4299, -(10**4298), 1.7e308, -1.7e308])
ODD = st.one_of(
    st.none(), st.booleans(), NUMBERS, VAST, st.floats(), st.text(max_size=4), st.lists(NUMBERS, max_size=2),
    st.dictionaries(st.text(max_size=3), NUMBERS, max_size=2),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_odd(copy[path[0]], path[1:], odd)
    return copy


def test_a_file_that_names_no_minute_keeps_gemini_from_nothing(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "x" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-99-99T99-99-theirs.jsonl").touch()
    launch, home = Launch(**LAUNCH_FIELDS, own_id="theirs"), {"HOME": str(tmp_path)}
    assert BACKENDS["gemini"].resumable_at(launch, home) == 0.0
    (chats / "session-1970-01-01T00-01-theirs.jsonl").touch()
    assert BACKENDS["gemini"].resumable_at(launch, home) == 121.0


def lines_of(cli: str) -> list[bytes]:
    names = {"claude": ["02-partial-stream.stdout.jsonl", "11-err-529.stdout.jsonl", "11-err-529.transcript.jsonl",
                        "08-queued-during-tool.transcript.jsonl"],
             "codex": ["app-server.stdout.jsonl"]}  # fmt: skip
    paths = [DATA / cli / name for name in names.get(cli, ["acp.stdout.jsonl"])]
    return [line for path in paths for line in path.read_bytes().splitlines()]


def numbers_in(record: AnyRecord) -> list[int | float]:
    return [value for value in msgspec.structs.astuple(record) if isinstance(value, int | float)]


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "opencode"])
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_no_odd_value_is_more_than_an_unreadable_line(cli: str, data: st.DataObject) -> None:
    """Anywhere in any line of a capture; whatever else it raised would end more than one agent. What comes of it can
    be counted with, stored and loaded again."""
    dialogue = codex() if cli == "codex" else BACKENDS["claude"].dialogue(LAUNCH) if cli == "claude" else acp()
    hear(dialogue, id=2, result={"sessionId": "theirs", "config": {}})
    hear(dialogue, id=3, result={"thread": {"id": "t"}})
    dialogue.ask("a1", "Hi")
    decoders: dict[str, Callable[[], Decoder]] = {"codex": CodexTranscript, "claude": ClaudeTranscript}
    decoder = decoders.get(cli, AcpTranscript)()
    for _ in range(5):
        line = json.loads(data.draw(st.sampled_from(lines_of(cli))))
        path = data.draw(st.sampled_from([*places(line)]))
        spoiled = json.dumps(with_odd(line, path, data.draw(ODD))).encode()
        records: list[AnyRecord] = []
        with contextlib.suppress(*UNREADABLE):
            records += dialogue.hear(spoiled).records
        records += decode(decoder, Line(0, spoiled, len(spoiled)))
        assert all(abs(number) < 1e16 for record in records for number in numbers_in(record))


TOKENS = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]


@pytest.mark.parametrize("number", [10**4299, -(10**4298), 10**400, 1.7e308, 10**308], ids=range(5))
def test_no_number_of_claudes_is_too_large_to_be_kept(number: float) -> None:
    message = {"id": "m", "role": "assistant", "content": [], "usage": dict.fromkeys(TOKENS, number)}
    line = json.dumps({"type": "assistant", "uuid": "u", "message": message}).encode()
    assert numbers_in(ClaudeTranscript().decode(line, 0)[0]) == [0, 0, 0, 0]  # the offset is the fourth
    retry = {"type": "system", "subtype": "api_error", "uuid": "v", "error": {"status": number}, "retryInMs": number,
             "retryAttempt": number, "maxRetries": number}  # fmt: skip
    assert numbers_in(ClaudeTranscript().decode(json.dumps(retry).encode(), 0)[0]) == [0, 0, 0, 0]
    over = {"type": "result", "result": "x", "total_cost_usd": number}
    (end,) = ClaudeOutput("x").decode(json.dumps(over).encode())
    assert isinstance(end, TurnEnd)
    assert end.cost_usd is None


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please retry in 3600s.", 3600),
        ("Please retry in 2.5s.\nSuggested retry after 2s.", 2.5),
        ("retry after 10 ms", 0.01),
        ("try again in 1 hour 5 minutes", 3900),
        ("resets in 2 days, 3 hours and 1 minute", 183_660),
        ("try again in 6m0s", 360),
        ("Please try again in 1m26.4s.", 86.4),
        ("Please retry in 13h25m10.5s.", 48_310.5),
        ("Your quota will reset after 20h33m43s.", 74_023),
        ("Retry-After: 30", 30),
        ("retry after 30.", 30),
        ("retry after 5 attempts", None),
        ("retry after 2026-11-20", None),
        ("try again at 6:43 AM.", None),
        ("", None),
        ("retry in a while", None),
        (f"retry after {'9' * 400} s", 366 * 86_400),
    ],
)
def test_a_wait_in_words(message: str, seconds: float | None) -> None:
    assert wait_named_in(message) == seconds


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ("whatever", 401, "authentication"),
        ("whatever", 429, "rate_limit"),
        ("whatever", 500, "server"),
        ("whatever", 418, "invalid_request"),
        ("The input token count exceeds the maximum", 400, "context"),
        ("API key not valid", 400, "authentication"),
        ("overloaded", None, "overloaded"),
        ("Incorrect API key provided", None, "authentication"),
        ("hm", None, "unknown"),
        ("quota exceeded", -32603, "rate_limit"),
        ("stream disconnected before completion", None, "network"),
    ],
)
def test_what_went_wrong(message: str, status: int | None, kind: str) -> None:
    assert failure_kind(message, status) == kind


def test_both_spellings_of_codex_are_understood() -> None:
    for info in (
        {"http_connection_failed": {"http_status_code": 401}},
        {"httpConnectionFailed": {"httpStatusCode": 401}},
    ):
        assert codex_lines.failure("no", info).kind == "authentication"
    assert codex_lines.failure("no", "contextWindowExceeded").kind == "context"
    assert codex_lines.failure("no", "context_window_exceeded").kind == "context"


@pytest.mark.parametrize(
    ("name", "version", "good"),
    [
        ("claude", "2.1.326 (Claude Code)", True),
        ("claude", "1.0.44", False),
        ("codex", "codex-cli 0.169.0", True),
        ("codex", "0.99.9", False),
        ("gemini", "0.61.0", True),
        ("gemini", "0.9.0", False),
        ("opencode", "1.18.33", True),
        ("opencode", "nightly", True),
        ("fake", "1.0", True),
    ],
)
def test_an_old_version_is_refused_in_words(name: str, version: str, good: bool) -> None:
    problem = BACKENDS[name].too_old(version)
    assert (problem == "") == good
    assert good or (BACKENDS[name].install in problem and "too old" in problem)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.1.326", ""),
        ("2.1.999", ""),
        ("2.0.5", ""),
        ("2.2.0", "claude 2.2.0 is newer than 2.1.326, which was tested"),
        ("3.0", "claude 3.0 is newer than 2.1.326, which was tested"),
        ("", "claude does not say its version; 2.1.326 was tested"),
        ("nightly", "claude does not say its version; 2.1.326 was tested"),
    ],
)
def test_a_version_that_nobody_tested_is_told_in_words(version: str, told: str) -> None:
    """By its first two numbers: the third changes daily."""
    assert BACKENDS["claude"].untested(version) == told
    assert BACKENDS["fake"].untested(version) == ""


def test_versions_are_numbers() -> None:
    assert version_of("codex-cli 0.169.0") == (0, 169, 0)
    assert version_of("v10.2") > version_of("9.12.1")
    assert version_of("none") == ()


def test_prompts_of_ours_are_seen_when_something_comes_back() -> None:
    """A prompt that was only written has not arrived."""
    dialogue = acp()
    hear(dialogue, id=2, result={"sessionId": "theirs"})
    line = dialogue.ask("a1", "Hi")
    transcript = Transcript(AcpTranscript())
    assert transcript.feed(line) == []
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    back = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"update": chunk}}).encode() + b"\n"
    (seen,) = transcript.feed(back)
    assert isinstance(seen, PromptSeen)
    assert seen.ask_ids == ("a1",)
