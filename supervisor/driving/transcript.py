"""A transcript as it grows: bytes in, records out, in the order of the file, whatever damage there is between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.records import AnyRecord, Damage

from .backends.base import UNREADABLE
from .lines import Line, LineBuffer
from .repair import salvage

if TYPE_CHECKING:
    from .backends.base import Decoder


class Transcript:
    """Feed it what was read; it gives back what happened."""

    def __init__(self, decoder: Decoder, offset: int = 0, line_limit: int = 256 << 20) -> None:
        self._decoder = decoder
        self._limit = line_limit
        self._lines = LineBuffer(offset, line_limit)

    @property
    def offset(self) -> int:
        """The beginning of the first line that has not been taken: what a bookmark holds."""
        return self._lines.offset

    def feed(self, data: bytes) -> list[AnyRecord]:
        return [record for line in self._lines.feed(data) for record in decode(self._decoder, line)]

    def rewind(self) -> list[AnyRecord]:
        """The file begins anew: read it from the start; what was decoded before will not come out twice."""
        left = [Damage(offset=line.offset, length=line.length, reason="cut off when the file began anew")
                for line in self._lines.finish()]  # fmt: skip
        self._lines = LineBuffer(0, self._limit)
        return list(left)


def decode(decoder: Decoder, line: Line) -> list[AnyRecord]:
    """One line into records, through repair where it is damaged."""
    if line.too_long:
        return [Damage(offset=line.offset, length=line.length, reason="longer than the limit for a line")]
    data = line.data
    if not data.strip():
        return []
    try:
        return decoder.decode(data, line.offset)
    except UNREADABLE:
        pass
    saved = salvage(data, decoder.is_record, decoder.first_keys)
    found: list[tuple[int, list[AnyRecord]]] = []
    for place, record in saved.records:
        try:
            found.append((place, decoder.decode(record, line.offset + place)))
        except UNREADABLE as error:
            damage = Damage(offset=line.offset + place, length=len(record), reason=f"unexpected shape: {error}")
            found.append((place, [damage]))
    for place, length, reason in saved.lost:
        found.append((place, [Damage(offset=line.offset + place, length=length, reason=reason)]))
    return [record for _, records in sorted(found, key=lambda pair: pair[0]) for record in records]
