"""Damaged transcripts: every valid record survives, and what does not is named by its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SAMPLES, brief, texts, three_ways

from supervisor.driving.backends.claude_lines import ClaudeTranscript
from supervisor.driving.repair import salvage
from supervisor.driving.transcript import Transcript
from supervisor.records import Damage

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.records import AnyRecord


def line(text: str, uuid: str = "") -> bytes:
    """An assistant's line as it stands in a transcript."""
    message = {"id": f"m-{text}", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    value = {"parentUuid": None, "message": message, "type": "assistant", "uuid": uuid or f"u-{text}", "sessionId": "s"}
    return json.dumps(value, ensure_ascii=False).encode()


def decode(data: bytes) -> list[AnyRecord]:
    found: list[AnyRecord] = three_ways(data, lambda: Transcript(ClaudeTranscript()).feed)
    return found


A, B, C = line("alpha"), line("béta"), line("gamma")
DAMAGED: dict[str, tuple[bytes, list[str], int]] = {
    "nothing": (A + b"\n" + B + b"\n", ["alpha", "béta"], 0),
    "torn": (A + b"\n" + B[:40] + b"\n" + C + b"\n", ["alpha", "gamma"], 1),
    "spliced": (B[:60] + A + b"\n" + C + b"\n", ["alpha", "gamma"], 1),
    "spliced inside a string": (B[: B.index(b"ta")] + A + b"\n" + C + b"\n", ["alpha", "gamma"], 1),
    "joined": (A + B + b"\n" + C + b"\n", ["alpha", "béta", "gamma"], 0),
    "joined with a space": (A + b"  " + B + b"\n", ["alpha", "béta"], 0),
    "NULs before": (b"\0" * 100 + A + b"\n" + B + b"\n", ["alpha", "béta"], 1),
    "NULs between": (A + b"\0\0\0" + B + b"\n", ["alpha", "béta"], 1),
    "NULs inside a string": (A.replace(b"alpha", b"al\0\0pha") + b"\n" + C + b"\n", ["alpha", "gamma"], 0),
    "a line of NULs": (b"\0" * 5 + b"\n" + A + b"\n", ["alpha"], 1),
    "bytes that are no UTF-8": (A.replace(b"alpha", b"al\xffpha") + b"\n" + C + b"\n", ["al�pha", "gamma"], 0),
    "UTF-8 cut in the middle": (B.replace("é".encode(), b"\xc3") + b"\n" + C + b"\n", ["b�ta", "gamma"], 0),
    "rubbish around": (b"xx " + A + b" yy\n" + C + b"\n", ["alpha", "gamma"], 2),
    "no JSON at all": (b"hello\n" + C + b"\n", ["gamma"], 1),
    "a number": (b"17\n" + C + b"\n", ["gamma"], 1),
    "empty lines": (b"\n \n\r\n" + C + b"\n", ["gamma"], 0),
    "a number that is too long": (
        b'{"type":"user","sessionId":"s","maxRetries":' + b"9" * 5000 + b"}\n" + C + b"\n",
        ["gamma"],
        1,
    ),
    "deeply nested": (b'{"a":' * 5000 + b"\n" + C + b"\n", ["gamma"], 1),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_each_damage_that_was_seen_leaves_the_rest_readable(name: str) -> None:
    """E3: whole, byte by byte and in pieces, the same records come out."""
    data, expected, lost = DAMAGED[name]
    records = decode(data)
    assert texts(records) == expected
    assert len([r for r in records if isinstance(r, Damage)]) == lost, [brief(r) for r in records]


def test_lost_bytes_are_named_exactly() -> None:
    """E3: the place and length of what was quarantined lead back to the very bytes."""
    cut = B[: B.index(b"ta")]
    data = A + b"\n" + cut + A.replace(b"u-alpha", b"u-other") + b"  tail\n"
    damages = [r for r in decode(data) if isinstance(r, Damage)]
    stretches = [data[d.offset or 0 :][: d.length] for d in damages]
    assert stretches == [cut, b"  tail"]


def test_records_know_their_place() -> None:
    """E3: a record leads back to its raw line, also out of a line that held two."""
    records = [r for r in decode(A + b"\n" + B + C + b"\n") if r.uuid.startswith("u-") and type(r).__name__ == "Text"]
    assert [r.offset for r in records] == [0, len(A) + 1, len(A) + 1 + len(B)]


def test_parts_of_a_torn_record_are_not_taken_for_records() -> None:
    """A content block inside of a torn line looks like a record, and is none."""
    torn = b'{"type":"assistant","sessionId":"s","message":{"content":[{"type":"text","text":"inner"}],"x":'
    saved = salvage(torn + A, ClaudeTranscript().is_record)
    assert [place for place, _ in saved.records] == [len(torn)]


def test_a_line_of_fifty_megabytes_is_just_a_line() -> None:
    """E3: size alone loses nothing."""
    big = "x" * (50 << 20)
    records = Transcript(ClaudeTranscript()).feed(line(big, "u") + b"\n" + A + b"\n")
    assert [len(t) for t in texts(records)] == [50 << 20, 5]


def test_a_line_above_the_limit_is_named_and_passed_over() -> None:
    records = Transcript(ClaudeTranscript(), line_limit=1000).feed(b"x" * 5000 + b"\n" + A + b"\n")
    assert [brief(r) for r in records][:1] == ["damage at 0 for 5000: longer than the limit for a line"]
    assert texts(records) == ["alpha"]


@pytest.mark.parametrize(
    "opening", [b'{"' * 200_000, b'{"a":' * 20_000, b'{"a":[' * 3000 + b'"' + b"y" * 1_000_000 + b'"']
)
def test_a_hostile_opening_does_not_cost_the_record_behind_it(opening: bytes) -> None:
    """E3: a hundred thousand beginnings that lead nowhere are given up in time for the one that does."""
    assert texts(Transcript(ClaudeTranscript()).feed(opening + A + b"\n")) == ["alpha"]


def _tear(data: bytes, n: int) -> bytes:
    return data[: n % len(data)]


JUNK: list[Callable[[bytes, int], bytes]] = [
    lambda record, n: _tear(record, n) + b"\n",
    _tear,
    lambda record, n: b"\0" * (n % 300),
    lambda record, n: b"\0" * (n % 30) + b"\n",
    lambda record, n: b"",
    lambda record, n: bytes((n * k) % 256 for k in range(n % 40)).replace(b"{", b""),
    lambda record, n: record.replace(b"text", b"te\xff\xfet")[: n % len(record)] + b"\n",
]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(JUNK) - 1), st.integers(0, 2000), st.booleans()), min_size=1, max_size=12),
    st.lists(st.text(max_size=40), min_size=12, max_size=12),
)
def test_random_damage_loses_no_valid_record(damage: list[tuple[int, int, bool]], words: list[str]) -> None:
    """E3: intact records with any mixture of damage between them all come out, once each and in order."""
    data, expected = b"", []
    for number, (kind, amount, newline) in enumerate(damage):
        text = f"{number}{words[number]}"
        data += JUNK[kind](line(words[number] or "x", f"junk-{number}"), amount)
        data += line(text, f"real-{number}") + (b"\n" if newline else b"")
        expected.append(f"real-{number}")
    records: list[Any] = Transcript(ClaudeTranscript()).feed(data + b"\n")
    found = [r.uuid for r in records if type(r).__name__ == "Text" and r.uuid.startswith("real-")]
    assert found == expected


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_rubbish_never_raises(data: bytes) -> None:
    """E3: whatever the bytes are, they become records or damage."""
    Transcript(ClaudeTranscript()).feed(data + b"\n")


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.transcript.jsonl")), ids=lambda p: p.stem)
def test_real_transcripts_survive_being_spliced(path: object) -> None:
    """E3: a real capture with a torn copy of each line in front of it gives exactly the records of the capture."""
    lines = [raw for raw in SAMPLES.joinpath(str(path)).read_bytes().split(b"\n") if raw]
    clean = Transcript(ClaudeTranscript()).feed(b"".join(raw + b"\n" for raw in lines))
    torn = b"".join(raw[: len(raw) // 3] + raw + b"\n" for raw in lines)
    records = [r for r in Transcript(ClaudeTranscript()).feed(torn) if not isinstance(r, Damage)]
    assert [brief(r) for r in records] == [brief(r) for r in clean]
