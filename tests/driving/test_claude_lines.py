"""Claude's lines: each real capture decodes to the records that a reader of it would expect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import SAMPLES, brief, three_ways

from supervisor.driving.backends import BACKENDS
from supervisor.driving.backends.base import Launch
from supervisor.driving.backends.claude_lines import ClaudeOutput, ClaudeTranscript
from supervisor.driving.lines import LineBuffer
from supervisor.driving.transcript import Transcript
from supervisor.records import Compacted, PromptSeen, RateLimit, Text, ToolResult, TurnEnd, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from supervisor.records import AnyRecord


def expected() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in (SAMPLES / "expected.txt").read_text(encoding="utf-8").split("\n## ")[1:]:
        name, *lines = block.strip("\n").split("\n")
        found[name] = lines
    return found


EXPECTED = expected()


def test_whatever_it_wants_it_gets_an_answer() -> None:
    """Else it would wait for ever."""
    dialogue = BACKENDS["claude"].dialogue(Launch(agent_id="a", folder="/nowhere", session_id="s"))
    wish = {"type": "control_request", "request_id": "r1", "request": {"subtype": "elicitation", "message": "Who?"}}
    reply = dialogue.hear(json.dumps(wish).encode())
    answer = json.loads(reply.write)["response"]
    assert (answer["subtype"], answer["request_id"]) == ("error", "r1")
    assert dialogue.hear(b'{"type":"keep_alive"}') == ([], b"", False)


def transcript() -> Callable[[bytes], list[AnyRecord]]:
    return Transcript(ClaudeTranscript()).feed


def output() -> Callable[[bytes], list[AnyRecord]]:
    lines, decoder = LineBuffer(), ClaudeOutput("init-1")
    return lambda data: [record for line in lines.feed(data) for record in decoder.decode(line.data)]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_capture_decodes_to_what_a_reader_expects(name: str) -> None:
    """E4, E5: fed whole, byte by byte and in pieces, and with half a line behind it, the same records come out."""
    data = (SAMPLES / name).read_bytes()
    fresh = transcript if "transcript" in name else output
    records = three_ways(data + b'{"type":"half', fresh)
    assert [brief(record).replace("\n", "\\n") for record in records] == EXPECTED[name]


def test_every_capture_is_expected() -> None:
    assert set(EXPECTED) == {path.name for path in SAMPLES.glob("*.jsonl")}


def decode(*lines: Mapping[str, object]) -> list[AnyRecord]:
    return transcript()(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def assistant(uuid: str, **fields: object) -> dict[str, object]:
    message = {"id": "m1", "model": "m", "content": [{"type": "text", "text": uuid}], "usage": {"input_tokens": 3}}
    return {"type": "assistant", "uuid": uuid, "sessionId": "s", "message": message, **fields}


def test_what_is_not_the_assistants_own_text_is_left_out() -> None:
    """E5: side chains, meta lines and synthetic answers are no speech; neither is a compaction's summary a prompt."""
    synthetic = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]}
    records = decode(
        assistant("side", isSidechain=True),
        assistant("meta", isMeta=True),
        {"type": "assistant", "uuid": "c", "sessionId": "s", "message": synthetic},
        {"type": "user", "uuid": "d", "sessionId": "s", "isCompactSummary": True, "message": {"content": "So far…"}},
        {"type": "user", "uuid": "e", "sessionId": "s", "message": {"content": "<local-command-stdout>x"}},
        {"type": "brand-new-type", "sessionId": "s", "message": 17.5} | {"message": None},
        assistant("real"),
    )
    assert [r.text for r in records if isinstance(r, Text)] == ["real"]
    assert not [r for r in records if isinstance(r, PromptSeen)]


@pytest.mark.parametrize(
    "oddity",
    [
        {"apiErrorStatus": "overloaded"}, {"isMeta": "no"}, {"mergedSendUuids": 7}, {"error": 3},
        {"message": {"id": "m", "model": None, "content": [{"type": "text", "text": "kept", "id": None}]}},
        {"message": {"id": 7, "content": [17, {"type": "text", "text": "kept"}], "usage": "none"}},
        {"message": {"content": "kept", "stop_reason": {}}},
    ],
)  # fmt: skip
def test_an_odd_field_does_not_cost_the_line(oddity: dict[str, object]) -> None:
    """E5: other versions differ: what can be understood is, the rest is passed over."""
    line = assistant("kept") | oddity
    assert [r.text for r in decode(line) if isinstance(r, Text)] == ["kept"]


