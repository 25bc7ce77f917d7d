"""Damaged lines: every whole record in them is kept, the rest is named by its place.

Seen in the field: a line cut short and spliced into the next, two records without a newline between them, runs of NUL
bytes, bytes that are no UTF-8. The scan works on Latin-1, where one character is one byte, so all places are exact.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_ANY_START = re.compile(r'\{\s*"')
_JSON = json.JSONDecoder(strict=False)
_WORK = 64 << 20
"""How many characters may be looked at in vain before only likely beginnings are tried."""


class Salvage(NamedTuple):
    """What could be saved: records as (place, bytes), and lost stretches as (place, length, reason)."""

    records: list[tuple[int, bytes]]
    lost: list[tuple[int, int, str]]


def salvage(
    line: bytes, is_record: Callable[[dict[str, Any]], bool], first_keys: tuple[str, ...] = ("type",)
) -> Salvage:
    """Find the whole records in a line that is not one.

    `is_record` tells them from the objects inside a torn one; `first_keys` are how records usually begin.
    """
    keys = "|".join(re.escape(key) for key in first_keys)
    likely = re.compile(rf'\{{\s*"(?:{keys})"')
    starts = _ANY_START
    text = line.decode("latin-1")
    records: list[tuple[int, bytes]] = []
    lost: list[tuple[int, int, str]] = []
    kept, place, work = 0, 0, 0

    def lose(upto: int) -> None:
        stretch = line[kept:upto]
        if stretch.strip():
            reason = "a run of NUL bytes" if not stretch.strip(b"\0 \t\r") else "not a whole record"
            lost.append((kept, upto - kept, reason))

    while (found := starts.search(text, place)) and work <= 16 * _WORK:
        if work > _WORK:
            starts = likely
        start = found.start()
        try:
            value, end = _JSON.raw_decode(text, start)
        except json.JSONDecodeError as error:
            work += error.pos  # the exception counts its lines from the very beginning
            place = start + 1
            continue
        except (RecursionError, ValueError):  # too deep, or a number too long to be one
            place = start + 1
            work += len(line)
            continue
        place = end
        if is_record(value):
            lose(start)
            records.append((start, _clean(line[start:end])))
            kept = end
    lose(len(line))
    return Salvage(records, lost)


def _clean(record: bytes) -> bytes:
    """The record as strict JSON: no NULs, and a replacement character for what is no UTF-8."""
    return record.replace(b"\0", b"").decode("utf-8", "replace").encode()
