"""How much of what a CLI says is passed on. Its transcript has all of it; everything after this has an upper size."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from supervisor.records import AnyRecord, Delta, Failure, Text, TurnEnd

LONGEST_ANSWER = 256 * 1024
"""How many characters count as said in one turn."""
LONGEST_NAME = 4096
"""How long anything else may be that a record holds: a name, an id, a summary."""
CUT = "… (the rest stands in the transcript)"

_R = TypeVar("_R", bound=AnyRecord)


class Measure:
    """What is said in one turn, over one channel: the beginning counts, and one word also where it comes later."""

    def __init__(self, heeded: str = "", most: int = LONGEST_ANSWER) -> None:
        """`heeded` is that word: what it does it does, however much is said before it."""
        self._heeded, self._left = heeded, most
        self._end = ""  # of what was said last: the word may be split
        self._full = False

    def cut(self, text: str) -> str:
        """As much of it as counts; nothing once the measure is full."""
        begun, width = self._end, len(self._heeded)
        self._end = (begun + text[-width:])[-width:] if width else ""
        if len(text) <= self._left:
            self._left -= len(text)
            return text
        head, self._left = text[: self._left], 0
        said = width > 0 and self._heeded not in head
        said = said and (self._heeded in text or self._heeded in begun[1:] + text[: width - 1])
        note, self._full = "" if self._full else CUT, True
        return head + note + (self._heeded if said else "")


class Measures:
    """Those of one turn; each of its channels says the same."""

    def __init__(self, heeded: str = "") -> None:
        self._heeded = heeded
        self.begin()

    def begin(self) -> None:
        """The turn begins here: what was said before it takes up no room."""
        self._written, self._printed, self._streamed = (Measure(self._heeded) for _ in range(3))

    def of(self, record: _R) -> _R:
        """A record of which everything has an upper size."""
        match record:
            case Text():
                channel = self._printed if record.offset is None else self._written
                record = _with_text(record, channel.cut(record.text))
            case Delta():
                record = _with_text(record, self._streamed.cut(record.text))
            case TurnEnd():
                record = _with_text(record, Measure(self._heeded).cut(record.text))
            case Failure() if len(record.message) > LONGEST_NAME:
                record = msgspec.structs.replace(record, message=record.message[:LONGEST_NAME] + CUT)
        return _with_short_names(record)


def _with_text(record: _R, text: str) -> _R:
    return record if text is record.text else msgspec.structs.replace(record, text=text)  # type: ignore[union-attr]  # of those that have one


def _with_short_names(record: _R) -> _R:
    long = {
        name: value[:LONGEST_NAME]
        for name in record.__struct_fields__
        if type(value := getattr(record, name)) is str and len(value) > LONGEST_NAME and name not in ("text", "message")
    }
    return msgspec.structs.replace(record, **long) if long else record
