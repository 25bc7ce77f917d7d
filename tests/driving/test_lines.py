"""The line buffer: whole lines with their places, however the bytes come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support import three_ways

from supervisor.driving.lines import Line, LineBuffer


def test_lines_come_out_whole_and_with_their_place() -> None:
    """E3: half a line waits for the rest; U+2028 and \\r do not end a line."""
    data = b"one\ntwo\r\n\nth\xe2\x80\xa8ree\nrest"
    lines = three_ways(data, lambda: LineBuffer().feed)
    assert [(line.offset, line.data) for line in lines] == [
        (0, b"one"), (4, b"two\r"), (9, b""), (10, b"th\xe2\x80\xa8ree"),
    ]  # fmt: skip


def test_the_offset_is_where_to_read_on() -> None:
    """E3: after a restart, reading begins with the line that was not complete."""
    buffer = LineBuffer(100)
    assert buffer.feed(b"abc\nde") == [Line(100, b"abc", 3)]
    assert buffer.offset == 104
    assert buffer.finish() == [Line(104, b"de", 2)]
    assert buffer.finish() == []


def test_a_line_above_the_limit_is_counted_and_not_kept() -> None:
    """E3: the next line is read as if nothing had happened."""
    buffer = LineBuffer(limit=10)
    lines = [line for _ in range(5) for line in buffer.feed(b"x" * 7)] + buffer.feed(b"\nok\n")
    assert [(line.offset, line.data, line.length, line.too_long) for line in lines] == [
        (0, b"", 35, True), (36, b"ok", 2, False),
    ]  # fmt: skip


@given(st.lists(st.binary().map(lambda b: b.replace(b"\n", b"")), max_size=20), st.lists(st.integers(1, 9)))
def test_any_pieces_give_the_same_lines(lines: list[bytes], sizes: list[int]) -> None:
    """E3: joining what comes out gives back what went in."""
    data = b"".join(line + b"\n" for line in lines)
    buffer, found, place = LineBuffer(), [], 0
    for size in [*sizes, len(data)]:
        found += buffer.feed(data[place : place + size])
        place += size
    assert [line.data for line in found] == lines
    assert all(data[line.offset :].startswith(line.data) for line in found)
