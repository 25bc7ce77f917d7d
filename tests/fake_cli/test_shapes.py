"""The fake CLI's lines against captures of the real one: the same keys, in the same order, in the same sequence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import SAMPLES, FakeCli, new_ask_id, read_jsonl, toml_file

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
[[turn]]
say = "echo: hello one"
[[turn]]
say = "echo: hello two"
[[turn]]
steps = [
  { text = "I will run it." },
  { tool = "Bash", input = { command = "echo tool-ran", description = "run" }, result = "tool-ran" },
  { text = "after tool: TOOL done" },
]
[[turn]]
steps = [ { think = "Let me think about it." }, { text = "thought: done" } ]
[[turn]]
steps = [ { error = "forbidden" } ]
[[turn]]
steps = [ { error = "rate_limit_long" } ]
[[turn]]
steps = [ { error = "rate_limit_short", retry_delay = 0.001 }, { text = "echo: 429x2" } ]
[[turn]]
steps = [ { error = "prompt_too_long" } ]
[[turn]]
speed = 20
say = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21"
"""


def kind(line: dict[str, Any]) -> str:
    """What a line is, finely enough that its keys are determined."""
    parts = [line.get("type", "?"), line.get("subtype") or line.get("operation") or ""]
    message = line.get("message") or {}
    if isinstance(message.get("content"), list):
        parts.append("+".join(block["type"] for block in message["content"]))
    if line["type"] == "stream_event":
        parts.append(line["event"]["type"])
        parts.append((line["event"].get("delta") or line["event"].get("content_block") or {}).get("type", ""))
    if line["type"] == "attachment":
        parts.append(line["attachment"]["type"])
    if line.get("is_error") is not None and line["type"] == "result":
        parts.append(str(line["is_error"]))
    if message.get("model") == "<synthetic>":
        parts.append(str(line.get("error")))
    return " ".join(str(part) for part in parts if part)


FREE = {
    "input", "modelUsage", "model_usage_since_last_result", "toolUseResult", "tool_use_result", "attachment",
    "response", "memory_paths", "plugins", "rendered", "permissionDecision",
}  # fmt: skip


def keys(value: Any, path: str = "") -> list[str]:
    """All keys in order, also those inside."""
    if isinstance(value, list):
        return [key for item in value[:1] for key in keys(item, path + "[]")]
    if not isinstance(value, dict):
        return []
    found = []
    for key, inner in value.items():
        found.append(f"{path}.{key}")
        if key not in FREE:
            found += keys(inner, f"{path}.{key}")
    return found


OPTIONAL = {
    ".trimmed", ".user_message_uuid", ".user_message_uuids", ".owed_rows", ".mergedSendUuids", ".turnAttributionKey",
    ".request_sent_wall_ms", ".first_request_input_tokens", ".first_request_cache_read_input_tokens", ".sandboxed",
    ".thinking_display", ".api_error_type", ".aborted",
}  # fmt: skip


def shape(line: dict[str, Any]) -> list[str]:
    return [key for key in keys(line) if key not in OPTIONAL]


def samples(which: str) -> list[list[dict[str, Any]]]:
    return [read_jsonl(path) for path in sorted(SAMPLES.glob(f"*.{which}.jsonl"))]


