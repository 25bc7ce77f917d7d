"""The fake CLI asks before it uses a tool, as the real one does, and takes the answer from stdin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import FakeCli, toml_file

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
[[turn]]
steps = [
  { tool = "Bash", input = { command = "make" }, result = "made", permission = true },
  { text = "So be it." },
]
"""
ASKING = ("--permission-prompt-tool", "stdio")
INTERRUPT = {"type": "control_request", "request_id": "x", "request": {"subtype": "interrupt"}}


def cli(tmp_path: Path, *arguments: str) -> FakeCli:
    return FakeCli(tmp_path, "--scenario", str(toml_file(tmp_path / "s.toml", SCENARIO)), *arguments)


def answer(request_id: str, response: Any, **fields: str) -> dict[str, Any]:
    full = {"subtype": "success", "request_id": request_id, "response": response, **fields}
    return {"type": "control_response", "response": full}


def result_of(lines: list[dict[str, Any]]) -> dict[str, Any]:
    (block,) = [line["message"]["content"][0] for line in lines if line["type"] == "user"]
    found: dict[str, Any] = block
    return found


ALLOW = {"behavior": "allow", "updatedInput": {"command": "make"}}
ANSWERS: list[tuple[Any, str, bool]] = [
    (ALLOW, "made", False),
    ({"behavior": "deny", "message": "Not on a Friday."}, "Not on a Friday.", True),
    ({"behavior": "allow"}, "neither allowed", True),
    ({"behavior": "perhaps"}, "neither allowed", True),
    (None, "could not be asked for", True),
]


@pytest.mark.parametrize(("response", "says", "is_error"), ANSWERS)
def test_it_asks_and_does_as_it_is_told(tmp_path: Path, response: Any, says: str, is_error: bool) -> None:
    """The question names the tool call; the answer decides what becomes of it, on stdout and in the transcript."""
    with cli(tmp_path, *ASKING) as it:
        it.ask("go")
        before = it.until("control_request")
        asked, (use,) = before[-1], [line for line in before if line["type"] == "assistant"]
        assert asked["request"]["subtype"] == "can_use_tool"
        assert (asked["request"]["tool_name"], asked["request"]["input"]) == ("Bash", {"command": "make"})
        assert asked["request"]["tool_use_id"] == use["message"]["content"][0]["id"]
        it.send(answer("of somebody else", ALLOW), answer(asked["request_id"], response))
        lines = it.until("result")
        block = result_of(lines)
        assert says in block["content"]
        assert block["is_error"] is is_error
        assert lines[-1]["result"] == "So be it."
        assert [one["tool_name"] for one in lines[-1]["permission_denials"]] == (["Bash"] if is_error else [])
        (written,) = [x for x in it.transcript if x["type"] == "user" and "toolUseResult" in x]
        assert written["message"]["content"] == [block]
        assert written["permissionDecision"]["decision"] == ("reject" if is_error else "accept")


@pytest.mark.parametrize("arguments", [(), ("--permission-prompt-tool", "mcp__other")])
def test_where_nobody_can_be_asked_it_is_denied_at_once(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with cli(tmp_path, *arguments) as it:
        it.ask("go")
        block = result_of(it.until("result"))
        assert "requested permissions to use Bash" in block["content"]
        assert block["is_error"]


def test_an_interrupt_takes_the_question_back(tmp_path: Path) -> None:
    """The answer that comes too late changes nothing, and the next prompt is answered."""
    with cli(tmp_path, *ASKING) as it:
        it.ask("go")
        asked = it.until("control_request")[-1]
        it.send(INTERRUPT)
        lines = it.until("command_lifecycle", state="cancelled")
        assert [x["request_id"] for x in lines if x["type"] == "control_cancel_request"] == [asked["request_id"]]
        assert lines[-2]["terminal_reason"] == "aborted_streaming"
        it.send(answer(asked["request_id"], ALLOW))
        assert it.turn("again")[-2]["result"] == "echo: again"


def test_a_prompt_that_comes_meanwhile_belongs_to_the_turn(tmp_path: Path) -> None:
    with cli(tmp_path, *ASKING) as it:
        first = it.ask("go")
        asked = it.until("control_request")[-1]
        second = it.ask("hurry")
        it.until("command_lifecycle", command_uuid=second, state="queued")
        it.send(answer(asked["request_id"], ALLOW))
        assert it.until("result")[-1]["user_message_uuids"] == [first, second]


def test_a_closed_stdin_is_a_no(tmp_path: Path) -> None:
    with cli(tmp_path, *ASKING) as it:
        it.ask("go")
        it.until("control_request")
        assert it.process.stdin
        it.process.stdin.close()
        assert "before stdin was closed" in result_of(it.until("result"))["content"]
        assert it.process.wait(10) == 0
