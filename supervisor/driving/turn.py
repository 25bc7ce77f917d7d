"""When a turn is over, decided from several signals that are matched to its own prompt. Pure: time is a number.

result on stdout, and everything it announced stands in the transcript   →  transcript
result on stdout, but the transcript keeps silent for two seconds        →  stdout: its text counts
the transcript has the end of the turn, and then nothing more            →  transcript (a restart has no stdout)
the process is gone                                                      →  transcript if it has the end, else exit
nothing at all for too long                                              →  watchdog (the caller interrupts)
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from supervisor.records import (
    AnyRecord,
    Failure,
    Interrupted,
    MessageEnd,
    PromptSeen,
    PromptTaken,
    Signal,
    Text,
    ToolUse,
    TurnEnd,
)

Status = Literal["answered", "failed", "interrupted", "exited", "silent", "unread", "repeated"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an ask."""

    ask_id: str
    status: Status
    signal: Signal
    texts: tuple[str, ...] = ()
    """The text of each message, its blocks joined: what the assistant said before and after using tools."""
    failure: Failure | None = None
    seen: bool = False
    """The prompt stands in the transcript."""
    ms: int = 0
    detail: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


class Turn:
    """One ask on its way."""

    def __init__(
        self, ask_id: str, now: float, *, seen: bool = False, settle: float = 1.0, transcript_wait: float = 2.0
    ) -> None:
        self.ask_id = ask_id
        self.seen = seen
        self._started = False
        self._begun = now
        self._last = now
        self._settle = settle
        self._wait = transcript_wait
        self._written: dict[str, list[Text]] = {}
        self._printed: dict[str, list[Text]] = {}
        self._unclaimed: deque[Text | ToolUse | MessageEnd] = deque(maxlen=1000)
        self._messages: set[str] = set()
        self._foreign: set[str] = set()
        self._announced: set[str] = set()
        self._arrived: set[str] = set()
        self._ended, self._ended_by = False, ""
        self._failure: Failure | None = None
        self._printed_failure: Failure | None = None
        self._interrupted = False
        self._result: TurnEnd | None = None
        self._result_at = 0.0
        self._completed_at: float | None = None
        self._gone: int | None = None

    @property
    def last_activity(self) -> float:
        return self._last

    @property
    def begun(self) -> bool:
        """The CLI has taken the prompt up; an interrupt before that would be lost."""
        return self._started or self.seen

    def begins_with(self, record: AnyRecord) -> bool:
        """Whether it is the first that tells of our prompt, in the transcript or on stdout."""
        match record:
            case PromptSeen():
                return not self.seen and self.ask_id in record.ask_ids
            case PromptTaken(state="started"):
                return not self.begun and self.ask_id in record.ask_ids
        return False

    @property
    def expects_transcript(self) -> bool:
        """The CLI says it is done, and the transcript is behind: worth looking at it very soon."""
        return self._result is not None

    def from_transcript(self, record: AnyRecord, now: float) -> None:
        """A record is ours if our prompt stands before it, or if the process announced its message in this turn."""
        self._last = now
        if isinstance(record, PromptSeen):
            self.seen = self.seen or self.ask_id in record.ask_ids
        if self.seen or getattr(record, "message_id", None) in self._messages:
            self._take(record)
        elif isinstance(record, Text | ToolUse | MessageEnd):
            self._unclaimed.append(record)

    def _take(self, record: AnyRecord) -> None:
        if getattr(record, "message_id", None) in self._foreign:
            return
        if record.uuid:
            self._arrived.add(record.uuid)
        match record:
            case Text():
                self._written.setdefault(record.message_id, []).append(record)
                self._ended = False
            case ToolUse():
                self._ended = False
            case MessageEnd():
                self._ended, self._ended_by = True, record.message_id
            case Failure():
                self._failure = record
            case Interrupted():
                self._interrupted = True

    def _claim(self, message_id: str) -> None:
        self._messages.add(message_id)
        mine = [record for record in self._unclaimed if record.message_id == message_id]
        for record in mine:
            self._unclaimed.remove(record)
            self._take(record)

    def touch(self, now: float) -> None:
        """Something came from the process, whatever it means."""
        self._last = now

    def from_stdout(self, record: AnyRecord, now: float) -> None:
        """What is printed before our prompt was taken up belongs to another turn."""
        self._last = now
        match record:
            case PromptTaken(state="started") if self.ask_id in record.ask_ids:
                self._started = True
            case Text() | Failure() if not self.begun:
                pass
            case Text():
                self._printed.setdefault(record.message_id, []).append(record)
                self._announced |= {record.uuid} - {""}
                if record.message_id:
                    self._claim(record.message_id)
            case Failure():
                self._printed_failure = record
            case PromptTaken(state="completed") if not self._started and self.ask_id in record.ask_ids:
                self._completed_at = now
            case TurnEnd() if self._is_mine(record):
                self._result, self._result_at = record, now
            case TurnEnd():
                self._disown(record)

    def _disown(self, end: TurnEnd) -> None:
        """Another turn ended: the message that it names as its answer, the earliest that fits, was not ours."""
        for message_id, texts in self._printed.items():
            if texts[-1].text == end.text:
                self._foreign.add(message_id)
                self._announced -= {text.uuid for text in texts}
                del self._printed[message_id]
                self._written.pop(message_id, None)
                self._ended = self._ended and self._ended_by != message_id
                return

    def _is_mine(self, end: TurnEnd) -> bool:
        """A result that names prompts is for those; one that names none is ours if it fits what was said."""
        if end.ask_ids:
            return self.ask_id in end.ask_ids
        if end.unasked or not self.begun:
            return False
        last = [texts[-1].text for texts in (*self._printed.values(), *self._written.values())]
        return end.outcome != "answered" or end.text in last or not last

    def gone(self, status: int, now: float) -> None:
        """The process ended, and all it printed and wrote has been read."""
        self._gone, self._last = status, now

    def poll(self, now: float) -> Outcome | None:
        settled = self._ended or self._failure is not None or self._interrupted
        if self._result is not None:
            if settled and self._announced <= self._arrived:
                return self._outcome("transcript", now)
            if now - self._result_at >= self._wait or self._gone is not None:
                return self._outcome("stdout", now)
            return None
        if self._gone is not None:
            return self._outcome("transcript" if settled else "exit", now)
        if settled and now - self._last >= self._settle:
            return self._outcome("transcript", now)
        if self._completed_at is not None and now - self._completed_at >= self._wait:
            return self._make("repeated", "stdout", now, "the CLI had answered this very prompt before")
        return None

    def next_look(self, now: float) -> float:
        """When `poll` may have another answer although nothing new came in."""
        if self._result is not None:
            return self._result_at + self._wait
        if self._completed_at is not None:
            return self._completed_at + self._wait
        return self._last + self._settle if self._ended or self._failure or self._interrupted else now + 3600

    def unwritten(self) -> list[Text]:
        """What was printed in this turn and did not arrive in the transcript."""
        return [
            text
            for message_id, texts in self._printed.items()
            for text in texts
            if (text.uuid not in self._arrived if text.uuid else message_id not in self._written)
        ]

    def give_up(self, status: Status, signal: Signal, now: float, detail: str) -> Outcome:
        return self._make(status, signal, now, detail)

    def _outcome(self, signal: Signal, now: float) -> Outcome:
        failure = self._failure or (self._printed_failure if signal == "stdout" else None)
        interrupted = self._interrupted or (self._result is not None and self._result.outcome == "interrupted")
        if signal == "exit":
            return self._make("exited", signal, now, f"the CLI ended with status {self._gone} before it had answered")
        if interrupted:
            return self._make("interrupted", signal, now, "broken off")
        if failure is not None or (self._result is not None and self._result.outcome == "failed"):
            detail = failure.message if failure else self._result.text if self._result else ""
            failure = failure or Failure(kind="unknown", message=detail)
            return self._make("failed", signal, now, detail, failure)
        return self._make("answered", signal, now, "")

    def _make(self, status: Status, signal: Signal, now: float, detail: str, failure: Failure | None = None) -> Outcome:
        said = self._written
        if signal == "stdout" or (not said and status != "answered"):
            said = self._written if len(self._written) > len(self._printed) else self._printed
        texts = tuple("".join(text.text for text in blocks) for blocks in said.values())
        if signal == "stdout" and not texts and self._result and status == "answered" and self._result.text:
            texts = (self._result.text,)
        return Outcome(
            ask_id=self.ask_id,
            status=status,
            signal=signal,
            texts=texts,
            failure=failure,
            seen=self.seen,
            ms=int((now - self._begun) * 1000),
            detail=detail,
        )
