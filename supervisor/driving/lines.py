"""Bytes into lines, without any I/O: whole lines come out with the byte offset at which they begin."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A line without its newline; `length` is larger than the data when it was too long to be kept."""

    offset: int
    data: bytes
    length: int

    @property
    def too_long(self) -> bool:
        return self.length > len(self.data)


class LineBuffer:
    """Split at `\\n` and nothing else; a line above `limit` is counted and thrown away, not kept in memory."""

    def __init__(self, offset: int = 0, limit: int = 256 << 20) -> None:
        self.offset = offset
        """Where the line begins whose end has not come yet: the place to read on from after a restart."""
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[Line]:
        lines = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            lines.append(self._take())
            self.offset += 1
            start = end + 1
        self._keep(data[start:])
        return lines

    def finish(self) -> list[Line]:
        """What is left when nothing more will come."""
        return [self._take()] if self._length else []

    def _keep(self, data: bytes) -> None:
        self._length += len(data)
        if self._length > self._limit:
            self._parts.clear()
        elif data:
            self._parts.append(data)

    def _take(self) -> Line:
        line = Line(self.offset, b"".join(self._parts), self._length)
        self.offset += self._length
        self._parts, self._length = [], 0
        return line