def shapes(lines: list[dict[str, Any]]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for line in lines:
        known = found.setdefault(kind(line), [])
        if shape(line) not in known:
            known.append(shape(line))
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One session through all the scenario's turns: what it printed and what it wrote."""
    home = tmp_path_factory.mktemp("home")
    scenario = toml_file(home / "s.toml", SCENARIO)
    arguments = ["--session-id", new_ask_id(), "--scenario", str(scenario), "--include-partial-messages"]
    with FakeCli(home, *arguments, "--replay-user-messages") as cli:
        printed = []
        for number in range(8):
            uuid = cli.ask(f"prompt {number}")
            printed += cli.until("result")
            printed += cli.until("command_lifecycle", command_uuid=uuid)
        cli.ask("long")
        printed += cli.until("stream_event")
        cli.send({"type": "control_request", "request_id": "x", "request": {"subtype": "interrupt"}})
        printed += cli.until("result")
        assert cli.finish() == 1
        return printed, cli.transcript


@pytest.mark.parametrize("which", ["stdout", "transcript"])
def test_every_kind_of_line_has_the_keys_of_the_real_one(
    which: str, played: tuple[list[dict[str, Any]], list[dict[str, Any]]]
) -> None:
    """E2: key by key, in order, also inside of messages; only what depends on the session may be absent."""
    ours = shapes(played[0] if which == "stdout" else played[1])
    real = shapes([line for sample in samples(which) for line in sample])
    both = set(ours) & set(real)
    wrong = {name: (ours[name], real[name]) for name in both if not all(one in real[name] for one in ours[name])}
    assert not wrong, json.dumps(wrong, indent=1)[:3000]
    unknown = set(ours) - set(real)
    assert unknown <= {
        "system status", "system api_retry", "rate_limit_event", "stream_event content_block_delta thinking_delta",
    } or not unknown  # fmt: skip


def test_results_name_their_prompts_as_the_real_ones_do(
    played: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    """E2, E4: answered, failed and interrupted, with the ids of their prompts: exactly the keys, exactly in order."""

    def results(lines: list[dict[str, Any]]) -> dict[str, list[str]]:
        return {
            f"{line['subtype']} {line['is_error']}": list(line)
            for line in lines
            if line["type"] == "result" and "user_message_uuids" in line
        }

    names = ("02-partial-stream", "40-lean-interrupt", "41-lean-err-403")
    real = results([line for name in names for line in read_jsonl(SAMPLES / f"{name}.stdout.jsonl")])
    assert set(real) == {"success False", "success True", "error_during_execution True"}
    assert results(played[0]) == real


def test_the_kinds_that_matter_are_compared(played: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """The comparison is not about nothing."""
    real = shapes([line for sample in samples("stdout") for line in sample])
    assert len(set(shapes(played[0])) & set(real)) >= 20
    real = shapes([line for sample in samples("transcript") for line in sample])
    assert len(set(shapes(played[1])) & set(real)) >= 24


def test_lines_come_in_the_order_of_the_real_one(played: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """E2: the first four turns of the first capture, line by line, on stdout and in the transcript."""
    skip = {"last-prompt", "atis-latch", "cost-state", "command_lifecycle", "stream_event", "api-request-blob"}

    def order(lines: list[dict[str, Any]]) -> list[str]:
        lines = [line for line in lines if line["type"] not in skip and line.get("subtype") != "status"]
        ends = [n for n, line in enumerate(lines) if "thought: done" in json.dumps(line)]
        return [kind(line) for line in lines[: ends[-1] + 1]]

    for which, ours in (("stdout", played[0]), ("transcript", played[1])):
        real = read_jsonl(SAMPLES / f"01-multiturn-default.{which}.jsonl")
        mine, theirs = order(ours), order(real)
        if which == "stdout":  # where it stands among the blocks is a matter of timing in the real one
            mine, theirs = ([k for k in x if "thinking_tokens" not in k] for x in (mine, theirs))
        assert mine == theirs


def test_the_mixture_of_uuids(played: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """E2: the same uuid stands on the stdout line and on the transcript line of one block."""
    printed = {line["uuid"] for line in played[0] if line["type"] == "assistant"}
    written = {line["uuid"] for line in played[1] if line["type"] == "assistant"}
    assert printed == written


def test_the_transcript_is_one_chain(played: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """E2: each line names the one before it as its parent."""
    last = None
    for line in played[1]:
        if "parentUuid" in line:
            assert line["parentUuid"] == last
            last = line["uuid"]


def test_a_lean_session_writes_what_the_real_one_does(tmp_path: Path) -> None:
    """E2: without tools, as measured: fewer attachments around the first prompt, none around the second."""
    with FakeCli(tmp_path, "--session-id", new_ask_id(), "--tools", "") as cli:
        cli.turn("one")
        cli.turn("two")
        cli.finish()
        kinds = [
            f"{line['type']}{'/' + line['attachment']['type'] if 'attachment' in line else ''}"
            for line in cli.transcript
            if line["type"] not in ("last-prompt", "atis-latch")
        ]
    assert kinds == [
        "queue-operation", "queue-operation", "user", "attachment/environment", "attachment/model",
        "attachment/session_context", "attachment/date", "attachment/prompt_snapshot", "api-request-shape",
        "api-request-blob", "api-request", "assistant", "attachment/prompt_snapshot", "queue-operation",
        "queue-operation", "user", "api-request", "assistant", "cost-state",
    ]  # fmt: skip