@pytest.mark.parametrize(
    "line",
    ['{"type":"progress","message":"some text","sessionId":"s"}', '{"type":7,"sessionId":"s"}', '{"type":"user"}',
     '{"type":"assistant","message":{"content":17},"sessionId":"s"}'],
)  # fmt: skip
def test_a_line_that_means_nothing_to_us_is_nothing(line: str) -> None:
    assert transcript()(line.encode() + b"\n") == []
    assert output()(line.encode() + b"\n") == []


@pytest.mark.parametrize("status", ["{}", "[]", '"429"', "null", "1.5", "true"])
def test_an_odd_status_of_a_retry(status: str) -> None:
    """E5: whatever it is, it is a retry."""
    line = f'{{"type":"system","subtype":"api_error","sessionId":"s","uuid":"z","error":{{"status":{status}}}}}\n'
    assert [type(record).__name__ for record in transcript()(line.encode())] == ["Retry"]


def test_an_odd_result_is_still_the_end_of_the_turn() -> None:
    line = '{"type":"result","subtype":"success","is_error":false,"result":"x","model":null,"total_cost_usd":"free"}'
    (record,) = output()(line.encode() + b"\n")
    assert isinstance(record, TurnEnd)


@pytest.mark.parametrize("text", ["", "[Request interrupted by user]", "<command-name>x", "<local-command-stdout>"])
def test_a_prompt_is_a_prompt_whatever_it_says(text: str) -> None:
    """E6: the place that a prompt has in its turn tells it from the CLI's own notes."""
    line = {"type": "user", "uuid": "u", "sessionId": "s", "turnPosition": {}, "message": {"content": text}}
    assert [type(record) for record in decode(line)] == [PromptSeen]


def test_usage_is_counted_once_a_message() -> None:
    """E5: every block of a message carries the same figures."""
    records = decode(assistant("a"), assistant("b"), assistant("c"))
    assert len([r for r in records if isinstance(r, Usage)]) == 1


def test_a_line_that_is_read_again_comes_out_once() -> None:
    """E3: a file that was written anew does not say everything twice."""
    assert [r.text for r in decode(assistant("a"), assistant("b"), assistant("a")) if isinstance(r, Text)] == ["a", "b"]


def test_a_compaction_and_its_size() -> None:
    line = {"type": "system", "subtype": "compact_boundary", "uuid": "u", "compactMetadata": {"preTokens": 155_000}}
    assert decode(line) == [Compacted(offset=0, uuid="u", before_tokens=155_000)]


def test_a_long_tool_result_is_summarised() -> None:
    content = [{"type": "tool_result", "tool_use_id": "t", "content": "x " * 500, "is_error": True}]
    (record,) = decode({"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": content}})
    assert isinstance(record, ToolResult)
    assert record.is_error
    assert len(record.summary) == 120


def test_a_rate_limit_names_its_reset() -> None:
    """E5: the figures that a pause needs."""
    info = {"status": "rejected", "resetsAt": 1794990000, "rateLimitType": "five_hour", "utilization": 1.0}
    (record,) = output()(json.dumps({"type": "rate_limit_event", "rate_limit_info": info}).encode() + b"\n")
    assert record == RateLimit(status="rejected", resets_at=1794990000, limit="five_hour", utilization=1.0)


def test_the_result_of_a_background_task_is_unasked() -> None:
    """E4: a turn that nobody asked for must not end one that somebody did."""
    line = {"type": "result", "subtype": "success", "result": "x", "origin": {"kind": "task-notification"}}
    (record,) = output()(json.dumps(line).encode() + b"\n")
    assert isinstance(record, TurnEnd)
    assert record.unasked


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.transcript.jsonl")), ids=lambda p: p.stem)
def test_offsets_lead_back_to_the_line(path: Path) -> None:
    """E3: at a record's offset stands the line with its uuid."""
    data = path.read_bytes()
    for record in transcript()(data):
        assert record.offset is not None
        line = json.loads(data[record.offset :].split(b"\n", 1)[0])
        assert record.uuid in ("", line["uuid"])
